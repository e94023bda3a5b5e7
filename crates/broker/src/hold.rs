//! Pulls that wait for news (`spec/broker.md` 4.6).
//!
//! A waiting pull is parked by topic and queue. It is woken by a message that its filter admits, by a scan that finds
//! that the queue has grown past it (without asking the filter), or by its deadline, which only arrivals and scans look
//! at. A woken pull is answered; it never waits again. The scan runs on a fixed grid from the start of the broker, and
//! only while something waits.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rocketry_machine::{ConnId, Moment};

use crate::topics::TopicId;

/// A parked request and until when it may wait.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    pub(crate) conn: ConnId,
    pub(crate) offset: i64,
    pub(crate) deadline: Moment,
    pub(crate) pull: P,
}

/// All waiting pulls, bounded in number.
#[derive(Debug)]
pub(crate) struct Hold<P> {
    queues: BTreeMap<(TopicId, u32), Vec<Held<P>>>,
    len: usize,
    limit: usize,
}

impl<P> Hold<P> {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { queues: BTreeMap::new(), len: 0, limit }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn has_room(&self) -> bool {
        self.len < self.limit
    }

    /// Whether anything waits at a queue.
    pub(crate) fn waits_at(&self, topic: TopicId, queue: u32) -> bool {
        self.len > 0 && self.queues.contains_key(&(topic, queue))
    }

    /// Parks a pull, for which [`Hold::has_room`] was asked.
    pub(crate) fn park(&mut self, topic: TopicId, queue: u32, held: Held<P>) {
        self.len += 1;
        self.queues.entry((topic, queue)).or_default().push(held);
    }

    /// Takes the pulls of a queue that `wake` picks, in the order in which they were parked.
    pub(crate) fn take(&mut self, topic: TopicId, queue: u32, wake: impl FnMut(&mut Held<P>) -> bool) -> Vec<Held<P>> {
        if self.len == 0 {
            return Vec::new();
        }
        let Some(parked) = self.queues.get_mut(&(topic, queue)) else { return Vec::new() };
        let woken: Vec<Held<P>> = parked.extract_if(.., wake).collect();
        self.len -= woken.len();
        if parked.is_empty() {
            self.queues.remove(&(topic, queue));
        }
        woken
    }

    /// The queues at which something waits.
    pub(crate) fn queues(&self) -> Vec<(TopicId, u32)> {
        self.queues.keys().copied().collect()
    }

    /// Drops the pulls of a connection that is gone.
    pub(crate) fn close(&mut self, conn: ConnId) {
        let mut gone = 0;
        self.queues.retain(|_, parked| {
            let before = parked.len();
            parked.retain(|held| held.conn != conn);
            gone += before - parked.len();
            !parked.is_empty()
        });
        self.len -= gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocketry_machine::Key;

    fn held(index: u32, offset: i64) -> Held<&'static str> {
        Held { conn: Key::from_parts(index, 0).into(), offset, deadline: Moment::ZERO, pull: "pull" }
    }

    #[test]
    fn parked_pulls_leave_by_choice_or_with_their_connection() {
        let topic = TopicId::from(Key::from_parts(0, 0));
        let mut hold = Hold::new(3);
        for (conn, offset) in [(1, 5), (2, 6), (1, 7)] {
            assert!(hold.has_room());
            hold.park(topic, 0, held(conn, offset));
        }
        assert!(!hold.has_room());
        assert!(hold.take(topic, 1, |_| true).is_empty());
        let woken = hold.take(topic, 0, |held| held.offset > 5);
        assert_eq!(woken.iter().map(|h| h.offset).collect::<Vec<_>>(), [6, 7]);
        assert_eq!(hold.queues(), [(topic, 0)]);
        hold.close(Key::from_parts(1, 0).into());
        assert!(hold.is_empty());
    }
}
