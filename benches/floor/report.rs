//! The one JSON object that a run prints.

use std::time::Instant;

use crate::Failure;
use crate::histogram::Histogram;
use crate::link::Link;
use crate::usage::Usage;

/// When a run began to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) wall: Instant,
    cpu_us: f64,
}

impl Clock {
    /// Begins to count.
    ///
    /// # Errors
    ///
    /// As [`Usage::now`].
    pub(crate) fn start() -> Result<Self, Failure> {
        Ok(Self { cpu_us: Usage::now()?.cpu_us, wall: Instant::now() })
    }
}

/// The figures of one run; `cli.md` names the fields that `rocketry bench` prints too.
pub(crate) struct Report {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    seconds: f64,
    cpu_us: f64,
    max_rss_kb: u64,
    latencies: Option<(f64, f64)>,
    reads: u64,
    writes: u64,
}

impl Report {
    /// Sums a run up: processor time since the clock was started, as `rocketry bench` counts it, and the peak memory of
    /// the whole process.
    pub(crate) fn new(
        (ok, failed): (u64, u64),
        clock: Clock,
        link: &Link,
        latencies: Option<&Histogram>,
    ) -> Result<Self, Failure> {
        let usage = Usage::now()?;
        let seconds = clock.wall.elapsed().as_secs_f64();
        let latencies = latencies.and_then(|h| Some((h.percentile_us(500)?, h.percentile_us(990)?)));
        let (reads, writes) = (link.reads(), link.writes());
        let (cpu_us, max_rss_kb) = (usage.cpu_us - clock.cpu_us, usage.max_rss_kb);
        Ok(Self { ok, failed, seconds, cpu_us, max_rss_kb, latencies, reads, writes })
    }

    pub(crate) fn to_json(&self) -> String {
        let each = |sum: f64| if self.ok == 0 { 0.0 } else { sum / self.ok as f64 };
        let rate = if self.seconds > 0.0 { self.ok as f64 / self.seconds } else { 0.0 };
        let latencies =
            self.latencies.map(|(p50, p99)| format!("\"p50_us\":{p50:.1},\"p99_us\":{p99:.1},")).unwrap_or_default();
        format!(
            "{{\"ok\":{},\"failed\":{},\"seconds\":{:.3},\"rate\":{rate:.1},\"cpu_us_per_message\":{:.3},{latencies}\
             \"max_rss_kb\":{},\"reads_per_message\":{:.4},\"writes_per_message\":{:.4}}}",
            self.ok,
            self.failed,
            self.seconds,
            each(self.cpu_us),
            self.max_rss_kb,
            each(self.reads as f64),
            each(self.writes as f64),
        )
    }
}
