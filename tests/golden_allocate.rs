//! Every allocation strategy against Java's results.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use rocketry_core::{Allocation, MessageQueue};
use rocketry_testkit::vectors;
use serde_json::Value;

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_else(|| panic!("{member} of {value}")).into()
}

fn queues(value: &Value) -> Vec<MessageQueue> {
    let list = value.as_array().unwrap_or_else(|| panic!("no queues: {value}"));
    let queue = |queue: &Value| {
        let id = queue["queueId"].as_i64().and_then(|id| i32::try_from(id).ok()).expect("a queue id");
        MessageQueue::new(text(queue, "topic"), text(queue, "brokerName"), id)
    };
    list.iter().map(queue).collect()
}

#[test]
fn reb_04_reb_12_every_strategy_divides_as_java_does() {
    let mut compared = 0;
    for (line, vector) in vectors::load("allocate.jsonl").iter().enumerate() {
        let all = queues(&vector["queues"]);
        let members: Vec<String> = vector["consumers"]
            .as_array()
            .expect("members")
            .iter()
            .map(|id| id.as_str().expect("an id").into())
            .collect();
        let me = text(vector, "me");
        for (name, result) in vector["result"].as_object().expect("results") {
            let strategy: Allocation = name.parse().unwrap_or_else(|error| panic!("{error}"));
            let mine = strategy.divide(&all, &members, &me).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(mine, queues(result), "line {}, {name}", line + 1);
            compared += 1;
        }
    }
    assert_eq!(compared, 720);
}
