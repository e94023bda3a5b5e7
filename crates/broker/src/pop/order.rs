//! Ordered pops (`spec/broker.md` 9.8): a queue is blocked while messages of its last batch are neither acknowledged nor
//! visible again.
//!
//! The group's position moves to the first message that is not acknowledged. When the time is over, the same positions
//! are delivered again and counted. An attempt that repeats itself, because it lost the answer, gets the same batch
//! without a count.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rocketry_machine::Moment;

use super::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given {
    offset: i64,
    acked: bool,
    visible: Moment,
    /// How often it was given before.
    count: i32,
}

#[derive(Clone, Debug)]
struct Batch {
    pop_time: i64,
    attempt: Option<Box<str>>,
    given: Vec<Given>,
}

/// What became of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acked {
    /// The group stands here now.
    Next(i64),
    /// It belongs to an older batch, or there is none.
    Stale,
    /// The batch has no such message.
    NotInBatch,
}

/// The last batch of every ordered queue.
#[derive(Debug, Default)]
pub(super) struct Orders {
    batches: BTreeMap<Place, Batch>,
}

impl Orders {
    /// Whether a queue may not be popped now.
    pub(super) fn blocks(&self, place: &Place, attempt: Option<&str>, now: Moment) -> bool {
        self.batches.get(place).is_some_and(|batch| {
            let same = attempt.is_some() && batch.attempt.as_deref() == attempt;
            !same && batch.given.iter().any(|given| !given.acked && given.visible > now)
        })
    }

    /// A batch was given; how often each of its messages had been given before.
    pub(super) fn give(
        &mut self,
        place: Place,
        pop_time: i64,
        attempt: Option<&str>,
        offsets: &[i64],
        visible: Moment,
    ) -> Vec<i32> {
        let before = self.batches.get(&place);
        let same = attempt.is_some() && before.is_some_and(|batch| batch.attempt.as_deref() == attempt);
        let count = |offset: i64| {
            let known = before.and_then(|batch| batch.given.iter().find(|given| given.offset == offset));
            known.map_or(0, |given| given.count.saturating_add(i32::from(!same)))
        };
        let given: Vec<Given> = offsets
            .iter()
            .map(|offset| Given { offset: *offset, acked: false, visible, count: count(*offset) })
            .collect();
        let counts = given.iter().map(|given| given.count).collect();
        self.batches.insert(place, Batch { pop_time, attempt: attempt.map(Box::from), given });
        counts
    }

    pub(super) fn ack(&mut self, place: &Place, pop_time: i64, offset: i64) -> Acked {
        let Some(batch) = self.batches.get_mut(place).filter(|batch| batch.pop_time == pop_time) else {
            return Acked::Stale;
        };
        let Some(given) = batch.given.iter_mut().find(|given| given.offset == offset) else {
            return Acked::NotInBatch;
        };
        given.acked = true;
        let first = batch.given.iter().find(|given| !given.acked).map(|given| given.offset);
        let after = batch.given.last().map_or(0, |given| given.offset.saturating_add(1));
        Acked::Next(first.unwrap_or(after))
    }

    /// Changes when a message of the last batch becomes visible; false if there is no such message.
    pub(super) fn change(&mut self, place: &Place, pop_time: i64, offset: i64, visible: Moment) -> bool {
        let batch = self.batches.get_mut(place).filter(|batch| batch.pop_time == pop_time);
        let given = batch.and_then(|batch| batch.given.iter_mut().find(|given| given.offset == offset));
        given.map(|given| given.visible = visible).is_some()
    }

    /// When the next blocked queue of a topic opens by itself.
    pub(super) fn next_open(&self, now: Moment) -> Option<Moment> {
        let open = |batch: &Batch| {
            batch.given.iter().filter(|given| !given.acked && given.visible > now).map(|given| given.visible).max()
        };
        self.batches.values().filter_map(open).min()
    }

    /// Forgets the batch of a queue, whose position was moved.
    pub(super) fn forget(&mut self, place: &Place) {
        self.batches.remove(place);
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Place) -> bool) {
        self.batches.retain(|place, _| keep(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    #[test]
    fn a_queue_is_blocked_until_its_batch_is_acknowledged_or_visible() {
        let (mut orders, place) = (Orders::default(), Place::new("g", "T", 0));
        assert_eq!(orders.give(place.clone(), 1, None, &[0, 1, 2], ms(100)), [0, 0, 0]);
        assert!(orders.blocks(&place, None, ms(99)) && !orders.blocks(&place, None, ms(100)));
        assert_eq!(orders.ack(&place, 1, 1), Acked::Next(0), "0 is not acknowledged");
        assert_eq!(orders.ack(&place, 1, 0), Acked::Next(2));
        assert_eq!(orders.ack(&place, 1, 7), Acked::NotInBatch);
        assert_eq!(orders.ack(&place, 2, 2), Acked::Stale);
        assert_eq!(orders.next_open(ms(0)), Some(ms(100)));
        assert!(orders.change(&place, 1, 2, ms(500)) && !orders.change(&place, 2, 2, ms(900)));
        assert!(orders.blocks(&place, None, ms(499)));
        assert_eq!(orders.ack(&place, 1, 2), Acked::Next(3));
        assert!(!orders.blocks(&place, None, ms(0)));
    }

    #[test]
    fn what_is_given_again_is_counted_unless_the_attempt_is_the_same() {
        let (mut orders, place) = (Orders::default(), Place::new("g", "T", 0));
        orders.give(place.clone(), 1, Some("a"), &[0, 1], ms(100));
        assert!(orders.blocks(&place, Some("b"), ms(0)) && !orders.blocks(&place, Some("a"), ms(0)));
        assert_eq!(orders.give(place.clone(), 2, Some("a"), &[0, 1], ms(100)), [0, 0]);
        assert_eq!(orders.give(place.clone(), 3, Some("b"), &[1, 2], ms(100)), [1, 0]);
        assert_eq!(orders.give(place.clone(), 4, None, &[1, 2], ms(100)), [2, 1]);
        orders.forget(&place);
        assert!(!orders.blocks(&place, None, ms(0)));
    }
}
