//! What a consumer subscribes to: topics, expressions, versions, and which queues of a topic it has seen.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};

use rocketry_codec::body::heartbeat;
use rocketry_codec::filter::{SQL92, SqlExpression, TAG};
use rocketry_codec::message::StoredMessage;
use rocketry_codec::tags::TagExpression;

use super::meter::Meters;
use crate::api::{FilterExpression, MessageQueue, Topic};

/// A subscription to one topic.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The topic.
    pub(super) topic: Topic,
    /// Which messages of it.
    pub(super) filter: Expression,
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
    pub(super) fn new(topic: Topic, filter: Expression, version: i64, is_retry: bool) -> Self {
        Self {
            topic,
            filter,
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
        match &self.filter {
            Expression::Tags(tags) => tags.is_all() || tags.accepts(message.properties().tags()),
            // The broker has looked at the properties.
            Expression::Sql(_) => true,
        }
    }

    /// What brokers are told of it.
    pub(super) fn told(&self) -> heartbeat::Subscription {
        heartbeat::Subscription {
            topic: self.topic.as_str().into(),
            expression: self.filter.as_str().into(),
            expression_type: self.filter.kind().into(),
            tags: self.filter.tags().map(Into::into).collect(),
            tag_codes: self.filter.codes().collect(),
            version_ms: self.version,
            ..heartbeat::Subscription::default()
        }
    }

    /// Whether the queue appeared after the consumer had looked at the topic.
    pub(super) fn is_news(&self, queue: &MessageQueue) -> bool {
        self.seen.as_ref().is_some_and(|seen| !seen.contains(queue))
    }
}

/// A filter that was read.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Tags(TagExpression),
    Sql(String),
}

impl Expression {
    /// Every message.
    pub(super) fn all() -> Self {
        Self::Tags(TagExpression::all())
    }

    /// Reads a filter; the reason where that cannot be.
    pub(super) fn read(filter: &FilterExpression) -> Result<Self, String> {
        match filter {
            FilterExpression::Tags(tags) => {
                TagExpression::parse(tags).map(Self::Tags).map_err(|error| error.to_string())
            }
            FilterExpression::Sql(text) => match SqlExpression::parse(text) {
                Ok(_) => Ok(Self::Sql(text.clone())),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// Its text as brokers get it.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Tags(tags) => tags.as_str(),
            Self::Sql(text) => text,
        }
    }

    /// The name of its kind (`cases.md` FIL-02).
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Tags(_) => TAG,
            Self::Sql(_) => SQL92,
        }
    }

    /// The tags that it names.
    pub(super) fn tags(&self) -> impl Iterator<Item = &str> {
        let tags = if let Self::Tags(tags) = self { Some(tags.tags()) } else { None };
        tags.into_iter().flatten()
    }

    /// Their hashes.
    pub(super) fn codes(&self) -> impl Iterator<Item = i32> {
        let codes = if let Self::Tags(tags) = self { tags.codes() } else { Default::default() };
        codes.iter().copied()
    }
}
