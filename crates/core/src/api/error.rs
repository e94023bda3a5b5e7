//! Errors by culprit: the caller ([`ConfigError`], [`Rejected`]), the peers and the environment ([`OpError`]).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use rocketry_codec::codes::ResponseCode;
use rocketry_machine::{Endpoint, LinkError};

use super::names::{BrokerName, MessageQueue, Topic};

/// A setting that cannot be used: which, what it was, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The setting, named as in the config type.
    pub setting: &'static str,
    /// The value that was given, as text.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ConfigError {
    /// From its three parts.
    #[must_use]
    pub fn new(setting: &'static str, value: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self { setting, value: alloc::format!("{value}"), reason: reason.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = \"{}\": {}", self.setting, self.value, self.reason)
    }
}

impl core::error::Error for ConfigError {}

/// A command that was not accepted; nothing happened, and the command comes back whole.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rejected<C> {
    /// Why.
    pub why: RejectReason,
    /// What was submitted.
    pub command: C,
}

/// Why a command was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// The lane is full: wait for room and submit again.
    Busy,
    /// The client is stopping or stopped.
    Closed,
    /// The producer or consumer that the command names does not exist or is not running.
    NotRunning {
        /// What was named: "producer" or "consumer".
        what: &'static str,
    },
    /// Subscribing and assigning by hand exclude each other for the whole life of a lite consumer.
    Exclusive,
    /// The lite consumer does not have this queue, or not any more.
    NotAssigned(MessageQueue),
    /// Another poll of the lite consumer is waiting.
    PollPending,
    /// A value cannot be used.
    Invalid(ConfigError),
    /// A message is larger than allowed.
    TooLarge {
        /// What was measured: "body", "properties" or "frame".
        what: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
        /// The setting that holds the limit.
        setting: &'static str,
    },
    /// The machine found a bug of its own and takes no more work.
    Internal(&'static str),
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("too much is in flight already"),
            Self::Closed => f.write_str("the client is stopped"),
            Self::NotRunning { what } => write!(f, "the {what} is not running"),
            Self::Exclusive => f.write_str("subscribe and assign are mutually exclusive"),
            Self::NotAssigned(queue) => write!(f, "the queue {queue} is not assigned"),
            Self::PollPending => f.write_str("another poll of the consumer is waiting"),
            Self::Invalid(error) => error.fmt(f),
            Self::TooLarge { what, size, limit, setting } => {
                write!(f, "the {what} has {size} bytes, {setting} allows {limit}")
            }
            Self::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

/// What is known about a failed operation's effect on the broker: the fact to look at before trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums)] // callers decide on it; there is no fourth case
pub enum Certainty {
    /// It surely did not happen: no broker can have acted on it.
    NotSent,
    /// It may have happened: a request was on its way and the answer is missing.
    Unknown,
    /// It happened, although the answer was not a plain success.
    Applied,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSent => "it surely did not happen",
            Self::Unknown => "it may have happened",
            Self::Applied => "it did happen",
        })
    }
}

/// An accepted operation that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpError {
    /// What kind of failure.
    pub kind: OpErrorKind,
    /// Whether the operation may have taken effect.
    pub certainty: Certainty,
    /// Every attempt that was made, oldest first.
    pub attempts: Vec<Attempt>,
}

impl OpError {
    /// An error without attempts.
    #[must_use]
    pub const fn new(kind: OpErrorKind, certainty: Certainty) -> Self {
        Self { kind, certainty, attempts: Vec::new() }
    }

    /// The same error with the attempts that led to it.
    #[must_use]
    pub fn with_attempts(mut self, attempts: Vec<Attempt>) -> Self {
        self.attempts = attempts;
        self
    }
}

/// The kinds of failure of an accepted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpErrorKind {
    /// No name server knows the topic, or none of its brokers can take the request.
    NoRoute {
        /// The topic.
        topic: Topic,
        /// What the name servers said.
        reason: String,
    },
    /// The peer could not be reached.
    Unreachable {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        cause: LinkError,
    },
    /// No name server could be reached; each that was tried, with the reason.
    NoNameServer {
        /// The addresses and what happened there.
        tried: Vec<(Endpoint, LinkError)>,
    },
    /// The time allowed is over.
    TimedOut {
        /// How long that was.
        after: Duration,
    },
    /// A broker or name server refused.
    Broker {
        /// The response code.
        code: ResponseCode,
        /// The text that came with it.
        remark: String,
    },
    /// A peer's answer could not be understood.
    Protocol(String),
    /// The queue was given to another member while the operation was on its way.
    NotAssigned(MessageQueue),
    /// The offset is none of the queue's.
    OffsetOutOfRange {
        /// The offset.
        offset: i64,
        /// The oldest one.
        min: i64,
        /// The end of the queue.
        max: i64,
    },
    /// A precondition did not hold, for example a group name in use.
    Refused(String),
    /// The application's store of positions failed.
    Store(String),
    /// The caller gave it up.
    Cancelled,
    /// The client is stopping.
    Stopping,
    /// The machine found a bug of its own.
    Internal(&'static str),
}

impl fmt::Display for OpErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoute { topic, reason } => write!(f, "no route for topic \"{topic}\": {reason}"),
            Self::Unreachable { endpoint, cause } => write!(f, "{endpoint} is unreachable: {cause}"),
            Self::NoNameServer { tried } => {
                f.write_str("no name server answers")?;
                for (at, (endpoint, cause)) in tried.iter().enumerate() {
                    write!(f, "{} {endpoint} ({cause})", if at == 0 { ":" } else { "," })?;
                }
                Ok(())
            }
            Self::TimedOut { after } => write!(f, "no answer within {} ms", after.as_millis()),
            Self::Broker { code, remark } => write!(f, "refused with code {code}: {remark}"),
            Self::Protocol(what) => write!(f, "an answer that cannot be understood: {what}"),
            Self::NotAssigned(queue) => write!(f, "the queue {queue} is not assigned any more"),
            Self::OffsetOutOfRange { offset, min, max } => write!(f, "the offset {offset} is not in {min} to {max}"),
            Self::Refused(what) => f.write_str(what),
            Self::Store(reason) => write!(f, "the store of positions failed: {reason}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Stopping => f.write_str("the client is stopping"),
            Self::Internal(what) => write!(f, "internal error: {what}"),
        }
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.kind, self.certainty)?;
        for attempt in &self.attempts {
            write!(f, "; {attempt}")?;
        }
        Ok(())
    }
}

impl core::error::Error for OpError {}

/// One attempt of an operation: where, how long, and how it ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The broker.
    pub broker: BrokerName,
    /// From sending to the end of the attempt.
    pub took: Duration,
    /// How it ended.
    pub ended: OpErrorKind,
    /// Whether this attempt may have taken effect.
    pub certainty: Certainty,
}

impl Attempt {
    /// From its parts.
    #[must_use]
    pub const fn new(broker: BrokerName, took: Duration, ended: OpErrorKind, certainty: Certainty) -> Self {
        Self { broker, took, ended, certainty }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broker {} after {} ms: {}", self.broker, self.took.as_millis(), self.ended)
    }
}
