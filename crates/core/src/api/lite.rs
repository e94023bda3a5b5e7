//! Lite consumers: settings, commands and answers of consumers that are polled (consumer.md 10).

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::UnixMillis;

use super::aside::Quarantine;
use super::config::{MessageTrace, StartAt};
use super::delivery::Received;
use super::filter::FilterExpression;
use super::ids::{ConsumerId, OpId};
use super::names::{Group, MessageQueue, Topic};
use crate::consumer::Allocation;

/// Settings of a lite consumer. It either subscribes to topics, whose queues it shares with the other members of its
/// group, or is assigned queues by hand; never both (consumer.md 10.1, 10.3).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LiteConfig {
    /// The consumer group.
    pub group: Group,
    /// Topics with the tag expressions that choose messages. May be empty: topics or queues can come later.
    pub subscriptions: BTreeMap<Topic, FilterExpression>,
    /// Queues that are assigned by hand. Default none.
    pub assigned: BTreeSet<MessageQueue>,
    /// Tag expressions for topics of assigned queues. A topic that is not named here is read whole.
    pub filters: BTreeMap<Topic, String>,
    /// Where a group begins that has no stored position. Default behind the newest message.
    pub start_at: StartAt,
    /// Messages of one pull. Default 10; 1 to 1,024.
    pub pull_batch: u32,
    /// Messages kept of one queue before pulling pauses. Default 1,000; 1 to 65,535.
    pub max_cached_messages: u32,
    /// Bytes kept of one queue before pulling pauses. Default 100 MiB; 1 MiB to 1 GiB.
    pub max_cached_bytes: u64,
    /// Distance between the first and the last kept offset of a queue before pulling pauses. Default 2,000; 1 to 65,535.
    pub max_span: u64,
    /// Messages kept of all queues before pulling pauses. Default 10,000; at least 1.
    pub max_cached_total: u64,
    /// Pause after a failed pull. Default 1 s.
    pub pull_retry: Duration,
    /// How long a broker may hold a pull that finds nothing. Default 20 s.
    pub long_poll: Duration,
    /// How often positions are committed by themselves; `None`: only by hand. Default 5 s; at least 10 ms.
    pub auto_commit: Option<Duration>,
    /// How queues of subscribed topics are divided among the members of the group. Default averagely.
    pub allocation: Allocation,
    /// Ask brokers for "no position" to be told apart from zero (`cases.md` OFF-02). Default false, like Java.
    pub exact_start: bool,
    /// What becomes of records that cannot be decoded. Default set aside.
    pub quarantine: Quarantine,
    /// Tell the trace topic what was handed over and when it counted as handled. Default not.
    pub trace: Option<MessageTrace>,
}

impl LiteConfig {
    /// Defaults for this group; topics or queues are still to be added.
    #[must_use]
    pub fn new(group: impl Into<Group>) -> Self {
        Self {
            group: group.into(),
            subscriptions: BTreeMap::new(),
            assigned: BTreeSet::new(),
            filters: BTreeMap::new(),
            start_at: StartAt::Last,
            pull_batch: 10,
            max_cached_messages: 1_000,
            max_cached_bytes: 100 << 20,
            max_span: 2_000,
            max_cached_total: 10_000,
            pull_retry: Duration::from_secs(1),
            long_poll: Duration::from_secs(20),
            auto_commit: Some(Duration::from_secs(5)),
            allocation: Allocation::default(),
            exact_start: false,
            quarantine: Quarantine::default(),
            trace: None,
        }
    }

    /// Adds a subscription.
    #[must_use]
    pub fn subscribe(mut self, topic: impl Into<Topic>, filter: impl Into<FilterExpression>) -> Self {
        self.subscriptions.insert(topic.into(), filter.into());
        self
    }

    /// Adds queues that are assigned by hand.
    #[must_use]
    pub fn assign(mut self, queues: impl IntoIterator<Item = MessageQueue>) -> Self {
        self.assigned.extend(queues);
        self
    }
}

/// Commands about lite consumers. Stopping, subscribing and unsubscribing, suspending and resuming as a whole are the
/// commands of push consumers.
#[derive(Debug)]
#[non_exhaustive]
pub enum Lite {
    /// Start one; ends with [`Outcome::ConsumerStarted`](super::Outcome::ConsumerStarted).
    Start(Box<LiteConfig>),
    /// Read these queues and no others.
    Assign {
        /// Which.
        consumer: ConsumerId,
        /// The queues; at least one.
        queues: Vec<MessageQueue>,
    },
    /// Hand over messages; ends with [`LiteOutcome::Polled`]. One poll of a consumer may wait at a time. What the poll
    /// before it handed over counts as handled from here on.
    Poll {
        /// Which.
        consumer: ConsumerId,
        /// The most messages; at least 1.
        max: u32,
        /// How long to wait when there is none. The outcome is then an empty list.
        timeout: Duration,
    },
    /// Messages of the last poll were not taken, or cannot be read. Without effect once another poll has come.
    GiveBack {
        /// Which.
        consumer: ConsumerId,
        /// The poll that handed them over.
        poll: OpId,
        /// Their places in what was handed over, and why.
        messages: Vec<(u32, GivenBack)>,
    },
    /// Go on elsewhere in a queue. What was fetched of the queue before is forgotten, answers to pulls on their way
    /// included.
    Seek {
        /// Which.
        consumer: ConsumerId,
        /// An assigned queue.
        queue: MessageQueue,
        /// Where to.
        to: SeekTo,
    },
    /// Fetch no more of these queues; what is fetched is still handed over. Queues that are not assigned are ignored.
    Pause {
        /// Which.
        consumer: ConsumerId,
        /// The queues.
        queues: Vec<MessageQueue>,
    },
    /// Fetch of these queues again.
    Unpause {
        /// Which.
        consumer: ConsumerId,
        /// The queues.
        queues: Vec<MessageQueue>,
    },
    /// Store positions at the brokers.
    Commit {
        /// Which.
        consumer: ConsumerId,
        /// Of which queues, how far.
        what: Commit,
        /// When the operation ends.
        until: CommitUntil,
    },
    /// Ask for an offset of any queue whose broker is known; ends with [`LiteOutcome::Offset`].
    Ask {
        /// Which.
        consumer: ConsumerId,
        /// The queue.
        queue: MessageQueue,
        /// Which offset.
        what: OffsetOf,
    },
    /// Store a position of any queue whose broker is known, and wait for the answer.
    Save {
        /// Which.
        consumer: ConsumerId,
        /// The queue.
        queue: MessageQueue,
        /// The position.
        offset: i64,
    },
    /// Pull once, apart from everything else; ends with [`LiteOutcome::Pulled`].
    Pull {
        /// Which.
        consumer: ConsumerId,
        /// What and from where.
        pull: PullOnce,
    },
    /// Send a message to the group's retry topic, or to its dead letters; a broker delivers it again later.
    SendBack {
        /// Which.
        consumer: ConsumerId,
        /// The message.
        message: Box<Received>,
        /// The delay level, 1 to 18; 0 lets the broker choose, -1 sends it to the dead letters.
        delay_level: i32,
    },
}

/// Why a message of a poll comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GivenBack {
    /// Nobody saw it: the next poll hands it over again.
    Untaken,
    /// Its body cannot be read: it is reported, and holds the position for a while.
    Undecodable(&'static str),
}

/// Where a seek leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeekTo {
    /// To this offset, which must be one of the queue's, or its end.
    Offset(i64),
    /// To the oldest message.
    Begin,
    /// Behind the newest message.
    End,
    /// To the first message stored at or after this time.
    Time(UnixMillis),
}

/// How far positions are committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Commit {
    /// All assigned queues: everything that was handed over counts as handled.
    All,
    /// As [`Commit::All`], these queues only.
    Queues(Vec<MessageQueue>),
    /// These offsets, whatever was handed over; they may lie before the present position.
    Offsets(Vec<(MessageQueue, i64)>),
}

/// When a commit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitUntil {
    /// When the brokers have answered; what one did not take fails it.
    Stored,
    /// At once; what a broker does not take is reported as a notice and tried again.
    Accepted,
}

/// Which offset of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffsetOf {
    /// The group's position at the broker; none if the broker has none.
    Committed,
    /// The oldest message.
    Min,
    /// The place behind the newest message.
    Max,
    /// The first message stored at or after this time.
    Time(UnixMillis),
}

/// One pull apart from everything else: what the deprecated pull consumer does (consumer.md 10.9).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PullOnce {
    /// The queue; its broker must be known.
    pub queue: MessageQueue,
    /// The tag expression.
    pub tags: String,
    /// The first wanted offset.
    pub offset: i64,
    /// The most messages. 1 to 1,024.
    pub max: u32,
    /// How long the broker may wait for news when there is nothing. Default not at all.
    pub wait: Duration,
    /// The time allowed beyond `wait`. Default 10 s.
    pub timeout: Duration,
}

impl PullOnce {
    /// A pull that does not wait, of every message.
    #[must_use]
    pub fn new(queue: MessageQueue, offset: i64, max: u32) -> Self {
        let (wait, timeout) = (Duration::ZERO, Duration::from_secs(10));
        Self { queue, tags: String::from("*"), offset, max, wait, timeout }
    }

    /// Of messages with these tags.
    #[must_use]
    pub fn tags(mut self, tags: impl Into<String>) -> Self {
        self.tags = tags.into();
        self
    }

    /// The broker may wait so long for news.
    #[must_use]
    pub const fn waiting(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

/// How an operation of a lite consumer ended that has something to say.
#[derive(Debug)]
#[non_exhaustive]
pub enum LiteOutcome {
    /// Messages.
    Polled(Polled),
    /// An offset; `None` where there is none.
    Offset(Option<i64>),
    /// What a single pull brought.
    Pulled(Pulled),
}

/// What a poll hands over. It counts as handled when the next poll comes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Polled {
    /// Whom.
    pub consumer: ConsumerId,
    /// The poll, to give messages back.
    pub poll: OpId,
    /// The messages, those of each queue in order; empty when the time was over.
    pub messages: Vec<Received>,
}

impl Polled {
    pub(crate) const fn new(consumer: ConsumerId, poll: OpId, messages: Vec<Received>) -> Self {
        Self { consumer, poll, messages }
    }
}

/// What a single pull brought.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pulled {
    /// What the broker says.
    pub status: PullStatus,
    /// Where to go on.
    pub next: i64,
    /// The oldest offset of the queue.
    pub min: i64,
    /// The end of the queue.
    pub max: i64,
    /// The messages that are wanted and can be decoded.
    pub messages: Vec<Received>,
    /// Offsets of records that could not be decoded, where they are known, and why.
    pub undecodable: Vec<(Option<i64>, String)>,
}

impl Pulled {
    pub(crate) const fn new(status: PullStatus, next: i64, min: i64, max: i64) -> Self {
        Self { status, next, min, max, messages: Vec::new(), undecodable: Vec::new() }
    }
}

/// The status of a single pull (wire.md 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PullStatus {
    /// There are messages.
    Found,
    /// There is nothing new.
    NoNew,
    /// There are messages, and none of them is wanted.
    NoMatched,
    /// The offset is none of the queue's; `next` is the nearest that is.
    OffsetIllegal,
}
