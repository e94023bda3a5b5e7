//! Where messages are put and found again: topics with their queue indexes over one commit log.
//!
//! The store decides offsets and store times, keeps the log within its bound, deletes what is older than the retention
//! time when room is needed, and answers reads with the status that `spec/broker.md` 4.3 gives them. It never looks
//! into a message beyond the fixed head of its record.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use rocketry_codec::filter::SqlExpression;
use rocketry_codec::message::{StoredMessage, record_properties};
use rocketry_machine::Now;

use crate::config::BrokerConfig;
use crate::log::{CommitLog, ENTRY_BYTES, Entry, Queue};
use crate::topics::{TopicId, Topics};

/// Most index entries that one read examines, unless more messages were asked for.
const SCAN_ENTRIES: usize = 800;
/// How much memory the log takes at a time.
const SEGMENT_BYTES: usize = 4 << 20;

/// Where a record that is being written will lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) log_offset: u64,
    pub(crate) queue_offset: u64,
    pub(crate) store_time: i64,
}

/// Why a record was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendError {
    /// The bound of the log is reached and nothing is old enough to be deleted.
    Full,
    /// The topic or queue cannot exist.
    NoQueue,
}

/// Which messages a read returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Filter<'a> {
    All,
    /// Those whose tag hash is among these.
    Codes(&'a [i32]),
    /// Those whose properties make this true.
    Sql(&'a SqlExpression),
}

impl Filter<'_> {
    /// Whether a message with this tag hash passes; its record is looked into only where properties matter.
    pub(crate) fn admits<'r>(&self, code: i64, record: impl FnOnce() -> Option<&'r [u8]>) -> bool {
        match self {
            Self::All => true,
            Self::Sql(expression) => record()
                .and_then(|record| record_properties(record).ok())
                .is_some_and(|properties| expression.evaluate(|name| properties.get(name)) == Ok(Some(true))),
            // The index holds the hash sign-extended; only its low half is compared, as Apache does.
            #[expect(clippy::cast_possible_truncation)]
            Self::Codes(codes) => codes.contains(&(code as i32)),
        }
    }
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadStatus {
    Found,
    NoMatchedMessage,
    NoMessageInQueue,
    OffsetTooSmall,
    OffsetOverflowOne,
    OffsetOverflowBadly,
    OffsetReset,
}

impl ReadStatus {
    /// Apache's name of the status, which is the remark of the answer.
    pub(crate) const fn remark(self) -> &'static str {
        match self {
            Self::Found => "FOUND",
            Self::NoMatchedMessage => "NO_MATCHED_MESSAGE",
            Self::NoMessageInQueue => "NO_MESSAGE_IN_QUEUE",
            Self::OffsetTooSmall => "OFFSET_TOO_SMALL",
            Self::OffsetOverflowOne => "OFFSET_OVERFLOW_ONE",
            Self::OffsetOverflowBadly => "OFFSET_OVERFLOW_BADLY",
            Self::OffsetReset => "OFFSET_RESET",
        }
    }
}

/// What a read found.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) status: ReadStatus,
    pub(crate) next: i64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) body: Bytes,
}

/// How much one read may return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

/// Which of two neighbours a search by time takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    Lower,
    Upper,
}

/// Topics, queues and the log.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) topics: Topics,
    log: CommitLog,
    entries: usize,
    last_store_time: i64,
    retention_ms: i64,
}

impl Store {
    pub(crate) fn new(config: &BrokerConfig, now: Now) -> Self {
        let segment = SEGMENT_BYTES.min(config.limits.store_bytes / 4).max(1);
        Self {
            topics: Topics::new(config.limits.topics, now.wall),
            log: CommitLog::new(config.limits.store_bytes, segment),
            entries: 0,
            last_store_time: 0,
            retention_ms: i64::try_from(config.retention.as_millis()).unwrap_or(i64::MAX),
        }
    }

    /// Appends a record of exactly `size` bytes, which `write` writes once it knows its place.
    pub(crate) fn append(
        &mut self,
        now: Now,
        topic: TopicId,
        queue: u32,
        code: i64,
        size: usize,
        write: impl FnOnce(Place, &mut Vec<u8>),
    ) -> Result<Place, AppendError> {
        self.make_room(now, 1, size)?;
        let queue = self.topics.get_mut(topic).and_then(|topic| topic.queue_mut(queue)).ok_or(AppendError::NoQueue)?;
        // Store times never go back, whatever the wall clock does: searches by time depend on it.
        let store_time = now.wall.get().max(self.last_store_time);
        let place = Place { log_offset: self.log.end(), queue_offset: queue.max(), store_time };
        let (offset, size) = self.log.append(store_time, |out| write(place, out));
        queue.push(store_time, Entry { offset, size, code });
        self.last_store_time = store_time;
        self.entries += 1;
        Ok(place)
    }

    /// Makes room for `count` records of `size` bytes together, so that appending them will not fail half way.
    pub(crate) fn reserve(&mut self, now: Now, count: usize, size: usize) -> Result<(), AppendError> {
        self.make_room(now, count, size)
    }

    fn make_room(&mut self, now: Now, count: usize, size: usize) -> Result<(), AppendError> {
        let index = (self.entries + count).saturating_mul(ENTRY_BYTES);
        if self.log.make_room(size, index).is_ok() {
            return Ok(());
        }
        if self.log.expire(now.wall.get().saturating_sub(self.retention_ms)) {
            let start = self.log.start();
            let queues = self.topics.iter_mut().flat_map(|topic| &mut topic.queues);
            self.entries -= queues.map(|queue| queue.trim_to_log(start)).sum::<usize>();
        }
        let index = (self.entries + count).saturating_mul(ENTRY_BYTES);
        self.log.make_room(size, index).map_err(|_| AppendError::Full)
    }

    /// Reads a queue from `offset` on: what to answer to a pull that passed all checks.
    pub(crate) fn read(&self, topic: TopicId, queue: u32, offset: i64, want: Want, filter: Filter<'_>) -> Read {
        let queue = self.topics.get(topic).and_then(|topic| topic.queue(queue));
        let (min, max) = queue.map_or((0, 0), |queue| (signed(queue.min()), signed(queue.max())));
        let read = |status, next, body| Read { status, next, min, max, body };
        let Some(queue) = queue.filter(|queue| queue.max() > 0) else {
            return read(ReadStatus::NoMessageInQueue, 0, Bytes::new());
        };
        if offset < min {
            return read(ReadStatus::OffsetTooSmall, min, Bytes::new());
        }
        if offset == max {
            return read(ReadStatus::OffsetOverflowOne, offset, Bytes::new());
        }
        if offset > max {
            return read(ReadStatus::OffsetOverflowBadly, max, Bytes::new());
        }
        let (examined, body) = self.collect(queue, offset.unsigned_abs(), want, filter);
        let next = offset + i64::try_from(examined).unwrap_or(0);
        let status = if body.is_empty() { ReadStatus::NoMatchedMessage } else { ReadStatus::Found };
        read(status, next, body)
    }

    /// The records of a queue from `offset` on that the filter admits, back to back, and how many entries were examined.
    fn collect(&self, queue: &Queue, offset: u64, want: Want, filter: Filter<'_>) -> (usize, Bytes) {
        let scan = SCAN_ENTRIES.max(want.messages);
        let (mut examined, mut messages, mut bytes) = (0, 0, 0usize);
        let mut found = Vec::new();
        for entry in queue.from(offset).take(scan) {
            let size = entry.size as usize;
            if messages > 0 && (messages >= want.messages || bytes + size > want.bytes) {
                break;
            }
            examined += 1;
            if self.admits(filter, entry) {
                messages += 1;
                bytes += size;
                found.push(entry);
            }
        }
        let mut body = BytesMut::with_capacity(bytes);
        for entry in found {
            if let Some(record) = self.log.get(entry.offset, entry.size) {
                body.extend_from_slice(record);
            }
        }
        (examined, body.freeze())
    }

    /// Whether a queue has a message at `offset` or later that the filter admits, among those that one read examines.
    pub(crate) fn has_match(&self, topic: TopicId, queue: u32, offset: i64, filter: Filter<'_>) -> bool {
        let Some(queue) = self.topics.get(topic).and_then(|topic| topic.queue(queue)) else { return false };
        queue.from(offset.max(0).unsigned_abs()).take(SCAN_ENTRIES).any(|entry| self.admits(filter, entry))
    }

    fn admits(&self, filter: Filter<'_>, entry: &Entry) -> bool {
        filter.admits(entry.code, || self.log.get(entry.offset, entry.size))
    }

    /// The maximum offset of a queue.
    pub(crate) fn max(&self, topic: TopicId, queue: u32) -> i64 {
        self.topics.get(topic).and_then(|topic| topic.queue(queue)).map_or(0, |queue| signed(queue.max()))
    }

    /// The stored record at a log offset, if one starts there.
    pub(crate) fn record(&self, log_offset: i64) -> Option<&[u8]> {
        self.log.record(u64::try_from(log_offset).ok()?)
    }

    /// A copy of the message whose record starts at a log offset.
    pub(crate) fn message_at(&self, log_offset: i64) -> Option<StoredMessage> {
        decode(self.record(log_offset)?)
    }

    /// A copy of the message at an offset of a queue.
    pub(crate) fn message_of_queue(&self, topic: TopicId, queue: u32, offset: u64) -> Option<StoredMessage> {
        let entry = self.topics.get(topic)?.queue(queue)?.get(offset)?;
        decode(self.log.get(entry.offset, entry.size)?)
    }

    /// The minimum and maximum offsets of a queue; zeros where nothing was ever written.
    pub(crate) fn range(&self, topic: &str, queue: i32) -> (i64, i64) {
        self.queue(topic, queue).map_or((0, 0), |queue| (signed(queue.min()), signed(queue.max())))
    }

    /// The store time of the oldest message of a queue.
    pub(crate) fn earliest_time(&self, topic: &str, queue: i32) -> Option<i64> {
        let queue = self.queue(topic, queue)?;
        Some(self.store_time(queue.get(queue.min())?))
    }

    /// The offset that belongs to a store time (`spec/broker.md` 5.3).
    pub(crate) fn search(&self, topic: &str, queue: i32, time: i64, boundary: Boundary) -> i64 {
        let Some(queue) = self.queue(topic, queue) else { return 0 };
        let found = match boundary {
            Boundary::Lower => queue.partition_point(|entry| self.store_time(entry) < time),
            Boundary::Upper => queue.partition_point(|entry| self.store_time(entry) <= time).saturating_sub(1),
        };
        signed(found.clamp(queue.min(), queue.max()))
    }

    /// The store time of the message at an offset.
    pub(crate) fn time_at(&self, topic: &str, queue: i32, offset: i64) -> Option<i64> {
        let queue = self.queue(topic, queue)?;
        Some(self.store_time(queue.get(u64::try_from(offset).ok()?)?))
    }

    /// Where the records of a topic lie that were stored between two times, both included; the newest first.
    pub(crate) fn newest(&self, topic: &str, begin: i64, end: i64) -> Vec<u64> {
        let Some(topic) = self.topics.named(topic) else { return Vec::new() };
        let of_queue = |queue: &Queue| {
            let from = queue.partition_point(|entry| self.store_time(entry) < begin);
            let until = queue.partition_point(|entry| self.store_time(entry) <= end);
            let count = usize::try_from(until.saturating_sub(from)).unwrap_or(0);
            queue.from(from).take(count).map(|entry| entry.offset).collect::<Vec<u64>>()
        };
        let mut offsets: Vec<u64> = topic.queues.iter().flat_map(of_queue).collect();
        offsets.sort_unstable_by(|a, b| b.cmp(a));
        offsets
    }

    /// The time of the last append, in milliseconds, and the end of the log.
    pub(crate) fn progress(&self) -> (i64, i64) {
        (self.last_store_time, signed(self.log.end()))
    }

    /// The log offsets of the oldest record and of the next one.
    pub(crate) fn log_range(&self) -> (i64, i64) {
        (signed(self.log.start()), signed(self.log.end()))
    }

    /// Bytes of the log and its index.
    pub(crate) const fn bytes(&self) -> usize {
        self.log.reserved() + self.entries * ENTRY_BYTES
    }

    /// Deletes the messages of a queue below an offset, as retention does.
    pub(crate) fn trim(&mut self, topic: &str, queue: u32, min: u64) {
        let topic = self.topics.find(topic).and_then(|id| self.topics.get_mut(id));
        if let Some(queue) = topic.and_then(|topic| topic.queues.get_mut(queue as usize)) {
            self.entries -= queue.trim(min);
        }
    }

    /// Deletes a topic with its index; its records stay in the log until they expire.
    pub(crate) fn remove_topic(&mut self, now: Now, topic: &str) -> bool {
        let Some(topic) = self.topics.remove(now.wall, topic) else { return false };
        self.entries -= topic.queues.iter().map(Queue::len).sum::<usize>();
        true
    }

    fn queue(&self, topic: &str, queue: i32) -> Option<&Queue> {
        self.topics.named(topic)?.queue(u32::try_from(queue).ok()?)
    }

    fn store_time(&self, entry: &Entry) -> i64 {
        self.log.get(entry.offset, entry.size).and_then(store_time_of).unwrap_or(i64::MIN)
    }
}

fn decode(record: &[u8]) -> Option<StoredMessage> {
    StoredMessage::decode(Bytes::from(record.to_vec())).ok()
}

/// The store time in a record's head; it stands behind the born host, which may be IPv6 (`spec/wire.md` 6.1).
fn store_time_of(record: &[u8]) -> Option<i64> {
    const BORN_HOST_V6: u32 = 0x10;
    let flag = u32::from_be_bytes(record.get(36..40)?.try_into().ok()?);
    let at = if flag & BORN_HOST_V6 == 0 { 56 } else { 68 };
    Some(i64::from_be_bytes(record.get(at..at + 8)?.try_into().ok()?))
}

fn signed(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::TopicConfig;
    use core::net::SocketAddr;
    use core::time::Duration;
    use rocketry_machine::{Moment, UnixMillis};

    const SIZE: usize = 100;

    struct World {
        store: Store,
        topic: TopicId,
        wall: i64,
    }

    impl World {
        fn new(change: impl FnOnce(&mut BrokerConfig)) -> Self {
            let mut config = BrokerConfig::new(SocketAddr::from(([127, 0, 0, 1], 10911)));
            change(&mut config);
            let mut store = Store::new(&config, Now::default());
            let topic = store.topics.put(UnixMillis::new(0), "T", TopicConfig::new(4, 6)).expect("room");
            Self { store, topic, wall: 1_000 }
        }

        fn now(&self) -> Now {
            Now::new(Moment::ZERO, UnixMillis::new(self.wall))
        }

        fn put(&mut self, code: i64) -> Result<Place, AppendError> {
            self.put_sized(code, SIZE)
        }

        fn put_sized(&mut self, code: i64, size: usize) -> Result<Place, AppendError> {
            let now = self.now();
            self.store.append(now, self.topic, 0, code, size, |place, out| {
                let from = out.len();
                out.resize(from + size, 0);
                let record = &mut out[from..];
                record[..4].copy_from_slice(&u32::try_from(size).expect("small").to_be_bytes());
                record[20..28].copy_from_slice(&place.queue_offset.to_be_bytes());
                record[28..36].copy_from_slice(&place.log_offset.to_be_bytes());
                record[56..64].copy_from_slice(&place.store_time.to_be_bytes());
            })
        }

        fn read(&self, offset: i64, messages: usize, filter: Filter<'_>) -> (ReadStatus, i64, usize) {
            let read = self.store.read(self.topic, 0, offset, Want { messages, bytes: 256 << 10 }, filter);
            (read.status, read.next, read.body.len() / SIZE)
        }
    }

    #[test]
    fn every_row_of_the_read_table() {
        let mut world = World::new(|_| {});
        assert_eq!(world.read(0, 32, Filter::All), (ReadStatus::NoMessageInQueue, 0, 0));
        assert_eq!(world.read(7, 32, Filter::All), (ReadStatus::NoMessageInQueue, 0, 0));
        for code in [1, 2, 1, 2] {
            world.put(code).expect("room");
        }
        world.store.trim("T", 0, 1);
        assert_eq!(world.read(0, 32, Filter::All), (ReadStatus::OffsetTooSmall, 1, 0));
        assert_eq!(world.read(-5, 32, Filter::All), (ReadStatus::OffsetTooSmall, 1, 0));
        assert_eq!(world.read(4, 32, Filter::All), (ReadStatus::OffsetOverflowOne, 4, 0));
        assert_eq!(world.read(5, 32, Filter::All), (ReadStatus::OffsetOverflowBadly, 4, 0));
        assert_eq!(world.read(1, 32, Filter::Codes(&[9])), (ReadStatus::NoMatchedMessage, 4, 0));
        assert_eq!(world.read(1, 32, Filter::Codes(&[1])), (ReadStatus::Found, 4, 1));
        assert_eq!(world.read(1, 32, Filter::All), (ReadStatus::Found, 4, 3));
        world.store.trim("T", 0, 9);
        assert_eq!(world.read(4, 32, Filter::All), (ReadStatus::OffsetOverflowOne, 4, 0));
    }

    #[test]
    fn reads_stop_at_their_bounds_but_return_at_least_one() {
        let mut world = World::new(|_| {});
        for _ in 0..1_000 {
            world.put(0).expect("room");
        }
        assert_eq!(world.read(0, 32, Filter::All), (ReadStatus::Found, 32, 32));
        assert_eq!(world.read(0, 0, Filter::All), (ReadStatus::Found, 1, 1));
        let read = |bytes| {
            let read = world.store.read(world.topic, 0, 0, Want { messages: 32, bytes }, Filter::All);
            (read.next, read.body.len() / SIZE)
        };
        assert_eq!(read(5 * SIZE), (5, 5));
        assert_eq!(read(5 * SIZE - 1), (4, 4));
        assert_eq!(read(1), (1, 1), "the first message is returned however large it is");
        assert_eq!(world.read(0, 32, Filter::Codes(&[1])), (ReadStatus::NoMatchedMessage, 800, 0));
        assert_eq!(world.read(900, 32, Filter::Codes(&[1])), (ReadStatus::NoMatchedMessage, 1_000, 0));
    }

    #[test]
    fn codes_compare_their_low_half() {
        let negative = i64::from(-7);
        assert!(Filter::Codes(&[-7]).admits(negative, || None));
        assert!(!Filter::Codes(&[]).admits(0, || None));
        assert!(Filter::Codes(&[0]).admits(0, || None));
    }

    #[test]
    fn search_by_time_takes_the_neighbour_that_the_boundary_says() {
        let mut world = World::new(|_| {});
        assert_eq!(world.store.search("T", 0, 5, Boundary::Lower), 0);
        assert_eq!(world.store.search("?", 0, 5, Boundary::Upper), 0);
        for wall in [10, 10, 20, 30] {
            world.wall = wall;
            world.put(0).expect("room");
        }
        let search = |time| {
            (world.store.search("T", 0, time, Boundary::Lower), world.store.search("T", 0, time, Boundary::Upper))
        };
        assert_eq!(search(10), (0, 1));
        assert_eq!(search(15), (2, 1));
        assert_eq!(search(20), (2, 2));
        assert_eq!(search(31), (4, 3));
        assert_eq!(search(9), (0, 0));
        assert_eq!(world.store.earliest_time("T", 0), Some(10));
        assert_eq!(world.store.earliest_time("T", 1), None);
    }

    #[test]
    fn store_times_never_go_back() {
        let mut world = World::new(|_| {});
        assert_eq!(world.put(0).map(|p| p.store_time), Ok(1_000));
        world.wall = 500;
        assert_eq!(world.put(0).map(|p| p.store_time), Ok(1_000));
        world.wall = 1_001;
        assert_eq!(world.put(0).map(|p| p.store_time), Ok(1_001));
    }

    #[test]
    fn a_full_store_refuses_until_something_is_old_enough() {
        let mut world = World::new(|config| {
            config.limits.store_bytes = 4_000;
            config.retention = Duration::from_millis(50);
        });
        let stored = (0..).take_while(|_| world.put(0).is_ok()).count();
        assert!((25..40).contains(&stored), "{stored} records of 100 bytes and their index in 4,000");
        assert_eq!(world.put(0), Err(AppendError::Full));
        assert!(world.store.bytes() <= 4_000);
        world.wall = 1_050;
        assert_eq!(world.put(0), Err(AppendError::Full), "as old as the retention time is not older");
        world.wall = 1_051;
        let place = world.put(0).expect("old segments went");
        assert_eq!(place.queue_offset, stored as u64, "offsets are never reused");
        let (min, max) = world.store.range("T", 0);
        assert!(min > 0 && max == i64::try_from(stored).expect("small") + 1);
        assert_eq!(world.read(0, 32, Filter::All).0, ReadStatus::OffsetTooSmall);
    }

    #[test]
    fn records_are_found_by_log_offset() {
        let mut world = World::new(|_| {});
        let places: Vec<Place> = (0..3).map(|_| world.put(0).expect("room")).collect();
        let second = i64::try_from(places[1].log_offset).expect("small");
        assert!(world.store.record(second).is_some());
        assert!(world.store.record(second + 1).is_none());
        assert!(world.store.record(-1).is_none());
        assert!(world.store.remove_topic(world.now(), "T"));
        assert_eq!((world.store.range("T", 0), world.store.entries), ((0, 0), 0));
    }
}
