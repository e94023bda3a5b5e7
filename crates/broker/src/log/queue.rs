//! The index of one queue: where each of its messages lies in the commit log.

use alloc::collections::VecDeque;

/// One message of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where its record starts in the commit log.
    pub(crate) offset: u64,
    /// The size of the record.
    pub(crate) size: u32,
    /// The hash of its tag, sign-extended.
    pub(crate) code: i64,
}

/// What an entry costs in memory.
pub(crate) const ENTRY_BYTES: usize = size_of::<Entry>();

/// The entries of a queue from its minimum offset on. Offsets are dense, start at 0 and are never reused.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    min: u64,
    entries: VecDeque<Entry>,
    touched: i64,
}

impl Queue {
    /// The offset of the oldest message that is still here.
    pub(crate) const fn min(&self) -> u64 {
        self.min
    }

    /// The offset that the next message will have.
    pub(crate) fn max(&self) -> u64 {
        self.min + self.entries.len() as u64
    }

    /// How many messages are here.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The wall time of the last append, in milliseconds; 0 before it.
    pub(crate) const fn touched(&self) -> i64 {
        self.touched
    }

    /// Appends an entry and says which offset it has.
    pub(crate) fn push(&mut self, store_time: i64, entry: Entry) -> u64 {
        let offset = self.max();
        self.entries.push_back(entry);
        self.touched = store_time;
        offset
    }

    /// The entry at a queue offset.
    pub(crate) fn get(&self, offset: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(offset.checked_sub(self.min)?).ok()?)
    }

    /// The entries from a queue offset on.
    pub(crate) fn from(&self, offset: u64) -> impl Iterator<Item = &Entry> {
        let skip = usize::try_from(offset.saturating_sub(self.min)).unwrap_or(usize::MAX);
        self.entries.range(skip.min(self.entries.len())..)
    }

    /// Drops the entries whose records the log has deleted; says how many went.
    pub(crate) fn trim_to_log(&mut self, start: u64) -> usize {
        let gone = self.entries.partition_point(|entry| entry.offset < start);
        self.drop_front(gone);
        gone
    }

    /// Drops the entries before a queue offset; says how many went.
    pub(crate) fn trim(&mut self, min: u64) -> usize {
        let gone = usize::try_from(min.saturating_sub(self.min)).unwrap_or(usize::MAX).min(self.entries.len());
        self.drop_front(gone);
        gone
    }

    /// The first offset whose message satisfies `late`, which must be monotone over the queue.
    pub(crate) fn partition_point(&self, early: impl FnMut(&Entry) -> bool) -> u64 {
        self.min + self.entries.partition_point(early) as u64
    }

    fn drop_front(&mut self, count: usize) {
        self.entries.drain(..count);
        self.min += count as u64;
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(self.entries.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(count: u64) -> Queue {
        let mut queue = Queue::default();
        for n in 0..count {
            assert_eq!(queue.push(0, Entry { offset: n * 100, size: 100, code: 0 }), n);
        }
        queue
    }

    #[test]
    fn trimming_moves_the_minimum_and_never_the_maximum() {
        let mut queue = queue(5);
        assert_eq!(queue.trim_to_log(250), 3);
        assert_eq!((queue.min(), queue.max()), (3, 5));
        assert_eq!(queue.get(2), None);
        assert_eq!(queue.get(3).map(|e| e.offset), Some(300));
        assert_eq!(queue.trim(u64::MAX), 2);
        assert_eq!((queue.min(), queue.max()), (5, 5), "a fully expired queue keeps its position");
        assert_eq!(queue.from(0).count(), 0);
    }

    #[test]
    fn reading_starts_where_asked() {
        let queue = queue(5);
        assert_eq!(queue.from(3).map(|e| e.offset).collect::<alloc::vec::Vec<_>>(), [300, 400]);
        assert_eq!(queue.partition_point(|e| e.offset < 150), 2);
    }
}
