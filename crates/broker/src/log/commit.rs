//! The commit log: every stored record, one after the other, addressed by its log offset.
//!
//! The log is a row of segments. A record lies in one segment as a whole; what a segment has no room for opens the
//! next one. Log offsets therefore grow by record sizes without gaps, and a record's bytes are always one slice.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The records in memory, within a bound on bytes.
#[derive(Debug)]
pub(crate) struct CommitLog {
    segments: VecDeque<Segment>,
    end: u64,
    reserved: usize,
    limit: usize,
    segment_bytes: usize,
}

#[derive(Debug)]
struct Segment {
    base: u64,
    bytes: Vec<u8>,
    /// The store time of its last record, in wall milliseconds.
    newest: i64,
}

impl Segment {
    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
}

/// There is no room for another record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl CommitLog {
    /// An empty log that reserves at most `limit` bytes, `segment_bytes` at a time.
    pub(crate) const fn new(limit: usize, segment_bytes: usize) -> Self {
        Self { segments: VecDeque::new(), end: 0, reserved: 0, limit, segment_bytes }
    }

    /// The log offset of the oldest record that is still here; the end when there is none.
    pub(crate) fn start(&self) -> u64 {
        self.segments.front().map_or(self.end, |segment| segment.base)
    }

    /// The log offset that the next record will have.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Bytes taken from the allocator.
    pub(crate) const fn reserved(&self) -> usize {
        self.reserved
    }

    /// Makes room for a record of `size` bytes beside `others` bytes that count against the same bound.
    pub(crate) fn make_room(&mut self, size: usize, others: usize) -> Result<(), Full> {
        if self.segments.back().is_some_and(|last| last.bytes.capacity() - last.bytes.len() >= size) {
            // Only the index can have grown into the bound since the segment was opened.
            return if self.reserved.saturating_add(others) <= self.limit { Ok(()) } else { Err(Full) };
        }
        let wanted = size.max(self.segment_bytes);
        if self.reserved.saturating_add(others).saturating_add(wanted) > self.limit {
            return Err(Full);
        }
        let bytes = Vec::with_capacity(wanted);
        self.reserved += bytes.capacity();
        self.segments.push_back(Segment { base: self.end, bytes, newest: i64::MIN });
        Ok(())
    }

    /// Appends what `write` writes, for which [`CommitLog::make_room`] has made room, and says where it lies.
    pub(crate) fn append(&mut self, store_time: i64, write: impl FnOnce(&mut Vec<u8>)) -> (u64, u32) {
        let offset = self.end;
        let Some(segment) = self.segments.back_mut() else {
            return (offset, 0);
        };
        let before = segment.bytes.len();
        write(&mut segment.bytes);
        let size = segment.bytes.len() - before;
        segment.newest = store_time;
        self.end += size as u64;
        (offset, u32::try_from(size).unwrap_or(u32::MAX))
    }

    /// The `size` bytes at `offset`, unless they are deleted.
    pub(crate) fn get(&self, offset: u64, size: u32) -> Option<&[u8]> {
        let segment = self.segment(offset)?;
        let from = usize::try_from(offset - segment.base).ok()?;
        segment.bytes.get(from..from.checked_add(size as usize)?)
    }

    /// The record that starts at `offset`: its first field is its size.
    pub(crate) fn record(&self, offset: u64) -> Option<&[u8]> {
        let size: [u8; 4] = self.get(offset, 4)?.try_into().ok()?;
        let record = self.get(offset, u32::from_be_bytes(size))?;
        // An offset in the middle of a record reads some other number as the size; a record names its own offset.
        let named: [u8; 8] = record.get(28..36)?.try_into().ok()?;
        (u64::from_be_bytes(named) == offset).then_some(record)
    }

    /// Deletes sealed segments whose newest record was stored before `limit`; says whether any went.
    pub(crate) fn expire(&mut self, limit: i64) -> bool {
        let before = self.segments.len();
        while self.segments.len() > 1 && self.segments.front().is_some_and(|oldest| oldest.newest < limit) {
            if let Some(gone) = self.segments.pop_front() {
                self.reserved -= gone.bytes.capacity();
            }
        }
        self.segments.len() < before
    }

    fn segment(&self, offset: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.base <= offset);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        (offset < segment.end()).then_some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(log: &mut CommitLog, store_time: i64, size: usize) -> Result<u64, Full> {
        log.make_room(size, 0)?;
        let at = log.end();
        let (offset, stored) = log.append(store_time, |out| {
            let from = out.len();
            out.resize(from + size, 0);
            out[from..from + 4].copy_from_slice(&u32::try_from(size).expect("small").to_be_bytes());
            out[from + 28..from + 36].copy_from_slice(&at.to_be_bytes());
        });
        assert_eq!((offset, stored as usize), (at, size));
        Ok(offset)
    }

    #[test]
    fn records_lie_back_to_back_across_segments() {
        let mut log = CommitLog::new(1_000, 100);
        let offsets: Vec<u64> = (0..5).map(|_| put(&mut log, 1, 40).expect("room")).collect();
        assert_eq!(offsets, [0, 40, 80, 120, 160]);
        assert_eq!(log.segments.len(), 3, "two records of 40 bytes fit into 100");
        for offset in offsets {
            assert_eq!(log.record(offset).map(<[u8]>::len), Some(40));
            assert_eq!(log.record(offset + 1), None, "not a record start");
        }
        assert_eq!(log.get(200, 1), None);
    }

    #[test]
    fn a_record_larger_than_a_segment_gets_its_own() {
        let mut log = CommitLog::new(1_000, 100);
        put(&mut log, 1, 40).expect("room");
        let large = put(&mut log, 1, 400).expect("room");
        assert_eq!(log.record(large).map(<[u8]>::len), Some(400));
        assert_eq!(log.reserved(), 500);
    }

    #[test]
    fn the_bound_holds_and_expiry_makes_room() {
        let mut log = CommitLog::new(200, 100);
        for _ in 0..4 {
            put(&mut log, 1, 50).expect("room");
        }
        assert_eq!(put(&mut log, 2, 50), Err(Full));
        assert!(!log.expire(1), "the records are as old as the limit, not older");
        assert!(log.expire(2));
        assert_eq!(log.start(), 100, "the newest segment stays");
        assert_eq!(log.get(0, 4), None);
        put(&mut log, 2, 50).expect("room again");
        assert_eq!(log.make_room(50, 101), Err(Full), "the index counts too");
    }
}
