//! What a consumer subscribes to: topics, expressions, versions, and which queues of a topic it has seen.

use alloc::collections::BTreeSet;

use rocketry_codec::message::StoredMessage;
use rocketry_codec::tags::TagExpression;

use super::meter::Meters;
use crate::api::{MessageQueue, Topic};

/// A subscription to one topic.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The topic.
    pub(super) topic: Topic,
    /// Which messages of it.
    pub(super) tags: TagExpression,
    /// Grows with every change, so that brokers know the newer of two.
    pub(super) version: i64,
    /// Whether it is the group's retry topic.
    pub(super) is_retry: bool,
    /// The queues that were there at the last division; `None` before the first one. What appears later is news and is
    /// read from its beginning.
    pub(super) seen: Option<BTreeSet<MessageQueue>>,
    /// Whether the members are being asked for.
    pub(super) asking: bool,
    /// Whether something changed while they were asked for.
    pub(super) again: bool,
    /// Member lists in a row in which this client was missing.
    pub(super) absences: u32,
    /// Whether the failure that goes on was reported.
    pub(super) trouble: bool,
    /// How fast it is consumed.
    pub(super) meters: Meters,
}

impl Subscription {
    pub(super) fn new(topic: Topic, tags: TagExpression, version: i64, is_retry: bool) -> Self {
        Self {
            topic,
            tags,
            version,
            is_retry,
            seen: None,
            asking: false,
            again: false,
            absences: 0,
            trouble: false,
            meters: Meters::default(),
        }
    }

    /// Whether a message that the broker let through is wanted: brokers compare hashes only (consumer.md 4.5).
    pub(super) fn wants(&self, message: &StoredMessage) -> bool {
        self.tags.is_all() || self.tags.accepts(message.properties().tags())
    }

    /// Whether the queue appeared after the consumer had looked at the topic.
    pub(super) fn is_news(&self, queue: &MessageQueue) -> bool {
        self.seen.as_ref().is_some_and(|seen| !seen.contains(queue))
    }
}
