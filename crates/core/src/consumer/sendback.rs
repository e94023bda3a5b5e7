//! Failed messages: they go back to a broker, which delivers them again later (consumer.md 6.5).
//!
//! Decides: who stores a failed message again. The master that holds it is asked first (CONSUMER_SEND_MSG_BACK). When it
//! cannot or does not, a copy goes to the group's retry topic on any broker. When that fails too, the handler gets the
//! message once more after a while. In every case the message stays unfinished, and the position before it, until a
//! broker or the handler has taken it.
//!
//! The delay level that the application asked for holds in both ways. A copy for the dead-letter topic carries more
//! redeliveries than it allows, which makes the broker store it there.
//!
//! Timers: `SendBack(queue)`, the next local retry of some message of the queue.

use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::header::Scope;
use rocketry_codec::message::{Properties, StoredMessage, SysFlag, property_names};
use rocketry_codec::names;
use rocketry_codec::request::{ConsumerSendMsgBack, SendMessageV2};
use rocketry_machine::{ConnId, Endpoint, Key, UnixMillis};

use super::group::{Consumer, failure_of, refusal_of};
use super::queue::State;
use crate::api::{BrokerName, Group, OpErrorKind, Topic};
use crate::calls::Reply;
use crate::cx::{Cx, Want};
use crate::timer::{ConsumerTimer, TimerKey};
use crate::waiter::ConsumerCall;

/// Time for sending back.
pub(super) const SEND_BACK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for sending a copy.
pub(super) const COPY_TIMEOUT: Duration = Duration::from_secs(3);
/// Wait before the handler gets a message again that no broker took.
const LOCAL_RETRY: Duration = Duration::from_secs(5);
/// The highest delay level that brokers have by default.
const TOP_LEVEL: i32 = 18;
/// Redeliveries before the dead-letter topic, when the application says nothing.
const MAX_REDELIVERIES: i32 = 16;
/// Answers to a copy that all mean that it is stored.
pub(super) const STORED: [ResponseCode; 4] = [
    ResponseCode::SUCCESS,
    ResponseCode::FLUSH_DISK_TIMEOUT,
    ResponseCode::FLUSH_SLAVE_TIMEOUT,
    ResponseCode::SLAVE_NOT_AVAILABLE,
];

impl Consumer {
    /// Sends a failed message back to the broker that holds it.
    pub(super) fn send_back(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, level: i32) {
        let level = level.clamp(-1, TOP_LEVEL);
        let max_redeliveries = self.max_redeliveries();
        let how = self.call(SEND_BACK_TIMEOUT, ConsumerCall::SendBack(key, sequence));
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.set(sequence, State::SendingBack(level));
        let Some((_, message)) = queue.message(sequence) else { return };
        let Some(to) = cx.master(&queue.mq.broker) else {
            return self.send_copy(cx, key, sequence, level);
        };
        let request = back_request(&self.config.group, &queue.mq.broker, message, level, max_redeliveries);
        if cx.request(&to, &request, Bytes::new(), how).is_ok() {
            self.sending_back += 1;
        } else {
            self.send_copy(cx, key, sequence, level);
        }
    }

    /// The broker has taken a message back, or has not.
    pub(super) fn on_send_back(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, reply: &Reply) {
        self.sending_back -= 1;
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Some(State::SendingBack(level)) = queue.state(sequence) else { return };
        match reply {
            Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS => self.sent_back(cx, key, sequence),
            Reply::Frame(_) | Reply::TimedOut { .. } | Reply::LinkLost { .. } => {
                self.send_copy(cx, key, sequence, level);
            }
        }
    }

    /// Sends a copy of a failed message to the retry topic.
    fn send_copy(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, level: i32) {
        let Some((broker, queue_id, to)) = self.copy_target(cx) else {
            cx.want(Want::Refresh(self.retry_topic.clone()));
            let text = alloc::format!("no broker takes messages for {}", self.retry_topic);
            return self.retry_later(cx, key, sequence, OpErrorKind::Refused(text));
        };
        let max_redeliveries = self.max_redeliveries();
        let how = self.call(COPY_TIMEOUT, ConsumerCall::RetryCopy(key, sequence));
        let Some((_, message)) = self.queues.get(key).and_then(|queue| queue.message(sequence)) else { return };
        let copy = RetryCopy { topic: &self.retry_topic, broker: &broker, queue_id, message, level, max_redeliveries };
        let properties = copy.properties();
        let request = copy.request(cx.now.wall, &properties);
        match cx.request(&to, &request, message.body(), how) {
            Ok(_) => self.sending_back += 1,
            Err(no) => self.retry_later(cx, key, sequence, refusal_of(&to, &no)),
        }
    }

    /// A writable queue of the retry topic.
    pub(super) fn copy_target(&mut self, cx: &Cx<'_>) -> Option<(BrokerName, i32, Endpoint)> {
        let queues = cx.shared.table.publish(&self.retry_topic)?;
        let pick = usize::try_from(self.spread.below(queues.len() as u64)).ok()?;
        let queue = queues.get(pick)?;
        let broker = cx.shared.table.broker(queue.broker)?;
        Some((broker.name.clone(), queue.id, broker.master()?.clone()))
    }

    /// A broker has stored the copy, or has not.
    pub(super) fn on_copy(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, conn: ConnId, reply: &Reply) {
        self.sending_back -= 1;
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Some(State::SendingBack(_)) = queue.state(sequence) else { return };
        match reply {
            Reply::Frame(frame) if STORED.contains(&frame.response_code()) => self.sent_back(cx, key, sequence),
            Reply::Frame(_) | Reply::TimedOut { .. } | Reply::LinkLost { .. } => {
                let kind = failure_of(cx, conn, reply);
                self.retry_later(cx, key, sequence, kind);
            }
        }
    }

    fn sent_back(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.set(sequence, State::Done);
        cx.shared.counters.sent_back += 1;
        if !cx.shared.table.knows(&self.retry_topic) {
            // The broker has created it just now.
            cx.want(Want::Refresh(self.retry_topic.clone()));
        }
        self.progressed(cx, key);
    }

    fn retry_later(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, kind: OpErrorKind) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        let due = cx.now.at + LOCAL_RETRY;
        queue.set(sequence, State::Waiting(due));
        let broker = Some(queue.mq.broker.clone());
        Self::report(cx, "send back", broker, kind, Some(LOCAL_RETRY));
        let timer = TimerKey::Consumer(self.id, ConsumerTimer::SendBack(key));
        cx.shared.timers.set_no_later(cx.now.at, timer, due);
    }

    /// Local retries are due.
    pub(super) fn on_send_back_timer(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if let Some(next) = queue.wake_waiting(cx.now.at) {
            self.wake_after(cx, ConsumerTimer::SendBack(key), next.since(cx.now.at));
        }
        self.progressed(cx, key);
    }

    pub(super) const fn max_redeliveries(&self) -> i32 {
        if self.config.max_redeliveries < 0 { MAX_REDELIVERIES } else { self.config.max_redeliveries }
    }
}

/// Asks the broker that holds a message to store it again.
pub(super) fn back_request<'a>(
    group: &'a Group,
    broker: &'a BrokerName,
    message: &'a StoredMessage,
    level: i32,
    max_redeliveries: i32,
) -> ConsumerSendMsgBack<'a> {
    let properties = message.properties();
    let id = properties.unique_key().map_or_else(|| alloc::format!("{}", message.offset_id()).into(), Into::into);
    ConsumerSendMsgBack {
        offset: message.commit_log_offset(),
        group: group.as_str().into(),
        delay_level: level,
        origin_msg_id: Some(id),
        origin_topic: Some(properties.get(property_names::RETRY_TOPIC).unwrap_or(message.topic()).into()),
        unit_mode: false,
        max_reconsume_times: Some(max_redeliveries),
        scope: Scope::broker(broker.as_str()),
    }
}

/// A copy of a failed message for the retry topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryCopy<'a> {
    pub(super) topic: &'a Topic,
    pub(super) broker: &'a BrokerName,
    pub(super) queue_id: i32,
    pub(super) message: &'a StoredMessage,
    pub(super) level: i32,
    pub(super) max_redeliveries: i32,
}

impl<'a> RetryCopy<'a> {
    /// Its properties.
    pub(super) fn properties(&self) -> Properties {
        copy_properties(self.message, self.level.max(0))
    }

    /// The request that sends it.
    pub(super) fn request(&self, wall: UnixMillis, properties: &'a Properties) -> SendMessageV2<'a> {
        let beyond = if self.level < 0 { self.max_redeliveries } else { self.message.reconsume_times() };
        SendMessageV2 {
            producer_group: names::CLIENT_INNER_PRODUCER_GROUP.into(),
            topic: self.topic.as_str().into(),
            default_topic: names::AUTO_CREATE_TOPIC.into(),
            default_topic_queue_nums: 4,
            queue_id: self.queue_id,
            sys_flag: self.message.sys_flag().0 & (SysFlag::COMPRESSED | SysFlag::COMPRESSION_TYPE),
            born_timestamp: wall.get(),
            flag: self.message.flag(),
            properties: Some(properties.as_str().into()),
            reconsume_times: Some(beyond.saturating_add(1)),
            unit_mode: Some(false),
            max_reconsume_times: Some(self.max_redeliveries),
            batch: Some(false),
            broker_name: Some(self.broker.as_str().into()),
            ..SendMessageV2::default()
        }
    }
}

/// The properties of a copy: those of the message, with its origin, and without what only the first sending needed.
fn copy_properties(message: &StoredMessage, level: i32) -> Properties {
    let view = message.properties();
    let mut properties = Properties::from(view);
    let origin = match view.get(property_names::ORIGIN_MESSAGE_ID).or_else(|| view.unique_key()) {
        Some(id) => id.into(),
        None => alloc::format!("{}", message.offset_id()),
    };
    let topic = view.get(property_names::RETRY_TOPIC).unwrap_or(message.topic());
    let level = if level > 0 { level } else { message.reconsume_times().saturating_add(3) };
    for gone in
        [property_names::TRANSACTION_PREPARED, property_names::RECONSUME_TIME, property_names::MAX_RECONSUME_TIMES]
    {
        properties.remove(gone);
    }
    for (name, value) in [
        (property_names::ORIGIN_MESSAGE_ID, origin.as_str()),
        (property_names::RETRY_TOPIC, topic),
        (property_names::DELAY_LEVEL, alloc::format!("{level}").as_str()),
    ] {
        // None of these texts is empty or has a separator: they came out of a message or are numbers.
        let set = properties.set(name, value);
        debug_assert!(set.is_ok(), "{name}");
    }
    properties
}
