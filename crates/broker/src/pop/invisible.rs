//! Which messages are invisible, and until when: the checkpoints of a broker.
//!
//! A checkpoint is what one pop took from one queue. It ends when all its messages are acknowledged, or when its time is
//! over: then those that were not are revived. Until a checkpoint has been revived, late acknowledgements count.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::Moment;

use super::Place;

/// How long after its time is over a message is revived, at the earliest: Apache's own wait is one to four seconds.
const LAG: Duration = Duration::from_secs(1);
/// How long a revival waits that finds no room, try by try.
const BACK_OFF: [u64; 8] = [10, 20, 30, 60, 120, 300, 600, 1_800];

/// What names a checkpoint: its queue, where the pop began, and when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CheckpointId {
    pub(super) place: Place,
    pub(super) start: i64,
    pub(super) pop_time: i64,
}

/// What one pop took from one queue and has not been acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub(super) offsets: BTreeSet<i64>,
    due: (Moment, u64),
    tries: usize,
}

/// All checkpoints, bounded by their messages.
#[derive(Debug)]
pub(super) struct Invisible {
    checkpoints: BTreeMap<CheckpointId, Checkpoint>,
    due: BTreeMap<(Moment, u64), CheckpointId>,
    sequence: u64,
    messages: usize,
    limit: usize,
}

impl Invisible {
    pub(super) const fn new(limit: usize) -> Self {
        Self { checkpoints: BTreeMap::new(), due: BTreeMap::new(), sequence: 0, messages: 0, limit }
    }

    /// How many more messages may become invisible.
    pub(super) const fn room(&self) -> usize {
        self.limit.saturating_sub(self.messages)
    }

    pub(super) fn contains(&self, id: &CheckpointId) -> bool {
        self.checkpoints.contains_key(id)
    }

    /// Makes messages invisible until `visible`. A checkpoint of this name, which only a reset of the position can have
    /// left, is merged.
    pub(super) fn add(&mut self, id: CheckpointId, offsets: &[i64], visible: Moment) {
        let due = self.slot(visible + LAG);
        let mut checkpoint = Checkpoint { offsets: offsets.iter().copied().collect(), due, tries: 0 };
        if let Some(before) = self.take(&id) {
            checkpoint.offsets.extend(before.offsets);
        }
        self.put(id, checkpoint);
    }

    /// Acknowledges a message; false if it is not invisible by this checkpoint.
    pub(super) fn ack(&mut self, id: &CheckpointId, offset: i64) -> bool {
        let Some(checkpoint) = self.checkpoints.get_mut(id) else { return false };
        let known = checkpoint.offsets.remove(&offset);
        self.messages -= usize::from(known);
        if checkpoint.offsets.is_empty() {
            self.take(id);
        }
        known
    }

    /// When the next checkpoint is to be revived.
    pub(super) fn next_due(&self) -> Option<Moment> {
        self.due.keys().next().map(|(at, _)| *at)
    }

    /// Takes a checkpoint whose time is over.
    pub(super) fn take_due(&mut self, now: Moment) -> Option<(CheckpointId, Checkpoint)> {
        let id = self.due.first_key_value().filter(|((at, _), _)| *at <= now)?.1.clone();
        let checkpoint = self.take(&id)?;
        Some((id, checkpoint))
    }

    /// Puts back what could not be revived, to be tried later.
    pub(super) fn put_back(&mut self, now: Moment, id: CheckpointId, mut checkpoint: Checkpoint) {
        let wait = BACK_OFF.get(checkpoint.tries).or(BACK_OFF.last()).copied().unwrap_or(0);
        checkpoint.tries += 1;
        checkpoint.due = self.slot(now + Duration::from_secs(wait));
        self.put(id, checkpoint);
    }

    /// Drops the checkpoints of other places.
    pub(super) fn retain(&mut self, keep: impl Fn(&Place) -> bool) {
        let gone: Vec<CheckpointId> = self.checkpoints.keys().filter(|id| !keep(&id.place)).cloned().collect();
        for id in gone {
            self.take(&id);
        }
    }

    fn slot(&mut self, at: Moment) -> (Moment, u64) {
        self.sequence += 1;
        (at, self.sequence)
    }

    fn put(&mut self, id: CheckpointId, checkpoint: Checkpoint) {
        self.messages += checkpoint.offsets.len();
        self.due.insert(checkpoint.due, id.clone());
        self.checkpoints.insert(id, checkpoint);
    }

    fn take(&mut self, id: &CheckpointId) -> Option<Checkpoint> {
        let checkpoint = self.checkpoints.remove(id)?;
        self.due.remove(&checkpoint.due);
        self.messages -= checkpoint.offsets.len();
        Some(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(start: i64) -> CheckpointId {
        CheckpointId { place: Place::new("g", "T", 0), start, pop_time: 7 }
    }

    const fn secs(seconds: u64) -> Moment {
        Moment::from_millis(seconds * 1_000)
    }

    #[test]
    fn acknowledged_messages_leave_and_the_rest_is_due() {
        let mut invisible = Invisible::new(4);
        invisible.add(id(0), &[0, 1, 2], secs(5));
        assert_eq!(invisible.room(), 1);
        assert!(invisible.ack(&id(0), 1));
        assert!(!invisible.ack(&id(0), 1), "twice");
        assert!(!invisible.ack(&id(1), 0), "another checkpoint");
        assert_eq!(invisible.take_due(secs(5)), None);
        let (due, checkpoint) = invisible.take_due(secs(6)).expect("a checkpoint");
        assert_eq!((due, checkpoint.offsets.len()), (id(0), 2));
        assert_eq!((invisible.room(), invisible.next_due()), (4, None));
        invisible.put_back(secs(6), id(0), checkpoint);
        assert_eq!(invisible.next_due(), Some(secs(16)));
        assert!(invisible.ack(&id(0), 0) && invisible.ack(&id(0), 2));
        assert_eq!((invisible.room(), invisible.next_due()), (4, None));
    }

    #[test]
    fn equal_names_are_merged() {
        let mut invisible = Invisible::new(10);
        invisible.add(id(0), &[0, 1], secs(5));
        invisible.add(id(0), &[0, 2], secs(9));
        assert_eq!((invisible.room(), invisible.next_due()), (7, Some(secs(10))));
        invisible.retain(|place| &*place.group != "g");
        assert_eq!((invisible.room(), invisible.next_due()), (10, None));
    }
}
