//! Consumer positions: what each group has committed, where it last pulled to, and resets that wait to be seen.
//!
//! Positions are kept without any check of their range (`spec/broker.md` 5.2): smaller values, unknown queues and
//! offsets beyond the maximum are all taken. A pending reset answers queries and swallows commits until a pull of that
//! queue has been told of it.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// What is known about one group at one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) committed: Option<i64>,
    pub(crate) pulled: Option<i64>,
    pub(crate) reset: Option<i64>,
}

type Queues = BTreeMap<i32, Position>;
type ByTopic = BTreeMap<Arc<str>, Queues>;

/// The positions of all groups, bounded in number.
#[derive(Debug)]
pub(crate) struct Offsets {
    groups: BTreeMap<Arc<str>, ByTopic>,
    len: usize,
    limit: usize,
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// It is stored.
    Stored,
    /// A reset is pending, so the commit is ignored.
    ResetPending,
    /// The table of positions is full.
    Full,
}

impl Offsets {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { groups: BTreeMap::new(), len: 0, limit }
    }

    pub(crate) fn get(&self, group: &str, topic: &str, queue: i32) -> Option<&Position> {
        self.groups.get(group)?.get(topic)?.get(&queue)
    }

    /// What a query answers: a pending reset first, then the committed offset.
    pub(crate) fn query(&self, group: &str, topic: &str, queue: i32) -> Option<i64> {
        let position = self.get(group, topic, queue)?;
        position.reset.or(position.committed)
    }

    /// Stores a committed offset unless a reset is pending.
    pub(crate) fn update(&mut self, group: &str, topic: &str, queue: i32, offset: i64) -> Commit {
        match self.entry(group, topic, queue) {
            None => Commit::Full,
            Some(position) if position.reset.is_some() => Commit::ResetPending,
            Some(position) => {
                position.committed = Some(offset);
                Commit::Stored
            }
        }
    }

    /// Stores a commit that came along with a pull: without any look at pending resets (`spec/broker.md` 4.7).
    pub(crate) fn commit_with_pull(&mut self, group: &str, topic: &str, queue: i32, offset: i64) {
        if let Some(position) = self.entry(group, topic, queue) {
            position.committed = Some(offset);
        }
    }

    /// Remembers where a pull ended, for statistics.
    pub(crate) fn record_pull(&mut self, group: &str, topic: &str, queue: i32, next: i64) {
        if let Some(position) = self.entry(group, topic, queue) {
            position.pulled = Some(next);
        }
    }

    /// Makes the next pull of the queue start elsewhere.
    pub(crate) fn reset(&mut self, group: &str, topic: &str, queue: i32, offset: i64) {
        if let Some(position) = self.entry(group, topic, queue) {
            position.reset = Some(offset);
            position.committed = Some(offset);
        }
    }

    /// Takes the pending reset of a queue, which a pull then reports.
    pub(crate) fn take_reset(&mut self, group: &str, topic: &str, queue: i32) -> Option<i64> {
        self.groups.get_mut(group)?.get_mut(topic)?.get_mut(&queue)?.reset.take()
    }

    /// The topics of a group with all positions.
    pub(crate) fn of_group(&self, group: &str) -> impl Iterator<Item = (&Arc<str>, &BTreeMap<i32, Position>)> {
        self.groups.get(group).into_iter().flatten()
    }

    /// The groups that have a position in a topic.
    pub(crate) fn groups_of_topic(&self, topic: &str) -> impl Iterator<Item = &Arc<str>> {
        self.groups.iter().filter(move |(_, topics)| topics.contains_key(topic)).map(|(group, _)| group)
    }

    /// Forgets a group.
    pub(crate) fn remove_group(&mut self, group: &str) {
        if let Some(topics) = self.groups.remove(group) {
            self.len -= topics.values().map(BTreeMap::len).sum::<usize>();
        }
    }

    /// Forgets a topic in all groups.
    pub(crate) fn remove_topic(&mut self, topic: &str) {
        for topics in self.groups.values_mut() {
            if let Some(queues) = topics.remove(topic) {
                self.len -= queues.len();
            }
        }
    }

    fn entry(&mut self, group: &str, topic: &str, queue: i32) -> Option<&mut Position> {
        let known = self.get(group, topic, queue).is_some();
        if !known {
            if self.len >= self.limit {
                return None;
            }
            self.len += 1;
            if !self.groups.contains_key(group) {
                self.groups.insert(group.into(), ByTopic::new());
            }
            let topics = self.groups.get_mut(group)?;
            if !topics.contains_key(topic) {
                topics.insert(topic.into(), Queues::new());
            }
        }
        Some(self.groups.get_mut(group)?.get_mut(topic)?.entry(queue).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_reset_answers_queries_and_swallows_commits() {
        let mut offsets = Offsets::new(10);
        assert_eq!(offsets.update("g", "t", 0, 9), Commit::Stored);
        offsets.reset("g", "t", 0, 3);
        assert_eq!(offsets.query("g", "t", 0), Some(3));
        assert_eq!(offsets.update("g", "t", 0, 10), Commit::ResetPending);
        assert_eq!(offsets.take_reset("g", "t", 0), Some(3));
        assert_eq!(offsets.take_reset("g", "t", 0), None);
        assert_eq!(offsets.query("g", "t", 0), Some(3));
        assert_eq!(offsets.update("g", "t", 0, 4), Commit::Stored);
        assert_eq!(offsets.query("g", "t", 0), Some(4));
    }

    #[test]
    fn a_commit_with_a_pull_overwrites_a_reset_value() {
        let mut offsets = Offsets::new(10);
        offsets.reset("g", "t", 0, 3);
        offsets.commit_with_pull("g", "t", 0, 8);
        assert_eq!(offsets.get("g", "t", 0).and_then(|p| p.committed), Some(8));
    }

    #[test]
    fn any_value_is_taken_but_the_number_of_positions_is_bounded() {
        let mut offsets = Offsets::new(2);
        assert_eq!(offsets.update("g", "t", -7, -1), Commit::Stored);
        assert_eq!(offsets.update("g", "t", 1 << 20, i64::MAX), Commit::Stored);
        assert_eq!(offsets.update("g", "t", 0, 0), Commit::Full);
        assert_eq!(offsets.update("g", "t", -7, -2), Commit::Stored, "a known queue can still move");
        offsets.remove_topic("t");
        assert_eq!(offsets.query("g", "t", -7), None);
        assert_eq!(offsets.update("h", "t", 0, 0), Commit::Stored);
        offsets.remove_group("h");
        assert_eq!((offsets.query("h", "t", 0), offsets.len), (None, 0));
    }
}
