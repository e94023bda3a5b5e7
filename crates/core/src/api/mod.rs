//! The surface of the client machine: settings, commands, events, questions and answers, errors.

mod aside;
mod command;
mod config;
mod delivery;
mod error;
mod event;
mod filter;
mod ids;
mod lite;
mod message;
mod names;
mod offsets;
mod stats;
mod transaction;

pub use aside::{Aside, Quarantine, SetAside};
pub use command::{Call, Command, Consume, Control, Lane, Peer, Produce, SendMode, Target};
pub use config::{Config, ConsumerConfig, Limits, MessageTrace, OnUnreachable, ProducerConfig, StartAt};
pub use delivery::{Answer, Delivery, Ended, Offered, Received, StaleAnswer, Ticket, Verdict, VerdictKind};
pub use error::{Attempt, Certainty, ConfigError, OpError, OpErrorKind, RejectReason, Rejected};
pub use event::{Ask, Event, Notice, Outcome, SendReceipt, SendStatus, StopReport};
pub use filter::FilterExpression;
pub use ids::{AsideId, AskId, ConsumerId, OffsetTaskId, OpId, ProducerId};
pub use lite::{
    Commit, CommitUntil, GivenBack, Lite, LiteConfig, LiteOutcome, OffsetOf, Polled, PullOnce, PullStatus, Pulled,
    SeekTo,
};
pub use message::{Message, MessageBuilder, MessageError};
pub use names::{BrokerName, Group, MessageQueue, Topic};
pub use offsets::{KeepOffsets, LoadOffsets, OffsetStoreError, OffsetTask};
pub use stats::{ConsumerStats, QueueStats, Rate, TopicStats};
pub use transaction::{Resolution, TransactionCheck};
