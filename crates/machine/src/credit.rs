//! A budget of units (bytes, calls, messages) that is charged and returned.

/// A bounded budget. A charge that does not fit is refused, with one exception by choice: see [`Credit::charge_one`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    limit: u64,
    used: u64,
}

impl Credit {
    /// A budget of `limit` units, none used.
    #[must_use]
    pub const fn new(limit: u64) -> Self {
        Self { limit, used: 0 }
    }

    /// Takes `units` if they fit; says whether it did.
    pub const fn charge(&mut self, units: u64) -> bool {
        if units > self.left() {
            return false;
        }
        self.used += units;
        true
    }

    /// Takes `units` if they fit or if nothing is in use, so that one thing larger than the whole budget can pass.
    pub const fn charge_one(&mut self, units: u64) -> bool {
        if self.used != 0 && units > self.left() {
            return false;
        }
        self.used = self.used.saturating_add(units);
        true
    }

    /// Takes `units` whether they fit or not, for what has already happened.
    pub const fn charge_anyway(&mut self, units: u64) {
        self.used = self.used.saturating_add(units);
    }

    /// Returns `units`.
    pub const fn give_back(&mut self, units: u64) {
        debug_assert!(units <= self.used, "more credit came back than was taken");
        self.used = self.used.saturating_sub(units);
    }

    /// Units left.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Units in use.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The whole budget.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// Changes the budget while running; what is in use stays in use.
    pub const fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_limit_and_one_beyond() {
        let mut credit = Credit::new(10);
        assert!(credit.charge(10));
        assert!(!credit.charge(1));
        credit.give_back(4);
        assert!(!credit.charge(5));
        assert!(credit.charge(4));
    }

    #[test]
    fn one_large_thing_passes_an_empty_budget() {
        let mut credit = Credit::new(10);
        assert!(credit.charge_one(100));
        assert!(!credit.charge_one(1));
        credit.give_back(100);
        assert_eq!(credit.left(), 10);
    }
}
