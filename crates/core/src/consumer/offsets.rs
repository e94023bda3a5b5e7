//! Positions of the group at the brokers: asking for them, saving them (consumer.md 3.6, 8.2).
//!
//! Decides: where an owned queue begins. The group's stored position wins; an error is never "no position" and is asked
//! again; only code 22 of a master leads to the configured start. Queues that appeared while the consumer was running are read from
//! their beginning, since everything in them is news.
//!
//! Saving: every `offset_interval` each position that the master has not confirmed is sent and its answer awaited; a
//! queue that is given up is saved once more, without waiting. A slave may take a position while its master is away; it
//! is then sent again until the master has it, so that a returning master is not a step back (`cases.md` ROU-06).
//!
//! Timers: `SaveOffsets`, one round each interval; `Start(queue)`, the next try to find a position.

use alloc::sync::Arc;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::header::Scope;
use rocketry_codec::reply::{GetMaxOffsetReply, QueryConsumerOffsetReply, SearchOffsetReply};
use rocketry_codec::request::{GetMaxOffset, QueryConsumerOffset, SearchOffset, UpdateConsumerOffset};
use rocketry_machine::{ConnId, Key, invariant};

use super::group::{Consumer, failure_of, refusal_of};
use super::queue::Step;
use crate::api::{MessageQueue, OpErrorKind, StartAt};
use crate::calls::Reply;
use crate::cx::{Cx, Outgoing, Want};
use crate::timer::ConsumerTimer;
use crate::waiter::{ConsumerCall, Waiter};

/// Time for asking or saving a position.
pub(super) const POSITION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for asking where a queue ends, or for the offset of a time.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(6);
/// Wait before a position is asked for again.
const RETRY: Duration = Duration::from_secs(1);

/// Where a queue begins for which the group has no position.
enum Beginning {
    At(i64),
    End,
    Time(i64),
}

impl Consumer {
    /// Asks for what the queue's step needs.
    pub(super) fn ask_position(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(queue) = self.queues.get(key) else { return };
        match queue.step {
            Step::Lock => self.lock_soon(cx),
            Step::Position if self.is_local() => self.find_local(cx, key),
            Step::Position => self.ask_stored(cx, key),
            Step::Start => self.ask_start(cx, key),
            Step::Live => {}
        }
    }

    fn ask_stored(&mut self, cx: &mut Cx<'_>, key: Key) {
        let how = self.call(POSITION_TIMEOUT, ConsumerCall::QueryOffset(key));
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Some((to, id)) = cx.shared.table.broker_address(&queue.mq.broker, queue.suggested, false) else {
            return self.ask_later(cx, key, no_broker());
        };
        queue.asked = id;
        let request = QueryConsumerOffset {
            consumer_group: self.config.group.as_str().into(),
            topic: queue.mq.topic.as_str().into(),
            queue_id: queue.mq.id,
            set_zero_if_not_found: self.config.exact_start.then_some(false),
            scope: Scope::broker(queue.mq.broker.as_str()),
        };
        if let Err(no) = cx.request(&to, &request, Bytes::new(), how) {
            self.turn_away(cx, key, id);
            self.ask_later(cx, key, refusal_of(&to, &no));
        }
    }

    /// The broker says how far the group has got.
    pub(super) fn on_stored(&mut self, cx: &mut Cx<'_>, key: Key, conn: ConnId, reply: &Reply) {
        if let Reply::Frame(frame) = reply {
            self.note_version(key, frame);
        }
        let Some(queue) = self.queues.get_mut(key) else { return };
        if let Reply::Frame(frame) = reply {
            // A slave may not have heard of the group yet.
            if frame.response_code() == ResponseCode::QUERY_NOT_FOUND && queue.asked == 0 {
                queue.step = Step::Start;
                return self.ask_start(cx, key);
            }
            if frame.response_code() == ResponseCode::SUCCESS {
                return match frame.read::<QueryConsumerOffsetReply>() {
                    Ok(stored) if stored.offset >= 0 => {
                        queue.saved = Some(stored.offset);
                        // A broker that knows nothing of the group says 0 as well.
                        if stored.offset > 0 {
                            let mq = Arc::clone(&queue.mq);
                            self.first_settled(cx, &mq, true);
                        }
                        self.begin_queue(cx, key, stored.offset);
                    }
                    Ok(stored) => self.ask_later(cx, key, negative(stored.offset)),
                    Err(error) => self.ask_later(cx, key, OpErrorKind::Protocol(alloc::format!("{error}"))),
                };
            }
        }
        let asked = queue.asked;
        self.turn_away(cx, key, asked);
        let kind = failure_of(cx, conn, reply);
        self.ask_later(cx, key, kind);
    }

    /// Java's table of start positions (consumer.md 3.6).
    fn beginning(&self, key: Key) -> Beginning {
        let Some(queue) = self.queues.get(key) else { return Beginning::At(0) };
        let is_retry = queue.mq.topic == self.retry_topic;
        match self.config.start_at {
            StartAt::First => Beginning::At(0),
            StartAt::Last if is_retry || queue.fresh => Beginning::At(0),
            StartAt::Last => Beginning::End,
            StartAt::Time(_) if is_retry => Beginning::End,
            StartAt::Time(_) if queue.fresh => Beginning::At(0),
            StartAt::Time(time) => Beginning::Time(time.get()),
        }
    }

    fn ask_start(&mut self, cx: &mut Cx<'_>, key: Key) {
        let beginning = self.beginning(key);
        if let Beginning::At(offset) = beginning {
            return self.begin_queue(cx, key, offset);
        }
        let Some(queue) = self.queues.get(key) else { return };
        let Some(to) = cx.master(&queue.mq.broker) else { return self.ask_later(cx, key, no_broker()) };
        let (topic, queue_id) = (queue.mq.topic.as_str().into(), queue.mq.id);
        let scope = Scope::broker(queue.mq.broker.as_str());
        let how = self.call(START_TIMEOUT, ConsumerCall::StartOffset(key));
        let sent = if let Beginning::Time(timestamp) = beginning {
            let boundary_type = Some("LOWER".into());
            cx.request(&to, &SearchOffset { topic, queue_id, timestamp, boundary_type, scope }, Bytes::new(), how)
        } else {
            cx.request(&to, &GetMaxOffset { topic, queue_id, committed: true, scope }, Bytes::new(), how)
        };
        if let Err(no) = sent {
            self.ask_later(cx, key, refusal_of(&to, &no));
        }
    }

    /// The master says where the queue ends, or which offset belongs to the time.
    pub(super) fn on_start_offset(&mut self, cx: &mut Cx<'_>, key: Key, conn: ConnId, reply: &Reply) {
        let frame = match reply {
            Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS => frame,
            Reply::Frame(_) | Reply::TimedOut { .. } | Reply::LinkLost { .. } => {
                let kind = failure_of(cx, conn, reply);
                return self.ask_later(cx, key, kind);
            }
        };
        let offset = match self.config.start_at {
            StartAt::Time(_) => frame.read::<SearchOffsetReply>().map(|reply| reply.offset),
            StartAt::First | StartAt::Last => frame.read::<GetMaxOffsetReply>().map(|reply| reply.offset),
        };
        match offset {
            Ok(offset) if offset >= 0 => self.begin_queue(cx, key, offset),
            Ok(offset) => self.ask_later(cx, key, negative(offset)),
            Err(error) => self.ask_later(cx, key, OpErrorKind::Protocol(alloc::format!("{error}"))),
        }
    }

    pub(super) fn begin_queue(&mut self, cx: &mut Cx<'_>, key: Key, offset: i64) {
        if let Some(queue) = self.queues.get_mut(key) {
            queue.trouble = false;
            queue.go_live(offset);
            if !self.is_local() {
                self.establish(cx, key);
            }
            self.pull(cx, key);
        }
    }

    fn ask_later(&mut self, cx: &mut Cx<'_>, key: Key, kind: OpErrorKind) {
        self.trouble_at(cx, key, "offsets", kind, RETRY);
        self.wake_after(cx, ConsumerTimer::Start(key), RETRY);
    }

    /// Reports a failure about a queue, unless it goes on since an earlier report; a broker that is not in the route any
    /// more makes the route worth a look.
    pub(super) fn trouble_at(
        &mut self,
        cx: &mut Cx<'_>,
        key: Key,
        what: &'static str,
        kind: OpErrorKind,
        retry_in: Duration,
    ) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if cx.shared.table.broker_address(&queue.mq.broker, 0, false).is_none() {
            cx.want(Want::Refresh(queue.mq.topic.clone()));
        }
        if !queue.trouble {
            queue.trouble = true;
            Self::report(cx, what, Some(queue.mq.broker.clone()), kind, Some(retry_in));
        }
    }

    /// Saves every position that its master has not confirmed; how many were sent.
    pub(super) fn save_all(&mut self, cx: &mut Cx<'_>) -> usize {
        let unsaved: alloc::vec::Vec<Key> = self
            .queues
            .iter()
            .filter(|(_, queue)| queue.is_unsaved() && queue.saving.is_none() && !queue.held)
            .map(|(key, _)| key)
            .collect();
        unsaved.into_iter().filter(|key| self.save(cx, *key)).count()
    }

    /// Sends the position of a queue and awaits the answer; whether it left, or will.
    pub(super) fn save(&mut self, cx: &mut Cx<'_>, key: Key) -> bool {
        if self.is_local() {
            return self.save_local(key);
        }
        if self.holds_first(key) {
            return true;
        }
        let how = self.call(POSITION_TIMEOUT, ConsumerCall::SaveOffset(key));
        match self.send_position(cx, key, how) {
            Ok(saving) => {
                if let Some(queue) = self.queues.get_mut(key) {
                    queue.saving = Some(saving);
                }
                true
            }
            Err(kind) => {
                self.trouble_at(cx, key, "offsets", kind, cx.shared.config.offset_interval);
                false
            }
        }
    }

    /// Sends the position of a queue that is given up.
    pub(super) fn save_once(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(queue) = self.queues.get(key).filter(|queue| queue.is_unsaved()) else { return };
        if self.is_local() {
            return self.leave_local(key);
        }
        let (mq, position) = (Arc::clone(&queue.mq), queue.goal().unwrap_or_else(|| queue.position()));
        if !self.is_established(&mq) {
            return self.part_with(cx, mq, position);
        }
        let how = Outgoing { timeout: POSITION_TIMEOUT, waiter: Waiter::Forget };
        if let Err(kind) = self.send_position_of(cx, &mq, position, how) {
            self.trouble_at(cx, key, "offsets", kind, Duration::ZERO);
        }
    }

    fn send_position(&self, cx: &mut Cx<'_>, key: Key, how: Outgoing) -> Result<(i64, bool), OpErrorKind> {
        let Some(queue) = self.queues.get(key) else { return Err(no_broker()) };
        let position = queue.goal().unwrap_or_else(|| queue.position());
        // Who commits by hand may go back.
        invariant!(
            cx.shared.health,
            self.lite.is_some() || queue.saved.is_none_or(|saved| saved <= position),
            "a group's position went back without a correction"
        );
        let at_master = self.send_position_of(cx, &queue.mq, position, how)?;
        Ok((position, at_master))
    }

    /// Sends a position; whether to the master.
    pub(super) fn send_position_of(
        &self,
        cx: &mut Cx<'_>,
        mq: &MessageQueue,
        position: i64,
        how: Outgoing,
    ) -> Result<bool, OpErrorKind> {
        let (to, id) = cx.shared.table.broker_address(&mq.broker, 0, false).ok_or_else(no_broker)?;
        let request = UpdateConsumerOffset {
            consumer_group: self.config.group.as_str().into(),
            topic: mq.topic.as_str().into(),
            queue_id: mq.id,
            commit_offset: position,
            scope: Scope::broker(mq.broker.as_str()),
        };
        match cx.request(&to, &request, Bytes::new(), how) {
            Ok(_) => Ok(id == 0),
            Err(no) => Err(refusal_of(&to, &no)),
        }
    }

    /// A broker has stored a position, or has not.
    pub(super) fn on_saved(&mut self, cx: &mut Cx<'_>, key: Key, conn: ConnId, reply: &Reply) {
        let saving = self.queues.get_mut(key).and_then(|queue| queue.saving.take());
        let stored = matches!(reply, Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS);
        if let Some(queue) = self.queues.get_mut(key)
            && let Some((position, at_master)) = saving
        {
            if !stored {
                let kind = failure_of(cx, conn, reply);
                self.trouble_at(cx, key, "offsets", kind, cx.shared.config.offset_interval);
            } else if at_master {
                queue.saved = Some(position);
                queue.wanted.take_if(|wanted| *wanted == position);
            }
        }
        if let Some(mq) = self.queues.get(key).map(|queue| Arc::clone(&queue.mq)) {
            self.first_settled(cx, &mq, stored);
        }
        self.commit_settled(cx, key, saving.map(|(position, _)| position), conn, reply);
        self.position_settled(cx, key, saving.filter(|_| stored).map(|(position, _)| position));
    }

    pub(super) const fn call(&self, timeout: Duration, call: ConsumerCall) -> Outgoing {
        Outgoing { timeout, waiter: Waiter::Consumer(self.id, call) }
    }
}

pub(super) fn no_broker() -> OpErrorKind {
    OpErrorKind::Refused("no address of the broker is known".into())
}

pub(super) fn negative(offset: i64) -> OpErrorKind {
    OpErrorKind::Protocol(alloc::format!("the offset {offset} is negative"))
}
