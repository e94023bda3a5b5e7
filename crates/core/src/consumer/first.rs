//! The first positions of a topic at a broker go one at a time.
//!
//! Apache's brokers keep the positions of a group and topic in one map, which the first of them creates. Two that arrive
//! at once create two maps; one of these is lost, although both positions were answered with success, and the group begins
//! at its start again (seen on 4.2.0, and in the source of every release to 5.3.3).
//!
//! Decides: until a broker has taken one position of a topic from this consumer, one is on its way, and none travels with
//! pulls. The others are held; they follow the answer. It owns no timer: the answer comes, or its time is over.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rocketry_machine::Key;

use super::group::Consumer;
use super::queue::ProcessQueue;
use crate::api::MessageQueue;
use crate::cx::Cx;

impl Consumer {
    /// Whether the broker has taken a position of the topic already.
    pub(super) fn is_established(&self, queue: &MessageQueue) -> bool {
        self.established.contains(&(queue.topic.clone(), queue.broker.clone()))
    }

    /// Holds the position of a queue while another queue's first one is on its way; whether it does.
    pub(super) fn holds_first(&mut self, key: Key) -> bool {
        let Some(mq) = self.queues.get(key).map(|queue| Arc::clone(&queue.mq)) else { return false };
        let first = |(other, queue): (Key, &ProcessQueue)| {
            other != key && queue.saving.is_some() && shares_a_map(&queue.mq, &mq)
        };
        let holds = !self.is_established(&mq) && self.queues.iter().any(first);
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
}

fn shares_a_map(one: &MessageQueue, other: &MessageQueue) -> bool {
    one.topic == other.topic && one.broker == other.broker
}
