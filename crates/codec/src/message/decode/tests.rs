use super::*;
use crate::message::{BatchEncoder, BatchRecords, InnerBatch, StoredRecord};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

/// The V1 record of the specification, 123 bytes.
const SPEC: &str = "0000007bdaa320a73610a686000000030000000100000000000000640000000000001234000000000000018bcfe56800\
0a010203000013880000018bcfe568010a09080700002a9f0000000200000000000000000000000568656c6c6f09546f7069635465737400124b\
455953016b310254414753015461674102";

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn spec() -> Vec<u8> {
    unhex(SPEC)
}

fn walk(bytes: &[u8]) -> Vec<Result<StoredMessage, BadMessage>> {
    Messages::new(Bytes::copy_from_slice(bytes)).collect()
}

fn sample() -> StoredRecord<'static> {
    StoredRecord {
        version: RecordVersion::V1,
        queue_id: 3,
        flag: 1,
        queue_offset: 100,
        commit_log_offset: 0x1234,
        sys_flag: SysFlag(0),
        born_timestamp: 1_700_000_000_000,
        born_host: SocketAddr::from(([10, 1, 2, 3], 5000)),
        store_timestamp: 1_700_000_000_001,
        store_host: SocketAddr::from(([10, 9, 8, 7], 10911)),
        reconsume_times: 2,
        prepared_transaction_offset: 0,
        body: b"hello",
        topic: "TopicTest",
        properties: b"KEYS\x01k1\x02TAGS\x01TagA\x02",
    }
}

fn encoded(record: &StoredRecord<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    record.encode(&mut out).unwrap();
    assert_eq!(out.len(), record.encoded_len());
    out
}

#[test]
fn record_of_the_specification() {
    let message = StoredMessage::decode(spec().into()).unwrap();
    assert_eq!(message.topic(), "TopicTest");
    assert_eq!(message.body_bytes(), b"hello");
    assert_eq!(message.queue_id(), 3);
    assert_eq!(message.flag(), 1);
    assert_eq!(message.queue_offset(), 100);
    assert_eq!(message.commit_log_offset(), 0x1234);
    assert_eq!(message.born_timestamp(), 1_700_000_000_000);
    assert_eq!(message.store_timestamp(), 1_700_000_000_001);
    assert_eq!(message.born_host().to_string(), "10.1.2.3:5000");
    assert_eq!(message.offset_id().to_string(), "0A09080700002A9F0000000000001234");
    assert_eq!(message.reconsume_times(), 2);
    assert_eq!(message.properties().get("TAGS"), Some("TagA"));
    assert!(message.crc_matches());
    assert_eq!(encoded(&sample()), spec());
}

#[test]
fn ipv6_record_of_the_specification() {
    let record = StoredRecord {
        born_host: "[2001:db8::1]:5000".parse().unwrap(),
        store_host: "[2001:db8::2]:10911".parse().unwrap(),
        ..sample()
    };
    let bytes = encoded(&record);
    assert_eq!(bytes.len(), 147);
    let message = StoredMessage::decode(bytes.into()).unwrap();
    assert_eq!(message.sys_flag(), SysFlag(0x30));
    assert_eq!(message.born_host(), record.born_host);
    assert_eq!(message.store_host().to_string(), "[2001:db8::2]:10911");
    assert_eq!(message.offset_id().to_string(), "20010DB800000000000000000000000200002A9F0000000000001234");
}

#[test]
fn a_bad_record_leaves_its_neighbours_alone() {
    // COD-13: an inner body length of a million inside a small fence.
    let mut broken = spec();
    broken[84..88].copy_from_slice(&1_000_000_i32.to_be_bytes());
    let body = [spec(), broken.clone(), spec()].concat();
    let walked = walk(&body);
    assert_eq!(walked.len(), 3);
    assert!(walked[0].is_ok() && walked[2].is_ok());
    let bad = walked[1].as_ref().unwrap_err();
    assert_eq!(bad.reason, WireError::truncated("body length", 84));
    assert_eq!((bad.queue_id, bad.queue_offset), (Some(3), Some(100)));
    assert_eq!(bad.raw, broken);
    assert_eq!(
        bad.to_string(),
        "undecodable message in queue 3 at offset 100: the bytes end inside body length (at byte 84)"
    );
}

#[test]
fn bytes_left_inside_the_fence_are_refused_there() {
    let mut longer = spec();
    longer[3] += 5;
    longer.extend_from_slice(b"extra");
    let walked = walk(&[longer, spec()].concat());
    assert_eq!(walked[0].as_ref().unwrap_err().reason, WireError::invalid("record size", 0));
    assert!(walked[1].is_ok());
}

#[test]
fn every_inner_length_stays_inside_the_fence() {
    for at in [84, 93] {
        for value in [u8::MAX, 0x7F] {
            let mut broken = spec();
            broken[at] = value;
            let walked = walk(&[broken, spec()].concat());
            assert!(walked[0].is_err() && walked[1].is_ok(), "byte {at} = {value:#x}");
        }
    }
}

#[test]
fn filler_stops_cleanly() {
    let filler = unhex("00001000cbd43194ffff");
    let walked = walk(&[spec(), filler].concat());
    assert_eq!(walked.len(), 1);
    assert!(walked[0].is_ok());
}

#[test]
fn a_wrong_size_word_ends_the_walk() {
    for size in [0_i32, 3, -1, i32::MIN, 1_000_000, i32::MAX] {
        let mut broken = spec();
        broken[..4].copy_from_slice(&size.to_be_bytes());
        let walked = walk(&[spec(), broken, spec()].concat());
        assert_eq!(walked.len(), 2, "{size}");
        assert_eq!(walked[1].as_ref().unwrap_err().raw.len(), 246);
    }
    assert_eq!(walk(&[0, 0]).len(), 1);
    assert!(walk(&[0, 0])[0].is_err());
    assert!(walk(&[]).is_empty());
    // A fence that holds less than a record is bad by itself only.
    let walked = walk(&[&[0, 0, 0, 4][..], &spec()].concat());
    assert!(walked[0].is_err() && walked[1].is_ok());
}

#[test]
fn unknown_magic_names_no_queue() {
    let mut broken = spec();
    broken[4] = 0;
    let bad = walk(&broken).remove(0).unwrap_err();
    assert_eq!((bad.reason, bad.queue_id), (WireError::invalid("magic", 4), None));
}

#[test]
fn an_empty_body_is_a_body() {
    let message = StoredMessage::decode(encoded(&StoredRecord { body: b"", ..sample() }).into()).unwrap();
    assert_eq!(message.body(), Bytes::new());
    assert!(message.crc_matches());
}

#[test]
fn checksums_are_checked_on_request() {
    let mut broken = spec();
    broken[88] ^= 1;
    let body = Bytes::from([broken, spec()].concat());
    assert!(Messages::new(body.clone()).all(|message| message.is_ok()));
    let mut checked = Messages::new(body).crc(CrcCheck::Verify);
    let bad = checked.next().unwrap().unwrap_err();
    assert_eq!(bad.reason, WireError::new(WireErrorKind::Checksum("body"), 8));
    assert!(checked.next().unwrap().is_ok());
}

#[test]
fn topics_must_be_text_and_may_be_long() {
    let mut broken = spec();
    broken[94] = 0xFF;
    assert_eq!(walk(&broken)[0].as_ref().unwrap_err().reason, WireError::not_utf8("topic", 94));
    let topic = "t".repeat(300);
    let record = StoredRecord { topic: &topic, version: RecordVersion::for_topic(&topic), ..sample() };
    let message = StoredMessage::decode(encoded(&record).into()).unwrap();
    assert_eq!((message.topic(), message.version()), (topic.as_str(), RecordVersion::V2));
    // V1 has one byte for the length: a pop-retry message is written so whatever its topic.
    let topic = "t".repeat(255);
    let message = StoredMessage::decode(encoded(&StoredRecord { topic: &topic, ..sample() }).into()).unwrap();
    assert_eq!(message.topic(), topic);
    let refused = StoredRecord { topic: &"t".repeat(256), ..sample() }.encode(&mut Vec::new()).unwrap_err();
    assert_eq!(refused.to_string(), "topic of 256 bytes is above the limit of 255");
}

#[test]
fn properties_at_and_above_the_limit() {
    let fits = [b'x'; 32_767];
    let message = StoredMessage::decode(encoded(&StoredRecord { properties: &fits, ..sample() }).into()).unwrap();
    assert_eq!(message.properties_bytes(), &fits[..]);
    let mut out = Vec::new();
    let refused = StoredRecord { properties: &[b'x'; 32_768], ..sample() }.encode(&mut out).unwrap_err();
    assert_eq!((refused.what, refused.limit), ("properties", 32_767));
    assert!(out.is_empty());
}

#[test]
fn a_body_shares_the_block_it_came_in() {
    let block = Bytes::from([spec(), spec()].concat());
    let message = Messages::new(block.clone()).nth(1).unwrap().unwrap();
    let body = message.body();
    assert_eq!(body.as_ptr(), block[123 + 88..].as_ptr());
    let moved = message.moved_to(Bytes::copy_from_slice(message.record())).unwrap();
    assert_ne!(moved.body().as_ptr(), body.as_ptr());
    assert_eq!((moved.body(), moved.topic(), moved.store_host()), (body, "TopicTest", message.store_host()));
    assert!(message.moved_to(Bytes::from_static(b"other")).is_none());
}

#[test]
fn a_decompressed_message_keeps_everything_else() {
    let record = StoredRecord { sys_flag: SysFlag(0x109), ..sample() };
    let message = StoredMessage::decode(encoded(&record).into()).unwrap();
    assert_eq!(message.compression(), Ok(Some(Compression::Lz4)));
    let plain = message.with_body(Bytes::from_static(b"plain"));
    assert_eq!((plain.body_bytes(), plain.compression()), (&b"plain"[..], Ok(None)));
    assert_eq!(plain.sys_flag(), SysFlag(0x108));
    assert_eq!(plain.topic(), "TopicTest");
    let popped = plain.with_properties(Bytes::from_static(b"POP_CK\x01x\x02"));
    assert_eq!(popped.properties().get("POP_CK"), Some("x"));
}

#[test]
fn inner_batches_are_unpacked() {
    let mut batch = BatchEncoder::new();
    batch.push(7, b"one", b"KEYS\x01a\x02").unwrap();
    batch.push(8, b"", b"").unwrap();
    assert_eq!((batch.count(), batch.encoded_len()), (2, 22 + 3 + 7 + 22));
    let body = batch.finish();
    let record = StoredRecord { body: &body, sys_flag: SysFlag(0xC0), ..sample() };
    let outer = StoredMessage::decode(encoded(&record).into()).unwrap();
    let inner: Vec<_> = InnerBatch::open(&outer).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(inner.len(), 2);
    assert_eq!((inner[0].queue_offset(), inner[1].queue_offset()), (100, 101));
    assert_eq!((inner[0].flag(), inner[0].body_bytes()), (7, &b"one"[..]));
    assert_eq!(inner[0].properties().get("KEYS"), Some("a"));
    assert_eq!((inner[1].topic(), inner[1].commit_log_offset()), ("TopicTest", 0x1234));
    assert_eq!(inner[1].born_host(), record.born_host);
    assert!(!inner[1].is_inner_batch() && inner[1].properties().iter().next().is_none());
    let compressed = StoredRecord { sys_flag: SysFlag(0xC1), ..record };
    assert!(InnerBatch::open(&StoredMessage::decode(encoded(&compressed).into()).unwrap()).is_none());
    assert!(InnerBatch::open(&StoredMessage::decode(spec().into()).unwrap()).is_none());
}

#[test]
fn a_bad_inner_record_names_its_offset() {
    let mut batch = BatchEncoder::new();
    batch.push(0, b"one", b"").unwrap();
    let mut body = batch.finish().to_vec();
    let good = body.clone();
    body[19] = 200;
    let record = StoredRecord { body: &[good, body].concat(), sys_flag: SysFlag(0xC0), ..sample() };
    let outer = StoredMessage::decode(encoded(&record).into()).unwrap();
    let inner: Vec<_> = InnerBatch::open(&outer).unwrap().collect();
    assert!(inner[0].is_ok());
    let bad = inner[1].as_ref().unwrap_err();
    assert_eq!((bad.queue_id, bad.queue_offset), (Some(3), Some(101)));
}

#[test]
fn batch_record_of_the_specification() {
    let bytes = unhex(
        "000000360000000000000000000000070000000 4626f6479001c4b455953016b310257414954017472756502544147530154616741\
02"
        .replace(' ', "")
        .as_str(),
    );
    let mut batch = BatchEncoder::with_capacity(bytes.len());
    batch.push(7, b"body", b"KEYS\x01k1\x02WAIT\x01true\x02TAGS\x01TagA\x02").unwrap();
    assert_eq!(batch.finish(), bytes);
    let records: Vec<_> = BatchRecords::new(bytes.into()).collect::<Result<_, _>>().unwrap();
    assert_eq!((records[0].flag, records[0].view().get("WAIT")), (7, Some("true")));
}

/// Layout, 64-bit fields, 32-bit fields, kinds of host, body, topic, properties.
type Fields = (bool, [i64; 5], [i32; 4], [u8; 2], Vec<u8>, String, Vec<u8>);

fn record_strategy() -> impl Strategy<Value = Fields> {
    (
        any::<bool>(),
        any::<[i64; 5]>(),
        any::<[i32; 4]>(),
        any::<[u8; 2]>(),
        proptest::collection::vec(any::<u8>(), 0..100),
        "[a-zA-Z%é]{0,60}",
        proptest::collection::vec(any::<u8>(), 0..60),
    )
}

fn host(kind: u8) -> SocketAddr {
    if kind.is_multiple_of(2) {
        SocketAddr::from(([kind, 2, 3, 4], u16::from(kind)))
    } else {
        SocketAddr::from(([u16::from(kind); 8], u16::from(kind)))
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded((v2, longs, ints, hosts, body, topic, properties) in record_strategy()) {
        let record = StoredRecord {
            version: if v2 { RecordVersion::V2 } else { RecordVersion::V1 },
            queue_id: ints[0],
            flag: ints[1],
            queue_offset: longs[0],
            commit_log_offset: longs[1],
            sys_flag: SysFlag(ints[2]),
            born_timestamp: longs[2],
            born_host: host(hosts[0]),
            store_timestamp: longs[3],
            store_host: host(hosts[1]),
            reconsume_times: ints[3],
            prepared_transaction_offset: longs[4],
            body: &body,
            topic: &topic,
            properties: &properties,
        };
        let bytes = Bytes::from(encoded(&record));
        let message = Messages::new(bytes).crc(CrcCheck::Verify).next().unwrap().unwrap();
        let again = StoredRecord {
            version: message.version(),
            queue_id: message.queue_id(),
            flag: message.flag(),
            queue_offset: message.queue_offset(),
            commit_log_offset: message.commit_log_offset(),
            sys_flag: record.sys_flag,
            born_timestamp: message.born_timestamp(),
            born_host: message.born_host(),
            store_timestamp: message.store_timestamp(),
            store_host: message.store_host(),
            reconsume_times: message.reconsume_times(),
            prepared_transaction_offset: message.prepared_transaction_offset(),
            body: message.body_bytes(),
            topic: message.topic(),
            properties: message.properties().as_bytes(),
        };
        prop_assert_eq!(again, record);
        // Bits the codec does not know come back as they were written.
        let known = SysFlag::BORN_HOST_V6 | SysFlag::STORE_HOST_V6;
        prop_assert_eq!(message.sys_flag().without(known), record.sys_flag.without(known));
    }

    #[test]
    fn hostile_bytes_neither_panic_nor_leave_the_fence(
        at in 0_usize..123, value in any::<u8>(), cut in 0_usize..200, tail in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut body = [spec(), spec()].concat();
        body[at] = value;
        body.extend_from_slice(&tail);
        body.truncate(body.len().saturating_sub(cut));
        let total = body.len();
        let mut walked = 0;
        for message in Messages::new(body.into()) {
            walked += match message {
                Ok(message) => {
                    let _ = (message.topic(), message.body(), message.store_host(), message.properties().iter().count());
                    message.record().len()
                }
                Err(bad) => bad.raw.len(),
            };
        }
        prop_assert!(walked <= total);
    }
}
