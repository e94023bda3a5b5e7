//! What the process used, read from `/proc` so that no `unsafe` call is needed.

use std::fs;

use crate::Failure;

/// Processor time and peak memory of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// User and system time since the process began, in microseconds.
    pub(crate) cpu_us: f64,
    /// Peak resident memory (`VmHWM`), in KiB.
    pub(crate) max_rss_kb: u64,
}

impl Usage {
    /// Reads both figures.
    ///
    /// # Errors
    ///
    /// Where `/proc` is missing or reads differently than on Linux.
    pub(crate) fn now() -> Result<Self, Failure> {
        // `schedstat` counts nanoseconds, but of one thread: the floor has no other. `stat` counts in ticks of 10 ms.
        let cpu_us = match fs::read_to_string("/proc/self/schedstat").ok().as_deref().and_then(schedstat_us) {
            Some(us) => us,
            None => stat_us(&fs::read_to_string("/proc/self/stat")?).ok_or("/proc/self/stat reads strangely")?,
        };
        let status = fs::read_to_string("/proc/self/status")?;
        let max_rss_kb = peak_kb(&status).ok_or("/proc/self/status has no VmHWM")?;
        Ok(Self { cpu_us, max_rss_kb })
    }
}

fn schedstat_us(text: &str) -> Option<f64> {
    let nanos: u64 = text.split_whitespace().next()?.parse().ok()?;
    // A kernel without scheduler statistics prints zeros.
    (nanos > 0).then(|| nanos as f64 / 1e3)
}

fn stat_us(text: &str) -> Option<f64> {
    // The command's name stands in parentheses and may hold blanks; utime and stime are fields 14 and 15 of the line.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    // USER_HZ is 100 on every Linux that Rust supports.
    Some((user + system) as f64 * 10_000.0)
}

fn peak_kb(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_forms_of_proc() {
        assert_eq!(schedstat_us("2500000 12 3\n"), Some(2500.0));
        assert_eq!(schedstat_us("0 0 0\n"), None);
        let stat = "17 (a (b) c) S 1 1 1 0 -1 4194560 99 0 0 0 7 5 0 0 20 0 1 0 100 1000 10";
        assert_eq!(stat_us(stat), Some(120_000.0));
        assert_eq!(peak_kb("VmPeak:\t 9 kB\nVmHWM:\t  2048 kB\n"), Some(2048));
    }

    #[test]
    fn this_process_used_something() {
        let usage = Usage::now().unwrap();
        assert!(usage.max_rss_kb > 0);
    }
}
