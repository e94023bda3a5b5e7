//! Time as two integers: a monotone moment for every wait, wall milliseconds for what goes on the wire.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// Nanoseconds since an origin that the driver chose; never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The driver's origin.
    pub const ZERO: Self = Self(0);
    /// Later than every moment a machine will see.
    pub const NEVER: Self = Self(u64::MAX);

    /// A moment `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A moment `millis` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// Saturates at [`Moment::NEVER`].
    fn add(self, wait: Duration) -> Self {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    /// Saturates at [`Moment::ZERO`].
    fn sub(self, wait: Duration) -> Self {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER {
            return f.write_str("never");
        }
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Wall-clock milliseconds since 1970-01-01T00:00:00Z. It may jump either way, so nothing ever waits on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(i64);

impl UnixMillis {
    /// From milliseconds since the epoch.
    #[must_use]
    pub const fn new(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// This time moved by `millis`, saturating.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// One reading of both clocks, taken once for each call into a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Now {
    /// The monotone clock: all waiting is measured on it.
    pub at: Moment,
    /// The wall clock: untrusted, for wire fields only.
    pub wall: UnixMillis,
}

impl Now {
    /// Both readings.
    #[must_use]
    pub const fn new(at: Moment, wall: UnixMillis) -> Self {
        Self { at, wall }
    }
}

/// When a machine wants to be called again, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Call `handle_timeout` at or after this moment.
    pub at: Moment,
    /// The name of the timer, for people who look at a stuck program.
    pub why: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_and_subtracting_saturate() {
        assert_eq!(Moment::NEVER + Duration::from_secs(1), Moment::NEVER);
        assert_eq!(Moment::ZERO - Duration::from_secs(1), Moment::ZERO);
        assert_eq!(Moment::ZERO + Duration::MAX, Moment::NEVER);
        assert_eq!(Moment::from_millis(5).since(Moment::from_millis(9)), Duration::ZERO);
    }

    #[test]
    fn moments_print_seconds() {
        extern crate alloc;
        assert_eq!(alloc::format!("{}", Moment::from_millis(1_500)), "1.500000000s");
        assert_eq!(alloc::format!("{}", Moment::NEVER), "never");
    }
}
