//! What the owner of the machine may ask for. Each accepted command is an operation with exactly one outcome.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use rocketry_codec::encoder::RawRequest;
use rocketry_machine::Endpoint;

use super::config::{ConsumerConfig, ProducerConfig};
use super::filter::FilterExpression;
use super::ids::{ConsumerId, ProducerId};
use super::lite::Lite;
use super::message::Message;
use super::names::{BrokerName, MessageQueue, Topic};

/// A command to the client machine.
#[derive(Debug)]
#[non_exhaustive]
pub enum Command {
    /// Send a message.
    Produce(Produce),
    /// Something about consumers.
    Consume(Consume),
    /// One typed request to one peer, answered by [`Outcome::Reply`](super::Outcome::Reply): the whole admin surface.
    Call(Call),
    /// Something about producers or the client itself.
    Control(Control),
}

/// A message to send and how.
#[derive(Debug)]
#[non_exhaustive]
pub struct Produce {
    /// The producer that sends it.
    pub producer: ProducerId,
    /// The message.
    pub message: Message,
    /// Which queue takes it.
    pub to: Target,
    /// Whether an answer is wanted.
    pub mode: SendMode,
    /// The whole time allowed, instead of the producer's `send_timeout`.
    pub timeout: Option<Duration>,
}

impl Produce {
    /// An acknowledged send to a queue that the client chooses.
    #[must_use]
    pub const fn new(producer: ProducerId, message: Message) -> Self {
        Self { producer, message, to: Target::Any, mode: SendMode::Acknowledged, timeout: None }
    }

    /// To a chosen target.
    #[must_use]
    pub fn to(mut self, target: Target) -> Self {
        self.to = target;
        self
    }

    /// Without an answer: the operation ends when the kernel has the frame.
    #[must_use]
    pub const fn oneway(mut self) -> Self {
        self.mode = SendMode::Oneway;
        self
    }

    /// As a half message: see [`Resolution`](super::Resolution).
    #[must_use]
    pub const fn half(mut self) -> Self {
        self.mode = SendMode::Half;
        self
    }

    /// With its own time budget.
    #[must_use]
    pub const fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// Which queue takes a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Round robin over writable queues; retries prefer another broker.
    Any,
    /// The queue that Java's hash selector would choose for this key. Never another queue.
    Key(String),
    /// This queue and no other.
    Queue(MessageQueue),
}

/// Whether a send waits for the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendMode {
    /// Until a broker has stored it.
    Acknowledged,
    /// Until a broker has stored it as a half message, which nobody sees before its transaction is committed.
    Half,
    /// Until the kernel has taken it; a broker says nothing.
    Oneway,
}

/// Commands about consumers.
#[derive(Debug)]
#[non_exhaustive]
pub enum Consume {
    /// Start a push consumer; ends with [`Outcome::ConsumerStarted`](super::Outcome::ConsumerStarted).
    Start(Box<ConsumerConfig>),
    /// Offer no more messages, wait for started handlers, save positions, unregister. What is not done after `within` is
    /// left to redelivery.
    Stop {
        /// Which.
        consumer: ConsumerId,
        /// The deadline of the whole shutdown.
        within: Duration,
    },
    /// Add or change a subscription while running.
    Subscribe {
        /// Which.
        consumer: ConsumerId,
        /// The topic.
        topic: Topic,
        /// Which messages of it.
        filter: FilterExpression,
    },
    /// Drop a subscription while running.
    Unsubscribe {
        /// Which.
        consumer: ConsumerId,
        /// The topic.
        topic: Topic,
    },
    /// Pause pulling; cached messages are still offered.
    Suspend(ConsumerId),
    /// Pull again.
    Resume(ConsumerId),
    /// Something about consumers that are polled.
    Lite(Lite),
}

/// One typed request to one peer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call {
    /// Whom to ask.
    pub peer: Peer,
    /// What to ask.
    pub request: RawRequest,
    /// The time allowed; `None` is the client's `request_timeout`.
    pub timeout: Option<Duration>,
}

impl Call {
    /// A request with the default timeout.
    #[must_use]
    pub const fn new(peer: Peer, request: RawRequest) -> Self {
        Self { peer, request, timeout: None }
    }
}

/// Whom a [`Call`] asks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peer {
    /// The name server in use.
    NameServer,
    /// The master of a broker whose name is known from a route.
    Broker(BrokerName),
    /// Exactly this address.
    Address(Endpoint),
}

/// Commands about producers and the client itself.
#[derive(Debug)]
#[non_exhaustive]
pub enum Control {
    /// Start a producer; ends with [`Outcome::ProducerStarted`](super::Outcome::ProducerStarted).
    StartProducer(Box<ProducerConfig>),
    /// Take no more sends, wait for those that are on their way, unregister.
    StopProducer {
        /// Which.
        producer: ProducerId,
        /// The deadline.
        within: Duration,
    },
    /// Fetch the route of a topic and keep it fresh; ends with [`Outcome::Routed`](super::Outcome::Routed).
    Route(Topic),
    /// Replace the list of name servers.
    SetNameServers(alloc::vec::Vec<Endpoint>),
    /// Stop everything: consumers, producers, connections. Ends with [`Outcome::Stopped`](super::Outcome::Stopped).
    Shutdown {
        /// The deadline; what is unfinished then fails with `Stopping`.
        within: Duration,
    },
}

/// Lanes of admission, each with its own room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lane {
    /// Sends.
    Produce,
    /// Everything else.
    Control,
}
