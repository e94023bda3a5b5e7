//! The one JSON object that a run prints.

use std::time::Duration;

use crate::Failure;
use crate::histogram::Histogram;
use crate::link::Link;
use crate::usage::Usage;

/// The figures of one run; `cli.md` names the fields that `rocketry bench` prints too.
pub(crate) struct Report {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    seconds: f64,
    usage: Usage,
    latencies: Option<(f64, f64)>,
    reads: u64,
    writes: u64,
}

impl Report {
    /// Sums a run up; processor time and memory are those of the whole process.
    pub(crate) fn new(
        (ok, failed): (u64, u64),
        elapsed: Duration,
        link: &Link,
        latencies: Option<&Histogram>,
    ) -> Result<Self, Failure> {
        let latencies = latencies.and_then(|h| Some((h.percentile_us(500)?, h.percentile_us(990)?)));
        let (reads, writes) = (link.reads(), link.writes());
        Ok(Self { ok, failed, seconds: elapsed.as_secs_f64(), usage: Usage::now()?, latencies, reads, writes })
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
            each(self.usage.cpu_us),
            self.usage.max_rss_kb,
            each(self.reads as f64),
            each(self.writes as f64),
        )
    }
}
