//! JSON bodies against the golden values, and those of captured conversations.

use std::collections::BTreeMap;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::{AssignmentReply, ConsumerList, QueryAssignment};
use rocketry_codec::body::heartbeat::{CheckClient, HeartbeatData};
use rocketry_codec::body::lock::{LockReply, LockRequest};
use rocketry_codec::body::offset::{ConsumerStatus, ResetOffsets};
use rocketry_codec::body::route::TopicRoute;
use rocketry_codec::body::running::{ConsumeDirectlyResult, RunningInfo};
use rocketry_codec::frame::Frame;
use rocketry_codec::json::{self, Key, Value};
use rocketry_codec::limits::Limits;
use rocketry_testkit::vectors;

/// Every leaf with its path, sorted, so that two texts can be compared whatever the order of members and of sets.
fn leaves(value: &Value<'_>, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for member in object.members() {
                let key = match &member.key {
                    Key::Text(text) => text.to_string(),
                    Key::Object(key) => all(&Value::Object(key.clone())).join("&"),
                };
                leaves(&member.value, &format!("{path}/{key}"), out);
            }
        }
        Value::Array(items) => {
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

/// Decodes and encodes again: equal to the byte, or where Java writes a map in hash order, equal in content.
fn round<B: JsonBody>(bytes: &[u8], name: &str) {
    let again = B::decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}")).encode();
    if bytes.windows(2).any(|pair| pair == b"{{") {
        assert_eq!(again.len(), bytes.len(), "{name}");
        same(bytes, &again, name);
    } else {
        assert_eq!(again, String::from_utf8_lossy(bytes), "{name}");
    }
}

#[test]
fn every_body_decodes_and_encodes_as_java_does() {
    for line in vectors::load("bodies.jsonl") {
        let name = line["type"].as_str().expect("a type").to_owned();
        let bytes = vectors::hex(&line["bytes"]);
        match name.as_str() {
            "TopicRouteData" => round::<TopicRoute>(&bytes, &name),
            "HeartbeatData" => round::<HeartbeatData>(&bytes, &name),
            "LockBatchRequestBody" => round::<LockRequest>(&bytes, &name),
            "LockBatchResponseBody" => round::<LockReply>(&bytes, &name),
            "ResetOffsetBody" => round::<ResetOffsets>(&bytes, &name),
            "GetConsumerStatusBody" => round::<ConsumerStatus>(&bytes, &name),
            "ConsumerRunningInfo" => round::<RunningInfo>(&bytes, &name),
            "ConsumeMessageDirectlyResult" => round::<ConsumeDirectlyResult>(&bytes, &name),
            other => panic!("{other}: no check for this type"),
        }
    }
}

/// A captured body in its typed form and back; `false` when the code has no JSON body that is checked here.
fn check(code: i32, response: bool, body: &[u8], name: &str) -> bool {
    let again = match (code, response) {
        (105, true) => TopicRoute::decode(body).map(|body| body.encode()),
        (34, false) => HeartbeatData::decode(body).map(|body| body.encode()),
        (38, true) => ConsumerList::decode(body).map(|body| body.encode()),
        (41 | 42, false) => LockRequest::decode(body).map(|body| body.encode()),
        (41, true) => LockReply::decode(body).map(|body| body.encode()),
        (46, false) => CheckClient::decode(body).map(|body| body.encode()),
        (400, false) => QueryAssignment::decode(body).map(|body| body.encode()),
        (400, true) => AssignmentReply::decode(body).map(|body| body.encode()),
        (307, true) => RunningInfo::decode(body).map(|body| body.encode()),
        (220, false) => ResetOffsets::decode(body).map(|body| body.encode()),
        _ => return false,
    };
    let again = again.unwrap_or_else(|error| panic!("{name}: {error}"));
    if name.contains("4.2.0") {
        // Members that 4.2.0's servers do not write are read as their defaults, and written so.
        let defaults = [
            r#","enableActingMaster":false"#,
            r#","heartbeatFingerprint":0"#,
            r#","withoutSub":false"#,
            r#","onlyThisBroker":false"#,
        ];
        let plain = |text: String| defaults.iter().fold(text, |text, member| text.replace(member, ""));
        let old = String::from_utf8_lossy(body).replace("topicSynFlag", "topicSysFlag");
        same(plain(old).as_bytes(), &plain(again), name);
    } else {
        same(body, &again, name);
    }
    true
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
                let Some(code) = asked.get(&(connection, !from_client, frame.opaque())) else { continue };
                *code
            } else {
                asked.insert((connection, from_client, frame.opaque()), frame.code());
                frame.code()
            };
            let wanted = !frame.body().is_empty() && (!frame.is_response() || frame.code() == 0);
            let name = format!("{capture}:{}", number + 1);
            if wanted && check(code, frame.is_response(), frame.body(), &name) {
                *checked.entry((code, frame.is_response())).or_default() += 1;
            }
        }
        for kind in [(105, true), (34, false), (38, true)] {
            assert!(checked.contains_key(&kind), "{capture} has no body of {kind:?}: {checked:?}");
        }
    }
}
