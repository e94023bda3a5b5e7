//! Seeded randomness in labelled streams: adding a draw in one place does not shift another.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The whole randomness of a machine. Drivers draw it from the operating system, tests choose it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seed(pub [u64; 2]);

impl Seed {
    /// A seed for one purpose: equal labels give equal streams, different labels independent ones.
    #[must_use]
    pub fn stream(self, label: &str) -> Prng {
        let mut mixed = self.0[0] ^ self.0[1].rotate_left(32) ^ 0x9E37_79B9_7F4A_7C15;
        for byte in label.bytes() {
            mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        let mut bytes = [0u8; 32];
        let words = [self.0[0], self.0[1], mixed, mixed.rotate_left(17) ^ self.0[1]];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let mut inner = Xoshiro256PlusPlus::from_seed(bytes);
        for _ in 0..8 {
            inner.next_u64();
        }
        Prng { inner }
    }
}

impl From<u64> for Seed {
    fn from(seed: u64) -> Self {
        Self([seed, seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1)])
    }
}

/// One stream of pseudo-random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Prng {
    inner: Xoshiro256PlusPlus,
}

impl Prng {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product is uniform up to a bias of bound / 2^64.
        let product = u128::from(self.inner.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// Whether an event of probability `numerator` in `denominator` happens.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_agree_and_different_ones_do_not() {
        let seed = Seed::from(7);
        let draws = |label: &str| {
            let mut stream = seed.stream(label);
            [stream.next_u64(), stream.next_u64()]
        };
        assert_eq!(draws("pull"), draws("pull"));
        assert_ne!(draws("pull"), draws("send"));
        assert_ne!(Seed::from(7).stream("a").next_u64(), Seed::from(8).stream("a").next_u64());
    }

    #[test]
    fn below_stays_below() {
        let mut stream = Seed::from(1).stream("bound");
        assert_eq!(stream.below(0), 0);
        assert!((0..1_000).all(|_| stream.below(3) < 3));
        assert!((0..1_000).any(|_| stream.below(3) == 2));
    }
}
