//! Settings of a client, a producer and a consumer. Every option has a default, a range, and is checked with an error
//! that names it and its value (consumer.md 1.5, producer.md 1.5).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::codes::{Language, Version};
use rocketry_codec::encoder::{FrameWriter, Sender};
use rocketry_codec::header::Encoding;
use rocketry_codec::names;
use rocketry_codec::sign::Credentials;
use rocketry_machine::{Endpoint, UnixMillis};

use super::aside::Quarantine;
use super::error::ConfigError;
use super::filter::FilterExpression;
use super::names::{Group, Topic};
use crate::consumer::Allocation;

/// Settings of the client: what all its producers and consumers share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where the name servers are. At least one.
    pub name_servers: Vec<Endpoint>,
    /// Identity towards brokers: `ip@instance[@unit]`. Must be unique among the members of every group.
    pub client_id: String,
    /// Encoding of the headers that we send; what arrives is decoded by its own type byte. Default JSON.
    pub header: Encoding,
    /// The `version` that our commands carry (wire.md 2.5). Default 479, which is 5.3.3.
    pub version: i32,
    /// The language that our commands carry. Default RUST.
    pub language: Language,
    /// How often routes in use are asked for again. Default 30 s.
    pub route_interval: Duration,
    /// How often brokers hear that we live. Default 30 s; they forget a client after 120 s.
    pub heartbeat_interval: Duration,
    /// Whether brokers that know our subscriptions by a fingerprint are told only that in further heartbeats. Default
    /// false; brokers before 5.1 are told everything in any case.
    pub heartbeat_v2: bool,
    /// How often consumed positions are saved. Default 5 s.
    pub offset_interval: Duration,
    /// How often consumers divide their queues anew when nothing else makes them. Default 20 s.
    pub rebalance_interval: Duration,
    /// Time for one administrative request: routes, heartbeats, member lists. Default 3 s.
    pub request_timeout: Duration,
    /// Time to open a connection. Default 3 s.
    pub connect_timeout: Duration,
    /// Queues that a topic is given which exists only as the default topic's stand-in. Default 4; 1 to 1,024.
    pub default_topic_queues: i32,
    /// Who signs every request, those to name servers included. Default nobody.
    pub credentials: Option<Credentials>,
    /// The namespace that every request names in its `ns` field, names staying as they are. Only some hosted brokers
    /// honour it: others serve all namespaces alike (`cases.md` NSP-03). Default none.
    pub namespace_v2: Option<String>,
    /// Mark every request as one of a stream (`ReqT`), as Java's clients of pull consumers do; their client ids end with
    /// `@STREAM`. Default not.
    pub stream_requests: bool,
    /// What `start` does when no name server answers.
    pub on_unreachable: OnUnreachable,
    /// Bounds of everything that grows.
    pub limits: Limits,
}

impl Config {
    /// Defaults for these name servers and this client id.
    #[must_use]
    pub fn new(name_servers: Vec<Endpoint>, client_id: impl Into<String>) -> Self {
        Self {
            name_servers,
            client_id: client_id.into(),
            header: Encoding::Json,
            version: 479,
            language: Language::RUST,
            route_interval: Duration::from_secs(30),
            heartbeat_interval: Duration::from_secs(30),
            heartbeat_v2: false,
            offset_interval: Duration::from_secs(5),
            rebalance_interval: Duration::from_secs(20),
            request_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(3),
            default_topic_queues: 4,
            credentials: None,
            namespace_v2: None,
            stream_requests: false,
            on_unreachable: OnUnreachable::Fail,
            limits: Limits::standard(),
        }
    }
}

impl Config {
    /// The builder of this client's frames.
    pub(crate) fn writer(&self) -> FrameWriter {
        FrameWriter::new(Sender { language: self.language, version: Version(self.version), encoding: self.header })
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn check(&self) -> Result<(), ConfigError> {
        Self::check_name_servers(&self.name_servers)?;
        if self.client_id.trim().is_empty() {
            return Err(ConfigError::new("client_id", &self.client_id, "must not be blank"));
        }
        let intervals = [
            ("route_interval", self.route_interval, 10),
            ("heartbeat_interval", self.heartbeat_interval, 10),
            ("offset_interval", self.offset_interval, 10),
            ("rebalance_interval", self.rebalance_interval, 10),
            ("request_timeout", self.request_timeout, 1),
            ("connect_timeout", self.connect_timeout, 1),
        ];
        for (setting, value, least_ms) in intervals {
            if value < Duration::from_millis(least_ms) {
                let given = alloc::format!("{} ms", value.as_millis());
                return Err(ConfigError::new(setting, given, alloc::format!("must be at least {least_ms} ms")));
            }
        }
        if self.heartbeat_interval > Duration::from_secs(60) {
            let given = alloc::format!("{} ms", self.heartbeat_interval.as_millis());
            let reason = "must be at most 60000 ms: brokers forget a client after 120 s";
            return Err(ConfigError::new("heartbeat_interval", given, reason));
        }
        if let Some(credentials) = &self.credentials
            && (credentials.access_key.is_empty() || credentials.secret_key.is_empty())
        {
            let reason = "access key and secret key must both be given";
            return Err(ConfigError::new("credentials", &credentials.access_key, reason));
        }
        if self.namespace_v2.as_deref().is_some_and(|namespace| namespace.trim().is_empty()) {
            return Err(ConfigError::new("namespace_v2", "", "must not be blank"));
        }
        if !(1..=1_024).contains(&self.default_topic_queues) {
            return Err(ConfigError::new("default_topic_queues", self.default_topic_queues, "must be 1 to 1024"));
        }
        Ok(())
    }

    /// Checks a list of name servers.
    pub(crate) fn check_name_servers(servers: &[Endpoint]) -> Result<(), ConfigError> {
        if servers.is_empty() {
            return Err(ConfigError::new("name_servers", "", "at least one address is needed"));
        }
        Ok(())
    }
}

/// What starting a producer or consumer does when no name server can be reached (`cases.md` NET-09).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnreachable {
    /// The start fails with the list of addresses that were tried.
    Fail,
    /// The start succeeds; work begins once a name server answers.
    Wait,
}

/// Every bound of the client machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Operations that may be accepted and unfinished at once. Default 65,536.
    pub operations: usize,
    /// Bytes of bodies in unfinished sends. Default 100 MiB.
    pub send_bytes: u64,
    /// Sends that may be unfinished at once. Default 16,384; half of it for one broker that does not answer.
    pub sends: usize,
    /// Requests on all connections that wait for an answer. Default 262,144; at most 2^20.
    pub calls: usize,
    /// Bytes emitted on one connection that the kernel has not taken yet. Default 8 MiB.
    pub link_bytes: u64,
    /// The largest frame, in bytes with its length word. Default 16 MiB, which is where Apache's peers close the connection.
    pub frame: usize,
    /// Connections. Default 1,024.
    pub links: usize,
    /// Topics whose routes are kept. Default 65,536.
    pub topics: usize,
    /// Producers and consumers together. Default 1,024.
    pub groups: usize,
    /// Notices that wait to be polled; the oldest is dropped. Default 1,024.
    pub notices: usize,
}

impl Limits {
    /// The defaults named above.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            operations: 65_536,
            send_bytes: 100 << 20,
            sends: 16_384,
            calls: 262_144,
            link_bytes: 8 << 20,
            frame: 16 << 20,
            links: 1_024,
            topics: 65_536,
            groups: 1_024,
            notices: 1_024,
        }
    }
}

/// Settings of message trace (producer.md 8): what becomes of each message is told in a topic of its own, which the brokers
/// must have (`traceTopicEnable`, or created by hand).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageTrace {
    /// Where the records go. Default `RMQ_SYS_TRACE_TOPIC`.
    pub topic: Topic,
    /// Events that are told together. Default 10; 1 to 20.
    pub batch: u32,
}

impl Default for MessageTrace {
    fn default() -> Self {
        Self { topic: Topic::from("RMQ_SYS_TRACE_TOPIC"), batch: 10 }
    }
}

impl MessageTrace {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let name = self.topic.as_str();
        names::check_topic(name).map_err(|error| ConfigError::new("trace.topic", name, alloc::format!("{error}")))?;
        if !(1..=20).contains(&self.batch) {
            return Err(ConfigError::new("trace.batch", self.batch, "must be 1 to 20"));
        }
        Ok(())
    }
}

/// Settings of a producer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// The producer group.
    pub group: Group,
    /// Topics whose routes are fetched at start, so that the first send need not wait. Default none.
    pub topics: Vec<Topic>,
    /// The whole time of one send with all its attempts. Default 3 s.
    pub send_timeout: Duration,
    /// The time of one attempt while another one is still allowed. Default: a third of `send_timeout`.
    pub attempt_timeout: Option<Duration>,
    /// Further attempts after a failed one, on another broker where there is one. Default 2; 0 to 16.
    pub retries: u32,
    /// Response codes that allow another attempt. Default 1, 2, 14, 16, 17, 204, 205, 1500.
    pub retry_codes: Vec<i32>,
    /// Largest body on the wire, after compression. Default 4 MiB.
    pub max_message_size: usize,
    /// The topic whose brokers take messages for topics that do not exist yet. Default `TBW102`.
    pub default_topic: Topic,
    /// Whether and where it is told what became of each message. Default not.
    pub trace: Option<MessageTrace>,
}

impl ProducerConfig {
    /// Defaults for this group.
    #[must_use]
    pub fn new(group: impl Into<Group>) -> Self {
        Self {
            group: group.into(),
            topics: Vec::new(),
            send_timeout: Duration::from_secs(3),
            attempt_timeout: None,
            retries: 2,
            retry_codes: alloc::vec![1, 2, 14, 16, 17, 204, 205, 1500],
            max_message_size: 4 << 20,
            default_topic: Topic::from("TBW102"),
            trace: None,
        }
    }
}

/// Settings of a push consumer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// The consumer group.
    pub group: Group,
    /// Topics, and which of their messages; the tags `*` take all. At least one unless subscribed later.
    pub subscriptions: BTreeMap<Topic, FilterExpression>,
    /// Where a group begins that has no stored position. Default the last message.
    pub start_at: StartAt,
    /// Handlers that run at once. Default 20; 1 to 1,000.
    pub concurrency: u32,
    /// Messages of one pull. Default 32; 1 to 1,024.
    pub pull_batch: u32,
    /// Messages cached of one queue before pulling pauses. Default 1,000; 1 to 65,535.
    pub max_cached_messages: u32,
    /// Bytes cached of one queue before pulling pauses. Default 100 MiB; 1 MiB to 1 GiB.
    pub max_cached_bytes: u64,
    /// Distance between the first and the last cached offset of a queue before pulling pauses. Default 2,000; 1 to 65,535.
    pub max_span: u64,
    /// Pause after each successful pull. Default none; up to 65,535 ms.
    pub pull_interval: Duration,
    /// Pause after a failed pull. Default 1 s.
    pub pull_retry: Duration,
    /// How long a broker may hold a pull that finds nothing. Default 15 s.
    pub long_poll: Duration,
    /// How long a started handler may take before its message is sent back. Default 15 min.
    pub consume_timeout: Duration,
    /// How long a handler may run before a notice tells of it. Default 30 s; from 1 ms.
    pub slow_after: Duration,
    /// Redeliveries before a message goes to the dead-letter topic; -1 is 16. Default -1.
    pub max_redeliveries: i32,
    /// Whether every member gets every message: all queues are this member's, positions are kept by the owner, and a refused
    /// message is dropped after a notice. Default false.
    pub broadcasting: bool,
    /// Whether messages of a queue are handled one at a time and in order, by one member alone: queues are locked at their
    /// brokers, and a refused message holds those behind it. `max_redeliveries` of -1 means for ever then. Default false.
    pub orderly: bool,
    /// How long a refused message rests in orderly mode before it comes again. Default 1 s; taken as 10 ms to 30 s.
    pub suspend_time: Duration,
    /// How queues are divided among the members of the group. Default averagely.
    pub allocation: Allocation,
    /// Whether and where it is told what became of each message. Default not.
    pub trace: Option<MessageTrace>,
    /// What becomes of a record that cannot be decoded. Default it is set aside.
    pub quarantine: Quarantine,
    /// Ask brokers for "no position" to be told apart from zero (`cases.md` OFF-02). Default false, like Java.
    pub exact_start: bool,
}

impl ConsumerConfig {
    /// Defaults for this group; subscriptions are still to be added.
    #[must_use]
    pub fn new(group: impl Into<Group>) -> Self {
        Self {
            group: group.into(),
            subscriptions: BTreeMap::new(),
            start_at: StartAt::Last,
            concurrency: 20,
            pull_batch: 32,
            max_cached_messages: 1_000,
            max_cached_bytes: 100 << 20,
            max_span: 2_000,
            pull_interval: Duration::ZERO,
            pull_retry: Duration::from_secs(1),
            long_poll: Duration::from_secs(15),
            consume_timeout: Duration::from_secs(15 * 60),
            slow_after: Duration::from_secs(30),
            max_redeliveries: -1,
            broadcasting: false,
            orderly: false,
            suspend_time: Duration::from_secs(1),
            allocation: Allocation::default(),
            trace: None,
            quarantine: Quarantine::default(),
            exact_start: false,
        }
    }

    /// Adds a subscription.
    #[must_use]
    pub fn subscribe(mut self, topic: impl Into<Topic>, filter: impl Into<FilterExpression>) -> Self {
        self.subscriptions.insert(topic.into(), filter.into());
        self
    }
}

/// Where a group begins that has no stored position (consumer.md 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartAt {
    /// Behind the newest message.
    Last,
    /// At the oldest message.
    First,
    /// At the first message stored at or after this time.
    Time(UnixMillis),
}
