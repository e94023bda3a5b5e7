//! `allocate`: divides queues among consumers, a JSON line in, a JSON array out.

use std::io::{BufRead, Write};

use rocketry_core::{Allocation, MessageQueue};
use serde_json::{Value, json};

use crate::args::Allocate;
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &Allocate) -> Result<(), Failure> {
    let strategy: Allocation = args.strategy.parse().map_err(|error| Failure::usage(format!("--strategy: {error}")))?;
    let mut out = std::io::stdout().lock();
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let place = |error: &dyn std::fmt::Display| Failure::usage(format!("line {}: {error}", number + 1));
        let case: Value = serde_json::from_str(&line).map_err(|error| place(&error))?;
        let (queues, members, me) = read(&case).map_err(|why| place(&why))?;
        let mine = strategy.divide(&queues, &members, &me).map_err(|error| place(&error))?;
        let array: Vec<Value> = mine.iter().map(shown).collect();
        writeln!(out, "{}", Value::Array(array))?;
    }
    Ok(())
}

fn shown(queue: &MessageQueue) -> Value {
    json!({ "topic": queue.topic.as_str(), "brokerName": queue.broker.as_str(), "queueId": queue.id })
}

fn read(case: &Value) -> Result<(Vec<MessageQueue>, Vec<String>, String), String> {
    let text = |value: &Value, what: &str| value.as_str().map(str::to_owned).ok_or(format!("{what} is not a text"));
    let list = |name: &str| case[name].as_array().ok_or(format!("{name} is not an array"));
    let queue = |value: &Value| {
        let id = value["queueId"].as_i64().and_then(|id| i32::try_from(id).ok()).ok_or("queueId is not a number")?;
        Ok::<_, String>(MessageQueue::new(
            text(&value["topic"], "topic")?,
            text(&value["brokerName"], "brokerName")?,
            id,
        ))
    };
    let queues = list("queues")?.iter().map(queue).collect::<Result<_, _>>()?;
    let members = list("consumers")?.iter().map(|id| text(id, "a consumer")).collect::<Result<_, _>>()?;
    Ok((queues, members, text(&case["me"], "me")?))
}
