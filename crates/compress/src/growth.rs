//! An output that grows by doubling towards a limit.
//!
//! Capacities are the limit halved so and so often. While a larger block is filled from a smaller one both are in
//! memory, and a halving keeps their sum at the limit; doubling from an arbitrary start could come close to twice it.

/// What bodies usually inflate to, compared with their compressed size.
const USUAL_RATIO: usize = 4;

/// Smallest capacity to start with.
const SMALLEST: usize = 256;

/// Growing output.
pub(crate) struct Growth {
    limit: usize,
    halvings: u32,
}

impl Growth {
    /// An output for a body whose compressed form has `compressed` bytes.
    pub(crate) fn new(limit: usize, compressed: usize) -> Self {
        let guess = compressed.saturating_mul(USUAL_RATIO).max(SMALLEST);
        let mut halvings = 0;
        while limit >> (halvings + 1) >= guess {
            halvings += 1;
        }
        Self { limit, halvings }
    }

    /// The empty output.
    pub(crate) fn start(&self) -> Vec<u8> {
        Vec::with_capacity(self.limit >> self.halvings)
    }

    /// Makes room in a full output; `false` when it has reached the limit.
    pub(crate) fn more(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(halvings) = self.halvings.checked_sub(1) else {
            return false;
        };
        self.halvings = halvings;
        out.reserve_exact((self.limit >> halvings) - out.len());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_double_and_end_at_the_limit() {
        for limit in [0, 1, 255, 256, 1000, 4097, 1024 * 1024] {
            let mut growth = Growth::new(limit, 1);
            let mut out = growth.start();
            loop {
                let before = out.capacity();
                out.resize(before, 0);
                if !growth.more(&mut out) {
                    break;
                }
                assert!(out.capacity() / 2 == before && out.capacity() <= limit);
            }
            assert_eq!(out.capacity(), limit);
        }
    }

    #[test]
    fn the_start_follows_the_compressed_size() {
        assert_eq!(Growth::new(1 << 26, 0).start().capacity(), SMALLEST);
        assert_eq!(Growth::new(1 << 26, 1000).start().capacity(), 4096);
        assert_eq!(Growth::new(1 << 26, usize::MAX).start().capacity(), 1 << 26);
    }
}
