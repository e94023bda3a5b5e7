//! What the process has used: processor time and the peak of resident memory, as the kernel counts them.

use std::time::Duration;

/// User and system time of this process so far, in steps of 10 ms; `None` where the system does not say.
pub(crate) fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The command's name stands in parentheses and may hold blanks; utime and stime are fields 14 and 15 of the line.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    // USER_HZ is 100 on every Linux that Rust supports.
    Some(Duration::from_millis(10 * (user + system)))
}

/// The peak of resident memory (VmHWM) in kilobytes.
pub(crate) fn max_rss_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}
