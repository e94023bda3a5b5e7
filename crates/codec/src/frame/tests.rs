use alloc::borrow::Cow;
use std::format;
use std::string::String;
use std::vec::Vec;

use super::*;
use crate::encoder::{FrameWriter, RawRequest, Sender};
use crate::error::WireErrorKind;
use crate::header::{FieldBlock, FieldSink, WriteFields};
use crate::reply::{NoFields, PullMessageReply, SendMessageReply};
use crate::request::{GetRouteInfo, PopMessage, PullMessage, SendMessageV2};

fn writer(encoding: Encoding) -> FrameWriter {
    FrameWriter::new(Sender { encoding, ..Sender::default() })
}

fn pull() -> PullMessage<'static> {
    PullMessage {
        consumer_group: "billing".into(),
        topic: Cow::Owned(String::from("orders")),
        queue_id: 3,
        queue_offset: i64::MAX,
        max_msg_nums: 32,
        sys_flag: 6,
        subscription: Some("a || \"b\"\u{1}\u{2028}".into()),
        ..PullMessage::default()
    }
}

fn decoded(frame: &Frame) -> Frame {
    Frame::decode(frame.to_bytes(), &Limits::DEFAULT).unwrap()
}

fn fields(frame: &Frame) -> Vec<(String, String)> {
    frame.fields().map(|field| (field.name.into_owned(), field.value.text().into_owned())).collect()
}

#[test]
fn a_built_frame_reads_like_a_decoded_one() {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let built = writer(encoding).request(-7, &pull(), Bytes::from_static(b"body"));
        for frame in [&built, &decoded(&built)] {
            assert_eq!(frame.read::<PullMessage<'_>>(), Ok(pull()));
            assert_eq!((frame.request_code(), frame.opaque()), (RequestCode::PULL_MESSAGE, -7));
            assert_eq!((frame.language(), frame.version()), (Language::RUST, Version::V5_3_3));
            assert_eq!((frame.encoding(), frame.flag()), (encoding, Flag::REQUEST));
            assert_eq!((frame.remark(), &frame.body()[..]), (None, &b"body"[..]));
        }
        assert_eq!(built.wire_len(), built.to_bytes().len());
    }
}

#[test]
fn json_heads_have_the_order_of_java() {
    let mut writer = writer(Encoding::Json);
    let request = GetRouteInfo { topic: "T".into(), ..GetRouteInfo::default() };
    let frame = writer.request(8, &request, Bytes::new());
    assert_eq!(
        &frame.head()[8..],
        br#"{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"RUST","opaque":8,"serializeTypeCurrentRPC":"JSON","version":479}"#
    );
    let frame = writer.response(8, ResponseCode::TOPIC_NOT_EXIST, Some("no \"T\""), &NoFields {}, Bytes::new());
    assert_eq!(
        &frame.head()[8..],
        br#"{"code":17,"flag":1,"language":"RUST","opaque":8,"remark":"no \"T\"","serializeTypeCurrentRPC":"JSON","version":479}"#
    );
    assert_eq!(frame.remark().as_deref(), Some("no \"T\""));
}

#[test]
fn codes_beyond_16_bits_travel_as_json() {
    let mut writer = writer(Encoding::Binary);
    assert_eq!(writer.request(1, &PopMessage::default(), Bytes::new()).encoding(), Encoding::Json);
    assert_eq!(writer.request(1, &pull(), Bytes::new()).encoding(), Encoding::Binary);
    for (code, encoding) in [(32767, Encoding::Binary), (32768, Encoding::Json), (-32769, Encoding::Json)] {
        let frame = writer.response(1, ResponseCode(code), None, &NoFields {}, Bytes::new());
        assert_eq!((frame.encoding(), decoded(&frame).code()), (encoding, code));
    }
}

#[test]
fn a_missing_field_is_named() {
    let frame = writer(Encoding::Binary).request_as(
        RequestCode::PULL_MESSAGE,
        1,
        &[("consumerGroup", "g"), ("topic", "t")][..],
        Bytes::new(),
    );
    let error = frame.read::<PullMessage<'_>>().unwrap_err();
    assert_eq!(error.kind, WireErrorKind::MissingField("queueId"));
}

#[test]
fn a_bad_value_is_named_and_placed() {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let fields = [("suggestWhichBrokerId", "0"), ("nextBeginOffset", "x")];
        let frame = writer(encoding).response(1, ResponseCode::SUCCESS, None, &fields[..], Bytes::new());
        let error = frame.read::<PullMessageReply>().unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Invalid("nextBeginOffset"));
        assert_eq!(frame.head()[error.offset], b'x');
    }
}

#[test]
fn unknown_fields_are_passed_over_and_the_last_duplicate_counts() {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let fields = [
            ("msgId", "1"),
            ("later", "?"),
            ("queueId", "1"),
            ("queueOffset", "2"),
            ("msgId", "A"),
            ("TRACE_ON", "TRUE"),
        ];
        let frame = writer(encoding).response(1, ResponseCode::SUCCESS, None, &fields[..], Bytes::new());
        let reply: SendMessageReply<'_> = frame.read().unwrap();
        assert_eq!((&*reply.msg_id, reply.queue_id, reply.queue_offset), ("A", 1, 2));
        assert_eq!((reply.trace_on, reply.transaction_id), (Some(true), None));
        assert_eq!(frame.field("msgId").as_deref(), Some("A"));
        assert_eq!(frame.field("absent"), None);
    }
}

#[test]
fn fields_can_be_added_to_any_frame() {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let mut writer = writer(encoding);
        let frames = [
            writer.request(5, &pull(), Bytes::from_static(b"b")),
            writer.request_as(RequestCode::HEART_BEAT, 5, &NoFields {}, Bytes::new()),
            writer.response(5, ResponseCode::SUCCESS, Some("a\tb"), &NoFields {}, Bytes::new()),
        ];
        for frame in frames {
            let longer = writer.extend(&frame, &[("AccessKey", "k\n"), ("Signature", "s")]);
            let mut expected = fields(&frame);
            expected.push(("AccessKey".into(), "k\n".into()));
            expected.push(("Signature".into(), "s".into()));
            assert_eq!(fields(&longer), expected);
            assert_eq!(fields(&decoded(&longer)), expected);
            assert_eq!((longer.remark(), longer.body()), (frame.remark(), frame.body()));
            assert_eq!((longer.code(), longer.opaque()), (frame.code(), frame.opaque()));
            assert_eq!(writer.restamp(&longer, 6).opaque(), 6);
        }
    }
}

#[test]
fn untyped_requests_are_written_in_either_encoding() {
    let request = SendMessageV2 {
        producer_group: "p".into(),
        properties: Some("k\u{1}v\u{2}".into()),
        batch: Some(true),
        ..SendMessageV2::default()
    };
    let raw = RawRequest::new(&request, Bytes::from_static(b"x"));
    for encoding in [Encoding::Json, Encoding::Binary] {
        let frame = writer(encoding).raw_request(1, Flag::ONEWAY, &raw);
        assert_eq!((frame.encoding(), frame.is_oneway()), (encoding, true));
        assert_eq!(frame.read::<SendMessageV2<'_>>(), Ok(request.clone()));
        assert_eq!(FieldBlock::of(&frame.fields()), raw.fields);
    }
}

#[test]
fn frames_of_one_writer_do_not_disturb_each_other() {
    let mut writer = writer(Encoding::Json);
    let frames: Vec<_> = (0..500).map(|opaque| writer.request(opaque, &pull(), Bytes::new())).collect();
    for (frame, opaque) in frames.iter().zip(0..) {
        assert_eq!((frame.opaque(), frame.read::<PullMessage<'_>>()), (opaque, Ok(pull())));
    }
}

#[test]
fn debug_shows_what_a_person_needs() {
    let frame =
        writer(Encoding::Json).response(3, ResponseCode::SYSTEM_BUSY, Some("slow"), &[("a", "1")][..], Bytes::new());
    let text = format!("{frame:?}");
    assert!(text.contains("SYSTEM_BUSY (2)") && text.contains("\"slow\"") && text.contains("\"a\": \"1\""), "{text}");
}

#[test]
fn cod_09_an_unknown_language_is_kept_as_it_was_sent() {
    let json = br#"{"code":1,"extFields":{"language":"C"},"flag":12,"language":"ZIG","opaque":1,"version":2147483647}"#;
    let frame = |kind: u8, header: &[u8]| {
        let size = u8::try_from(header.len()).unwrap();
        Frame::decode([&[0, 0, 0, size + 4, kind, 0, 0, size], header].concat().into(), &Limits::DEFAULT).unwrap()
    };
    let read = frame(0, json);
    assert_eq!((read.language(), &*read.language_text()), (Language::UNNAMED, "ZIG"));
    assert_eq!((read.version(), read.flag()), (Version(i32::MAX), Flag(12)));
    let binary = [0, 1, 99, 0x7F, 0xFF, 0, 0, 0, 1, 0x7F, 0xFF, 0xFF, 0xFC, 0, 0, 0, 0, 0, 0, 0, 0];
    let read = frame(1, &binary);
    assert_eq!((read.language().to_byte(), &*read.language_text()), (99, "99"));
    assert_eq!((read.version(), read.flag()), (Version(0x7FFF), Flag(0x7FFF_FFFC)));
    assert!(!read.is_response() && !read.is_oneway());
}

struct Long;

impl WriteFields for Long {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        sink.extra("long", &"x".repeat(0x0100_0000));
    }
}

#[test]
fn a_frame_beyond_every_limit_is_built_with_its_true_size() {
    for encoding in [Encoding::Json, Encoding::Binary] {
        let frame = writer(encoding).request_as(RequestCode::HEART_BEAT, 1, &Long, Bytes::new());
        assert!(frame.wire_len() > 0x0100_0000);
        assert_eq!(frame.field("long").map(|text| text.len()), Some(0x0100_0000));
        assert!(Frame::decode(frame.to_bytes(), &Limits::DEFAULT).is_err());
    }
}
