//! Positions that the application keeps: those of broadcasting consumers (consumer.md 8.3).

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::ids::{ConsumerId, OffsetTaskId};
use super::names::{Group, MessageQueue};

/// Load the positions of before; an unknown group has none.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadOffsets {
    /// The right to answer.
    pub task: OffsetTask,
    /// The consumer.
    pub consumer: ConsumerId,
    /// Its group.
    pub group: Group,
}

/// Keep these positions, all at once or not at all.
#[derive(Debug)]
#[non_exhaustive]
pub struct KeepOffsets {
    /// The right to answer.
    pub task: OffsetTask,
    /// The consumer.
    pub consumer: ConsumerId,
    /// Its group.
    pub group: Group,
    /// The whole table: what it does not hold is not known any more.
    pub offsets: BTreeMap<MessageQueue, i64>,
}

/// The right to answer one question about positions.
#[derive(Debug, PartialEq, Eq)]
pub struct OffsetTask {
    id: OffsetTaskId,
}

impl OffsetTask {
    pub(crate) const fn new(id: OffsetTaskId) -> Self {
        Self { id }
    }

    /// Which question.
    #[must_use]
    pub const fn id(&self) -> OffsetTaskId {
        self.id
    }
}

/// Positions could not be loaded or kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OffsetStoreError {
    /// What failed, with the place.
    pub reason: String,
}

impl OffsetStoreError {
    /// For this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
