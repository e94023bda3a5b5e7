//! One connection: its state, its send order, its byte credit and its progress.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rocketry_machine::{Credit, Endpoint, Moment};

use crate::api::OpId;

/// Where a link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Asked for, not yet standing.
    Connecting,
    /// Standing.
    Up,
    /// Standing, but nothing new is sent on it.
    Draining,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    endpoint: Endpoint,
    state: LinkState,
    credit: Credit,
    emitted: u64,
    flushed: u64,
    sizes: VecDeque<u32>,
    oneways: VecDeque<(u64, OpId)>,
    calls: usize,
    progress: Moment,
    room_wanted: bool,
}

impl Link {
    pub(crate) const fn new(endpoint: Endpoint, now: Moment, credit: Credit) -> Self {
        Self {
            endpoint,
            state: LinkState::Connecting,
            credit,
            emitted: 0,
            flushed: 0,
            sizes: VecDeque::new(),
            oneways: VecDeque::new(),
            calls: 0,
            progress: now,
            room_wanted: false,
        }
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) const fn state(&self) -> LinkState {
        self.state
    }

    /// Whether a frame of this size may be emitted now. One frame larger than the whole credit passes alone.
    pub(crate) const fn has_room(&self, size: u64) -> bool {
        self.credit.used() == 0 || size <= self.credit.left()
    }

    /// Someone found no room and waits for it.
    pub(crate) const fn want_room(&mut self) {
        self.room_wanted = true;
    }

    /// Whether someone waited for room and there is some now; asked once after each flush.
    pub(crate) const fn take_room_wanted(&mut self) -> bool {
        let wanted = self.room_wanted && self.credit.left() > 0;
        if wanted {
            self.room_wanted = false;
        }
        wanted
    }

    /// Accounts for an emitted frame; its place in the send order, from 1.
    pub(crate) fn emit(&mut self, size: usize) -> u64 {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        self.credit.charge_anyway(u64::from(size));
        self.sizes.push_back(size);
        self.emitted += 1;
        self.emitted
    }

    /// Remembers that an operation ends when the frame with this place is with the kernel.
    pub(crate) fn await_flush(&mut self, seq: u64, op: OpId) {
        self.oneways.push_back((seq, op));
    }

    /// So many more frames are with the kernel. More than were emitted is a driver's mistake and is cut.
    pub(crate) fn flush(&mut self, frames: u32) {
        for _ in 0..frames {
            let Some(size) = self.sizes.pop_front() else { return };
            self.credit.give_back(u64::from(size));
            self.flushed += 1;
        }
    }

    /// The next operation that waited for a flush which has happened.
    pub(crate) fn pop_flushed_oneway(&mut self) -> Option<OpId> {
        match self.oneways.front() {
            Some((seq, op)) if *seq <= self.flushed => {
                let op = *op;
                self.oneways.pop_front();
                Some(op)
            }
            _ => None,
        }
    }

    /// Operations whose frame never was wholly with the kernel.
    pub(crate) fn take_unsent_oneways(&mut self) -> Vec<OpId> {
        self.oneways.drain(..).map(|(_, op)| op).collect()
    }

    /// Whether the frame with this place is wholly with the kernel.
    pub(crate) const fn is_flushed(&self, seq: u64) -> bool {
        seq <= self.flushed
    }

    /// A call left by this link.
    pub(crate) const fn call_entered(&mut self) {
        self.calls += 1;
    }

    /// A call of this link ended; whether none is left.
    pub(crate) const fn call_left(&mut self) -> bool {
        self.calls = self.calls.saturating_sub(1);
        self.calls == 0
    }

    /// Calls that wait for an answer here.
    pub(crate) const fn calls(&self) -> usize {
        self.calls
    }

    pub(crate) const fn opened(&mut self, now: Moment) {
        if matches!(self.state, LinkState::Connecting) {
            self.state = LinkState::Up;
        }
        self.progress = now;
    }

    pub(crate) const fn drain(&mut self) {
        self.state = LinkState::Draining;
    }

    /// The peer answered something: the only sign of life that counts.
    pub(crate) const fn progressed(&mut self, now: Moment) {
        self.progress = now;
    }

    /// Whether the peer answered anything, or the connection came to stand, since `since`.
    pub(crate) fn progressed_since(&self, since: Moment) -> bool {
        self.progress > since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocketry_machine::Key;

    #[test]
    fn credit_is_charged_by_frame_and_returned_by_flush() {
        let mut link = Link::new(Endpoint::new("a", 1), Moment::ZERO, Credit::new(100));
        assert!(link.has_room(1_000), "one large frame passes an idle link");
        assert_eq!(link.emit(60), 1);
        assert!(link.has_room(40) && !link.has_room(41));
        assert_eq!(link.emit(40), 2);
        assert!(!link.is_flushed(1));
        link.flush(1);
        assert!(link.is_flushed(1) && !link.is_flushed(2));
        assert!(link.has_room(60) && !link.has_room(61));
        link.flush(9);
        assert!(link.has_room(1_000));
    }

    #[test]
    fn oneways_end_in_order_with_their_flush() {
        let mut link = Link::new(Endpoint::new("a", 1), Moment::ZERO, Credit::new(100));
        let op = |n| OpId::from(Key::from_parts(n, 0));
        for n in 0..3 {
            let seq = link.emit(1);
            link.await_flush(seq, op(n));
        }
        link.flush(2);
        assert_eq!(link.pop_flushed_oneway(), Some(op(0)));
        assert_eq!(link.pop_flushed_oneway(), Some(op(1)));
        assert_eq!(link.pop_flushed_oneway(), None);
        assert_eq!(link.take_unsent_oneways(), [op(2)]);
    }
}
