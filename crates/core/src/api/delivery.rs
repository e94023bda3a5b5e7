//! Deliveries: messages offered to the application, and the verdicts on them.
//!
//! A [`Delivery`] offers up to 32 messages of one queue. Each message comes with a [`Ticket`] that is neither `Clone` nor
//! `Copy`: giving a verdict consumes it, so a message cannot be answered twice. Before the handlers of some messages
//! start, the owner calls `Client::begin`; it fails once the queue has moved to another member. Verdicts travel back
//! in batches, as one [`Answer`].

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use rocketry_codec::message::StoredMessage;

use super::aside::Aside;
use super::ids::{AskId, ConsumerId};
use super::names::{MessageQueue, Topic};
use super::offsets::{OffsetStoreError, OffsetTask};

/// Messages of one queue, offered to the application in queue order.
#[derive(Debug)]
#[non_exhaustive]
pub struct Delivery {
    /// The id to `begin` with.
    pub ask: AskId,
    /// The consumer that the messages are for.
    pub consumer: ConsumerId,
    /// The queue that they were read from; for a redelivery it is a queue of the retry topic.
    pub queue: Arc<MessageQueue>,
    /// The messages with their tickets.
    pub offered: Vec<Offered>,
}

impl Delivery {
    /// From its parts.
    pub(crate) const fn new(ask: AskId, consumer: ConsumerId, queue: Arc<MessageQueue>, offered: Vec<Offered>) -> Self {
        Self { ask, consumer, queue, offered }
    }
}

/// One offered message.
#[derive(Debug)]
#[non_exhaustive]
pub struct Offered {
    /// The message.
    pub message: Received,
    /// The right to give one verdict on it.
    pub ticket: Ticket,
}

impl Offered {
    pub(crate) const fn new(message: Received, ticket: Ticket) -> Self {
        Self { message, ticket }
    }
}

/// A message as it was received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Received {
    /// The stored record: fixed fields, properties, body; slices of what arrived.
    pub stored: StoredMessage,
    /// The queue that it was read from.
    pub queue: Arc<MessageQueue>,
    /// The topic that it was sent to: for a redelivery not the retry topic but the original one.
    pub topic: Topic,
}

/// The right to give one verdict on one message.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket {
    ask: AskId,
    index: u32,
}

impl Ticket {
    pub(crate) const fn new(ask: AskId, index: u32) -> Self {
        Self { ask, index }
    }

    /// The delivery that the message belongs to.
    #[must_use]
    pub const fn ask(&self) -> AskId {
        self.ask
    }

    /// The message is done with.
    pub const fn succeed(self) -> Verdict {
        self.give(VerdictKind::Succeeded)
    }

    /// The message failed: it is sent back and comes again after the broker's delay for its attempt.
    pub const fn retry(self) -> Verdict {
        self.give(VerdictKind::Retry { delay_level: 0 })
    }

    /// The message failed and comes again after this delay level (1 to 18); 0 lets the broker choose, -1 sends it to
    /// the dead-letter topic at once.
    pub const fn retry_at(self, delay_level: i32) -> Verdict {
        self.give(VerdictKind::Retry { delay_level })
    }

    /// The message was not started: it is offered again at once.
    pub const fn release(self) -> Verdict {
        self.give(VerdictKind::Released)
    }

    /// The body could not be inflated or understood by the driver: the quarantine policy of the consumer applies.
    pub const fn undecodable(self, reason: &'static str) -> Verdict {
        self.give(VerdictKind::Undecodable { reason })
    }

    const fn give(self, kind: VerdictKind) -> Verdict {
        Verdict { ask: self.ask, index: self.index, kind, reason: None }
    }
}

/// What became of one message.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a verdict counts only once it is answered"]
pub struct Verdict {
    ask: AskId,
    index: u32,
    kind: VerdictKind,
    reason: Option<Box<str>>,
}

impl Verdict {
    /// The same verdict with what the handler said: it is told as a notice when the verdict counts.
    pub fn because(mut self, reason: impl Into<Box<str>>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// What the handler said, if it failed.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The delivery.
    #[must_use]
    pub const fn ask(&self) -> AskId {
        self.ask
    }

    /// The message's place in the delivery.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// The verdict.
    #[must_use]
    pub const fn kind(&self) -> VerdictKind {
        self.kind
    }
}

/// The kinds of verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VerdictKind {
    /// Done with.
    Succeeded,
    /// To be delivered again after a delay level; see [`Ticket::retry_at`].
    Retry {
        /// The level.
        delay_level: i32,
    },
    /// Never started; offered again.
    Released,
    /// Not to be understood.
    Undecodable {
        /// Why.
        reason: &'static str,
    },
}

/// What the owner says back.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// Verdicts on offered messages, of any deliveries, in any order.
    Verdicts(Vec<Verdict>),
    /// The owner has taken a record that was set aside: the position may pass it.
    Passed(Aside),
    /// The positions that were asked for; none where nothing was kept.
    Loaded(OffsetTask, Result<BTreeMap<MessageQueue, i64>, OffsetStoreError>),
    /// The positions are kept, or could not be.
    Kept(OffsetTask, Result<(), OffsetStoreError>),
}

/// An answer to a question that is not open any more. Nothing is wrong: a queue may move away while handlers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaleAnswer {
    /// How many of the verdicts came too late to count.
    pub stale: usize,
}

impl StaleAnswer {
    /// So many came too late.
    #[must_use]
    pub const fn new(stale: usize) -> Self {
        Self { stale }
    }
}

impl fmt::Display for StaleAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} verdicts came after their queue had moved away or their time was over", self.stale)
    }
}

/// The queue of a delivery is not ours any more: do not start its handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How long ago, as far as is known.
    pub ago: Option<Duration>,
}

impl Ended {
    pub(crate) const fn new() -> Self {
        Self { ago: None }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue of this delivery belongs to another consumer now")
    }
}
