//! A stable hash of state, for tests of the laws: the same on every machine and in every run.

use core::hash::{Hash, Hasher};

/// Collects state into 64 bits (FNV-1a). Not for anything that an adversary may choose.
#[derive(Clone, Debug)]
pub struct Fingerprinter {
    state: u64,
}

impl Fingerprinter {
    /// An empty fingerprint.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: 0xCBF2_9CE4_8422_2325 }
    }

    /// Adds anything hashable.
    pub fn add(&mut self, value: &(impl Hash + ?Sized)) -> &mut Self {
        value.hash(self);
        self
    }
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher for Fingerprinter {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state = (self.state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}

impl core::fmt::Write for Fingerprinter {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// State that can be compared between runs.
pub trait Fingerprint {
    /// A hash of everything that influences later behaviour, the clock aside.
    fn fingerprint(&self) -> u64;
}
