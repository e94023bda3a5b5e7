//! Log records, behind the feature `tracing`. They are collected under the lock and written after it, at most
//! [`PER_SECOND`] of a kind in a second: what is left out is counted and said with the next one that is written.

use std::time::Duration;

use rocketry_machine::Moment;

/// Records of one kind that are written in one second.
const PER_SECOND: u32 = 5;

/// How much a record matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Something that must be done fails and is tried again.
    Warn,
    /// Something that happens now and then in normal life.
    Debug,
}

/// One record to be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    level: Level,
    kind: &'static str,
    text: String,
    suppressed: u32,
}

impl Record {
    /// Writes it. A subscriber may do anything, so no lock may be held.
    pub(crate) fn log(self) {
        let Self { level, kind, text, suppressed } = self;
        match level {
            Level::Warn => tracing::warn!(target: "rocketry", kind, suppressed, "{text}"),
            Level::Debug => tracing::debug!(target: "rocketry", kind, suppressed, "{text}"),
        }
    }
}

/// Counts records by kind.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    name: &'static str,
    since: Moment,
    written: u32,
    suppressed: u32,
}

impl Limiter {
    /// A record of this kind, unless there were too many of them lately. The text is made only if it is wanted.
    pub(crate) fn record(
        &mut self,
        now: Moment,
        level: Level,
        kind: &'static str,
        text: impl FnOnce() -> String,
    ) -> Option<Record> {
        let known = self.kinds.iter().position(|known| known.name == kind);
        let at = known.unwrap_or_else(|| {
            self.kinds.push(Kind { name: kind, since: now, written: 0, suppressed: 0 });
            self.kinds.len() - 1
        });
        let known = &mut self.kinds[at];
        if now.since(known.since) >= Duration::from_secs(1) {
            (known.since, known.written) = (now, 0);
        }
        if known.written >= PER_SECOND {
            known.suppressed += 1;
            return None;
        }
        known.written += 1;
        let suppressed = std::mem::take(&mut known.suppressed);
        Some(Record { level, kind, text: text(), suppressed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_kind_is_counted_and_another_kind_still_written() {
        let mut limiter = Limiter::default();
        let mut take = |millis, kind| {
            limiter.record(Moment::from_millis(millis), Level::Warn, kind, || "text".into()).map(|r| r.suppressed)
        };
        let flood: Vec<_> = (0..20).map(|at| take(at, "pull")).collect();
        assert_eq!(flood.iter().flatten().count(), 5);
        assert_eq!(take(30, "route"), Some(0));
        assert_eq!(take(1_100, "pull"), Some(15), "what was left out is said later");
    }
}
