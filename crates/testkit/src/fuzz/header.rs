//! Headers of both encodings: never a panic, and what was read is written so that it reads the same again.

use std::collections::BTreeMap;

use bytes::Bytes;
use rocketry_codec::encoder::{FrameWriter, Parts};
use rocketry_codec::frame::Frame;
use rocketry_codec::header::{Encoding, HeaderEntry};
use rocketry_codec::limits::Limits;
use rocketry_codec::{reply, request};

/// Names above this do not fit the binary form (wire 2.4).
const LONGEST_NAME: usize = 0x7FFF;

/// Reads the input as a JSON header.
///
/// # Panics
/// Where a header that was read does not survive being written in either encoding, or a typed header that was read
/// from it does not survive being written.
pub fn json_header(data: &[u8]) {
    if let Some(frame) = frame(Encoding::Json, data) {
        check(&frame);
    }
}

/// Reads the input as a binary header; written again it must have the very same bytes.
///
/// # Panics
/// As [`json_header`], and where the bytes differ.
pub fn binary_header(data: &[u8]) {
    if let Some(frame) = frame(Encoding::Binary, data) {
        let again = rebuild(&frame, Encoding::Binary);
        assert_eq!(again.head(), frame.head(), "a binary header is not what was read");
        check(&frame);
    }
}

/// The header in a frame of its own, if it can be read.
fn frame(encoding: Encoding, header: &[u8]) -> Option<Frame> {
    let length = u32::try_from(header.len()).ok().filter(|length| *length <= 0x00FF_FFFF)?;
    let mut bytes = Vec::with_capacity(header.len() + 8);
    bytes.extend_from_slice(&(length + 4).to_be_bytes());
    bytes.extend_from_slice(&(u32::from(encoding.to_byte()) << 24 | length).to_be_bytes());
    bytes.extend_from_slice(header);
    Frame::decode(Bytes::from(bytes), &Limits::DEFAULT).ok()
}

fn check(frame: &Frame) {
    let values = values(frame);
    for (name, value) in &values {
        assert_eq!(frame.field(name).as_deref(), Some(value.as_str()), "the last of equal names does not count");
    }
    for encoding in [Encoding::Json, Encoding::Binary] {
        if encoding == Encoding::Binary && values.keys().any(|name| name.len() > LONGEST_NAME) {
            continue;
        }
        let built = rebuild(frame, encoding);
        if built.wire_len() > Limits::DEFAULT.frame {
            // Escapes take more room than what they stand for.
            continue;
        }
        let read = Frame::decode(built.to_bytes(), &Limits::DEFAULT).expect("a header that was written can be read");
        for again in [&built, &read] {
            assert_eq!(command(again), command(frame), "a header changed in {encoding:?}");
            assert_eq!(self::values(again), values, "fields changed in {encoding:?}");
        }
        assert_eq!(rebuild(&read, encoding).head(), read.head(), "a header that was written is not stable");
    }
    typed(frame);
}

/// The fields as Java's map would hold them.
fn values(frame: &Frame) -> BTreeMap<String, String> {
    frame.fields().map(|field| (field.name.into_owned(), field.value.text().into_owned())).collect()
}

/// What a header says beside its fields, in a form that both encodings can carry: an unknown language has no name in
/// JSON, and an empty remark is none in the binary form.
fn command(frame: &Frame) -> (i32, i32, i32, i32, &'static str, String) {
    let language = frame.language().name().unwrap_or("OTHER");
    let remark = frame.remark().unwrap_or_default().into_owned();
    (frame.code(), frame.opaque(), frame.flag().0, frame.version().0, language, remark)
}

fn rebuild(frame: &Frame, encoding: Encoding) -> Frame {
    let remark = frame.remark();
    let parts = Parts {
        code: frame.code(),
        language: frame.language(),
        version: frame.version().0,
        opaque: frame.opaque(),
        flag: frame.flag().0,
        remark: remark.as_deref(),
        encoding,
    };
    FrameWriter::default().build(&parts, &frame.fields(), Bytes::new())
}

/// Reads the typed headers that go with the code, or for an answer one by its number, and writes them again.
fn typed(frame: &Frame) {
    let answer = reply::ALL.get(frame.opaque().unsigned_abs() as usize % reply::ALL.len());
    let requests = request::ALL.iter().filter(|entry| entry.code == Some(frame.request_code()));
    let entries: Vec<&HeaderEntry> =
        if frame.is_response() { answer.into_iter().collect() } else { requests.collect() };
    for entry in entries {
        if let Ok(block) = (entry.transcode)(frame.fields()) {
            assert_eq!((entry.transcode)(block.fields()), Ok(block), "{} is not stable", entry.class);
        }
    }
}
