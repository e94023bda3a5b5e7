//! Queue locks of orderly consumers (`spec/broker.md` 7).
//!
//! A lock belongs to a group and a queue, is held by a client id, and lives 60 s from its last grant. Expiry is tested
//! on access, so there is no timer. The queue need not exist and the group need not have the client as a member. While
//! a group holds any unexpired lock, its ordinary sends to its retry topic go to the dead-letter topic.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;

use rocketry_machine::Moment;

/// How long a lock lives after its last grant; at exactly this age it still holds.
pub(crate) const LOCK_LIFE: Duration = Duration::from_secs(60);

/// A queue as clients name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueName {
    pub(crate) topic: Arc<str>,
    pub(crate) broker: Arc<str>,
    pub(crate) queue: i32,
}

#[derive(Debug)]
struct Lock {
    client: Arc<str>,
    granted: Moment,
}

impl Lock {
    fn alive(&self, now: Moment) -> bool {
        now.since(self.granted) <= LOCK_LIFE
    }
}

/// The locks of all groups, bounded in number.
#[derive(Debug)]
pub(crate) struct Locks {
    groups: BTreeMap<Arc<str>, BTreeMap<QueueName, Lock>>,
    len: usize,
    limit: usize,
}

impl Locks {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { groups: BTreeMap::new(), len: 0, limit }
    }

    /// Grants or refreshes a lock; false while another client holds it, or when there is no room.
    pub(crate) fn lock(&mut self, now: Moment, group: &str, client: &str, queue: QueueName) -> bool {
        if self.len >= self.limit {
            self.sweep(now);
        }
        match self.groups.get_mut(group).and_then(|locks| locks.get_mut(&queue)) {
            Some(lock) if &*lock.client == client => lock.granted = now,
            Some(lock) if lock.alive(now) => return false,
            Some(lock) => *lock = Lock { client: client.into(), granted: now },
            None if self.len >= self.limit => return false,
            None => {
                let lock = Lock { client: client.into(), granted: now };
                self.groups.entry(group.into()).or_default().insert(queue, lock);
                self.len += 1;
            }
        }
        true
    }

    /// Releases a lock that this client holds; others are left alone.
    pub(crate) fn unlock(&mut self, group: &str, client: &str, queue: &QueueName) {
        if let Some(locks) = self.groups.get_mut(group)
            && locks.get(queue).is_some_and(|lock| &*lock.client == client)
        {
            locks.remove(queue);
            self.len -= 1;
            if locks.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    /// Whether the group holds any unexpired lock.
    pub(crate) fn holds_any(&self, now: Moment, group: &str) -> bool {
        self.groups.get(group).is_some_and(|locks| locks.values().any(|lock| lock.alive(now)))
    }

    fn sweep(&mut self, now: Moment) {
        self.groups.retain(|_, locks| {
            locks.retain(|_, lock| lock.alive(now));
            !locks.is_empty()
        });
        self.len = self.groups.values().map(BTreeMap::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(queue: i32) -> QueueName {
        QueueName { topic: "t".into(), broker: "b".into(), queue }
    }

    #[test]
    fn another_client_gets_the_lock_only_after_60_s_and_a_millisecond() {
        let mut locks = Locks::new(10);
        let at = Moment::from_millis;
        assert!(locks.lock(at(0), "g", "a", queue(0)));
        assert!(!locks.lock(at(60_000), "g", "b", queue(0)));
        assert!(locks.lock(at(60_000), "g", "a", queue(0)), "the holder refreshes");
        assert!(!locks.lock(at(120_000), "g", "b", queue(0)));
        assert!(locks.holds_any(at(120_000), "g"));
        assert!(!locks.holds_any(at(120_001), "g"));
        assert!(locks.lock(at(120_001), "g", "b", queue(0)));
    }

    #[test]
    fn only_the_holder_unlocks() {
        let mut locks = Locks::new(10);
        assert!(locks.lock(Moment::ZERO, "g", "a", queue(0)));
        locks.unlock("g", "b", &queue(0));
        assert!(!locks.lock(Moment::ZERO, "g", "b", queue(0)));
        locks.unlock("g", "a", &queue(0));
        assert!(locks.lock(Moment::ZERO, "g", "b", queue(0)));
    }

    #[test]
    fn the_number_of_locks_is_bounded_and_dead_ones_make_room() {
        let mut locks = Locks::new(1);
        assert!(locks.lock(Moment::ZERO, "g", "a", queue(0)));
        assert!(!locks.lock(Moment::ZERO, "h", "a", queue(0)));
        assert!(locks.lock(Moment::from_millis(60_001), "h", "a", queue(0)));
    }
}
