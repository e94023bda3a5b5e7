//! Which delayed messages wait, and when they are due (`spec/broker.md` 3.7).
//!
//! A delayed message lies in a queue of `SCHEDULE_TOPIC_XXXX`, one queue a level. Within a level messages are delivered
//! strictly in order, so only the head of each level has a timer. Due times are looked at on a grid of 100 ms from the
//! start of the broker; nothing is looked at before the first second.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::Moment;

/// How often a level is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// When a level is looked at for the first time.
const FIRST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    queue_offset: u64,
    due: Moment,
}

/// The waiting messages of all levels.
#[derive(Debug)]
pub(crate) struct Delay {
    levels: Vec<VecDeque<Waiting>>,
    start: Moment,
}

impl Delay {
    pub(crate) fn new(levels: u8, start: Moment) -> Self {
        Self { levels: (0..levels).map(|_| VecDeque::new()).collect(), start }
    }

    /// A message was stored in the queue of `level` and is due at `due`.
    pub(crate) fn push(&mut self, level: u8, queue_offset: u64, due: Moment) {
        if let Some(waiting) = self.level_mut(level) {
            waiting.push_back(Waiting { queue_offset, due });
        }
    }

    /// Takes the head of a level if it is due.
    pub(crate) fn pop_due(&mut self, now: Moment, level: u8) -> Option<u64> {
        let waiting = self.level_mut(level)?;
        if waiting.front()?.due > now {
            return None;
        }
        waiting.pop_front().map(|head| head.queue_offset)
    }

    /// How many messages wait in a level.
    pub(crate) fn waiting(&self, level: u8) -> usize {
        let waiting = usize::from(level).checked_sub(1).and_then(|at| self.levels.get(at));
        waiting.map_or(0, VecDeque::len)
    }

    /// Puts a message back that could not be delivered.
    pub(crate) fn put_back(&mut self, level: u8, queue_offset: u64, due: Moment) {
        if let Some(waiting) = self.level_mut(level) {
            waiting.push_front(Waiting { queue_offset, due });
        }
    }

    /// When to look at a level next: the first point of the grid at which its head is due.
    pub(crate) fn next(&self, level: u8) -> Option<Moment> {
        let head = self.levels.get(usize::from(level).checked_sub(1)?)?.front()?;
        let wait = head.due.since(self.start).max(FIRST).as_nanos();
        let ticks = wait.div_ceil(TICK.as_nanos());
        Some(self.start + Duration::from_nanos(u64::try_from(ticks * TICK.as_nanos()).unwrap_or(u64::MAX)))
    }

    fn level_mut(&mut self, level: u8) -> Option<&mut VecDeque<Waiting>> {
        self.levels.get_mut(usize::from(level).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Moment {
        Moment::from_millis(millis)
    }

    #[test]
    fn heads_are_due_on_the_grid_and_in_order() {
        let mut delay = Delay::new(2, ms(50));
        assert_eq!(delay.next(1), None);
        delay.push(1, 0, ms(2_001));
        delay.push(1, 1, ms(1_500));
        assert_eq!(delay.next(1), Some(ms(2_050)));
        assert_eq!(delay.pop_due(ms(2_000), 1), None);
        assert_eq!(delay.pop_due(ms(2_050), 1), Some(0));
        assert_eq!(delay.pop_due(ms(2_050), 1), Some(1), "a later message waits for its elders");
        assert_eq!(delay.pop_due(ms(9_999), 1), None);
    }

    #[test]
    fn nothing_is_looked_at_in_the_first_second() {
        let mut delay = Delay::new(1, ms(0));
        delay.push(1, 0, ms(10));
        assert_eq!(delay.next(1), Some(ms(1_000)));
        assert_eq!(delay.pop_due(ms(1_000), 1), Some(0));
        delay.put_back(1, 0, ms(1_100));
        assert_eq!(delay.next(1), Some(ms(1_100)));
        delay.push(2, 0, ms(0));
        assert_eq!(delay.next(2), None, "a level that does not exist holds nothing");
    }
}
