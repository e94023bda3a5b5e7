//! A message to be sent.

use alloc::string::{String, ToString};
use core::fmt;

use bytes::Bytes;
use rocketry_codec::message::{Compression, Properties, PropertyError, SysFlag, property_names};
use rocketry_codec::names;

use super::names::Topic;

/// A message to be sent: topic, body, tag, keys and properties. What a broker would refuse cannot be built: names are
/// checked, reserved properties and separator characters are refused (wire.md 6.4, 8, 9).
#[derive(Clone, Debug)]
pub struct Message {
    topic: Topic,
    body: Bytes,
    flag: i32,
    properties: Properties,
    compression: Option<Compression>,
}

impl Message {
    /// A message without tag, keys and properties.
    ///
    /// # Errors
    /// The topic's name, when it cannot be one that messages are sent to.
    pub fn new(topic: impl Into<Topic>, body: impl Into<Bytes>) -> Result<Self, MessageError> {
        Self::builder(topic).body(body).build()
    }

    /// Begins a message for a topic.
    pub fn builder(topic: impl Into<Topic>) -> MessageBuilder {
        let mut properties = Properties::new();
        // Java writes it on every message; a broker waits for the store unless it says "false".
        let set = properties.set(property_names::WAIT_STORE, "true");
        let error = set.err().map(|error| MessageError::property(property_names::WAIT_STORE, &error));
        MessageBuilder { topic: topic.into(), body: Bytes::new(), flag: 0, properties, error }
    }

    /// The topic.
    #[must_use]
    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// The body as it goes on the wire.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The user's flag, stored as it is.
    #[must_use]
    pub const fn flag(&self) -> i32 {
        self.flag
    }

    /// The properties in their encoded form.
    #[must_use]
    pub fn properties(&self) -> &str {
        self.properties.as_str()
    }

    /// A property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name)
    }

    /// The unique id, once the message was submitted.
    #[must_use]
    pub fn unique_key(&self) -> Option<&str> {
        self.properties.get(property_names::UNIQUE_KEY)
    }

    /// The message with its body in compressed form; the broker and its readers learn the codec from the system flag.
    #[must_use]
    pub fn with_compressed_body(mut self, body: Bytes, compression: Compression) -> Self {
        self.body = body;
        self.compression = Some(compression);
        self
    }

    /// The system flag of the stored record (wire.md 6.2): whether and how the body is compressed.
    #[must_use]
    pub fn sys_flag(&self) -> i32 {
        self.compression.map_or(0, |compression| SysFlag::default().with_compression(compression).0)
    }

    /// Whether a broker would hold it back for a time.
    pub(crate) fn is_delayed(&self) -> bool {
        self.properties.get(property_names::DELAY_LEVEL).is_some()
    }

    /// Marks the message as the half of a transaction of this group.
    pub(crate) fn set_half(&mut self, group: &str) {
        for (name, value) in [(property_names::TRANSACTION_PREPARED, "true"), (property_names::PRODUCER_GROUP, group)] {
            let set = self.properties.set(name, value);
            debug_assert!(set.is_ok(), "a group's name has no separators");
        }
    }

    /// Gives the message its unique id, unless it has one from an earlier submission that was handed back.
    pub(crate) fn set_unique_key(&mut self, make: impl FnOnce() -> String) {
        if self.unique_key().is_none() {
            let set = self.properties.set(property_names::UNIQUE_KEY, &make());
            debug_assert!(set.is_ok(), "a unique id is hexadecimal text");
        }
    }
}

/// Builds a [`Message`]; the first mistake is reported by [`MessageBuilder::build`].
#[derive(Clone, Debug)]
#[must_use = "a message exists once it is built"]
pub struct MessageBuilder {
    topic: Topic,
    body: Bytes,
    flag: i32,
    properties: Properties,
    error: Option<MessageError>,
}

impl MessageBuilder {
    /// The body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The tag, by which consumers choose. One; not empty.
    pub fn tag(self, tag: impl AsRef<str>) -> Self {
        self.reserved(property_names::TAGS, tag.as_ref())
    }

    /// A key, by which the message can be looked up. Several are joined by spaces.
    pub fn key(self, key: impl AsRef<str>) -> Self {
        let joined = match self.properties.get(property_names::KEYS) {
            Some(before) => alloc::format!("{before} {}", key.as_ref()),
            None => key.as_ref().to_string(),
        };
        self.reserved(property_names::KEYS, &joined)
    }

    /// A property of the application's. Names that RocketMQ uses itself are refused.
    pub fn property(mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        let result = self.properties.set_user(name, value).map_err(|error| MessageError::property(name, &error));
        self.note(result);
        self
    }

    /// The delay level after which the message becomes visible: 1 to 18 with a broker's default levels, 0 for none.
    pub fn delay_level(self, level: u8) -> Self {
        self.reserved(property_names::DELAY_LEVEL, &level.to_string())
    }

    /// The flag of the application's, stored as it is.
    pub const fn flag(mut self, flag: i32) -> Self {
        self.flag = flag;
        self
    }

    /// The message.
    ///
    /// # Errors
    /// The first thing that cannot be: topic name, property name or value.
    pub fn build(self) -> Result<Message, MessageError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let topic = self.topic.as_str();
        if let Err(error) = names::check_topic(topic).and_then(|()| names::check_sendable(topic)) {
            return Err(MessageError { what: "topic".into(), reason: error.to_string() });
        }
        let Self { topic, body, flag, properties, error: _ } = self;
        Ok(Message { topic, body, flag, properties, compression: None })
    }

    fn reserved(mut self, name: &'static str, value: &str) -> Self {
        let result = self.properties.set(name, value).map_err(|error| MessageError::property(name, &error));
        self.note(result);
        self
    }

    fn note(&mut self, result: Result<(), MessageError>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

/// Why a message cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageError {
    what: String,
    reason: String,
}

impl MessageError {
    fn property(name: &str, error: &PropertyError) -> Self {
        Self { what: name.to_string(), reason: error.to_string() }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.reason)
    }
}

impl core::error::Error for MessageError {}
