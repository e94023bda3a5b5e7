//! Readings of the operating system's clocks as machines want them, and the seed.
//!
//! All clocks of a process share one origin, so that a machine can be handed from one driver to another without its
//! time standing still.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rocketry_machine::{Moment, Now, Seed, UnixMillis};

use crate::sync::lock;

/// Where a shell reads its time.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    System,
    Manual(Arc<Mutex<Now>>),
}

impl Clock {
    /// The operating system's monotone and wall clocks.
    #[must_use]
    pub const fn system() -> Self {
        Self(Kind::System)
    }

    /// A clock that stands until [`Clock::advance`] moves it, for tests.
    #[must_use]
    pub fn manual(start: Now) -> Self {
        Self(Kind::Manual(Arc::new(Mutex::new(start))))
    }

    /// One reading of both clocks.
    #[must_use]
    pub fn now(&self) -> Now {
        match &self.0 {
            Kind::System => {
                let at = Moment::ZERO + origin().elapsed();
                Now::new(at, wall())
            }
            Kind::Manual(now) => *lock(now),
        }
    }

    /// Moves a manual clock, and all its clones; the system's clocks move by themselves.
    pub fn advance(&self, by: Duration) {
        if let Kind::Manual(now) = &self.0 {
            let mut now = lock(now);
            let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            *now = Now::new(now.at + by, now.wall.plus_millis(millis));
        }
    }
}

/// The instant of a moment; `None` for one that is never reached.
#[must_use]
pub(crate) fn instant(at: Moment) -> Option<Instant> {
    if at == Moment::NEVER {
        return None;
    }
    origin().checked_add(Duration::from_nanos(at.as_nanos()))
}

/// A seed from the operating system's source of randomness.
///
/// # Errors
/// When the operating system gives none.
pub fn seed() -> std::io::Result<Seed> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    let both = u128::from_ne_bytes(bytes);
    let low = u64::try_from(both & u128::from(u64::MAX)).unwrap_or(0);
    let high = u64::try_from(both >> 64).unwrap_or(0);
    Ok(Seed([low, high]))
}

fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

fn wall() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = match since {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
    };
    UnixMillis::new(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = Clock::manual(Now::new(Moment::from_millis(5), UnixMillis::new(100)));
        let other = clock.clone();
        clock.advance(Duration::from_millis(7));
        assert_eq!(other.now(), Now::new(Moment::from_millis(12), UnixMillis::new(107)));
    }

    #[test]
    fn moments_and_instants_agree() {
        let now = Clock::system().now();
        let instant = instant(now.at).expect("now is reached");
        assert!(instant <= Instant::now());
        assert_eq!(super::instant(Moment::NEVER), None);
        assert!(super::instant(Moment::ZERO).expect("reached") <= instant);
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(seed().expect("the system has randomness"), seed().expect("the system has randomness"));
    }
}
