//! A counted first-in first-out queue that knows its limit.

use alloc::collections::VecDeque;

/// A queue with a named bound. What does not fit is handed back, never dropped unseen.
#[derive(Clone, Debug)]
pub struct Outbox<T> {
    items: VecDeque<T>,
    limit: usize,
    peak: usize,
}

impl<T> Outbox<T> {
    /// An empty queue that takes at most `limit` items.
    #[must_use]
    pub const fn with_limit(limit: usize) -> Self {
        Self { items: VecDeque::new(), limit, peak: 0 }
    }

    /// Appends `item`, or hands it back when the limit is reached.
    ///
    /// # Errors
    /// The item itself, when the queue is full.
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.items.len() >= self.limit {
            return Err(item);
        }
        self.push_reserved(item);
        Ok(())
    }

    /// Appends an item whose room was reserved when its cause was admitted. The peak shows whether the reservation
    /// holds.
    pub fn push_reserved(&mut self, item: T) {
        self.items.push_back(item);
        self.peak = self.peak.max(self.items.len());
    }

    /// Appends `item`; when full, the oldest item leaves and is returned.
    pub fn push_dropping_oldest(&mut self, item: T) -> Option<T> {
        let dropped = if self.items.len() >= self.limit { self.items.pop_front() } else { None };
        self.push_reserved(item);
        dropped
    }

    /// The oldest item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// How many items wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many more items fit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.items.len())
    }

    /// The most items that ever waited at once.
    #[must_use]
    pub const fn peak(&self) -> usize {
        self.peak
    }

    /// The waiting items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_the_item_comes_back() {
        let mut outbox = Outbox::with_limit(2);
        assert_eq!(outbox.push(1), Ok(()));
        assert_eq!(outbox.push(2), Ok(()));
        assert_eq!(outbox.push(3), Err(3));
        assert_eq!(outbox.push_dropping_oldest(4), Some(1));
        assert_eq!((outbox.pop(), outbox.pop(), outbox.pop()), (Some(2), Some(4), None));
        assert_eq!(outbox.peak(), 2);
    }
}
