//! Pulling: one long poll per owned queue (consumer.md 4).
//!
//! Decides: when a queue is pulled, from which broker, what an answer means, and how long to wait after a bad one. An
//! answer with messages is followed by the next pull at once, as long as the cache has room; when it has none, the pull
//! follows the verdict that makes room. An answer that brings the queue no further is followed after a pause, so that no
//! broker can make the client spin (`cases.md` FLO-08). A record that cannot be decoded goes to `quarantine`; the records
//! around it are delivered.
//!
//! An offset that the broker calls illegal is corrected to the nearest legal one (OFF-04), at once. A slave's word never
//! moves the position back (ROU-05). When the offset was legal, the broker wants a reset: the queue begins anew where it
//! says.
//!
//! States of a queue's pull: *idle* -> *asked* -> *idle*, with *full* and *delayed* as the reasons not to ask.
//! Timers: `Pull(queue)`, the end of a delay.

use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::frame::Frame;
use rocketry_codec::header::Scope;
use rocketry_codec::message::Messages;
use rocketry_codec::reply::PullMessageReply;
use rocketry_codec::request::PullMessage;
use rocketry_machine::{ConnId, Key, Moment, invariant};

use super::group::{Consumer, failure_of, refusal_of};
use super::lite::Manner;
use super::queue::{ProcessQueue, Pull, Step};
use crate::api::{Notice, OpErrorKind};
use crate::calls::Reply;
use crate::cx::{Cx, NotSent, Want};
use crate::timer::ConsumerTimer;
use crate::waiter::ConsumerCall;

/// What a client waits beyond the time that the broker may hold a pull.
const GRACE: Duration = Duration::from_secs(15);
/// The least time between two pulls of a queue that gets no further.
const PAUSE: Duration = Duration::from_millis(50);
/// The first wait after a broker's flow control.
const FLOW_CONTROL_WAIT: Duration = Duration::from_millis(20);
/// The least time between two heartbeat rounds that refused pulls cause.
const NUDGE_GAP: Duration = Duration::from_secs(1);
/// The most bytes of messages that a broker is asked for.
const PULL_BYTES: i32 = 256 * 1024;

const COMMIT: i32 = 1;
pub(super) const SUSPEND: i32 = 2;
pub(super) const SUBSCRIPTION: i32 = 4;
const LITE: i32 = 16;

/// What the header of an answer says.
struct Heading {
    from: i64,
    broker_id: i64,
    next: i64,
    min: i64,
    max: i64,
}

impl Consumer {
    /// Pulls a queue if nothing speaks against it.
    pub(super) fn pull(&mut self, cx: &mut Cx<'_>, key: Key) {
        if !self.is_running() || self.suspended {
            return;
        }
        let Some(queue) = self.queues.get_mut(key) else { return };
        if queue.step != Step::Live || queue.pull != Pull::Idle || queue.paused {
            return;
        }
        if queue.is_full(&self.config) || self.is_full_in_all() {
            let Some(queue) = self.queues.get_mut(key) else { return };
            queue.pull = Pull::Full;
            return;
        }
        self.send_pull(cx, key);
    }

    fn send_pull(&mut self, cx: &mut Cx<'_>, key: Key) {
        let how = self.call(self.config.long_poll.saturating_add(GRACE), ConsumerCall::Pull(key));
        let manner = self.manner(key);
        let established = self.queues.get(key).is_some_and(|queue| self.is_established(&queue.mq));
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Some(subscription) = self.subscriptions.get(queue.subscription) else { return };
        let Some((to, broker_id)) = cx.shared.table.broker_address(&queue.mq.broker, queue.suggested, false) else {
            let kind = OpErrorKind::Refused("no address of the broker is known".into());
            return self.pull_failed(cx, key, kind);
        };
        invariant!(cx.shared.health, queue.pull == Pull::Idle, "a queue is pulled twice at once");
        let position = queue.position();
        let commits =
            manner == Manner::Push && !self.config.broadcasting && established && broker_id == 0 && position > 0;
        let from = queue.next();
        let request = PullMessage {
            consumer_group: self.config.group.as_str().into(),
            topic: queue.mq.topic.as_str().into(),
            queue_id: queue.mq.id,
            queue_offset: from,
            max_msg_nums: i32::try_from(ProcessQueue::pull_size(&self.config)).unwrap_or(i32::MAX),
            sys_flag: match manner {
                Manner::Push if commits => SUSPEND | COMMIT,
                Manner::Push => SUSPEND,
                Manner::Lite | Manner::Plain => SUSPEND | SUBSCRIPTION | LITE,
            },
            commit_offset: if manner == Manner::Push { position } else { 0 },
            subscription: (manner != Manner::Push).then(|| subscription.filter.as_str().into()),
            suspend_timeout_millis: i64::try_from(self.config.long_poll.as_millis()).unwrap_or(i64::MAX),
            sub_version: if manner == Manner::Push { subscription.version } else { 0 },
            expression_type: Some(subscription.filter.kind().into()),
            max_msg_bytes: Some(PULL_BYTES),
            scope: Scope::broker(queue.mq.broker.as_str()),
            ..PullMessage::default()
        };
        let code = if manner == Manner::Lite { RequestCode::LITE_PULL_MESSAGE } else { RequestCode::PULL_MESSAGE };
        match cx.request_as(&to, code, &request, how) {
            Ok(_) => {
                queue.pull = Pull::Asked { from, broker_id };
                cx.shared.counters.pulls += 1;
            }
            Err(NotSent::NoLink(no)) => {
                let wait = if self.turn_away(cx, key, broker_id) { PAUSE } else { no.retry_at.since(cx.now.at) };
                let kind = refusal_of(&to, &NotSent::NoLink(no));
                self.trouble_at(cx, key, "pull", kind, wait);
                self.delay(cx, key, wait);
            }
            Err(no) => self.pull_failed(cx, key, refusal_of(&to, &no)),
        }
    }

    /// The broker with this id does not help: the next request goes to a slave instead of the master, or to the master
    /// instead of a slave. Whether there is such a one.
    pub(super) fn turn_away(&mut self, cx: &Cx<'_>, key: Key, id: i64) -> bool {
        let Some(queue) = self.queues.get_mut(key) else { return false };
        queue.suggested = i64::from(id == 0);
        let other = cx.shared.table.broker_address(&queue.mq.broker, queue.suggested, false);
        other.is_some_and(|(_, other)| other != id)
    }

    /// A delay is over.
    pub(super) fn on_pull_timer(&mut self, cx: &mut Cx<'_>, key: Key) {
        if let Some(queue) = self.queues.get_mut(key)
            && queue.pull == Pull::Delayed
        {
            queue.pull = Pull::Idle;
            self.pull(cx, key);
        }
    }

    /// The answer to a pull, or its absence.
    pub(super) fn on_pull(&mut self, cx: &mut Cx<'_>, key: Key, sent_at: Moment, conn: ConnId, reply: Reply) {
        if let Reply::Frame(frame) = &reply {
            self.note_version(key, frame);
        }
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Pull::Asked { from, broker_id } = core::mem::replace(&mut queue.pull, Pull::Idle) else {
            invariant!(cx.shared.health, false, "an answer to a pull that was not sent");
            return;
        };
        let frame = match reply {
            Reply::Frame(frame) => frame,
            Reply::TimedOut { .. } | Reply::LinkLost { .. } => {
                let kind = failure_of(cx, conn, &reply);
                self.turn_away(cx, key, broker_id);
                return self.pull_failed(cx, key, kind);
            }
        };
        let code = frame.response_code();
        let known = [
            ResponseCode::SUCCESS,
            ResponseCode::PULL_NOT_FOUND,
            ResponseCode::PULL_RETRY_IMMEDIATELY,
            ResponseCode::PULL_OFFSET_MOVED,
        ];
        if !known.contains(&code) {
            return self.pull_refused(cx, key, conn, frame);
        }
        let heading = match frame.read::<PullMessageReply>() {
            Ok(reply) => {
                queue.suggested = reply.suggest_which_broker_id;
                let (next, min, max) = (reply.next_begin_offset, reply.min_offset, reply.max_offset);
                queue.end = Some(max);
                Heading { from, broker_id, next, min, max }
            }
            Err(error) => {
                return self.pull_failed(cx, key, OpErrorKind::Protocol(alloc::format!("{error}")));
            }
        };
        queue.trouble = false;
        if code == ResponseCode::SUCCESS {
            self.on_found(cx, key, sent_at, &heading, frame);
        } else if code == ResponseCode::PULL_OFFSET_MOVED {
            self.on_moved(cx, key, &heading);
        } else {
            if heading.next > from {
                queue.advance(heading.next);
            }
            self.pull_after(cx, key, sent_at, heading.next > from);
        }
    }

    fn on_found(&mut self, cx: &mut Cx<'_>, key: Key, sent_at: Moment, heading: &Heading, frame: Frame) {
        // An answer that leads back belongs to another queue or is broken (`cases.md` OFF-06, OFF-14).
        if heading.next < heading.from {
            let text = alloc::format!("messages from {} on lead back to {}", heading.from, heading.next);
            return self.pull_failed(cx, key, OpErrorKind::Protocol(text));
        }
        let before = self.queues.get(key).map_or(0, ProcessQueue::next);
        let pulled = cx.shared.counters.pulled;
        let whole = self.take_messages(cx, key, heading, frame.into_body());
        let pulled = cx.shared.counters.pulled - pulled;
        let Some(queue) = self.queues.get_mut(key) else { return };
        if let Some(subscription) = self.subscriptions.get_mut(queue.subscription) {
            subscription.meters.pulled(cx.now.at, cx.now.at.since(sent_at), pulled);
        }
        if whole {
            queue.advance(heading.next);
        }
        let further = queue.next() > before;
        if further {
            queue.setbacks = 0;
        }
        if queue.has_cached() && !queue.in_line {
            queue.in_line = true;
            self.line.push_back(key);
        }
        if further && !self.config.pull_interval.is_zero() {
            return self.delay(cx, key, self.config.pull_interval);
        }
        self.pull_after(cx, key, sent_at, further);
    }

    /// Puts the messages of an answer into the cache; whether the answer could be walked to its end.
    fn take_messages(&mut self, cx: &mut Cx<'_>, key: Key, heading: &Heading, body: Bytes) -> bool {
        let until = self.hold_until(cx.now.at);
        let Some(queue) = self.queues.get_mut(key) else { return true };
        let Some(subscription) = self.subscriptions.get(queue.subscription) else { return true };
        queue.note_pull_bytes(body.len() as u64);
        let (mut pulled, mut bad) = (0, Vec::new());
        let mut messages = Messages::new(body);
        let mut whole = true;
        while let Some(record) = messages.next() {
            let least = queue.least();
            match record {
                Ok(message) => {
                    let offset = message.queue_offset();
                    // What lies outside of what was asked for is not ours, or here already.
                    if offset < least || offset >= heading.next {
                        continue;
                    }
                    pulled += 1;
                    if subscription.wants(&message) {
                        queue.push(offset, message);
                    } else {
                        queue.advance(offset.saturating_add(1));
                    }
                }
                Err(message) => {
                    let known = message.queue_offset.filter(|offset| (least..heading.next).contains(offset));
                    let offset = known.unwrap_or(least);
                    let sequence = queue.push_held(offset, until);
                    // Where nothing says where the next record begins, the rest is asked for again.
                    whole = !messages.rest().is_empty() || offset.saturating_add(1) >= heading.next;
                    bad.push((sequence, message));
                }
            }
        }
        cx.shared.counters.pulled += pulled;
        for (sequence, message) in bad {
            self.quarantine(cx, key, sequence, message.raw, alloc::format!("{}", message.reason));
        }
        whole
    }

    /// The broker says that the offset is none of the queue's.
    fn on_moved(&mut self, cx: &mut Cx<'_>, key: Key, heading: &Heading) {
        let Heading { from, broker_id, next, min, max } = *heading;
        let Some(queue) = self.queues.get_mut(key) else { return };
        let (min, max) = (min.max(0), max.max(0));
        let to = if from < min {
            min
        } else if from > max {
            max
        } else {
            next
        };
        if to < 0 || to == from || min > max {
            let text = alloc::format!("{from} is called illegal in {min} to {max}, and {next} legal");
            return self.pull_failed(cx, key, OpErrorKind::Protocol(text));
        }
        if broker_id != 0 && to < from {
            queue.suggested = 0;
            let text = alloc::format!("a slave knows nothing of offset {from} yet");
            return self.pull_failed(cx, key, OpErrorKind::Refused(text));
        }
        queue.setbacks = queue.setbacks.saturating_add(1);
        let queue_name = (*queue.mq).clone();
        cx.shared.counters.offsets_corrected += 1;
        cx.notice(Notice::OffsetCorrected { queue: queue_name, from, to });
        if from < min {
            // What is cached is still to be handled; only what the broker has deleted is passed.
            queue.advance(to);
            if queue.setbacks > 1 {
                return self.delay(cx, key, PAUSE);
            }
            return self.pull(cx, key);
        }
        self.restart_queue(cx, key, to);
    }

    fn pull_refused(&mut self, cx: &mut Cx<'_>, key: Key, conn: ConnId, frame: Frame) {
        let code = frame.response_code();
        let kind = failure_of(cx, conn, &Reply::Frame(frame));
        let manner = self.manner(key);
        let Some(queue) = self.queues.get_mut(key) else { return };
        match code {
            ResponseCode::FLOW_CONTROL => {
                let wait = FLOW_CONTROL_WAIT.saturating_mul(1 << queue.setbacks.min(10)).min(self.config.pull_retry);
                queue.setbacks = queue.setbacks.saturating_add(1);
                return self.delay(cx, key, wait);
            }
            // The broker has not heard of us, or of our latest subscription: it will hear again before the next try.
            ResponseCode::SUBSCRIPTION_NOT_EXIST | ResponseCode::SUBSCRIPTION_NOT_LATEST => self.nudge(cx),
            // A broker from before the lite pull's own code.
            ResponseCode::REQUEST_CODE_NOT_SUPPORTED if manner == Manner::Lite => {
                self.pull_plainly(key);
                return self.delay(cx, key, PAUSE);
            }
            ResponseCode::NOT_LEADER_FOR_QUEUE | ResponseCode::TOPIC_NOT_EXIST => {
                cx.want(Want::Refresh(queue.mq.topic.clone()));
            }
            _ => {}
        }
        self.pull_failed(cx, key, kind);
    }

    fn nudge(&mut self, cx: &mut Cx<'_>) {
        if self.last_nudge.is_none_or(|last| last + NUDGE_GAP <= cx.now.at) {
            self.last_nudge = Some(cx.now.at);
            cx.want(Want::HeartbeatAll);
        }
    }

    fn pull_failed(&mut self, cx: &mut Cx<'_>, key: Key, kind: OpErrorKind) {
        self.trouble_at(cx, key, "pull", kind, self.config.pull_retry);
        self.delay(cx, key, self.config.pull_retry);
    }

    /// Pulls again at once when the queue got further, else not before a pause since the last pull.
    fn pull_after(&mut self, cx: &mut Cx<'_>, key: Key, sent_at: Moment, further: bool) {
        let passed = cx.now.at.since(sent_at);
        if further || passed >= PAUSE {
            self.pull(cx, key);
        } else {
            self.delay(cx, key, PAUSE.saturating_sub(passed));
        }
    }

    fn delay(&mut self, cx: &mut Cx<'_>, key: Key, wait: Duration) {
        if let Some(queue) = self.queues.get_mut(key)
            && queue.pull == Pull::Idle
            && self.is_running()
        {
            let Some(queue) = self.queues.get_mut(key) else { return };
            queue.pull = Pull::Delayed;
            self.wake_after(cx, ConsumerTimer::Pull(key), wait);
        }
    }
}
