//! One owned queue: what is cached of it, what became of each message, and how far the group has got.
//!
//! Decides: the position of the group, which is the offset of the lowest unfinished message, or of the next pull when
//! nothing is unfinished. It grows by finishing messages and never goes back: a correction or a reset by the broker
//! replaces the whole queue by a new one, under a new key, so that whatever still refers to the old one is stale.
//!
//! Messages stand in one ring in offset order; each has a running *sequence number*, by which deliveries and send-backs
//! find it again in constant time. States of a message:
//!
//! | state | leaves when | to |
//! |---|---|---|
//! | cached | it is offered | offered |
//! | offered | its handler begins; its verdict comes; it is released | started, done, sending back, cached |
//! | started | its verdict comes; its time is over | done, sending back, cached |
//! | sending back | a broker has stored it again; nobody could | done, waiting |
//! | waiting | the local retry is due | cached |
//! | held | an undecodable message has been reported long enough | done |
//!
//! It owns no timer; its owner arms those of pulling, waiting and holding.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rocketry_codec::message::StoredMessage;
use rocketry_machine::{Key, Moment};

use super::orderly::Lock;
use crate::api::{ConsumerConfig, MessageQueue, QueueStats};

/// An owned queue.
#[derive(Debug)]
pub(super) struct ProcessQueue {
    /// Which queue it is.
    pub(super) mq: Arc<MessageQueue>,
    /// The subscription that it belongs to.
    pub(super) subscription: Key,
    /// Whether its position is known, and how it becomes known.
    pub(super) step: Step,
    /// What its pull is doing.
    pub(super) pull: Pull,
    /// Whether it appeared while the consumer was running, so that everything in it is news.
    pub(super) fresh: bool,
    /// The broker id to ask next: the one that the last answer suggested.
    pub(super) suggested: i64,
    /// The broker id that was asked for the position.
    pub(super) asked: i64,
    /// Empty or refused answers in a row.
    pub(super) setbacks: u32,
    /// Whether the failure that goes on was reported.
    pub(super) trouble: bool,
    /// The position that the broker's master is known to have.
    pub(super) saved: Option<i64>,
    /// The position that is being saved, and whether at the master.
    pub(super) saving: Option<(i64, bool)>,
    /// Whether its position waits for another queue's first one.
    pub(super) held: bool,
    /// What is known of its lock, in orderly mode.
    pub(super) lock: Lock,
    /// How often the first message was refused, in orderly mode.
    pub(super) refusals: u32,
    /// Behind the newest message, as the last answer to a pull said.
    pub(super) end: Option<i64>,
    /// Whether it stands in its consumer's line for offers.
    pub(super) in_line: bool,
    /// Whether its owner wants no more of it for now.
    pub(super) paused: bool,
    /// Whether positions are saved only when the owner says so.
    pub(super) by_hand: bool,
    /// The position that the owner wants to be saved, until the master has it.
    pub(super) wanted: Option<i64>,
    next: i64,
    ring: VecDeque<Slot>,
    base: u64,
    cursor: u64,
    cached: usize,
    bytes: u64,
    pull_bytes: u64,
}

/// How far an owned queue has got in finding its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Its lock is asked for, in orderly mode.
    Lock,
    /// The group's stored position is asked for, or will be.
    Position,
    /// Nothing is stored: the end of the queue, or the offset for a time, is asked for.
    Start,
    /// The position is known.
    Live,
}

/// What the one pull of a queue is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pull {
    /// Nothing; it may be sent.
    Idle,
    /// Nothing, because the cache is full.
    Full,
    /// A timer will send it.
    Delayed,
    /// It waits for its answer.
    Asked {
        /// The offset that was asked for.
        from: i64,
        /// The id of the broker that was asked.
        broker_id: i64,
    },
}

/// A message of the ring.
#[derive(Debug)]
struct Slot {
    offset: i64,
    bytes: u32,
    state: State,
    message: Option<StoredMessage>,
}

/// What is known about one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// To be offered.
    Cached,
    /// Offered, not begun.
    Offered,
    /// Its handler runs since then.
    Started(Moment),
    /// It is being sent back with this delay level.
    SendingBack(i32),
    /// It is offered again then.
    Waiting(Moment),
    /// It cannot be decoded; the position passes it then.
    Held(Moment),
    /// Finished.
    Done,
}

impl ProcessQueue {
    /// A queue whose position is not known yet.
    pub(super) fn new(mq: Arc<MessageQueue>, subscription: Key, fresh: bool) -> Self {
        Self {
            mq,
            subscription,
            step: Step::Position,
            pull: Pull::Idle,
            fresh,
            suggested: 0,
            asked: 0,
            setbacks: 0,
            trouble: false,
            saved: None,
            saving: None,
            held: false,
            lock: Lock::default(),
            refusals: 0,
            end: None,
            in_line: false,
            paused: false,
            by_hand: false,
            wanted: None,
            next: 0,
            ring: VecDeque::new(),
            base: 0,
            cursor: 0,
            cached: 0,
            bytes: 0,
            pull_bytes: 0,
        }
    }

    /// Its position is known: work begins there.
    pub(super) const fn go_live(&mut self, position: i64) {
        self.step = Step::Live;
        self.next = position;
    }

    /// The offset of the next pull.
    pub(super) const fn next(&self) -> i64 {
        self.next
    }

    /// The next pull goes on from here. Never back.
    pub(super) fn advance(&mut self, next: i64) {
        self.next = self.next.max(next);
    }

    /// How far the group has got: the lowest unfinished offset.
    pub(super) fn position(&self) -> i64 {
        self.ring.front().map_or(self.next, |slot| slot.offset)
    }

    /// How it is doing.
    pub(super) fn stats(&self) -> QueueStats {
        QueueStats {
            queue: Arc::clone(&self.mq),
            position: (self.step == Step::Live).then(|| self.position()),
            end: self.end,
            cached_messages: self.ring.iter().filter(|slot| slot.state != State::Done).count(),
            cached_bytes: self.bytes,
        }
    }

    /// The offset of the first message that was not offered yet.
    pub(super) fn unread(&self) -> i64 {
        self.ring.iter().find(|slot| slot.state == State::Cached).map_or(self.next, |slot| slot.offset)
    }

    /// The position that the brokers should have, if any should be saved.
    pub(super) fn goal(&self) -> Option<i64> {
        let own = if self.step == Step::Live && !self.by_hand { Some(self.position()) } else { None };
        self.wanted.or(own)
    }

    /// Whether the master has not confirmed the position.
    pub(super) fn is_unsaved(&self) -> bool {
        self.wanted.is_some() || self.goal().is_some_and(|goal| self.saved != Some(goal))
    }

    /// Messages that are not finished, and those finished behind an unfinished one.
    pub(super) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether some message can be offered.
    pub(super) const fn has_cached(&self) -> bool {
        self.cached > 0
    }

    /// The most messages that the next pull may bring.
    pub(super) fn pull_size(config: &ConsumerConfig) -> u32 {
        config.pull_batch.min(config.max_cached_messages)
    }

    /// Whether another pull might pass a bound of the cache. An empty cache always takes one.
    pub(super) fn is_full(&self, config: &ConsumerConfig) -> bool {
        let (Some(first), Some(last)) = (self.ring.front(), self.ring.back()) else { return false };
        let after = self.ring.len() as u64 + u64::from(Self::pull_size(config));
        after > u64::from(config.max_cached_messages)
            || self.bytes.saturating_add(self.pull_bytes) > config.max_cached_bytes
            || last.offset.abs_diff(first.offset) > config.max_span
    }

    /// Remembers the size of an answer, from which the next one is guessed.
    pub(super) const fn note_pull_bytes(&mut self, bytes: u64) {
        self.pull_bytes = (self.pull_bytes.saturating_mul(7) + bytes) / 8;
    }

    /// The lowest offset that a further message may have.
    pub(super) fn least(&self) -> i64 {
        self.ring.back().map_or(self.next, |slot| self.next.max(slot.offset.saturating_add(1)))
    }

    /// Appends a message. Its offset must be [`ProcessQueue::least`] or more.
    pub(super) fn push(&mut self, offset: i64, message: StoredMessage) {
        let bytes = u32::try_from(message.record().len()).unwrap_or(u32::MAX);
        self.cached += 1;
        self.append(Slot { offset, bytes, state: State::Cached, message: Some(message) });
    }

    /// Appends a place that keeps the position from passing an undecodable message before `until`.
    /// Its sequence number.
    pub(super) fn push_held(&mut self, offset: i64, until: Moment) -> u64 {
        self.append(Slot { offset, bytes: 0, state: State::Held(until), message: None });
        self.base + self.ring.len() as u64 - 1
    }

    /// Puts the message into a place that was held because it could not be decoded.
    pub(super) fn fill(&mut self, sequence: u64, message: StoredMessage) {
        let Some(slot) = self.index(sequence).and_then(|index| self.ring.get_mut(index)) else { return };
        if !matches!(slot.state, State::Held(_)) {
            return;
        }
        slot.bytes = u32::try_from(message.record().len()).unwrap_or(u32::MAX);
        self.bytes += u64::from(slot.bytes);
        slot.message = Some(message);
        self.set(sequence, State::Cached);
    }

    fn append(&mut self, slot: Slot) {
        self.bytes += u64::from(slot.bytes);
        self.next = self.next.max(slot.offset.saturating_add(1));
        self.ring.push_back(slot);
    }

    /// Whether the first unfinished message can be offered.
    pub(super) fn is_first_cached(&self) -> bool {
        self.ring.front().is_some_and(|slot| slot.state == State::Cached)
    }

    /// Whether a handler runs with the first unfinished message.
    pub(super) fn is_started(&self) -> bool {
        self.ring.front().is_some_and(|slot| matches!(slot.state, State::Started(_)))
    }

    /// Marks the first cached message as offered.
    pub(super) fn offer_next(&mut self) -> Option<(u64, &StoredMessage)> {
        if self.cached == 0 {
            return None;
        }
        let mut index = self.index(self.cursor).unwrap_or(0);
        while self.ring.get(index)?.state != State::Cached {
            index += 1;
        }
        let sequence = self.base + index as u64;
        self.cursor = sequence + 1;
        self.cached -= 1;
        let slot = self.ring.get_mut(index)?;
        slot.state = State::Offered;
        Some((sequence, slot.message.as_ref()?))
    }

    /// The state of a message, unless it has left the ring.
    pub(super) fn state(&self, sequence: u64) -> Option<State> {
        self.ring.get(self.index(sequence)?).map(|slot| slot.state)
    }

    /// A message that has not left the ring, with its offset.
    pub(super) fn message(&self, sequence: u64) -> Option<(i64, &StoredMessage)> {
        let slot = self.ring.get(self.index(sequence)?)?;
        Some((slot.offset, slot.message.as_ref()?))
    }

    /// The offset of a place that has not left the ring, whether or not it holds a message.
    pub(super) fn offset(&self, sequence: u64) -> Option<i64> {
        self.ring.get(self.index(sequence)?).map(|slot| slot.offset)
    }

    /// Changes the state of an unfinished message.
    pub(super) fn set(&mut self, sequence: u64, state: State) {
        let Some(index) = self.index(sequence) else { return };
        let Some(slot) = self.ring.get_mut(index).filter(|slot| slot.state != State::Done) else { return };
        if slot.state == State::Cached {
            self.cached -= 1;
        }
        slot.state = state;
        match state {
            State::Done => {
                self.bytes -= u64::from(slot.bytes);
                slot.message = None;
                if index == 0 {
                    self.refusals = 0;
                    self.drop_done();
                }
            }
            State::Cached => {
                self.cached += 1;
                self.cursor = self.cursor.min(sequence);
            }
            State::Offered | State::Started(_) | State::SendingBack(_) | State::Waiting(_) | State::Held(_) => {}
        }
    }

    /// Makes due messages ready to be offered again; when the next one is due.
    pub(super) fn wake_waiting(&mut self, now: Moment) -> Option<Moment> {
        let (due, next) = self.timed(now, |state| if let State::Waiting(at) = state { Some(at) } else { None });
        for sequence in due {
            self.set(sequence, State::Cached);
        }
        next
    }

    /// Places that were held long enough, and when the next one will have been.
    pub(super) fn due_held(&self, now: Moment) -> (Vec<u64>, Option<Moment>) {
        self.timed(now, |state| if let State::Held(at) = state { Some(at) } else { None })
    }

    /// What is due among the places of one kind, and when the next one is.
    fn timed(&self, now: Moment, when: impl Fn(State) -> Option<Moment>) -> (Vec<u64>, Option<Moment>) {
        let (mut next, mut due) = (None, Vec::new());
        for (slot, sequence) in self.ring.iter().zip(self.base..) {
            let Some(at) = when(slot.state) else { continue };
            if at <= now {
                due.push(sequence);
            } else {
                next = Some(next.map_or(at, |best: Moment| best.min(at)));
            }
        }
        (due, next)
    }

    fn drop_done(&mut self) {
        while self.ring.front().is_some_and(|slot| slot.state == State::Done) {
            self.ring.pop_front();
            self.base += 1;
        }
        self.cursor = self.cursor.max(self.base);
    }

    fn index(&self, sequence: u64) -> Option<usize> {
        usize::try_from(sequence.checked_sub(self.base)?).ok()
    }

    /// Whether the running counts equal what the ring says.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let cached = self.ring.iter().filter(|slot| slot.state == State::Cached).count();
        let live = self.ring.iter().filter(|slot| slot.state != State::Done);
        let bytes: u64 = live.map(|slot| u64::from(slot.bytes)).sum();
        let rising = self.ring.iter().zip(self.ring.iter().skip(1)).all(|(one, next)| one.offset < next.offset);
        cached == self.cached && bytes == self.bytes && rising && self.position() <= self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use rocketry_codec::message::{RecordVersion, StoredRecord, SysFlag};

    fn message(offset: i64, body: usize) -> StoredMessage {
        let host = core::net::SocketAddr::from(([127, 0, 0, 1], 10_911));
        let body = alloc::vec![7; body];
        let record = StoredRecord {
            version: RecordVersion::V1,
            queue_id: 0,
            flag: 0,
            queue_offset: offset,
            commit_log_offset: offset * 100,
            sys_flag: SysFlag(0),
            born_timestamp: 0,
            born_host: host,
            store_timestamp: 0,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: &body,
            topic: "T",
            properties: b"",
        };
        let mut out = Vec::new();
        record.encode(&mut out).expect("it fits");
        StoredMessage::decode(Bytes::from(out)).expect("it is whole")
    }

    fn queue(offsets: core::ops::Range<i64>) -> ProcessQueue {
        let mq = Arc::new(MessageQueue::new("T", "b", 0));
        let mut queue = ProcessQueue::new(mq, Key::from_parts(0, 0), false);
        queue.go_live(offsets.start);
        for offset in offsets {
            queue.push(offset, message(offset, 10));
        }
        queue
    }

    /// The example of consumer.md A.3.
    #[test]
    fn off_08_the_position_is_the_lowest_unfinished_offset() {
        let mut queue = queue(10..15);
        for (sequence, position) in [(2, 10), (0, 11), (1, 13), (3, 14), (4, 15), (4, 15)] {
            queue.set(sequence, State::Done);
            assert_eq!(queue.position(), position);
            assert!(queue.is_consistent());
        }
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn released_messages_are_offered_again_in_order() {
        let mut queue = queue(0..3);
        let mut offered = || queue.offer_next().map(|(sequence, message)| (sequence, message.queue_offset()));
        assert_eq!([offered(), offered(), offered(), offered()], [Some((0, 0)), Some((1, 1)), Some((2, 2)), None]);
        queue.set(1, State::Cached);
        queue.set(0, State::Done);
        assert_eq!(queue.offer_next().map(|(sequence, _)| sequence), Some(1));
        assert!(!queue.has_cached());
        assert!(queue.is_consistent());
    }

    #[test]
    fn flo_02_bytes_are_those_of_the_records_and_return_to_zero() {
        let mut queue = queue(0..4);
        assert_eq!(queue.bytes, 4 * message(0, 10).record().len() as u64);
        for sequence in [3, 1, 0, 2] {
            queue.set(sequence, State::Done);
        }
        assert_eq!((queue.bytes, queue.len()), (0, 0));
    }

    #[test]
    fn each_bound_of_the_cache_holds() {
        let mut config = ConsumerConfig::new("g");
        config.pull_batch = 4;
        config.max_cached_messages = 8;
        assert!(!queue(0..4).is_full(&config));
        assert!(queue(0..5).is_full(&config), "4 more would make 9");
        config.max_cached_messages = 2;
        assert_eq!(ProcessQueue::pull_size(&config), 2);
        assert!(!queue(0..0).is_full(&config), "an empty cache takes a pull");
        config.max_cached_messages = 1_000;
        config.max_span = 2;
        assert!(!queue(0..3).is_full(&config));
        assert!(queue(0..4).is_full(&config));
        config.max_span = 2_000;
        config.max_cached_bytes = 4 * message(0, 10).record().len() as u64;
        assert!(!queue(0..4).is_full(&config));
        assert!(queue(0..5).is_full(&config));
    }

    #[test]
    fn waiting_and_held_messages_come_due() {
        let mut queue = queue(0..2);
        queue.push_held(2, Moment::from_millis(30));
        queue.offer_next();
        queue.set(0, State::Waiting(Moment::from_millis(5)));
        assert_eq!(queue.wake_waiting(Moment::from_millis(4)), Some(Moment::from_millis(5)));
        assert_eq!(queue.wake_waiting(Moment::from_millis(5)), None);
        assert_eq!(queue.offer_next().map(|(sequence, _)| sequence), Some(0));
        queue.set(0, State::Done);
        queue.set(1, State::Done);
        assert_eq!(queue.position(), 2, "the position does not pass it unseen");
        assert_eq!(queue.due_held(Moment::from_millis(29)), (Vec::new(), Some(Moment::from_millis(30))));
        assert_eq!(queue.due_held(Moment::from_millis(30)), (alloc::vec![2], None));
        queue.fill(2, message(2, 10));
        assert_eq!(queue.offer_next().map(|(sequence, _)| sequence), Some(2));
        queue.set(2, State::Done);
        assert_eq!(queue.position(), 3);
        assert!(queue.is_consistent());
    }
}
