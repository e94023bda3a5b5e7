//! The first positions of a topic at a broker go one at a time.
//!
//! Apache's brokers keep the positions of a group and topic in one map, which the first of them creates. Two that arrive
//! at once create two maps; one of these is lost, although both positions were answered with success, and the group begins
//! at its start again (seen on 4.2.0; the code of 5.3.3 is the same).
//!
//! Decides: a group that has no position of a topic at a broker saves where its first queue there begins, at once. Until a
//! broker has taken one position of a topic from this consumer, one is on its way, and none travels with
//! pulls. The others are held, those of queues that are given up before all; they follow the answer. It owns no timer: the
//! answer comes, or its time is over.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rocketry_codec::codes::ResponseCode;
use rocketry_machine::Key;

use super::group::Consumer;
use super::offsets::POSITION_TIMEOUT;
use super::queue::ProcessQueue;
use crate::api::MessageQueue;
use crate::calls::Reply;
use crate::cx::{Cx, Outgoing};
use crate::waiter::{ConsumerCall, Waiter};

/// The position of a queue that was given up before a broker had taken one of its topic.
#[derive(Debug)]
pub(super) struct Parting {
    mq: Arc<MessageQueue>,
    position: i64,
    /// Whether it is on its way.
    sent: bool,
}

impl Consumer {
    /// Whether the broker has taken a position of the topic already.
    pub(super) fn is_established(&self, queue: &MessageQueue) -> bool {
        self.established.contains(&(queue.topic.clone(), queue.broker.clone()))
    }

    /// A queue begins. The first of its topic at its broker saves where it does, so that the broker has a position before
    /// queues move.
    pub(super) fn establish(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(queue) = self.queues.get(key).filter(|queue| queue.goal().is_some()) else { return };
        let mq = Arc::clone(&queue.mq);
        let first = |queue: &ProcessQueue| queue.saving.is_some() && shares_a_map(&queue.mq, &mq);
        if !self.is_established(&mq) && !self.is_parting(&mq) && !self.queues.iter().any(|(_, queue)| first(queue)) {
            self.save(cx, key);
        }
    }

    /// Holds the position of a queue while another queue's first one is on its way; whether it does.
    pub(super) fn holds_first(&mut self, key: Key) -> bool {
        let Some(mq) = self.queues.get(key).map(|queue| Arc::clone(&queue.mq)) else { return false };
        let first = |(other, queue): (Key, &ProcessQueue)| {
            other != key && queue.saving.is_some() && shares_a_map(&queue.mq, &mq)
        };
        let holds = !self.is_established(&mq) && (self.queues.iter().any(first) || self.is_parting(&mq));
        if let Some(queue) = self.queues.get_mut(key) {
            queue.held = holds;
        }
        holds
    }

    /// The position of a queue was stored, or was not: what was held for it goes on.
    pub(super) fn first_settled(&mut self, cx: &mut Cx<'_>, mq: &MessageQueue, stored: bool) {
        if stored && !self.is_established(mq) {
            self.established.insert((mq.topic.clone(), mq.broker.clone()));
        }
        self.send_partings(cx, mq);
        let held = |queue: &ProcessQueue| queue.held && shares_a_map(&queue.mq, mq);
        let keys: Vec<Key> = self.queues.iter().filter(|(_, queue)| held(queue)).map(|(key, _)| key).collect();
        for key in keys {
            // Where nothing was stored the first of them is the next one to try, and holds the rest.
            if !self.save(cx, key) {
                self.commit_unsent(cx, key);
                self.position_settled(cx, key, None);
            }
        }
    }

    /// A queue is given up whose topic's first position the broker has not taken yet.
    pub(super) fn part_with(&mut self, cx: &mut Cx<'_>, mq: Arc<MessageQueue>, position: i64) {
        self.partings.insert(Parting { mq: Arc::clone(&mq), position, sent: false });
        if !self.queues.iter().any(|(_, queue)| queue.saving.is_some() && shares_a_map(&queue.mq, &mq)) {
            self.send_partings(cx, &mq);
        }
    }

    /// The first position of a queue that was given up was stored, or was not.
    pub(super) fn on_parting_saved(&mut self, cx: &mut Cx<'_>, key: Key, reply: &Reply) {
        let Some(parting) = self.partings.remove(key) else { return };
        let stored = matches!(reply, Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS);
        self.first_settled(cx, &parting.mq, stored);
    }

    fn is_parting(&self, mq: &MessageQueue) -> bool {
        self.partings.iter().any(|(_, parting)| parting.sent && shares_a_map(&parting.mq, mq))
    }

    /// Sends positions of queues that were given up: one, or all once a first one is stored.
    fn send_partings(&mut self, cx: &mut Cx<'_>, mq: &MessageQueue) {
        for key in self.partings.ids() {
            if !self.is_established(mq) && self.is_parting(mq) {
                return;
            }
            let Some(parting) = self.partings.get_mut(key) else { continue };
            if parting.sent || !shares_a_map(&parting.mq, mq) {
                continue;
            }
            parting.sent = true;
            let (mq, position) = (Arc::clone(&parting.mq), parting.position);
            let waiter = Waiter::Consumer(self.id, ConsumerCall::PartingOffset(key));
            let how = Outgoing { timeout: POSITION_TIMEOUT, waiter };
            if let Err(kind) = self.send_position_of(cx, &mq, position, how) {
                self.partings.remove(key);
                Self::report(cx, "offsets", Some(mq.broker.clone()), kind, None);
            }
        }
    }

    /// The consumer stops: nothing is held any longer.
    pub(super) fn send_all_partings(&mut self, cx: &mut Cx<'_>) {
        for key in self.partings.ids() {
            let Some(parting) = self.partings.remove(key).filter(|parting| !parting.sent) else { continue };
            let how = Outgoing { timeout: POSITION_TIMEOUT, waiter: Waiter::Forget };
            if let Err(kind) = self.send_position_of(cx, &parting.mq, parting.position, how) {
                Self::report(cx, "offsets", Some(parting.mq.broker.clone()), kind, None);
            }
        }
    }
}

fn shares_a_map(one: &MessageQueue, other: &MessageQueue) -> bool {
    one.topic == other.topic && one.broker == other.broker
}
