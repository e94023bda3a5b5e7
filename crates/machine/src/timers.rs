//! Keyed deadlines: one timer per key, ordered by `(moment, key)`, cancelled one by one or by owner.

use alloc::collections::BTreeMap;
use core::ops::RangeInclusive;

use crate::{Deadline, Moment};

/// What names a timer. Keys order by owner first, so that one range holds all timers of an owner.
pub trait TimerKey: Copy + Ord {
    /// A fixed name for diagnosis.
    fn why(&self) -> &'static str;
}

/// The deadlines of one machine. Setting a key again replaces its deadline, so re-arming cannot leak.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    due: BTreeMap<(Moment, K), ()>,
    at: BTreeMap<K, Moment>,
}

impl<K: TimerKey> Timers<K> {
    /// No timers.
    #[must_use]
    pub const fn new() -> Self {
        Self { due: BTreeMap::new(), at: BTreeMap::new() }
    }

    /// Arms `key` for `at`, clamped to later than `now`, in place of any earlier deadline of the key.
    pub fn set(&mut self, now: Moment, key: K, at: Moment) {
        let at = at.max(Moment::from_nanos(now.as_nanos().saturating_add(1)));
        if let Some(old) = self.at.insert(key, at) {
            if old == at {
                return;
            }
            self.due.remove(&(old, key));
        }
        self.due.insert((at, key), ());
    }

    /// Arms `key` only if it is not armed for an earlier moment already.
    pub fn set_no_later(&mut self, now: Moment, key: K, at: Moment) {
        if self.at.get(&key).is_none_or(|armed| *armed > at) {
            self.set(now, key, at);
        }
    }

    /// Disarms `key`; says whether it was armed.
    pub fn cancel(&mut self, key: K) -> bool {
        match self.at.remove(&key) {
            Some(at) => {
                self.due.remove(&(at, key));
                true
            }
            None => false,
        }
    }

    /// Disarms every key in the range, which is how all timers of one owner go.
    pub fn cancel_range(&mut self, keys: RangeInclusive<K>) {
        while let Some((&key, _)) = self.at.range(keys.clone()).next() {
            self.cancel(key);
        }
    }

    /// Disarms everything.
    pub fn cancel_all(&mut self) {
        self.due.clear();
        self.at.clear();
    }

    /// When `key` will fire, if it is armed.
    #[must_use]
    pub fn armed(&self, key: K) -> Option<Moment> {
        self.at.get(&key).copied()
    }

    /// Takes the first key that is due at `now`.
    pub fn pop(&mut self, now: Moment) -> Option<K> {
        let (&(at, key), ()) = self.due.first_key_value()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        self.at.remove(&key);
        Some(key)
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next(&self) -> Option<Deadline> {
        self.due.first_key_value().map(|((at, key), ())| Deadline { at: *at, why: key.why() })
    }

    /// How many timers are armed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether no timer is armed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// All armed keys with their moments, in key order.
    pub fn iter(&self) -> impl Iterator<Item = (K, Moment)> + '_ {
        self.at.iter().map(|(key, at)| (*key, *at))
    }
}

impl<K: TimerKey> Default for Timers<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    impl TimerKey for (u8, u8) {
        fn why(&self) -> &'static str {
            "test"
        }
    }

    const fn ms(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    #[test]
    fn setting_again_replaces_and_never_fires_at_now() {
        let mut timers = Timers::new();
        timers.set(ms(0), (1, 1), ms(10));
        timers.set(ms(0), (1, 1), ms(5));
        assert_eq!(timers.len(), 1);
        assert_eq!(timers.pop(ms(5)), Some((1, 1)));
        assert_eq!(timers.pop(ms(50)), None);
        timers.set(ms(50), (1, 1), ms(20));
        assert_eq!(timers.pop(ms(50)), None, "a deadline in the past waits for the next instant");
        assert_eq!(timers.next().map(|d| d.at), Some(Moment::from_nanos(50_000_001)));
    }

    #[test]
    fn an_owner_goes_as_a_range() {
        let mut timers = Timers::new();
        for key in [(1, 0), (2, 0), (2, 7), (3, 0)] {
            timers.set(ms(0), key, ms(10));
        }
        timers.cancel_range((2, 0)..=(2, u8::MAX));
        let left: Vec<_> = timers.iter().map(|(key, _)| key).collect();
        assert_eq!(left, [(1, 0), (3, 0)]);
    }

    #[test]
    fn equal_moments_fire_in_key_order() {
        let mut timers = Timers::new();
        for key in [(3, 0), (1, 0), (2, 0)] {
            timers.set(ms(0), key, ms(10));
        }
        let mut fired = Vec::new();
        while let Some(key) = timers.pop(ms(10)) {
            fired.push(key.0);
        }
        assert_eq!(fired, [1, 2, 3]);
    }
}
