//! The client side of a recorded conversation, played against the embedded servers in virtual time: every answer is held
//! against the one that Apache's broker 5.3.3 gave.
//!
//! Compared are the code, the remark, the names of the header fields and whether there is a body; the values of fields
//! that do not depend on clocks, ids or addresses; and, for the requests of [`EXACT`], the body itself. What is not
//! compared is named in [`capture::SKIPPED`] and [`NOT_COMPARED`], with the reason.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod capture;
mod stage;

use std::collections::BTreeMap;

use rocketry_codec::Frame;
use rocketry_codec::codes::RequestCode;

use capture::{Capture, Exchange};
use stage::Stage;

/// Requests whose answer must have the same body, byte for byte, but for the order of sets.
const EXACT: &[RequestCode] = &[
    RequestCode::GET_BROKER_CLUSTER_INFO,
    RequestCode::GET_CONSUMER_LIST_BY_GROUP,
    RequestCode::GET_TOPIC_CONFIG,
    RequestCode::LOCK_BATCH_MQ,
    RequestCode::UNLOCK_BATCH_MQ,
];

/// Fields whose values are clocks, ids or places in the log.
const NOT_COMPARED: &[&str] = &["msgId", "transactionId"];

fn fields(frame: &Frame) -> BTreeMap<String, String> {
    frame.fields().map(|field| (field.name.into_owned(), field.value.text().into_owned())).collect()
}

/// A list of queues in one order: Java writes its sets in hash order.
fn without_order(body: String) -> String {
    let Some(list) = body.strip_prefix("{\"lockOKMQSet\":[") else { return body };
    let mut queues: Vec<&str> = list.trim_end_matches("]}").split_inclusive('}').collect();
    queues.iter_mut().for_each(|queue| *queue = queue.trim_start_matches(','));
    queues.sort_unstable();
    queues.concat()
}

/// What differs between two answers.
fn differences(exchange: &Exchange, ours: &Frame, theirs: &Frame) -> Vec<String> {
    let mut found = Vec::new();
    let mut hold = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            found.push(format!("{what}: ours {ours}, theirs {theirs}"));
        }
    };
    hold("code", ours.code().to_string(), theirs.code().to_string());
    hold("remark", format!("{:?}", ours.remark()), format!("{:?}", theirs.remark()));
    hold("version", ours.version().0.to_string(), theirs.version().0.to_string());
    hold("language", ours.language().to_string(), theirs.language().to_string());
    let (mut mine, mut their) = (fields(ours), fields(theirs));
    hold("field names", format!("{:?}", mine.keys()), format!("{:?}", their.keys()));
    mine.retain(|name, _| !NOT_COMPARED.contains(&name.as_str()));
    their.retain(|name, _| !NOT_COMPARED.contains(&name.as_str()));
    if exchange.delayed() {
        // A delayed message tells its place in the level's queue, which has a history of its own.
        mine.remove("queueOffset");
        their.remove("queueOffset");
    }
    hold("fields", format!("{mine:?}"), format!("{their:?}"));
    hold("has a body", (!ours.body().is_empty()).to_string(), (!theirs.body().is_empty()).to_string());
    let text = |frame: &Frame| without_order(String::from_utf8_lossy(frame.body()).into_owned());
    if EXACT.contains(&exchange.request.request_code()) || exchange.is_route() {
        hold("body", text(ours), text(theirs));
    }
    found
}

#[test]
fn a_recorded_client_gets_the_same_answers() {
    let capture = Capture::load("captures/java-client-with-5.3.3.jsonl");
    let mut stage = Stage::set_for(&capture);
    for exchange in &capture.exchanges {
        stage.play(exchange);
    }
    stage.pass_to(capture.end_ms);
    let (mut compared, mut unlike) = (0, Vec::new());
    for exchange in &capture.exchanges {
        let Some(theirs) = exchange.answer.as_ref().filter(|_| exchange.skipped().is_none()) else { continue };
        match stage.answer(exchange) {
            None => unlike.push(format!("{}: no answer, theirs {theirs:?}", exchange.describe())),
            Some(ours) => {
                compared += 1;
                for difference in differences(exchange, ours, theirs) {
                    unlike.push(format!("{}: {difference}", exchange.describe()));
                }
            }
        }
    }
    assert!(unlike.is_empty(), "{} of {compared} compared:\n{}", unlike.len(), unlike.join("\n"));
    assert!(compared > 190, "only {compared} answers were compared");
}

#[test]
fn members_are_told_of_changes_as_often_as_by_apache() {
    let capture = Capture::load("captures/java-client-with-5.3.3.jsonl");
    let mut stage = Stage::set_for(&capture);
    for exchange in &capture.exchanges {
        stage.play(exchange);
    }
    stage.pass_to(capture.end_ms);
    assert_eq!(stage.told(), capture.told);
}
