//! Message trace: records of what became of messages, gathered and sent to a topic of their own (producer.md 8,
//! consumer.md 12.3).
//!
//! Decides when records are sent: as soon as [`MessageTrace::batch`](crate::api::MessageTrace) of them wait, or five
//! seconds after the first. Records about one topic travel together. A trace is help and not data: it is sent once, over
//! the client's own connections, and what cannot be sent is counted and dropped.
//!
//! Timers: `Trace`, when records must leave.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::header::Scope;
use rocketry_codec::request::SendMessageV2;
use rocketry_codec::trace::TraceRecord;

use crate::api::{Message, MessageTrace, Topic};
use crate::cx::{Cx, Outgoing, Want};
use crate::timer::TimerKey;
use crate::waiter::Waiter;

/// Events whose records may wait; further ones are dropped.
const MOST_WAITING: usize = 2_048;
/// The longest time that a record waits.
const LINGER: Duration = Duration::from_secs(5);
/// Bytes of records in one message.
const MOST_BYTES: usize = 128_000;
/// How long a broker may take to store a trace message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Records that wait.
#[derive(Debug, Default)]
pub(crate) struct TraceBuffer {
    waiting: VecDeque<Traced>,
}

#[derive(Debug)]
struct Traced {
    to: Topic,
    sender: String,
    about: Topic,
    text: String,
    keys: Vec<String>,
}

/// Whether the trace group is one of producers or of consumers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    /// Sends and transactions.
    Produce,
    /// Handlers.
    Consume,
}

/// Takes a record about a message of topic `about`, with its ids and keys by which people look it up.
pub(crate) fn record<'k>(
    cx: &mut Cx<'_>,
    (settings, group, side): (&MessageTrace, &str, Side),
    about: &Topic,
    record: &TraceRecord<'_>,
    keys: impl Iterator<Item = &'k str>,
) {
    // Traces of traces would never end.
    if about.as_str().starts_with(settings.topic.as_str()) {
        return;
    }
    if cx.shared.trace.waiting.len() >= MOST_WAITING {
        cx.shared.counters.traces_dropped += 1;
        return;
    }
    let side = match side {
        Side::Produce => "PRODUCE",
        Side::Consume => "CONSUME",
    };
    let mut text = String::new();
    record.encode(&mut text);
    cx.shared.trace.waiting.push_back(Traced {
        to: settings.topic.clone(),
        sender: alloc::format!("_INNER_TRACE_PRODUCER-{group}-{side}-1"),
        about: about.clone(),
        text,
        keys: keys.filter(|key| !key.is_empty()).map(ToString::to_string).collect(),
    });
    if cx.shared.table.publish(&settings.topic).is_none() {
        cx.want(Want::Route { topic: settings.topic.clone(), publish: true });
    }
    let full = cx.shared.trace.waiting.len() >= settings.batch as usize;
    let at = if full { cx.now.at } else { cx.now.at + LINGER };
    cx.shared.timers.set_no_later(cx.now.at, TimerKey::Trace, at);
}

/// Sends what waits.
pub(crate) fn flush(cx: &mut Cx<'_>) {
    while let Some(first) = cx.shared.trace.waiting.front() {
        let topic = first.to.clone();
        if cx.shared.table.publish(&topic).is_none() {
            // Either the route comes, or the buffer runs full and drops what is too much.
            cx.wake_after(TimerKey::Trace, LINGER);
            return cx.want(Want::Route { topic, publish: true });
        }
        let batch = take_batch(&mut cx.shared.trace.waiting);
        if send(cx, &topic, &batch).is_none() {
            cx.shared.counters.traces_dropped += batch.records;
        }
    }
}

struct Batch {
    sender: String,
    text: String,
    keys: BTreeSet<String>,
    records: u64,
}

/// The first record with those that may travel with it.
fn take_batch(waiting: &mut VecDeque<Traced>) -> Batch {
    let mut batch = Batch { sender: String::new(), text: String::new(), keys: BTreeSet::new(), records: 0 };
    let Some(first) = waiting.pop_front() else { return batch };
    let alike = (first.to.clone(), first.sender.clone(), first.about.clone());
    let mut rest = VecDeque::with_capacity(waiting.len());
    let mut next = Some(first);
    while let Some(traced) = next {
        let fits = batch.text.len() + traced.text.len() <= MOST_BYTES || batch.records == 0;
        if fits && (&traced.to, &traced.sender, &traced.about) == (&alike.0, &alike.1, &alike.2) {
            batch.text.push_str(&traced.text);
            batch.keys.extend(traced.keys);
            batch.records += 1;
        } else {
            rest.push_back(traced);
        }
        next = waiting.pop_front();
    }
    *waiting = rest;
    batch.sender = alike.1;
    batch
}

/// Sends a trace message to the next queue of its topic, unless its broker cannot be reached now.
fn send(cx: &mut Cx<'_>, topic: &Topic, batch: &Batch) -> Option<()> {
    let turn = cx.shared.table.next_turn(topic, || 1) as usize;
    let queues = cx.shared.table.publish(topic)?;
    let queue = *queues.get(turn.checked_rem(queues.len())?)?;
    let broker = cx.shared.table.broker(queue.broker)?;
    let (name, master) = (broker.name.clone(), broker.master()?.clone());
    let mut message = Message::builder(topic.clone()).body(batch.text.clone());
    for key in &batch.keys {
        message = message.key(key);
    }
    let message = message.build().ok()?;
    let request = SendMessageV2 {
        producer_group: batch.sender.as_str().into(),
        topic: topic.as_str().into(),
        default_topic: "TBW102".into(),
        default_topic_queue_nums: cx.shared.config.default_topic_queues,
        queue_id: queue.id,
        born_timestamp: cx.now.wall.get(),
        properties: Some(message.properties().into()),
        reconsume_times: Some(0),
        unit_mode: Some(false),
        batch: Some(false),
        broker_name: Some(name.as_str().into()),
        scope: Scope::default(),
        ..SendMessageV2::default()
    };
    let how = Outgoing { timeout: SEND_TIMEOUT, waiter: Waiter::Forget };
    cx.request(&master, &request, message.body().clone(), how).ok().map(|_| ())
}
