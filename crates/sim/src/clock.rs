//! The two clocks of a node, derived from world time.

use std::time::Duration;

use rocketry_machine::{Moment, Now, UnixMillis};

/// How a node's clocks differ from those of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skew {
    /// How much faster the monotone clock runs, in parts per million; negative for slower. At least -900,000.
    pub drift_ppm: i64,
    /// How far the wall clock is ahead, in milliseconds. May be changed while the node runs: a jump.
    pub wall_ms: i64,
}

/// The clocks of one boot of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    booted: Moment,
    skew: Skew,
}

/// World time zero on the wall clock: 2026-01-01T00:00:00Z.
const EPOCH_MS: i64 = 1_767_225_600_000;
const MILLION: i128 = 1_000_000;

impl Clock {
    pub(crate) const fn new(booted: Moment, skew: Skew) -> Self {
        Self { booted, skew }
    }

    pub(crate) const fn skew_mut(&mut self) -> &mut Skew {
        &mut self.skew
    }

    fn rate(&self) -> i128 {
        (MILLION + i128::from(self.skew.drift_ppm)).max(MILLION / 10)
    }

    /// What the node reads at this moment of the world.
    pub(crate) fn read(&self, world: Moment) -> Now {
        let elapsed = i128::from(world.as_nanos().saturating_sub(self.booted.as_nanos()));
        let local = elapsed * self.rate() / MILLION;
        let wall = EPOCH_MS + i64::try_from(world.as_nanos() / 1_000_000).unwrap_or(i64::MAX - EPOCH_MS);
        Now::new(
            Moment::from_nanos(u64::try_from(local).unwrap_or(u64::MAX)),
            UnixMillis::new(wall.saturating_add(self.skew.wall_ms)),
        )
    }

    /// The first moment of the world at which the node reads `local` or later.
    pub(crate) fn when(&self, local: Moment) -> Moment {
        if local == Moment::NEVER {
            return Moment::NEVER;
        }
        let nanos = (i128::from(local.as_nanos()) * MILLION + self.rate() - 1) / self.rate();
        self.booted + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_early_whatever_the_drift() {
        for drift_ppm in [-900_000, -1_000, -1, 0, 1, 333_333, 5_000_000] {
            let clock = Clock::new(Moment::from_millis(7), Skew { drift_ppm, wall_ms: 0 });
            for nanos in [1, 999, 1_000_003, 30_000_000_000] {
                let local = Moment::from_nanos(nanos);
                let world = clock.when(local);
                assert!(clock.read(world).at >= local, "{drift_ppm} {nanos}");
            }
        }
    }
}
