//! `rocketry encode`: JSON lines to hex lines.

use bytes::{BufMut, Bytes, BytesMut};
use rocketry_codec::codes::Language;
use rocketry_codec::encoder::{FrameWriter, Parts};
use rocketry_codec::frame::Frame;
use rocketry_codec::header::Encoding;
use rocketry_codec::limits::Limits;

use crate::args::{Encodable, EncodeArgs};
use crate::hex;
use crate::lines::{self, LineError, LineResult};
use crate::output::Failure;
use crate::shape::{CommandShape, FieldShape, LanguageShape, Serialization};

/// Runs the command on standard input.
pub(crate) fn run(args: &EncodeArgs) -> Result<(), Failure> {
    match args.what {
        Encodable::Frames => {
            let mut writer = FrameWriter::default();
            lines::over_stdin(|line| vec![frame(line, &mut writer)])
        }
    }
}

fn frame(line: &str, writer: &mut FrameWriter) -> LineResult {
    let shape: CommandShape = serde_json::from_str(line)
        .map_err(|error| LineError::new(error.to_string(), error.column().saturating_sub(1)))?;
    let encoding = match shape.serialize {
        Serialization::Json => Encoding::Json,
        Serialization::RocketMq => Encoding::Binary,
    };
    // Java leaves out what is null in JSON and writes it empty in the binary form.
    let fields: Vec<(&str, String)> = (shape.ext_fields.iter().flatten())
        .filter(|(_, value)| encoding == Encoding::Binary || value.is_some())
        .map(|(name, value)| (name.as_str(), value.as_ref().map(text).unwrap_or_default()))
        .collect();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = shape.body.as_deref().map(hex::decode).transpose();
    let body = body.map_err(|error| LineError::new(format!("body: {}", error.error), error.offset))?;
    let parts = Parts {
        code: shape.code,
        language: language(&shape.language, encoding)?,
        version: shape.version,
        opaque: shape.opaque,
        flag: shape.flag,
        remark: shape.remark.as_deref(),
        encoding,
    };
    fits(&parts, &fields)?;
    let built = writer.build(&parts, fields.as_slice(), Bytes::from(body.unwrap_or_default()));
    let mut bytes = built.to_bytes();
    if encoding == Encoding::Json && fields.is_empty() && shape.ext_fields.is_some() {
        bytes = with_empty_fields(&bytes);
    }
    // What is printed can be read again, within the limits of a peer.
    Frame::decode(bytes.clone(), &Limits::DEFAULT)?;
    Ok(hex::encode(&bytes))
}

fn text(value: &FieldShape) -> String {
    match value {
        FieldShape::Text(text) => text.clone(),
        FieldShape::Integer(number) => number.to_string(),
        FieldShape::Bool(value) => value.to_string(),
    }
}

fn language(shape: &LanguageShape, encoding: Encoding) -> Result<Language, LineError> {
    match shape {
        LanguageShape::Byte(byte) if encoding == Encoding::Binary => Ok(Language::from_byte(*byte)),
        LanguageShape::Byte(byte) => Err(LineError::new(format!("a JSON header names its language, not {byte}"), 0)),
        LanguageShape::Name(name) => match Language::from_name(name.as_bytes()) {
            Language::UNNAMED => Err(LineError::new(format!("{name} is not a language of the protocol"), 0)),
            known => Ok(known),
        },
    }
}

/// What the binary form has no room for is refused: the writer would fall back to JSON, or cut.
fn fits(parts: &Parts<'_>, fields: &[(&str, &str)]) -> Result<(), LineError> {
    if parts.encoding == Encoding::Json {
        return Ok(());
    }
    for (what, number) in [("code", parts.code), ("version", parts.version)] {
        if i16::try_from(number).is_err() {
            return Err(LineError::new(format!("{what} {number} has no place in a binary header"), 0));
        }
    }
    match fields.iter().find(|(name, _)| i16::try_from(name.len()).is_err()) {
        Some((name, _)) => Err(LineError::new(format!("a field name of {} bytes is too long", name.len()), 0)),
        None => Ok(()),
    }
}

/// The same frame with an empty map of fields behind its code, where Java has it.
fn with_empty_fields(frame: &Bytes) -> Bytes {
    const EMPTY: &[u8] = b",\"extFields\":{}";
    let longer = |at: usize| {
        let word: [u8; 4] = frame.get(at..at + 4).and_then(|word| word.try_into().ok()).unwrap_or_default();
        u32::from_be_bytes(word).wrapping_add(u32::try_from(EMPTY.len()).unwrap_or_default())
    };
    let (_, header) = frame.split_at(8);
    let (before, behind) = header.split_at(header.iter().position(|byte| *byte == b',').unwrap_or(header.len()));
    let mut out = BytesMut::with_capacity(frame.len() + EMPTY.len());
    out.put_u32(longer(0));
    out.put_u32(longer(4));
    out.extend_from_slice(before);
    out.extend_from_slice(EMPTY);
    out.extend_from_slice(behind);
    out.freeze()
}
