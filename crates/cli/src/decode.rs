//! `rocketry decode`: hex lines to JSON lines.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use rocketry_codec::frame::Frame;
use rocketry_codec::header::Encoding;
use rocketry_codec::json;
use rocketry_codec::limits::Limits;
use rocketry_codec::message::{Compression, Messages, PropertiesView, StoredMessage};
use rocketry_compress::Codecs;

use crate::args::{Decodable, DecodeArgs};
use crate::hex;
use crate::lines::{self, LineError, LineResult};
use crate::output::Failure;
use crate::shape::{CommandShape, FieldShape, LanguageShape, MessageShape, PropertiesShape, Serialization};

/// Runs the command on standard input.
pub(crate) fn run(args: &DecodeArgs) -> Result<(), Failure> {
    match args.what {
        Decodable::Frames => lines::over_stdin(|line| vec![frame(line)]),
        Decodable::Messages => {
            let mut codecs = Codecs::default();
            lines::over_stdin(|line| messages(line, &mut codecs))
        }
        Decodable::Properties => lines::over_stdin(|line| vec![properties(line)]),
    }
}

fn frame(line: &str) -> LineResult {
    let frame = Frame::decode(Bytes::from(hex::decode(line)?), &Limits::DEFAULT)?;
    let is_binary = frame.encoding() == Encoding::Binary;
    let fields: BTreeMap<String, Option<FieldShape>> = frame
        .fields()
        .map(|field| {
            let text = field.value.text();
            let value = (!is_binary || !text.is_empty()).then(|| FieldShape::Text(text.into_owned()));
            (field.name.into_owned(), value)
        })
        .collect();
    let language = match frame.language().name() {
        None if is_binary => LanguageShape::Byte(frame.language().to_byte()),
        _ => LanguageShape::Name(frame.language_text().into_owned()),
    };
    let shape = CommandShape {
        serialize: if is_binary { Serialization::RocketMq } else { Serialization::Json },
        code: frame.code(),
        language,
        version: frame.version().0,
        opaque: frame.opaque(),
        flag: frame.flag().0,
        remark: frame.remark().map(Into::into),
        ext_fields: (!fields.is_empty() || has_empty_fields(&frame)).then_some(fields),
        body: (!frame.body().is_empty()).then(|| hex::encode(frame.body())),
    };
    Ok(lines::json(&shape))
}

/// Whether the header holds a map of fields though none is in it: only JSON can say so.
fn has_empty_fields(frame: &Frame) -> bool {
    let header = frame.head().get(8..).unwrap_or_default();
    let header = if frame.encoding() == Encoding::Json { json::read(header, &Limits::DEFAULT).ok() } else { None };
    let fields = header.as_ref().and_then(json::Value::as_object).and_then(|header| header.get("extFields"));
    fields.is_some_and(|fields| fields.as_object().is_some())
}

/// The messages of a line; one that is broken does not hide the others.
fn messages(line: &str, codecs: &mut Codecs) -> Vec<LineResult> {
    let bytes = match hex::decode(line) {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) => return vec![Err(error)],
    };
    let whole = bytes.len();
    let mut walk = Messages::new(bytes);
    let mut results = Vec::new();
    loop {
        let start = whole.saturating_sub(walk.rest().len());
        match walk.next() {
            Some(Ok(found)) => results.push(message(found, start, codecs)),
            Some(Err(bad)) => results.push(Err(bad.reason.shifted(start).into())),
            None => return results,
        }
    }
}

fn message(message: StoredMessage, start: usize, codecs: &mut Codecs) -> LineResult {
    let inflated = codecs.plain_body(&message, Limits::DEFAULT.inflated_body);
    let body = inflated.map_err(|error| LineError::new(error.to_string(), start))?;
    let compression = message.compression().ok().flatten().map(|compression| match compression {
        Compression::Zlib => "ZLIB",
        Compression::Lz4 => "LZ4",
        Compression::Zstd => "ZSTD",
        _ => "OTHER",
    });
    let has_body = !message.body_bytes().is_empty();
    let message = message.with_body(body);
    let properties = message.properties();
    let shape = MessageShape {
        topic: message.topic(),
        queue_id: message.queue_id(),
        flag: message.flag(),
        sys_flag: message.sys_flag().0,
        queue_offset: message.queue_offset(),
        commit_log_offset: message.commit_log_offset(),
        born_timestamp: message.born_timestamp(),
        born_host: host(message.born_host()),
        store_timestamp: message.store_timestamp(),
        store_host: host(message.store_host()),
        reconsume_times: message.reconsume_times(),
        prepared_transaction_offset: message.prepared_transaction_offset(),
        body_crc: message.body_crc(),
        body: has_body.then(|| hex::encode(message.body_bytes())),
        properties: (!properties.as_bytes().is_empty()).then(|| properties.iter().collect()),
        msg_id: message.offset_id().to_string(),
        compression,
    };
    Ok(lines::json(&shape))
}

/// An address as Java prints it: groups of IPv6 in full, a space before the port.
fn host(address: SocketAddr) -> String {
    let port = address.port();
    match address.ip() {
        IpAddr::V4(ip) => format!("{ip} {port}"),
        IpAddr::V6(ip) => format!("{} {port}", ip.segments().map(|group| format!("{group:x}")).join(":")),
    }
}

fn properties(line: &str) -> LineResult {
    let bytes = hex::decode(line)?;
    if let Err(error) = std::str::from_utf8(&bytes) {
        return Err(LineError::new("the properties are not UTF-8", error.valid_up_to()));
    }
    Ok(lines::json(&PropertiesShape { properties: PropertiesView::new(&bytes).iter().collect() }))
}
