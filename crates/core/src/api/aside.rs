//! Records that cannot be decoded, handed to the application instead of being dropped (consumer.md 13.3).

use alloc::string::String;
use alloc::sync::Arc;

use bytes::Bytes;

use super::ids::{AsideId, ConsumerId};
use super::names::MessageQueue;

/// What a consumer does with a record that cannot be decoded. A notice tells of it in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quarantine {
    /// The raw record goes to the application. The position passes it when the application has answered, or after 30 s.
    #[default]
    SetAside,
    /// The position does not pass it: the group stands there until somebody moves it.
    Stop,
    /// It is read again every 30 s, and the position passes it once it could be decoded and was handled.
    Retry,
}

/// A record that cannot be decoded.
#[derive(Debug)]
#[non_exhaustive]
pub struct SetAside {
    /// The right to let the position pass it.
    pub aside: Aside,
    /// The consumer that read it.
    pub consumer: ConsumerId,
    /// The queue that it was read from.
    pub queue: Arc<MessageQueue>,
    /// Its place there.
    pub queue_offset: Option<i64>,
    /// The record as it came: up to its fence, or the rest of what came where its own size is wrong.
    pub record: Bytes,
    /// Why it cannot be decoded.
    pub reason: String,
}

/// The right to let the position pass one record that was set aside.
#[derive(Debug, PartialEq, Eq)]
pub struct Aside {
    id: AsideId,
}

impl Aside {
    pub(crate) const fn new(id: AsideId) -> Self {
        Self { id }
    }

    /// Which record.
    #[must_use]
    pub const fn id(&self) -> AsideId {
        self.id
    }
}
