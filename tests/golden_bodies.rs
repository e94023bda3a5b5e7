//! JSON bodies against the golden values, those of the specification, and those of captured conversations.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::offset::{ConsumerStatus, ResetOffsets};
use rocketry_codec::body::packed;
use rocketry_codec::body::registration::RegisterBroker;
use rocketry_codec::body::running::RunningInfo;
use rocketry_codec::frame::Frame;
use rocketry_codec::json::{self, Key, Value};
use rocketry_codec::limits::Limits;
use rocketry_testkit::{bodies, vectors};

/// Every leaf with its path, sorted, so that two texts can be compared whatever the order of members and of sets.
fn leaves(value: &Value<'_>, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            out.push(format!("{path}{{}}"));
            for member in object.members() {
                let key = match &member.key {
                    Key::Text(text) => text.to_string(),
                    Key::Object(key) => all(&Value::Object(key.clone())).join("&"),
                };
                leaves(&member.value, &format!("{path}/{key}"), out);
            }
        }
        Value::Array(items) => {
            out.push(format!("{path}[]"));
            for item in items {
                out.push(format!("{path}[{}]", all(item).join("&")));
            }
        }
        other => out.push(format!("{path}={other:?}")),
    }
}

fn all(value: &Value<'_>) -> Vec<String> {
    let mut out = Vec::new();
    leaves(value, "", &mut out);
    out.sort();
    out
}

fn same(text: &[u8], again: &str, name: &str) {
    let read = |bytes| json::read(bytes, &Limits::DEFAULT).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(all(&read(again.as_bytes())), all(&read(text)), "{name}: {}", String::from_utf8_lossy(text));
}

fn transcode(class: &str, text: &[u8], name: &str) -> String {
    let kind = bodies::kind(class).unwrap_or_else(|| panic!("{name}: {class} is not in the table"));
    (kind.transcode)(text, &Limits::DEFAULT).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Decodes and encodes again, equal to the byte.
fn exact(class: &str, text: &str) {
    assert_eq!(transcode(class, text.as_bytes(), class), text, "{class}");
}

#[test]
fn every_body_decodes_and_encodes_as_java_does() {
    for line in vectors::load("bodies.jsonl") {
        let (class, text) = (line["type"].as_str().expect("a type"), line["text"].as_str().expect("a text"));
        assert_eq!(vectors::hex(&line["bytes"]), text.as_bytes(), "{class}");
        match class {
            // Two entries in the order of Java's hash table, which means nothing.
            "ResetOffsetBody" | "GetConsumerStatusBody" | "ConsumerRunningInfo" => {
                let again = transcode(class, text.as_bytes(), class);
                assert_eq!(again.len(), text.len(), "{class}");
                same(text.as_bytes(), &again, class);
            }
            _ => exact(class, text),
        }
    }
}

/// Texts that Apache's classes (5.3.3) write; every kind of body is among them or among the golden values.
#[test]
fn every_kind_of_body_has_a_sample_that_survives_to_the_byte() {
    let mut seen: BTreeSet<String> =
        vectors::load("bodies.jsonl").iter().filter_map(|line| line["type"].as_str().map(str::to_owned)).collect();
    for line in vectors::load("body-samples.jsonl") {
        let class = line["type"].as_str().expect("a type");
        match class {
            "ResetOffsetBodyForC" => {
                let text = line["text"].as_str().expect("a text");
                let body = ResetOffsets::decode(text.as_bytes()).expect("a list of offsets");
                assert_eq!(body.encode_as_list(), text);
            }
            "RegisterBrokerBody.packed" => {
                let bytes = vectors::hex(&line["bytes"]);
                let body = packed::decode(&bytes, &Limits::DEFAULT).expect("a packed registration");
                assert_eq!(body.topics.topics.len(), 1);
                assert_eq!(body.topics.mapping_info.as_ref().map(BTreeMap::len), Some(1));
                assert_eq!(packed::encode(&body), bytes);
            }
            _ => exact(class, line["text"].as_str().expect("a text")),
        }
        seen.insert(class.to_owned());
    }
    for kind in bodies::ALL {
        assert!(seen.contains(kind.class), "{} has no sample", kind.class);
    }
}

#[test]
fn the_packed_registration_says_what_the_plain_one_says() {
    let lines = vectors::load("body-samples.jsonl");
    let line = |class: &str| lines.iter().find(|line| line["type"] == class).expect(class);
    let text = line("RegisterBrokerBody")["text"].as_str().expect("a text");
    let mut plain = RegisterBroker::decode(text.as_bytes()).expect("a registration");
    let bytes = vectors::hex(&line("RegisterBrokerBody.packed")["bytes"]);
    let packed = packed::decode(&bytes, &Limits::DEFAULT).expect("a registration");
    // The packed form leaves these out.
    plain.topics.mapping_details = None;
    plain.topics.mapping_data_version = None;
    assert_eq!(packed, plain);
}

/// The examples of consumer.md, Appendix A.2.
#[test]
fn the_examples_of_the_specification_survive() {
    let offsets = concat!(
        r#"{"offsetTable":{{"brokerName":"broker-a","queueId":1,"topic":"TopicTest"}:200,"#,
        r#"{"brokerName":"broker-a","queueId":0,"topic":"TopicTest"}:100}}"#
    );
    same(offsets.as_bytes(), &transcode("ResetOffsetBody", offsets.as_bytes(), "offsets"), "offsets");
    exact(
        "HeartbeatData",
        concat!(
            r#"{"clientID":"10.0.0.1@1#2","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","#,
            r#""consumeType":"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","#,
            r#""subscriptionDataSet":[{"classFilterMode":false,"codeSet":[2598919,2598920],"expressionType":"TAG","#,
            r#""subString":"TagA || TagB","subVersion":1700000000000,"tagsSet":["TagA","TagB"],"topic":"T"}],"#,
            r#""unitMode":false}],"heartbeatFingerprint":0,"#,
            r#""producerDataSet":[{"groupName":"CLIENT_INNER_PRODUCER"}],"withoutSub":false}"#
        ),
    );
    let lock = r#"{"clientId":"c","consumerGroup":"G","mqSet":[{"brokerName":"b","queueId":1,"topic":"T"}],"onlyThisBroker":false}"#;
    exact("LockBatchRequestBody", lock);
    exact("UnlockBatchRequestBody", lock);
    exact(
        "QueryAssignmentRequestBody",
        r#"{"clientId":"c","consumerGroup":"G","messageModel":"CLUSTERING","strategyName":"AVG","topic":"T"}"#,
    );
    exact("ResetOffsetBody", r#"{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:5}}"#);
    exact(
        "GetConsumerStatusBody",
        r#"{"consumerTable":{},"messageQueueTable":{{"brokerName":"b","queueId":1,"topic":"T"}:5}}"#,
    );
    exact(
        "ConsumeMessageDirectlyResult",
        r#"{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"spentTimeMills":0}"#,
    );
    exact(
        "ConsumerRunningInfo",
        concat!(
            r#"{"mqPopTable":{},"mqTable":{{"brokerName":"b","queueId":1,"topic":"T"}:{"cachedMsgCount":0,"#,
            r#""cachedMsgMaxOffset":0,"cachedMsgMinOffset":0,"cachedMsgSizeInMiB":0,"commitOffset":0,"droped":false,"#,
            r#""lastConsumeTimestamp":0,"lastLockTimestamp":0,"lastPullTimestamp":0,"locked":false,"#,
            r#""transactionMsgCount":0,"transactionMsgMaxOffset":0,"transactionMsgMinOffset":0,"tryUnlockTimes":0}},"#,
            r#""properties":{"k":"v"},"statusTable":{},"subscriptionSet":[],"userConsumerInfo":{}}"#
        ),
    );
}

#[test]
fn objects_in_key_position_are_read_as_text_too() {
    let plain = r#"{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:5}}"#;
    let quoted = r#"{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":5}}"#;
    assert_eq!(transcode("ResetOffsetBody", quoted.as_bytes(), "quoted"), plain);
    let body = ResetOffsets::decode(plain.as_bytes()).expect("offsets");
    assert_eq!(body.encode_standard(), quoted);
}

/// What Java (5.3.3) writes where one object stands in several places.
#[test]
fn references_as_java_writes_them_are_followed() {
    let stats = r#"{"statsDay":{"avgpt":0.0,"sum":7,"tps":0.0},"statsHour":{"$ref":"$.statsDay"},"statsMinute":{"$ref":"$.statsDay"}}"#;
    let again = transcode("BrokerStatsData", stats.as_bytes(), "statistics");
    assert_eq!(again.matches(r#""sum":7"#).count(), 3);
    let status = concat!(
        r#"{"consumerTable":{"10.0.0.1@12#3\"x\\y":{{"brokerName":"b","queueId":1,"topic":"t"}:5}},"#,
        r#""messageQueueTable":{"$ref":"$.consumerTable.10\\.0\\.0\\.1\\@12\\#3\\\"x\\\\y"}}"#
    );
    let status = ConsumerStatus::decode(status.as_bytes()).expect("positions");
    assert_eq!(status.queues.len(), 1);
    assert_eq!(status.consumers.values().next(), Some(&status.queues));
    let info = concat!(
        r#"{"mqPopTable":{{"brokerName":"b","queueId":1,"topic":"t"}:{"droped":false,"lastPopTimestamp":0,"waitAckCount":3}},"#,
        r#""mqTable":{{"$ref":"$.mqPopTable.null"}:{"commitOffset":-2}},"properties":{}}"#
    );
    let info = RunningInfo::decode(info.as_bytes()).expect("running information");
    assert_eq!(info.queues.keys().collect::<Vec<_>>(), info.pop_queues.keys().collect::<Vec<_>>());
    assert_eq!(info.queues.values().next().map(|queue| queue.commit_offset), Some(-2));
    let table = concat!(
        r#"{"offsetTable":{{"brokerName":"b","queueId":2,"topic":"t"}:{"lastUpdateTimestamp":0,"maxOffset":9,"minOffset":0},"#,
        r#"{"brokerName":"b","queueId":1,"topic":"t"}:{"$ref":"$.offsetTable.MessageQueue\\ \\[topic\\=t\\,\\ brokerName\\=b\\,\\ "#,
        r#"queueId\\=2\\]"}},"topicPutTps":0.0}"#
    );
    assert_eq!(transcode("TopicStatsTable", table.as_bytes(), "bounds").matches(r#""maxOffset":9"#).count(), 2);
}

/// What a name server (5.3.3) answers to a client that asks for standard JSON.
#[test]
fn the_standard_form_of_a_route_is_that_of_java() {
    let plain = concat!(
        r#"{"brokerDatas":[{"brokerAddrs":{-3:"y",0:"x"},"brokerName":"n","cluster":"c/é","enableActingMaster":false}],"#,
        r#""filterServerTable":{},"orderTopicConf":"x\u0000\b\n\u000B","#,
        r#""queueDatas":[{"brokerName":"a/b\u007Fé中😀\u0001\u2028<>'&","perm":0,"readQueueNums":0,"topicSysFlag":0,"writeQueueNums":0}]}"#
    );
    let standard = concat!(
        r#"{"brokerDatas":[{"brokerAddrs":{"-3":"y","0":"x"},"brokerName":"n","cluster":"c\/\u00E9","enableActingMaster":false}],"#,
        r#""filterServerTable":{},"orderTopicConf":"x\u0000\b\n\u000B","#,
        r#""queueDatas":[{"brokerName":"a\/b\u007F\u00E9\u4E2D\uD83D\uDE00\u0001\u2028<>'&","perm":0,"readQueueNums":0,"topicSysFlag":0,"writeQueueNums":0}]}"#
    );
    exact("TopicRouteData", plain);
    let route = rocketry_codec::body::route::TopicRoute::decode(standard.as_bytes()).expect("a route");
    assert_eq!(route.encode(), plain);
    assert_eq!(route.encode_standard(), standard);
}

/// The class of a captured body.
fn class(code: i32, response: bool) -> Option<&'static str> {
    Some(match (code, response) {
        (28, true) => "KVTable",
        (34, false) => "HeartbeatData",
        (38, true) => "GetConsumerListByGroupResponseBody",
        (41, false) => "LockBatchRequestBody",
        (41, true) => "LockBatchResponseBody",
        (42, false) => "UnlockBatchRequestBody",
        (46, false) => "CheckClientRequestBody",
        (105, true) => "TopicRouteData",
        (106, true) => "ClusterInfo",
        (200, false) => "SubscriptionGroupConfig",
        (202, true) => "TopicStatsTable",
        (206, true) => "TopicList",
        (208, true) => "ConsumeStats",
        (220, false) => "ResetOffsetBody",
        (307, true) => "ConsumerRunningInfo",
        (351, true) => "TopicConfigAndQueueMapping",
        (400, false) => "QueryAssignmentRequestBody",
        (400, true) => "QueryAssignmentResponseBody",
        (200_151, false) => "BatchAckMessageRequestBody",
        _ => return None,
    })
}

fn check(class: &str, body: &[u8], name: &str) {
    let again = transcode(class, body, name);
    if name.contains("4.2.0") {
        // Members that 4.2.0's servers do not write are read as their defaults, and written so.
        let defaults = [
            r#","enableActingMaster":false"#,
            r#","heartbeatFingerprint":0"#,
            r#","withoutSub":false"#,
            r#","onlyThisBroker":false"#,
            r#","pullOffset":0"#,
            r#","topicPutTps":0.0"#,
        ];
        let plain = |text: String| defaults.iter().fold(text, |text, member| text.replace(member, ""));
        let old = String::from_utf8_lossy(body).replace("topicSynFlag", "topicSysFlag");
        same(plain(old).as_bytes(), &plain(again), name);
    } else {
        same(body, &again, name);
    }
}

#[test]
fn every_captured_json_body_survives_its_typed_form() {
    for capture in ["captures/java-client-with-5.3.3.jsonl", "captures/java-client-with-4.2.0.jsonl"] {
        let mut asked: BTreeMap<(i64, bool, i32), i32> = BTreeMap::new();
        let mut checked = BTreeMap::<(i32, bool), u32>::new();
        for (number, line) in vectors::load(capture).iter().enumerate() {
            let frame = Frame::decode(Bytes::from(vectors::hex(&line["frame"])), &Limits::DEFAULT).expect("a frame");
            let from_client = line["direction"].as_str().is_some_and(|direction| direction.starts_with("client"));
            let connection = line["connection"].as_i64().expect("a connection");
            let code = if frame.is_response() {
                let code = asked.get(&(connection, !from_client, frame.opaque()));
                *code.unwrap_or_else(|| panic!("{capture}:{}: an answer to nothing", number + 1))
            } else {
                asked.insert((connection, from_client, frame.opaque()), frame.code());
                frame.code()
            };
            let name = format!("{capture}:{}", number + 1);
            if frame.body().first().is_some_and(|first| matches!(first, b'{' | b'[')) {
                let class = class(code, frame.is_response());
                let class = class.unwrap_or_else(|| panic!("{name}: a body of code {code} that has no class here"));
                check(class, frame.body(), &name);
                *checked.entry((code, frame.is_response())).or_default() += 1;
            }
        }
        for kind in [(105, true), (34, false), (38, true)] {
            assert!(checked.contains_key(&kind), "{capture} has no body of {kind:?}: {checked:?}");
        }
    }
}
