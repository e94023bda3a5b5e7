//! A received message as a handler sees it.

use std::net::SocketAddr;

use bytes::Bytes;
use rocketry_codec::message::PropertiesView;
use rocketry_core::{MessageQueue, Topic};

/// A received message, its body as it was sent. Cloning counts references.
#[derive(Clone, Debug)]
pub struct Received {
    inner: rocketry_core::Received,
    /// The inflated body, if the stored one is compressed.
    body: Option<Bytes>,
}

impl Received {
    pub(crate) const fn new(inner: rocketry_core::Received, body: Option<Bytes>) -> Self {
        Self { inner, body }
    }

    pub(crate) const fn inner(&self) -> &rocketry_core::Received {
        &self.inner
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_else(|| self.inner.stored.body_bytes())
    }

    /// The body, shared: it keeps what it was received in alive.
    #[must_use]
    pub fn body_shared(&self) -> Bytes {
        self.body.clone().unwrap_or_else(|| self.inner.stored.body())
    }

    /// The topic that it was sent to; for a redelivery this is not the retry topic.
    #[must_use]
    pub const fn topic(&self) -> &Topic {
        &self.inner.topic
    }

    /// The tag.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.properties().tags()
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.properties().keys()
    }

    /// A property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties().get(name)
    }

    /// All properties, those of RocketMQ included.
    #[must_use]
    pub fn properties(&self) -> PropertiesView<'_> {
        self.inner.stored.properties()
    }

    /// The id that its producer gave it, or the broker's if it had none. It stays the same in every redelivery.
    #[must_use]
    pub fn id(&self) -> String {
        self.inner.stored.unique_key().map_or_else(|| self.offset_id(), ToOwned::to_owned)
    }

    /// The broker's id of the stored record: host and commit-log offset. Every redelivery has another one.
    #[must_use]
    pub fn offset_id(&self) -> String {
        self.inner.stored.offset_id().to_string()
    }

    /// The queue that it was read from; for a redelivery it is one of the retry topic.
    #[must_use]
    pub fn queue(&self) -> &MessageQueue {
        &self.inner.queue
    }

    /// The position in that queue.
    #[must_use]
    pub const fn queue_offset(&self) -> i64 {
        self.inner.stored.queue_offset()
    }

    /// How often it was delivered in vain.
    #[must_use]
    pub const fn redeliveries(&self) -> i32 {
        self.inner.stored.reconsume_times()
    }

    /// When it was sent, in wall milliseconds of its producer.
    #[must_use]
    pub const fn born_at(&self) -> i64 {
        self.inner.stored.born_timestamp()
    }

    /// When it was stored, in wall milliseconds of the broker.
    #[must_use]
    pub const fn stored_at(&self) -> i64 {
        self.inner.stored.store_timestamp()
    }

    /// Where it was sent from.
    #[must_use]
    pub fn born_host(&self) -> SocketAddr {
        self.inner.stored.born_host()
    }

    /// The flag that its producer set.
    #[must_use]
    pub const fn flag(&self) -> i32 {
        self.inner.stored.flag()
    }

    /// The stored record.
    #[must_use]
    pub const fn stored(&self) -> &rocketry_codec::message::StoredMessage {
        &self.inner.stored
    }
}
