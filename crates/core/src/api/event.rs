//! What the machine says to its owner.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::frame::Frame;
use rocketry_machine::{ConnId, Endpoint, LinkError};

use super::aside::SetAside;
use super::delivery::Delivery;
use super::error::OpError;
use super::ids::{ConsumerId, OpId, ProducerId};
use super::lite::LiteOutcome;
use super::names::{BrokerName, Group, MessageQueue, Topic};
use super::offsets::{KeepOffsets, LoadOffsets};
use super::transaction::TransactionCheck;

/// What the machine says to its owner. Three kinds, for ever: growth happens behind them.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums)] // an owner that ignores a kind must not compile
pub enum Event {
    /// An operation ended; exactly once for each [`OpId`].
    Done {
        /// Which.
        op: OpId,
        /// How.
        outcome: Outcome,
    },
    /// The machine waits for an answer.
    Ask(Ask),
    /// For information only; may be dropped.
    Notice(Notice),
}

/// How an operation ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The broker stored the message.
    Sent(SendReceipt),
    /// A one-way message is with the kernel.
    Handed {
        /// The message's unique id.
        message_id: String,
    },
    /// The producer runs.
    ProducerStarted(ProducerId),
    /// The consumer runs.
    ConsumerStarted(ConsumerId),
    /// The route is known; its queues, sorted.
    Routed(Vec<MessageQueue>),
    /// What was to stop has stopped.
    Stopped(StopReport),
    /// A setting was changed.
    Changed,
    /// What a lite consumer was asked for.
    Lite(LiteOutcome),
    /// The answer to a [`Call`](super::Call), whatever its code.
    Reply(Frame),
    /// It failed.
    Failed(OpError),
}

/// What is known about a stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendReceipt {
    /// How the broker stored it.
    pub status: SendStatus,
    /// The unique id that the producer gave it (property `UNIQ_KEY`).
    pub message_id: String,
    /// The broker's id of the stored record: host and commit-log offset.
    pub offset_message_id: String,
    /// The queue.
    pub queue: MessageQueue,
    /// The position in the queue.
    pub queue_offset: i64,
    /// The transaction id, if the broker gave one.
    pub transaction_id: Option<String>,
    /// The region, if the broker named one.
    pub region: Option<String>,
}

impl SendReceipt {
    /// A receipt without the optional parts.
    #[must_use]
    pub const fn new(
        status: SendStatus,
        message_id: String,
        offset_message_id: String,
        queue: MessageQueue,
        queue_offset: i64,
    ) -> Self {
        Self { status, message_id, offset_message_id, queue, queue_offset, transaction_id: None, region: None }
    }
}

/// How a broker stored a message. All four mean that it is stored (wire.md 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendStatus {
    /// As configured.
    Stored,
    /// The flush to disk did not finish in time.
    FlushDiskTimeout,
    /// The copy to a slave did not finish in time.
    FlushSlaveTimeout,
    /// No slave took a copy.
    SlaveNotAvailable,
}

/// What a stop left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StopReport {
    /// Handlers that were still running at the deadline; their messages will be delivered again.
    pub unfinished_handlers: u64,
    /// Sends that were failed at the deadline.
    pub unfinished_sends: u64,
    /// Queues whose position could not be saved.
    pub unsaved_queues: u64,
}

/// A question; it has a default answer and a deadline, so that a forgotten one degrades and does not wedge.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ask {
    /// Handle these messages.
    Deliver(Delivery),
    /// Take a record that cannot be decoded; after 30 s the position passes it in any case.
    SetAside(SetAside),
    /// Say what became of a transaction.
    CheckTransaction(TransactionCheck),
    /// Load the positions of a broadcasting consumer. Its queues wait for the answer.
    LoadOffsets(LoadOffsets),
    /// Keep the positions of a broadcasting consumer.
    KeepOffsets(KeepOffsets),
}

/// News that nobody has to act on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A connection stands or is gone.
    Link {
        /// Which.
        conn: ConnId,
        /// Where to.
        endpoint: Endpoint,
        /// `None` when it stands; why, when it is gone.
        gone: Option<LinkError>,
    },
    /// The route of a topic changed.
    RouteChanged(Topic),
    /// The queues that a consumer owns changed.
    Assigned {
        /// Which consumer.
        consumer: ConsumerId,
        /// Its group.
        group: Group,
        /// The topic.
        topic: Topic,
        /// All queues that it owns of the topic now.
        queues: Vec<MessageQueue>,
    },
    /// A position outside the queue was repaired.
    OffsetCorrected {
        /// Which queue.
        queue: MessageQueue,
        /// The position that was asked for.
        from: i64,
        /// The position that is used instead.
        to: i64,
    },
    /// A message could not be decoded; it is set aside and not lost from sight.
    Undecodable {
        /// Which queue.
        queue: MessageQueue,
        /// Its position, if it could be read.
        queue_offset: Option<i64>,
        /// Why.
        reason: String,
    },
    /// A handler has been running for [`ConsumerConfig::slow_after`](super::ConsumerConfig); told once for each message.
    SlowHandler {
        /// The queue of its message.
        queue: MessageQueue,
        /// Its position.
        queue_offset: i64,
        /// For how long the handler has been running.
        running: Duration,
    },
    /// A handler gave an error or panicked; its message comes again.
    HandlerFailed {
        /// The queue of its message.
        queue: MessageQueue,
        /// Its position.
        queue_offset: i64,
        /// How often the message had been delivered in vain before this time.
        redeliveries: i32,
        /// What the handler said.
        reason: String,
    },
    /// A message that its handler refused is dropped, since every member gets every message.
    Dropped {
        /// Its queue.
        queue: MessageQueue,
        /// Its position.
        queue_offset: i64,
    },
    /// A peer answered what nobody had asked, or too late.
    StrayReply {
        /// Where.
        conn: ConnId,
    },
    /// Something that must be done is failing and being tried again.
    Trouble {
        /// What: "route", "heartbeat", "rebalance", "pull", "offsets", "send back".
        what: &'static str,
        /// About whom, if about a broker.
        broker: Option<BrokerName>,
        /// What happened.
        error: OpError,
        /// When it is tried again, if it is.
        retry_in: Option<Duration>,
    },
}
