//! How fast a subscription is consumed: sums over the last minute and the last hour (consumer.md 12.7).
//!
//! A meter counts into buckets by the moment of each event and forgets those that have grown old when it is next touched:
//! it needs no timer. Times come in milliseconds.

use core::time::Duration;

use rocketry_machine::Moment;

use crate::api::Topic;
use crate::api::{Rate, TopicStats};

const BUCKETS: usize = 6;
/// Nanoseconds of a bucket of a minute's window.
const OF_MINUTE: u64 = 10_000_000_000;
/// Nanoseconds of a bucket of an hour's window.
const OF_HOUR: u64 = 600_000_000_000;

/// Sums of a sliding span of six buckets.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    sums: [u64; BUCKETS],
    times: [u64; BUCKETS],
    /// The number of the newest bucket, counted from the beginning of time.
    newest: u64,
}

impl Window {
    fn roll(&mut self, number: u64) {
        let passed = number.saturating_sub(self.newest).min(BUCKETS as u64);
        for step in 1..=passed {
            let at = Self::index(self.newest.wrapping_add(step));
            if let (Some(sum), Some(times)) = (self.sums.get_mut(at), self.times.get_mut(at)) {
                (*sum, *times) = (0, 0);
            }
        }
        if passed == BUCKETS as u64 {
            (self.sums, self.times) = ([0; BUCKETS], [0; BUCKETS]);
        }
        self.newest = self.newest.max(number);
    }

    fn add(&mut self, number: u64, value: u64, times: u64) {
        self.roll(number);
        let at = Self::index(number);
        if let (Some(sum), Some(count)) = (self.sums.get_mut(at), self.times.get_mut(at)) {
            *sum += value;
            *count += times;
        }
    }

    fn total(mut self, number: u64) -> (u64, u64) {
        self.roll(number);
        (self.sums.iter().sum(), self.times.iter().sum())
    }

    #[allow(clippy::cast_possible_truncation)] // below 6
    const fn index(number: u64) -> usize {
        (number % BUCKETS as u64) as usize
    }
}

/// One quantity over a minute and an hour.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    minute: Window,
    hour: Window,
}

impl Meter {
    fn add(&mut self, now: Moment, value: u64, times: u64) {
        self.minute.add(now.as_nanos() / OF_MINUTE, value, times);
        self.hour.add(now.as_nanos() / OF_HOUR, value, times);
    }

    fn minute(&self, now: Moment) -> (u64, u64) {
        self.minute.total(now.as_nanos() / OF_MINUTE)
    }

    fn hour(&self, now: Moment) -> (u64, u64) {
        self.hour.total(now.as_nanos() / OF_HOUR)
    }

    fn rate(&self, now: Moment) -> Rate {
        Rate { last_minute: self.minute(now).0, last_hour: self.hour(now).0 }
    }

    /// The mean over the last minute, or over the last hour where the minute has nothing.
    fn mean(&self, now: Moment) -> Duration {
        let minute = self.minute(now);
        let (sum, times) = if minute.1 > 0 { minute } else { self.hour(now) };
        Duration::from_millis(sum.checked_div(times).unwrap_or(0))
    }
}

/// The meters of a subscription.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meters {
    consumed: Meter,
    failed: Meter,
    handling: Meter,
    pulled: Meter,
    pulling: Meter,
}

impl Meters {
    /// A handler ended after `took`.
    pub(super) fn handled(&mut self, now: Moment, took: Duration, succeeded: bool) {
        let meter = if succeeded { &mut self.consumed } else { &mut self.failed };
        meter.add(now, 1, 1);
        self.handling.add(now, millis(took), 1);
    }

    /// A pull brought so many messages after `took`.
    pub(super) fn pulled(&mut self, now: Moment, took: Duration, messages: u64) {
        self.pulled.add(now, messages, 1);
        self.pulling.add(now, millis(took), 1);
    }

    /// What they say of a topic.
    pub(super) fn read(&self, now: Moment, topic: Topic) -> TopicStats {
        TopicStats {
            topic,
            consumed: self.consumed.rate(now),
            failed: self.failed.rate(now),
            pulled: self.pulled.rate(now),
            handling_time: self.handling.mean(now),
            pull_time: self.pulling.mean(now),
        }
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_millis(seconds * 1_000)
    }

    #[test]
    fn what_is_older_than_the_span_is_forgotten() {
        let mut meter = Meter::default();
        meter.add(at(0), 5, 1);
        meter.add(at(30), 7, 1);
        assert_eq!(meter.rate(at(59)), Rate { last_minute: 12, last_hour: 12 });
        assert_eq!(meter.rate(at(60)), Rate { last_minute: 7, last_hour: 12 });
        assert_eq!(meter.rate(at(90)), Rate { last_minute: 0, last_hour: 12 });
        assert_eq!(meter.rate(at(3_600)), Rate { last_minute: 0, last_hour: 0 });
        meter.add(at(10_000), 1, 1);
        assert_eq!(meter.rate(at(10_000)), Rate { last_minute: 1, last_hour: 1 });
    }

    #[test]
    fn a_mean_falls_back_to_the_hour() {
        let mut meters = Meters::default();
        meters.handled(at(0), Duration::from_millis(10), true);
        meters.handled(at(1), Duration::from_millis(30), false);
        assert_eq!(meters.read(at(2), "T".into()).handling_time, Duration::from_millis(20));
        let later = meters.read(at(600), "T".into());
        assert_eq!(later.handling_time, Duration::from_millis(20));
        assert_eq!((later.consumed.last_minute, later.consumed.last_hour, later.failed.last_hour), (0, 1, 1));
        assert_eq!(meters.read(at(60), "T".into()).pull_time, Duration::ZERO);
    }
}
