//! Message-trace records against the golden values of Apache's own classes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use rocketry_codec::trace::{TraceRecord, TracedKind};
use rocketry_testkit::vectors::load;
use serde_json::Value;

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value}"))
}

fn number<N: TryFrom<i64>>(value: &Value, name: &str) -> N {
    value[name].as_i64().and_then(|value| N::try_from(value).ok()).unwrap_or_else(|| panic!("{name} of {value}"))
}

/// The record of one bean of a context.
fn record<'a>(kind: &str, context: &'a Value, bean: &'a Value) -> TraceRecord<'a> {
    let timestamp_ms = number(context, "timeStamp");
    let region = Some(text(context, "regionId"));
    let group = text(context, "groupName");
    let (topic, message_id) = (text(bean, "topic"), text(bean, "msgId"));
    let (tags, keys) = (Some(text(bean, "tags")), Some(text(bean, "keys")));
    let (store_host, request_id) = (text(bean, "storeHost"), text(context, "requestId"));
    let success = context["success"].as_bool().expect("a flag");
    assert_eq!(text(bean, "msgType"), "Normal_Msg");
    match kind {
        "Pub" => TraceRecord::Published {
            timestamp_ms,
            region,
            group,
            topic,
            message_id,
            tags,
            keys,
            store_host,
            body_length: number(bean, "bodyLength"),
            cost_ms: number(context, "costTime"),
            kind: TracedKind::Normal,
            offset_message_id: Some(text(bean, "offsetMsgId")),
            success,
        },
        "Recall" => TraceRecord::Recalled { timestamp_ms, region, group, topic, message_id, success },
        "SubBefore" => {
            let redeliveries = number(bean, "retryTimes");
            TraceRecord::Consuming { timestamp_ms, region, group, request_id, message_id, redeliveries, keys }
        }
        "SubAfter" => TraceRecord::Consumed {
            request_id,
            message_id,
            cost_ms: number(context, "costTime"),
            success,
            keys,
            context_code: number(context, "contextCode"),
            ended: Some((timestamp_ms, group)),
        },
        "EndTransaction" => TraceRecord::EndedTransaction {
            timestamp_ms,
            region,
            group,
            topic,
            message_id,
            tags,
            keys,
            store_host,
            kind: TracedKind::Normal,
            transaction_id: Some(text(bean, "transactionId")),
            state: text(bean, "transactionState"),
            from_check: bean["fromTransactionCheck"].as_bool().expect("a flag"),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn trace_records() {
    let lines = load("trace.jsonl");
    assert!(lines.len() >= 15);
    for line in lines {
        let kind = text(&line, "type");
        let beans = line["context"]["traceBeans"].as_array().expect("beans");
        // Java writes one record for each message a handler got, and else only the first.
        let told = if kind.starts_with("Sub") { beans.len() } else { 1 };
        let records: Vec<TraceRecord<'_>> =
            beans.iter().take(told).map(|bean| record(kind, &line["context"], bean)).collect();
        let mut encoded = String::new();
        for record in &records {
            record.encode(&mut encoded);
        }
        assert_eq!(encoded, text(&line, "data"));
        let decoded: Vec<_> =
            TraceRecord::decode_all(text(&line, "data")).map(|read| read.expect("readable")).collect();
        assert_eq!(decoded, records);
    }
}
