//! What a consumer can tell of itself (consumer.md 12.7).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::names::{MessageQueue, Topic};

/// How a consumer is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // a snapshot, built by literal
pub struct ConsumerStats {
    /// A line for each subscription; that to the retry topic counts redeliveries.
    pub topics: Vec<TopicStats>,
    /// A line for each queue that it owns.
    pub queues: Vec<QueueStats>,
    /// Handlers that run.
    pub running_handlers: usize,
}

impl ConsumerStats {
    /// Messages that brokers have for this member and that are not done with.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.queues.iter().map(QueueStats::lag).sum()
    }
}

/// How a subscription is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // a snapshot, built by literal
pub struct TopicStats {
    /// Its topic.
    pub topic: Topic,
    /// Messages whose handlers succeeded.
    pub consumed: Rate,
    /// Messages whose handlers failed or took too long.
    pub failed: Rate,
    /// Messages that arrived.
    pub pulled: Rate,
    /// The mean time of a handler in the last minute, or in the last hour where the minute has none.
    pub handling_time: Duration,
    /// The mean time of a pull that brought messages, likewise.
    pub pull_time: Duration,
}

/// How often something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // a snapshot, built by literal
pub struct Rate {
    /// In the last minute, in steps of ten seconds.
    pub last_minute: u64,
    /// In the last hour, in steps of ten minutes.
    pub last_hour: u64,
}

impl Rate {
    /// Per second, over the last minute.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a rate for people
    pub fn per_second(self) -> f64 {
        self.last_minute as f64 / 60.0
    }
}

/// How a queue is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // a snapshot, built by literal
pub struct QueueStats {
    /// Which queue.
    pub queue: Arc<MessageQueue>,
    /// The lowest unfinished offset, once it is known.
    pub position: Option<i64>,
    /// The offset behind the newest message, as the last pull's answer said.
    pub end: Option<i64>,
    /// Messages that are here and not done with.
    pub cached_messages: usize,
    /// Their bytes.
    pub cached_bytes: u64,
}

impl QueueStats {
    /// Messages that the broker has and that are not done with, as far as is known.
    #[must_use]
    pub fn lag(&self) -> u64 {
        match (self.position, self.end) {
            (Some(position), Some(end)) => u64::try_from(end.saturating_sub(position)).unwrap_or(0),
            _ => 0,
        }
    }
}
