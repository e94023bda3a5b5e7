//! Messages, batches, properties, ids, names and signatures against the golden values of Apache's own classes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use rocketry_codec::ids::{OffsetId, UniqueId};
use rocketry_codec::message::{
    BatchEncoder, BatchRecords, Compression, CrcCheck, Messages, Properties, PropertiesView, StoredMessage,
    StoredRecord, SysFlag,
};
use rocketry_codec::names::{self, NameError};
use rocketry_codec::pop::{ReceiptHandle, RetryMark};
use rocketry_codec::sign::Credentials;
use rocketry_codec::tags::TagExpression;
use rocketry_codec::{hash, namespace};
use rocketry_compress::{DEFAULT_LIMIT, plain_body};
use rocketry_testkit::vectors::{hex, load};
use serde_json::Value;

/// A member that must be text.
fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().unwrap_or_else(|| panic!("{name} of {line}"))
}

/// A member that must be a number.
fn number<N: TryFrom<i64>>(line: &Value, name: &str) -> N {
    line[name].as_i64().and_then(|value| N::try_from(value).ok()).unwrap_or_else(|| panic!("{name} of {line}"))
}

/// A member that is an object of texts, in its order; Java's absent map is an empty one.
fn pairs<'a>(line: &'a Value, name: &str) -> Vec<(&'a str, &'a str)> {
    if line[name].is_null() {
        return Vec::new();
    }
    let object = line[name].as_object().unwrap_or_else(|| panic!("{name} of {line}"));
    object.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_else(|| panic!("{key}")))).collect()
}

fn map<'a>(line: &'a Value, name: &str) -> BTreeMap<&'a str, &'a str> {
    pairs(line, name).into_iter().collect()
}

/// `10.1.2.3 5000`
fn host(line: &Value, name: &str) -> SocketAddr {
    let (ip, port) = text(line, name).split_once(' ').unwrap_or_else(|| panic!("{name} of {line}"));
    SocketAddr::new(ip.parse().expect("an address"), port.parse().expect("a port"))
}

fn record(message: &StoredMessage) -> StoredRecord<'_> {
    StoredRecord {
        version: message.version(),
        queue_id: message.queue_id(),
        flag: message.flag(),
        queue_offset: message.queue_offset(),
        commit_log_offset: message.commit_log_offset(),
        sys_flag: message.sys_flag(),
        born_timestamp: message.born_timestamp(),
        born_host: message.born_host(),
        store_timestamp: message.store_timestamp(),
        store_host: message.store_host(),
        reconsume_times: message.reconsume_times(),
        prepared_transaction_offset: message.prepared_transaction_offset(),
        body: message.body_bytes(),
        topic: message.topic(),
        properties: message.properties().as_bytes(),
    }
}

fn check_message(message: &StoredMessage, expected: &Value) {
    assert_eq!(message.topic(), text(expected, "topic"));
    assert_eq!(message.queue_id(), number::<i32>(expected, "queueId"));
    assert_eq!(message.flag(), number::<i32>(expected, "flag"));
    assert_eq!(message.queue_offset(), number::<i64>(expected, "queueOffset"));
    assert_eq!(message.commit_log_offset(), number::<i64>(expected, "commitLogOffset"));
    assert_eq!(message.born_timestamp(), number::<i64>(expected, "bornTimestamp"));
    assert_eq!(message.born_host(), host(expected, "bornHost"));
    assert_eq!(message.store_timestamp(), number::<i64>(expected, "storeTimestamp"));
    assert_eq!(message.store_host(), host(expected, "storeHost"));
    assert_eq!(message.reconsume_times(), number::<i32>(expected, "reconsumeTimes"));
    assert_eq!(message.prepared_transaction_offset(), number::<i64>(expected, "preparedTransactionOffset"));
    assert_eq!(i64::from(message.body_crc()), number::<i64>(expected, "bodyCRC"));
    assert_eq!(message.offset_id().to_string(), text(expected, "msgId"));
    let properties: BTreeMap<_, _> = message.properties().iter().collect();
    assert_eq!(properties, map(expected, "properties"));
    for (name, value) in properties {
        assert_eq!(message.properties().get(name), Some(value));
    }
    check_body(message, expected);
}

fn check_body(message: &StoredMessage, expected: &Value) {
    let compression = match expected["compression"].as_str() {
        None => None,
        Some("ZLIB") => Some(Compression::Zlib),
        Some("LZ4") => Some(Compression::Lz4),
        Some("ZSTD") => Some(Compression::Zstd),
        Some(other) => panic!("{other}"),
    };
    assert_eq!(message.compression(), Ok(compression));
    // Java hands out messages decompressed, with the compressed bit cleared.
    let body = plain_body(message, DEFAULT_LIMIT).expect("a body of Java");
    assert_eq!(body, hex(&expected["body"]));
    let plain = message.clone().with_body(body);
    assert_eq!(plain.sys_flag(), SysFlag(number(expected, "sysFlag")));
}

#[test]
fn stored_messages() {
    let lines = load("messages.jsonl");
    let mut block = Vec::new();
    for line in &lines {
        let bytes = Bytes::from(hex(&line["bytes"]));
        block.extend_from_slice(&bytes);
        let message = StoredMessage::decode(bytes.clone()).expect("a message of Java");
        check_message(&message, &line["message"]);
        let mut written = Vec::new();
        record(&message).encode(&mut written).expect("lengths that fit");
        assert_eq!(written, bytes);
    }
    // All of them as one pull body, with every checksum compared.
    let walked: Vec<_> = Messages::new(Bytes::from(block)).crc(CrcCheck::Verify).collect();
    assert_eq!(walked.len(), lines.len());
    for (message, line) in walked.into_iter().zip(&lines) {
        check_message(&message.expect("a message of Java"), &line["message"]);
    }
}

#[test]
fn batches() {
    for line in load("batches.jsonl") {
        let bytes = hex(&line["bytes"]);
        let messages = line["messages"].as_array().expect("messages");
        let mut encoder = BatchEncoder::new();
        for message in messages {
            let properties = text(message, "propertiesString").as_bytes();
            encoder.push(number(message, "flag"), &hex(&message["body"]), properties).expect("lengths that fit");
        }
        assert_eq!(encoder.count(), messages.len());
        assert_eq!(encoder.finish(), bytes);
        let records: Vec<_> = BatchRecords::new(Bytes::from(bytes)).collect::<Result<_, _>>().expect("whole records");
        assert_eq!(records.len(), messages.len());
        for (record, message) in records.iter().zip(messages) {
            assert_eq!(record.flag, number::<i32>(message, "flag"));
            assert_eq!(record.body, hex(&message["body"]));
            assert_eq!(record.properties, text(message, "propertiesString"));
            // Java adds WAIT to what the message had.
            let mut expected = map(message, "properties");
            expected.insert("WAIT", "true");
            assert_eq!(record.view().iter().collect::<BTreeMap<_, _>>(), expected);
        }
    }
}

#[test]
fn property_strings() {
    for line in load("properties.jsonl") {
        let string = text(&line, "string");
        let view = PropertiesView::new(string.as_bytes());
        let expected = map(&line, "map");
        assert_eq!(view.iter().collect::<BTreeMap<_, _>>(), expected, "{string:?}");
        for (name, value) in &expected {
            assert_eq!(view.get(name), Some(*value), "{string:?}");
        }
        if line["from"].is_null() {
            continue;
        }
        // The order of a Java map is arbitrary: the one it was written in is taken.
        let from = map(&line, "from");
        let mut written = Properties::new();
        for (name, value) in view {
            assert_eq!(from.get(name), Some(&value));
            written.set(name, value).expect("a property Java wrote");
        }
        assert_eq!(written.as_str(), string);
        assert_eq!(written.view().iter().count(), from.len());
    }
}

#[test]
fn message_ids() {
    let mut last: Option<UniqueId> = None;
    for line in load("message-ids.jsonl") {
        let id = text(&line, "id");
        let ip: IpAddr = text(&line, "ip").parse().expect("an address");
        if text(&line, "kind") == "offset" {
            let expected =
                OffsetId { host: SocketAddr::new(ip, number(&line, "port")), offset: number(&line, "offset") };
            assert_eq!(id.parse(), Ok(expected));
            assert_eq!(id.to_ascii_lowercase().parse(), Ok(expected));
            assert_eq!(expected.to_string(), id);
            continue;
        }
        let unique: UniqueId = id.parse().expect("a unique id of Java");
        assert_eq!((unique.ip, unique.pid), (ip, number(&line, "pid")));
        assert_eq!(unique.to_string(), id);
        let time: i64 = number(&line, "nearlyTimeMs");
        assert_eq!(unique.nearly_time_ms(time + 1, 0), time);
        if let Some(last) = last.replace(unique) {
            assert_eq!(unique.counter, last.counter + 1, "Java counts on");
        }
    }
    assert!(last.is_some());
}

#[test]
fn string_hashes() {
    for line in load("hashes.jsonl") {
        assert_eq!(hash::java_hash(text(&line, "string")), number::<i32>(&line, "javaHashCode"), "{line}");
    }
}

#[test]
fn tag_expressions() {
    for line in load("tags.jsonl") {
        let parsed = TagExpression::parse(line["expression"].as_str().unwrap_or_default());
        if let Some(error) = line["error"].as_str() {
            assert_eq!(parsed.expect_err("refused").to_string(), error);
            continue;
        }
        let parsed = parsed.expect("an expression Java takes");
        assert_eq!(parsed.as_str(), text(&line, "subString"));
        let strings = |name: &str| -> BTreeSet<String> {
            line[name].as_array().expect(name).iter().map(|tag| tag.as_str().expect(name).to_owned()).collect()
        };
        assert_eq!(parsed.tags().map(str::to_owned).collect::<BTreeSet<_>>(), strings("tags"));
        let mut codes: Vec<i64> =
            line["codes"].as_array().expect("codes").iter().map(|code| code.as_i64().expect("a code")).collect();
        codes.sort_unstable();
        assert_eq!(parsed.codes().iter().map(|code| i64::from(*code)).collect::<Vec<_>>(), codes);
    }
}

#[test]
fn topic_and_group_names() {
    let java = |result: Result<(), NameError>| result.err().map(|error| format!("{error}{}", names::JAVA_FAQ));
    for line in load("names.jsonl") {
        // Java's absent name is our empty one; there is no absent name to send to.
        let name = line["name"].as_str().unwrap_or_default();
        let expected = |member: &str| line[member].as_str().map(str::to_owned);
        assert_eq!(java(names::check_topic(name)), expected("topicError"));
        assert_eq!(java(names::check_group(name)), expected("groupError"));
        if !line["name"].is_null() {
            assert_eq!(java(names::check_sendable(name)), expected("sendTopicError"));
        }
    }
}

#[test]
fn namespaces() {
    for line in load("namespaces.jsonl") {
        let (space, resource) = (text(&line, "namespace"), text(&line, "resource"));
        assert_eq!(namespace::wrap(space, resource), text(&line, "wrap"), "{line}");
        assert_eq!(namespace::strip_any(resource), text(&line, "without"), "{line}");
        assert_eq!(namespace::strip(space, resource), text(&line, "withoutNs"), "{line}");
        assert_eq!(namespace::namespace_of(resource), text(&line, "namespaceOf"), "{line}");
        assert_eq!(namespace::wrap_retry(space, resource).as_deref(), line["wrapRetry"].as_str(), "{line}");
    }
}

#[test]
fn signatures() {
    for line in load("acl.jsonl") {
        let mut credentials = Credentials::new(text(&line, "accessKey"), text(&line, "secretKey"));
        if let Some(token) = line["securityToken"].as_str() {
            credentials = credentials.with_token(token);
        }
        let fields = pairs(&line, "extFields");
        let body = hex(&line["body"]);
        assert_eq!(credentials.signed_content(fields.iter().copied(), &body), hex(&line["content"]));
        let signature = text(&line, "signature");
        assert_eq!(credentials.sign(fields.iter().copied(), &body), signature);
        assert!(credentials.verify(fields.iter().copied(), &body, signature));
        assert!(!credentials.verify(fields.iter().copied().skip(1), &body, signature));
    }
}

#[test]
fn receipt_handles() {
    for line in load("pop-handles.jsonl") {
        let topic = text(&line, "topic");
        let info = text(&line, "extraInfo");
        let handle = ReceiptHandle {
            check_point_offset: number(&line, "ckQueueOffset"),
            pop_time: number(&line, "popTime"),
            invisible_time: number(&line, "invisibleTime"),
            revive_queue_id: number(&line, "reviveQid"),
            retry: RetryMark::of_topic(topic),
            broker_name: text(&line, "broker").to_owned(),
            queue_id: number(&line, "queueId"),
            queue_offset: number(&line, "queueOffset"),
        };
        assert_eq!(handle.retry.as_str(), text(&line, "retry"));
        assert_eq!(handle.retry.real_topic("g", "topic"), text(&line, "realTopic"));
        assert_eq!(info.parse(), Ok(handle.clone()));
        assert_eq!(handle.to_string(), info);
    }
}
