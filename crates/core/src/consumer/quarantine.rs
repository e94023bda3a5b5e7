//! Quarantine: what becomes of a record that cannot be decoded (consumer.md 13.3, `cases.md` COD-18).
//!
//! Decides, by [`Quarantine`]: whether the position passes the record, and when. In every policy a notice tells of it, the
//! records around it are delivered, and the position does not pass it unseen.
//!
//! | policy | the raw record | the position |
//! |---|---|---|
//! | set aside | goes to the owner as [`Ask::SetAside`] | passes it when the owner answers, or after 30 s |
//! | stop | stays at the broker | stays until somebody resets it or the policy |
//! | retry | is read again every 30 s | passes it once it could be decoded and was handled |
//!
//! States of such a place in the queue: *held* -> done, or *held* -> asked for again -> *cached* or *held*.
//! Timers: `Quarantine(queue)`, the next moment at which a held place is looked at.

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::header::Scope;
use rocketry_codec::message::Messages;
use rocketry_codec::request::PullMessage;
use rocketry_machine::{Key, Moment, Slab};

use super::group::Consumer;
use super::queue::State;
use crate::api::{Aside, AsideId, Ask, ConsumerId, Notice, Quarantine, SetAside};
use crate::calls::Reply;
use crate::cx::Cx;
use crate::timer::{ConsumerTimer, TimerKey};
use crate::waiter::ConsumerCall;

/// How long an undecodable record holds the position before it is passed or read again.
const HOLD: Duration = Duration::from_secs(30);

/// A record that was set aside and not answered yet.
#[derive(Debug)]
pub(super) struct OpenAside {
    pub(super) consumer: ConsumerId,
    pub(super) queue: Key,
    sequence: u64,
}

/// A record that is to be set aside as soon as the consumer has done what it is about.
#[derive(Debug)]
pub(super) struct ToAside {
    queue: Key,
    sequence: u64,
    record: Bytes,
    reason: String,
}

impl Consumer {
    /// Until when a record found undecodable now holds the position.
    pub(super) fn hold_until(&self, now: Moment) -> Moment {
        match self.config.quarantine {
            Quarantine::Stop => Moment::NEVER,
            Quarantine::SetAside | Quarantine::Retry => now + HOLD,
        }
    }

    /// A place of the queue is held because of `record`.
    pub(super) fn quarantine(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, record: Bytes, reason: String) {
        let Some(queue) = self.queues.get(key) else { return };
        let queue_offset = queue.offset(sequence);
        cx.notice(Notice::Undecodable { queue: (*queue.mq).clone(), queue_offset, reason: reason.clone() });
        cx.shared.counters.undecodable += 1;
        match self.config.quarantine {
            Quarantine::Stop => return,
            Quarantine::SetAside => self.to_aside.push(ToAside { queue: key, sequence, record, reason }),
            Quarantine::Retry => {}
        }
        let timer = TimerKey::Consumer(self.id, ConsumerTimer::Quarantine(key));
        cx.shared.timers.set_no_later(cx.now.at, timer, cx.now.at + HOLD);
    }

    /// The body of a delivered message could not be inflated: the message is held.
    pub(super) fn hold(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, reason: &'static str) {
        let until = self.hold_until(cx.now.at);
        let Some(queue) = self.queues.get_mut(key) else { return };
        let record = queue.message(sequence).map(|(_, message)| message.record().clone()).unwrap_or_default();
        queue.set(sequence, State::Held(until));
        self.quarantine(cx, key, sequence, record, reason.into());
    }

    /// Asks the owner about what was set aside since the last time.
    pub(super) fn ask_aside(&mut self, cx: &mut Cx<'_>, asides: &mut Slab<AsideId, OpenAside>) {
        for ToAside { queue: key, sequence, record, reason } in core::mem::take(&mut self.to_aside) {
            let Some(queue) = self.queues.get(key) else { continue };
            let id = asides.insert(OpenAside { consumer: self.id, queue: key, sequence });
            let (mq, queue_offset) = (Arc::clone(&queue.mq), queue.offset(sequence));
            cx.ask(Ask::SetAside(SetAside {
                aside: Aside::new(id),
                consumer: self.id,
                queue: mq,
                queue_offset,
                record,
                reason,
            }));
        }
    }

    /// The owner has the record: the position may pass it. Whether that still meant something.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_>, aside: &OpenAside) -> bool {
        let Some(queue) = self.queues.get_mut(aside.queue) else { return false };
        if !matches!(queue.state(aside.sequence), Some(State::Held(_))) {
            return false;
        }
        queue.set(aside.sequence, State::Done);
        self.progressed(cx, aside.queue);
        true
    }

    /// Some places were held for long enough.
    pub(super) fn on_quarantine(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        let (due, next) = queue.due_held(cx.now.at);
        if let Some(next) = next.filter(|next| *next != Moment::NEVER) {
            self.wake_after(cx, ConsumerTimer::Quarantine(key), next.since(cx.now.at));
        }
        for sequence in due {
            let Some(queue) = self.queues.get_mut(key) else { return };
            if self.config.quarantine != Quarantine::Retry {
                queue.set(sequence, State::Done);
            } else if queue.message(sequence).is_some() {
                queue.set(sequence, State::Cached);
            } else {
                self.read_again(cx, key, sequence);
            }
        }
        self.progressed(cx, key);
    }

    /// Asks for one record alone.
    fn read_again(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64) {
        let how = self.call(self.config.pull_retry.max(Duration::from_secs(3)), ConsumerCall::Reread(key, sequence));
        let Some(queue) = self.queues.get(key) else { return };
        let Some(subscription) = self.subscriptions.get(queue.subscription) else { return };
        let Some(offset) = queue.offset(sequence) else { return };
        let request = PullMessage {
            consumer_group: self.config.group.as_str().into(),
            topic: queue.mq.topic.as_str().into(),
            queue_id: queue.mq.id,
            queue_offset: offset,
            max_msg_nums: 1,
            sub_version: subscription.version,
            expression_type: Some(subscription.filter.kind().into()),
            scope: Scope::broker(queue.mq.broker.as_str()),
            ..PullMessage::default()
        };
        let to = cx.shared.table.broker_address(&queue.mq.broker, 0, false);
        let sent = to.is_some_and(|(to, _)| cx.request(&to, &request, Bytes::new(), how).is_ok());
        self.hold_again(cx, key, sequence, if sent { Moment::NEVER } else { cx.now.at + HOLD });
    }

    fn hold_again(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, until: Moment) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.set(sequence, State::Held(until));
        if until != Moment::NEVER {
            let timer = TimerKey::Consumer(self.id, ConsumerTimer::Quarantine(key));
            cx.shared.timers.set_no_later(cx.now.at, timer, until);
        }
    }

    /// The record came again, or did not.
    pub(super) fn on_read_again(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, reply: Reply) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Some(offset) = queue.offset(sequence) else { return };
        let message = match reply {
            Reply::Frame(frame) => Messages::new(frame.into_body()).next().and_then(Result::ok),
            Reply::TimedOut { .. } | Reply::LinkLost { .. } => None,
        };
        match message.filter(|message| message.queue_offset() == offset) {
            Some(message) => {
                queue.fill(sequence, message);
                self.progressed(cx, key);
            }
            None => self.hold_again(cx, key, sequence, cx.now.at + HOLD),
        }
    }
}
