//! What the owner of a name server or broker decides before it starts.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use rocketry_machine::Endpoint;

/// Permission bits of topics and brokers (`spec/broker.md` 1.2).
pub mod perm {
    /// New topics may take this topic as their template.
    pub const INHERIT: u32 = 1;
    /// Messages may be sent.
    pub const WRITE: u32 = 2;
    /// Messages may be pulled.
    pub const READ: u32 = 4;
    /// What an ordinary topic has.
    pub const READ_WRITE: u32 = READ | WRITE;
}

/// The settings of a broker. Start from [`BrokerConfig::new`] and change what differs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BrokerConfig {
    /// The cluster that the broker belongs to. Default `DefaultCluster`.
    pub cluster: Arc<str>,
    /// The broker's name. Default `broker-a`.
    pub name: Arc<str>,
    /// 0 for a master. Default 0.
    pub id: u32,
    /// The address that routes, message ids and stored messages carry: where clients reach the broker.
    pub address: SocketAddr,
    /// Name servers to register with. Default none.
    pub name_servers: Vec<Endpoint>,
    /// Topics to create at the start. Default none.
    pub topics: Vec<TopicSpec>,
    /// Whether a send may create its topic from a template. Default true.
    pub auto_create_topics: bool,
    /// Write queues of the template `TBW102`. Default 8.
    pub default_topic_queues: u32,
    /// Whether a heartbeat or pull may create its group. Default true.
    pub auto_create_groups: bool,
    /// What the broker itself allows: [`perm::READ`] and [`perm::WRITE`]. Default both.
    pub permission: u32,
    /// Stored with each message as `MSG_REGION`. Default `DefaultRegion`.
    pub region: Arc<str>,
    /// Stored with each message as `TRACE_ON`. Default true.
    pub trace_on: bool,
    /// The delays of levels 1, 2, ... Default Apache's 18 levels, 1 s to 2 h.
    pub delay_levels: DelayLevels,
    /// Whether subscriptions may filter by SQL92 over properties. Default true; Apache's `enablePropertyFilter` is off.
    pub property_filter: bool,
    /// Whether half messages are refused. Default false.
    pub reject_transactions: bool,
    /// How often half messages are looked at that nobody has ended. Default 30 s.
    pub transaction_check_interval: Duration,
    /// How old such a half message must be before its producer is asked. Default 6 s.
    pub transaction_timeout: Duration,
    /// How often a producer is asked about one half message before it is put aside. Default 15.
    pub transaction_checks: u32,
    /// Whether a pull without news may wait. Off, it waits one second. Default true.
    pub long_polling: bool,
    /// How often waiting pulls are looked over for timeouts and for news that no filter admitted. Default 5 s.
    pub hold_scan: Duration,
    /// How often the broker tells name servers that it lives. Default 30 s.
    pub register_period: Duration,
    /// A message older than this may be deleted. Default 72 h.
    pub retention: Duration,
    /// In how many of a hundred pops the retry topic goes first. Default 20.
    pub pop_from_retry_percent: u8,
    /// Whether popped messages that were not acknowledged go to `%RETRY%group+topic` instead of `%RETRY%group_topic`.
    /// Default false.
    pub pop_retry_v2: bool,
    /// Every bound.
    pub limits: BrokerLimits,
}

impl BrokerConfig {
    /// A master that clients reach at `address`, with Apache's defaults.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            cluster: "DefaultCluster".into(),
            name: "broker-a".into(),
            id: 0,
            address,
            name_servers: Vec::new(),
            topics: Vec::new(),
            auto_create_topics: true,
            default_topic_queues: 8,
            auto_create_groups: true,
            permission: perm::READ_WRITE,
            region: "DefaultRegion".into(),
            trace_on: true,
            delay_levels: DelayLevels::standard(),
            property_filter: true,
            reject_transactions: false,
            transaction_check_interval: Duration::from_secs(30),
            transaction_timeout: Duration::from_secs(6),
            transaction_checks: 15,
            long_polling: true,
            hold_scan: Duration::from_secs(5),
            register_period: Duration::from_secs(30),
            retention: Duration::from_secs(72 * 3600),
            pop_from_retry_percent: 20,
            pop_retry_v2: false,
            limits: BrokerLimits::standard(),
        }
    }

    /// Adds a topic that exists from the start, with as many read as write queues.
    #[must_use]
    pub fn with_topic(mut self, name: impl Into<Arc<str>>, queues: u32) -> Self {
        self.topics.push(TopicSpec::new(name, queues));
        self
    }

    /// Adds a name server to register with.
    #[must_use]
    pub fn with_name_server(mut self, endpoint: Endpoint) -> Self {
        self.name_servers.push(endpoint);
        self
    }
}

/// A topic to create at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicSpec {
    /// Its name.
    pub name: Arc<str>,
    /// Queues that may be read.
    pub read_queues: u32,
    /// Queues that may be written.
    pub write_queues: u32,
    /// Permission bits.
    pub perm: u32,
}

impl TopicSpec {
    /// A topic that may be read and written.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, queues: u32) -> Self {
        Self { name: name.into(), read_queues: queues, write_queues: queues, perm: perm::READ_WRITE }
    }
}

/// The delay of each level; level numbers start at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayLevels(Vec<Duration>);

impl DelayLevels {
    /// Apache's levels: 1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h.
    #[must_use]
    pub fn standard() -> Self {
        let seconds = vec![1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200];
        Self(seconds.into_iter().map(Duration::from_secs).collect())
    }

    /// Other delays, level 1 first; at most 255 are kept.
    #[must_use]
    pub fn new(mut delays: Vec<Duration>) -> Self {
        delays.truncate(usize::from(u8::MAX));
        Self(delays)
    }

    /// The highest level.
    #[must_use]
    pub fn highest(&self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(u8::MAX)
    }

    /// The delay of a level, if it exists.
    #[must_use]
    pub fn delay(&self, level: u8) -> Option<Duration> {
        self.0.get(usize::from(level).checked_sub(1)?).copied()
    }

    /// The level that a property or request value stands for: none at 0 and below, the highest above it.
    #[must_use]
    pub fn clamp(&self, level: i64) -> Option<u8> {
        if level <= 0 || self.0.is_empty() {
            return None;
        }
        Some(u8::try_from(level).unwrap_or(u8::MAX).min(self.highest()))
    }
}

/// Every bound of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokerLimits {
    /// Connections at once.
    pub connections: usize,
    /// Bytes of answers that one connection has not taken yet; beyond it pulls are refused as busy, beyond twice as many
    /// the connection is closed.
    pub unflushed_bytes: usize,
    /// Topics.
    pub topics: usize,
    /// Queues of one topic.
    pub queues_per_topic: u32,
    /// Consumer groups, and producer groups.
    pub groups: usize,
    /// Remembered consumer positions: a topic, group and queue each.
    pub offsets: usize,
    /// Queue locks.
    pub locks: usize,
    /// Pulls that wait for news.
    pub held_pulls: usize,
    /// Pops and notifications that wait for messages.
    pub held_pops: usize,
    /// Popped messages that are neither acknowledged nor revived; beyond it pops find nothing.
    pub popped_messages: usize,
    /// Bytes of the message log, its index included.
    pub store_bytes: usize,
    /// Bytes of one message body.
    pub message_bytes: usize,
    /// Messages in one pull answer.
    pub pull_messages: usize,
    /// Bytes in one pull answer; the first message may be larger.
    pub pull_bytes: usize,
}

impl BrokerLimits {
    /// Apache's limits where it has them.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            connections: 10_000,
            unflushed_bytes: 64 << 20,
            topics: 20_000,
            queues_per_topic: 1_024,
            groups: 20_000,
            offsets: 1_000_000,
            locks: 1_000_000,
            held_pulls: 1_000_000,
            held_pops: 100_000,
            popped_messages: 1_000_000,
            store_bytes: 1 << 30,
            message_bytes: 4 << 20,
            pull_messages: 32,
            pull_bytes: 256 << 10,
        }
    }
}

/// The settings of a name server. Start from [`NameServerConfig::new`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NameServerConfig {
    /// A broker that has not registered for so long is forgotten, unless it named its own time. Default 120 s.
    pub broker_expiry: Duration,
    /// How often the name server looks for such brokers. Default 5 s.
    pub scan_period: Duration,
    /// Whether routes carry the order configuration of their topic. Default false.
    pub order_messages: bool,
    /// Whether routes are written in the dialect from before 4.9.4 for everybody. Default false.
    pub old_json: bool,
    /// Every bound.
    pub limits: NameServerLimits,
}

impl NameServerConfig {
    /// Apache's defaults.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            broker_expiry: Duration::from_secs(120),
            scan_period: Duration::from_secs(5),
            order_messages: false,
            old_json: false,
            limits: NameServerLimits::standard(),
        }
    }
}

impl Default for NameServerConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Every bound of a name server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameServerLimits {
    /// Connections at once.
    pub connections: usize,
    /// Bytes of answers that one connection has not taken yet; beyond twice as many the connection is closed.
    pub unflushed_bytes: usize,
    /// Brokers: names and addresses together.
    pub brokers: usize,
    /// Topics, counted once for each broker that has them.
    pub topics: usize,
    /// Entries of the key-value table.
    pub kv_entries: usize,
}

impl NameServerLimits {
    /// Bounds that a development cluster does not reach.
    #[must_use]
    pub const fn standard() -> Self {
        Self { connections: 10_000, unflushed_bytes: 64 << 20, brokers: 1_000, topics: 100_000, kv_entries: 100_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_clamp_to_the_table() {
        let levels = DelayLevels::standard();
        assert_eq!(levels.highest(), 18);
        assert_eq!(levels.delay(1), Some(Duration::from_secs(1)));
        assert_eq!(levels.delay(18), Some(Duration::from_secs(7_200)));
        assert_eq!((levels.delay(0), levels.delay(19)), (None, None));
        assert_eq!((levels.clamp(-1), levels.clamp(0)), (None, None));
        assert_eq!((levels.clamp(3), levels.clamp(19), levels.clamp(1 << 40)), (Some(3), Some(18), Some(18)));
        assert_eq!(DelayLevels::new(Vec::new()).clamp(1), None);
    }
}
