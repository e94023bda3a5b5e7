//! What happens when a machine finds that it is wrong about itself.

/// The health of a machine. Once broken it stays broken: every operation fails, further input is ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Health {
    broken: Option<&'static str>,
}

impl Health {
    /// A machine without known faults.
    #[must_use]
    pub const fn sound() -> Self {
        Self { broken: None }
    }

    /// The first invariant that did not hold.
    #[must_use]
    pub const fn broken(&self) -> Option<&'static str> {
        self.broken
    }

    /// Records a broken invariant; called by [`invariant!`](crate::invariant).
    ///
    /// # Panics
    /// In builds with debug assertions, which are those of tests, fuzzing and simulation.
    pub fn break_down(&mut self, what: &'static str) {
        debug_assert!(false, "broken invariant: {what}");
        self.broken.get_or_insert(what);
    }
}

/// `invariant!(health, condition, "text")`: panics under debug assertions, marks the machine broken in release.
/// For the machine's own bugs only: a peer's bytes must never reach it.
#[macro_export]
macro_rules! invariant {
    ($health:expr, $condition:expr, $what:literal) => {
        if !$condition {
            $health.break_down($what);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "broken invariant: two is odd")]
    fn a_broken_invariant_is_loud_in_tests() {
        let mut health = Health::sound();
        invariant!(health, 2 % 2 == 1, "two is odd");
    }
}
