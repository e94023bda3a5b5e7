//! The request table: the only place that knows `opaque` (design: correlation without futures).
//!
//! A slot holds who waits, on which connection, its place in that connection's send order, and the deadline. `opaque`
//! is the slot index (20 bits) with a generation (11 bits), so it is never negative and a late answer to a reused slot
//! fails the generation test. Reply, timeout and lost link leave by one path, [`Calls::take`], so an entry cannot be
//! finished twice. Free slots are reused oldest first.
//!
//! Timers: one deadline per call. Calls with equal timeouts expire in the order in which they were made, so each
//! timeout has a queue of its own and arming, finishing and peeking cost no tree operation.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::frame::Frame;
use rocketry_machine::{ConnId, Deadline, LinkError, Moment};

use crate::waiter::Waiter;

/// How a call ended, as its waiter hears it.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The peer answered.
    Frame(Frame),
    /// Nobody answered in time.
    TimedOut {
        /// The time that was allowed.
        after: Duration,
        /// Whether the request was wholly with the kernel.
        flushed: bool,
    },
    /// The connection ended first.
    LinkLost {
        /// Why.
        cause: LinkError,
        /// Whether the request was wholly with the kernel.
        flushed: bool,
    },
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The connection that it left by; an answer from elsewhere does not count.
    pub(crate) conn: ConnId,
    /// Its place in that connection's send order.
    pub(crate) seq: u64,
    /// Who waits.
    pub(crate) waiter: Waiter,
    /// When it was sent.
    pub(crate) sent_at: Moment,
    /// When waiting ends.
    pub(crate) deadline: Moment,
    /// The request itself, to be sent once more when the peer says GO_AWAY; gone after that.
    pub(crate) resend: Option<Frame>,
    class: u8,
}

/// The request table of one client.
#[derive(Debug)]
pub(crate) struct Calls {
    slots: Vec<Slot>,
    free: VecDeque<u32>,
    len: usize,
    limit: usize,
    classes: Vec<(Duration, VecDeque<(Moment, i32)>)>,
    odd: BTreeMap<(Moment, i32), ()>,
    strays: u64,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u16,
    pending: Option<Pending>,
}

const INDEX_BITS: u32 = 20;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const GENERATION_MASK: u16 = (1 << 11) - 1;
const CLASSES: usize = 16;
const ODD: u8 = u8::MAX;

impl Calls {
    /// A table for at most `limit` calls, which is cut to 2^20.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: VecDeque::new(),
            len: 0,
            limit: limit.min(1 << INDEX_BITS),
            classes: Vec::new(),
            odd: BTreeMap::new(),
            strays: 0,
        }
    }

    /// Calls in flight.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Answers that nobody waited for, since the start.
    pub(crate) const fn strays(&self) -> u64 {
        self.strays
    }

    /// The `opaque` that the next call will have, or `None` when the table is full.
    pub(crate) fn reserve(&mut self) -> Option<i32> {
        if self.len >= self.limit {
            return None;
        }
        // A slot rests until as many others are free, so that its generation comes round late.
        let index = match self.free.front() {
            Some(&index) if self.free.len() > REST || self.slots.len() >= self.limit => index,
            _ if self.slots.len() < self.limit => {
                let index = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot::default());
                self.free.push_front(index);
                index
            }
            _ => return None,
        };
        Some(opaque(index, self.slots.get(index as usize)?.generation))
    }

    /// Enters the call whose `opaque` was just reserved.
    pub(crate) fn enter(&mut self, opaque: i32, now: Moment, timeout: Duration, mut call: NewCall) {
        let index = index_of(opaque);
        let taken = self.free.pop_front();
        debug_assert_eq!(taken, Some(index), "an opaque is entered right after it was reserved");
        let deadline = now + timeout;
        let class = self.arm(timeout, deadline, opaque);
        if let Some(slot) = self.slots.get_mut(index as usize) {
            slot.pending = Some(Pending {
                conn: call.conn,
                seq: call.seq,
                waiter: call.waiter,
                sent_at: now,
                deadline,
                resend: call.resend.take(),
                class,
            });
            self.len += 1;
        }
    }

    /// Takes the call that an answer belongs to; counts the answer as a stray when there is none.
    pub(crate) fn answered(&mut self, conn: ConnId, opaque: i32) -> Option<Pending> {
        let known = self.get(opaque).is_some_and(|pending| pending.conn == conn);
        if !known {
            self.strays += 1;
            return None;
        }
        self.take(opaque)
    }

    /// Takes the first call whose deadline has come.
    pub(crate) fn expired(&mut self, now: Moment) -> Option<Pending> {
        let mut first: Option<(Moment, i32)> = self.odd.keys().next().copied();
        for (_, queue) in &self.classes {
            if let Some(&head) = queue.front()
                && first.is_none_or(|best| head < best)
            {
                first = Some(head);
            }
        }
        let (at, opaque) = first?;
        if at > now { None } else { self.take(opaque) }
    }

    /// Takes every call that left by this connection, in send order.
    pub(crate) fn lost(&mut self, conn: ConnId) -> Vec<Pending> {
        let mut opaques: Vec<(u64, i32)> = self
            .slots
            .iter()
            .zip(0u32..)
            .filter_map(|(slot, index)| {
                let pending = slot.pending.as_ref().filter(|pending| pending.conn == conn)?;
                Some((pending.seq, opaque(index, slot.generation)))
            })
            .collect();
        opaques.sort_unstable();
        opaques.into_iter().filter_map(|(_, opaque)| self.take(opaque)).collect()
    }

    /// Takes the call with this `opaque`, whatever the reason: the single way out.
    pub(crate) fn take(&mut self, opaque: i32) -> Option<Pending> {
        let index = index_of(opaque);
        let slot = self.slots.get_mut(index as usize)?;
        if opaque < 0 || slot.generation != generation_of(opaque) {
            return None;
        }
        let pending = slot.pending.take()?;
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        self.free.push_back(index);
        self.len -= 1;
        self.disarm(&pending, opaque);
        Some(pending)
    }

    /// When the first call expires.
    pub(crate) fn next(&self) -> Option<Deadline> {
        let heads = self.classes.iter().filter_map(|(_, queue)| queue.front());
        let first = heads.chain(self.odd.keys().next()).map(|(at, _)| *at).min()?;
        Some(Deadline { at: first, why: "an answer is due" })
    }

    fn get(&self, opaque: i32) -> Option<&Pending> {
        let slot = self.slots.get(index_of(opaque) as usize)?;
        if opaque < 0 || slot.generation != generation_of(opaque) { None } else { slot.pending.as_ref() }
    }

    fn arm(&mut self, timeout: Duration, deadline: Moment, opaque: i32) -> u8 {
        let found = self.classes.iter().position(|(class, _)| *class == timeout);
        let at = match found {
            Some(at) => at,
            None if self.classes.len() < CLASSES => {
                self.classes.push((timeout, VecDeque::new()));
                self.classes.len() - 1
            }
            // A class that nobody uses at the moment may change its timeout.
            None => match self.classes.iter_mut().position(|(_, queue)| queue.is_empty()) {
                Some(at) => {
                    self.classes[at].0 = timeout;
                    at
                }
                None => {
                    self.odd.insert((deadline, opaque), ());
                    return ODD;
                }
            },
        };
        self.classes[at].1.push_back((deadline, opaque));
        u8::try_from(at).unwrap_or(ODD)
    }

    fn disarm(&mut self, pending: &Pending, opaque: i32) {
        if pending.class == ODD {
            self.odd.remove(&(pending.deadline, opaque));
            return;
        }
        let slots = &self.slots;
        let live = |opaque: i32| {
            slots
                .get(index_of(opaque) as usize)
                .is_some_and(|slot| slot.generation == generation_of(opaque) && slot.pending.is_some())
        };
        if let Some((_, queue)) = self.classes.get_mut(usize::from(pending.class)) {
            while queue.front().is_some_and(|(_, opaque)| !live(*opaque)) {
                queue.pop_front();
            }
            // A slow head keeps finished calls behind it; they go when they outnumber the live ones.
            if queue.len() > 64 && queue.len() > 4 * self.len.max(1) {
                queue.retain(|(_, opaque)| live(*opaque));
            }
        }
    }
}

/// What [`Calls::enter`] needs to know.
#[derive(Debug)]
pub(crate) struct NewCall {
    /// The connection that it leaves by.
    pub(crate) conn: ConnId,
    /// Its place in that connection's send order.
    pub(crate) seq: u64,
    /// Who waits.
    pub(crate) waiter: Waiter,
    /// The frame, if it may be sent once more on GO_AWAY.
    pub(crate) resend: Option<Frame>,
}

/// How many free slots must wait before the oldest of them is used again.
const REST: usize = 64;

const fn opaque(index: u32, generation: u16) -> i32 {
    // 31 bits, so the cast keeps the value and the sign stays clear.
    (((generation as u32) << INDEX_BITS) | index).cast_signed()
}

const fn index_of(opaque: i32) -> u32 {
    opaque.cast_unsigned() & INDEX_MASK
}

fn generation_of(opaque: i32) -> u16 {
    u16::try_from(opaque.cast_unsigned() >> INDEX_BITS).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocketry_machine::Key;

    fn conn(n: u32) -> ConnId {
        ConnId::from(Key::from_parts(n, 0))
    }

    fn enter(calls: &mut Calls, now: u64, timeout_ms: u64, on: u32) -> i32 {
        let opaque = calls.reserve().expect("room");
        let call = NewCall { conn: conn(on), seq: 1, waiter: Waiter::Forget, resend: None };
        calls.enter(opaque, Moment::from_millis(now), Duration::from_millis(timeout_ms), call);
        opaque
    }

    #[test]
    fn cod_10_ids_are_never_negative_and_never_two_in_flight() {
        let mut calls = Calls::new(8);
        let mut seen = alloc::collections::BTreeSet::new();
        for round in 0..50_000u64 {
            let a = enter(&mut calls, round, 10, 0);
            let b = enter(&mut calls, round, 10, 0);
            assert!(a >= 0 && b >= 0 && a != b);
            seen.insert(a);
            assert!(calls.answered(conn(0), a).is_some());
            assert!(calls.answered(conn(0), a).is_none(), "answered once only");
            assert!(calls.answered(conn(0), b).is_some());
        }
        assert!(seen.len() > 4_000, "generations are used: {}", seen.len());
        assert_eq!(calls.strays(), 50_000);
    }

    #[test]
    fn an_answer_must_come_by_the_link_of_the_request() {
        let mut calls = Calls::new(8);
        let opaque = enter(&mut calls, 0, 10, 1);
        assert!(calls.answered(conn(2), opaque).is_none());
        assert!(calls.answered(conn(1), opaque).is_some());
    }

    #[test]
    fn deadlines_fire_in_order_whatever_the_mix_of_timeouts() {
        let mut calls = Calls::new(1_000);
        for n in 0..40u64 {
            enter(&mut calls, n, 1_000 - n * 20, 0);
        }
        let mut last = Moment::ZERO;
        let mut fired = 0;
        while let Some(due) = calls.next() {
            assert!(due.at >= last);
            last = due.at;
            assert!(calls.expired(Moment::from_nanos(due.at.as_nanos() - 1)).is_none());
            assert_eq!(calls.expired(due.at).map(|pending| pending.deadline), Some(due.at));
            fired += 1;
        }
        assert_eq!((fired, calls.len()), (40, 0));
    }

    #[test]
    fn a_slow_head_does_not_keep_finished_calls() {
        let mut calls = Calls::new(100_000);
        enter(&mut calls, 0, 10, 0);
        for _ in 0..10_000 {
            let opaque = enter(&mut calls, 0, 10, 0);
            calls.take(opaque);
        }
        assert!(calls.classes[0].1.len() < 200, "{}", calls.classes[0].1.len());
    }

    #[test]
    fn the_limit_holds() {
        let mut calls = Calls::new(2);
        enter(&mut calls, 0, 10, 0);
        let last = enter(&mut calls, 0, 10, 0);
        assert_eq!(calls.reserve(), None);
        calls.take(last);
        assert!(calls.reserve().is_some());
    }

    #[test]
    fn a_lost_link_gives_its_calls_in_send_order() {
        let mut calls = Calls::new(10);
        enter(&mut calls, 0, 10, 1);
        enter(&mut calls, 0, 10, 2);
        enter(&mut calls, 0, 10, 1);
        assert_eq!(calls.lost(conn(1)).len(), 2);
        assert_eq!(calls.len(), 1);
    }
}
