//! Latencies in a fixed table: 128 steps per power of two, so a percentile is wrong by less than 0.8 %.

/// Steps per power of two.
const STEPS: usize = 128;
/// `log2(STEPS)`.
const SHIFT: u32 = STEPS.trailing_zeros();
/// Enough for 2^44 ns, almost five hours; longer ones share the last step.
const SIZE: usize = STEPS * (44 - SHIFT as usize + 1);

/// Counts of latencies by size.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; SIZE], total: 0 }
    }

    /// Adds one latency in nanoseconds.
    pub(crate) fn add(&mut self, nanos: u64) {
        self.counts[step(nanos)] += 1;
        self.total += 1;
    }

    /// The smallest latency that `per_mille` of 1,000 do not exceed, in microseconds; `None` without any latency.
    pub(crate) fn percentile_us(&self, per_mille: u64) -> Option<f64> {
        let wanted = (self.total * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(middle(found) / 1e3)
    }
}

/// Values below `STEPS` have a step each; above, the leading bits name the step.
fn step(nanos: u64) -> usize {
    let index = if nanos < STEPS as u64 {
        nanos
    } else {
        let octave = nanos.ilog2() - SHIFT;
        (u64::from(octave) << SHIFT) + (nanos >> octave)
    };
    usize::try_from(index).unwrap_or(SIZE).min(SIZE - 1)
}

fn middle(step: usize) -> f64 {
    let (octave, lead) = ((step / STEPS).saturating_sub(1), if step < STEPS { step } else { step % STEPS + STEPS });
    let width = (1_u64 << octave) as f64;
    lead as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_within_its_step() {
        for nanos in (0..60).map(|bit| 1_u64 << bit).flat_map(|n| [n - 1, n, n + n / 3]).filter(|n| *n < 1 << 43) {
            let middle = middle(step(nanos));
            assert!((middle - nanos as f64).abs() <= nanos as f64 / 128.0, "{nanos} became {middle}");
        }
    }

    #[test]
    fn percentiles_of_a_ramp() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.percentile_us(500), None);
        for us in 1..=1000 {
            histogram.add(us * 1000);
        }
        let (p50, p99) = (histogram.percentile_us(500).unwrap(), histogram.percentile_us(990).unwrap());
        assert!((p50 - 500.0).abs() < 4.0 && (p99 - 990.0).abs() < 8.0, "{p50} {p99}");
    }

    #[test]
    fn the_longest_latency_is_kept() {
        let mut histogram = Histogram::new();
        histogram.add(u64::MAX);
        assert!(histogram.percentile_us(990).unwrap() > 1e9);
    }
}
