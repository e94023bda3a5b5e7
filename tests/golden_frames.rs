//! Frames, headers and codes against the golden values of Apache's own classes and recorded conversations.

use std::collections::BTreeMap;

use bytes::Bytes;
use rocketry_codec::codes::{Language, RequestCode, ResponseCode, Version};
use rocketry_codec::decoder::Deframer;
use rocketry_codec::encoder::Parts;
use rocketry_codec::error::WireErrorKind;
use rocketry_codec::header::{Encoding, FieldKind, FieldSink, FieldSpec, HeaderEntry, Presence, WriteFields};
use rocketry_codec::{Frame, FrameWriter, Limits, reply, request};
use rocketry_testkit::vectors::{data, hex, load, names, number, shared};
use serde_json::Value;

const CAPTURES: [&str; 2] = ["captures/java-client-with-4.2.0.jsonl", "captures/java-client-with-5.3.3.jsonl"];

/// Fields as Java's map has them: the last of equal names, the empty text of a binary header as none (wire 2.4).
fn map(frame: &Frame) -> BTreeMap<String, Option<String>> {
    let value = |text: String| (frame.encoding() == Encoding::Json || !text.is_empty()).then_some(text);
    frame.fields().map(|field| (field.name.into_owned(), value(field.value.text().into_owned()))).collect()
}

fn expected_map(fields: &Value) -> BTreeMap<String, Option<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    fields.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Fields taken out of their encoding.
struct Owned(Vec<(String, String)>);

impl WriteFields for Owned {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        for (name, value) in &self.0 {
            sink.extra(name, value);
        }
    }
}

/// Builds the command anew from its decoded parts.
fn rebuilt(frame: &Frame, encoding: Encoding) -> Frame {
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
    let text = |field: rocketry_codec::header::Field<'_>| (field.name.into_owned(), field.value.text().into_owned());
    let fields = Owned(frame.fields().map(text).collect());
    FrameWriter::default().build(&parts, &fields, frame.body().clone())
}

fn assert_same_command(one: &Frame, other: &Frame) {
    let facts = |frame: &Frame| {
        let numbers = (frame.code(), frame.opaque(), frame.flag(), frame.version(), frame.language());
        let remark = frame.remark().filter(|text| !text.is_empty()).map(String::from);
        let fields = frame.fields().map(|field| (field.name.into_owned(), field.value.text().into_owned()));
        (numbers, remark, fields.collect::<BTreeMap<_, _>>(), frame.body().clone())
    };
    assert_eq!(facts(one), facts(other));
}

/// Builds the command anew in both encodings; in its own one to the byte, but for an empty `extFields` left out.
fn assert_encodes(frame: &Frame, original: &[u8]) {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let built = rebuilt(frame, encoding);
        let again = Frame::decode(built.to_bytes(), &Limits::DEFAULT).unwrap_or_else(|error| panic!("{error}"));
        assert_same_command(&built, &again);
        assert_same_command(frame, &again);
        let empty = frame.head().windows(14).any(|window| window == br#""extFields":{}"#);
        if encoding == frame.encoding() && !empty {
            assert_eq!(built.to_bytes(), original);
        }
    }
}

fn entry(class: &str) -> HeaderEntry {
    let mut entries = request::ALL.iter().chain(reply::ALL);
    *entries.find(|entry| entry.class == class).unwrap_or_else(|| panic!("{class} is not declared"))
}

#[test]
fn commands_decode_exactly_and_encode_equal() {
    for line in load("commands.jsonl") {
        let bytes = hex(&line["frame"]);
        let frame = Frame::decode(Bytes::from(bytes.clone()), &Limits::DEFAULT).unwrap();
        let shown = &line["header"];
        let encoding = if line["serialize"] == "JSON" { Encoding::Json } else { Encoding::Binary };
        assert_eq!(frame.encoding(), encoding, "{shown}");
        assert_eq!(Some(i64::from(frame.code())), line["code"].as_i64(), "{shown}");
        assert_eq!(frame.language().name(), line["language"].as_str(), "{shown}");
        assert_eq!(Some(i64::from(frame.version().0)), line["version"].as_i64(), "{shown}");
        assert_eq!(Some(i64::from(frame.opaque())), line["opaque"].as_i64(), "{shown}");
        assert_eq!(Some(i64::from(frame.flag().0)), line["flag"].as_i64(), "{shown}");
        assert_eq!(frame.remark().as_deref(), line["remark"].as_str(), "{shown}");
        assert_eq!(map(&frame), expected_map(&line["extFields"]), "{shown}");
        assert_eq!(frame.body()[..], hex(&line["body"])[..], "{shown}");
        assert_encodes(&frame, &bytes);
    }
}

#[test]
fn commands_read_as_typed_headers_and_write_back() {
    let (mut read, mut missing) = (0, 0);
    for line in load("commands.jsonl") {
        let frame = Frame::decode(Bytes::from(hex(&line["frame"])), &Limits::DEFAULT).unwrap();
        let entry = entry(line["header"].as_str().unwrap_or_default());
        match (entry.transcode)(frame.fields()) {
            Ok(block) => {
                let written: BTreeMap<_, _> = block
                    .fields()
                    .map(|field| (field.name.into_owned(), Some(field.value.text().into_owned())))
                    .collect();
                let sent: BTreeMap<_, _> =
                    map(&frame).into_iter().map(|(name, value)| (name, value.or(Some(String::new())))).collect();
                for (name, value) in &sent {
                    assert_eq!(written.get(name), Some(value), "{} {name}", entry.class);
                }
                let added = written.keys().filter(|name| !sent.contains_key(*name));
                let always = |name: &&String| {
                    entry.fields.iter().any(|field| field.name == **name && field.presence == Presence::Always)
                };
                assert!(
                    added.clone().all(|name| always(&name)),
                    "{} adds {:?}",
                    entry.class,
                    added.collect::<Vec<_>>()
                );
                read += 1;
            }
            Err(error) => {
                let WireErrorKind::MissingField(name) = error.kind else { panic!("{} {error}", entry.class) };
                assert!(!map(&frame).contains_key(name), "{} {name}", entry.class);
                missing += 1;
            }
        }
    }
    assert!(read > 2 * missing, "most commands are complete: {read} read, {missing} not");
}

#[test]
fn declared_headers_are_those_of_java() {
    let lines = load("header-fields.jsonl");
    assert_eq!(lines.len(), 131);
    let mut classes: Vec<_> = lines.iter().filter_map(|line| line["header"].as_str()).collect();
    let declared = request::ALL.iter().chain(reply::ALL).filter(|entry| !entry.class.is_empty());
    let mut ours: Vec<_> = declared.map(|entry| entry.class).collect();
    classes.sort_unstable();
    ours.sort_unstable();
    assert_eq!(ours, classes);
    for line in &lines {
        let entry = entry(line["header"].as_str().unwrap_or_default());
        let shown = |field: &FieldSpec| (field.name.to_owned(), field.kind, field.presence == Presence::Required);
        let mut ours: Vec<_> = entry
            .fields
            .iter()
            .filter(|field| field.presence != Presence::Bare)
            .chain(entry.scope)
            .map(shown)
            .collect();
        let kind = |name: &Value| match name.as_str() {
            Some("String" | "BoundaryType") => FieldKind::Text,
            Some("int" | "Integer") => FieldKind::I32,
            Some("long" | "Long") => FieldKind::I64,
            Some("boolean" | "Boolean") => FieldKind::Bool,
            other => panic!("type {other:?}"),
        };
        let fields = line["fields"].as_array().into_iter().flatten();
        let mut theirs: Vec<_> = fields
            .clone()
            .map(|field| {
                (field["name"].as_str().unwrap_or_default().to_owned(), kind(&field["type"]), field["required"] == true)
            })
            .collect();
        ours.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        theirs.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(ours, theirs, "{}", entry.class);
        // Java's primitives are always written.
        for field in fields.filter(|field| field["required"] == false) {
            let primitive = field["type"].as_str().is_some_and(|name| name.starts_with(char::is_lowercase));
            let presence = entry.fields.iter().find(|spec| field["name"] == spec.name).map(|spec| spec.presence);
            assert_eq!(presence == Some(Presence::Always), primitive, "{} {}", entry.class, field["name"]);
        }
        if entry.class.ends_with("RequestHeader") || entry.class.ends_with("V2") {
            assert_eq!(entry.code.map(|code| i64::from(code.0)), line["code"].as_i64(), "{}", entry.class);
        }
    }
}

#[test]
fn every_declared_name_needs_no_escape() {
    for entry in request::ALL.iter().chain(reply::ALL) {
        for field in entry.fields {
            assert!(field.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{}", field.name);
        }
    }
}

#[test]
fn codes_are_those_of_java() {
    let mut expected: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    for line in load("codes.jsonl") {
        if let (Some(kind), Some(name), Some(value)) =
            (line["kind"].as_str(), line["name"].as_str(), line["value"].as_i64())
        {
            let kind = if kind == "RemotingSysResponseCode" { "ResponseCode" } else { kind };
            expected.entry(kind.to_owned()).or_default().insert(name.to_owned(), value);
        }
    }
    let requests = RequestCode::ALL.iter().map(|(name, code)| ((*name).to_owned(), i64::from(code.0)));
    assert_eq!(requests.collect::<BTreeMap<_, _>>(), expected["RequestCode"]);
    let responses = ResponseCode::ALL.iter().map(|(name, code)| ((*name).to_owned(), i64::from(code.0)));
    assert_eq!(responses.collect::<BTreeMap<_, _>>(), expected["ResponseCode"]);
    for (name, value) in &expected["LanguageCode"] {
        let language = Language::from_name(name.as_bytes());
        assert_eq!((i64::from(language.to_byte()), language.name()), (*value, Some(name.as_str())));
    }
    let known = (0..=u8::MAX).filter(|byte| Language::from_byte(*byte).name().is_some()).count();
    assert_eq!(known, expected["LanguageCode"].len());
    for (name, value) in &expected["MQVersion"] {
        let (release, snapshot) = name.strip_suffix("_SNAPSHOT").map_or((name.as_str(), false), |name| (name, true));
        let numbers: Vec<u8> =
            release.trim_start_matches('V').split('_').filter_map(|part| part.parse().ok()).collect();
        let version = Version(i32::try_from(*value).unwrap());
        if let [major @ (4 | 5), minor, patch] = numbers[..] {
            assert_eq!(version.parts(), Some((major, minor, patch, snapshot)), "{name}");
            let step = i32::from(snapshot);
            assert_eq!(Version::release(major, minor, patch).0 - step, version.0, "{name}");
        } else {
            assert_eq!(version.parts(), None, "{name}");
        }
    }
}

#[test]
fn captured_frames_decode_and_encode_equal() {
    for name in CAPTURES {
        for line in load(name) {
            let bytes = hex(&line["frame"]);
            let frame = Frame::decode(Bytes::from(bytes.clone()), &Limits::DEFAULT).unwrap();
            assert_eq!(Some(i64::from(frame.code())), number(&line["code"]));
            assert_eq!(Some(i64::from(frame.opaque())), number(&line["opaque"]));
            assert_eq!(Some(i64::from(frame.flag().0)), number(&line["flag"]));
            assert_encodes(&frame, &bytes);
            if !frame.is_response() {
                let entry = request::ALL.iter().find(|entry| entry.code == Some(frame.request_code()));
                if let Some(entry) = entry {
                    (entry.transcode)(frame.fields()).unwrap_or_else(|error| panic!("{} {error}", entry.class));
                }
            }
        }
    }
}

#[test]
fn captured_conversations_deframe_as_streams() {
    for name in CAPTURES {
        let lines = load(name);
        let stream: Vec<u8> = lines.iter().flat_map(|line| hex(&line["frame"])).collect();
        let mut deframer = Deframer::new(&Limits::DEFAULT);
        let (mut rest, mut count) = (&stream[..], 0);
        while !rest.is_empty() {
            let taken = deframer.feed(rest.get(..1_448).unwrap_or(rest));
            rest = &rest[taken..];
            while let Some(frame) = deframer.next_frame().unwrap() {
                assert_eq!(Some(i64::from(frame.opaque())), number(&lines[count]["opaque"]));
                assert_eq!(frame.to_bytes()[..], hex(&lines[count]["frame"])[..]);
                count += 1;
            }
        }
        assert_eq!((count, deframer.pending()), (lines.len(), 0));
    }
}

#[test]
fn the_copies_are_the_originals() {
    let names = names();
    assert!(names.len() >= 19, "copies are missing: {names:?}");
    for name in names {
        if let Some(original) = shared(&name) {
            let same = std::fs::read(data().join(&name)).unwrap() == std::fs::read(&original).unwrap();
            assert!(same, "{name} differs from {}", original.display());
        }
    }
}
