//! What a broker tells name servers of its topics, over the wire or within one machine.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::registration::{RegisterBroker, TopicConfigs};

use crate::admin;
use crate::config::BrokerConfig;
use crate::names::tables::{Queues, Registration};
use crate::topics::{Topic, TopicId, Topics};

/// The registration for a name server in the same machine. It never expires: neither part lives without the other.
pub(crate) fn local(config: &BrokerConfig, topics: &Topics, only: &BTreeSet<TopicId>) -> Registration {
    let offered = only.iter().filter_map(|id| topics.get(*id));
    Registration {
        cluster: config.cluster.clone(),
        name: config.name.clone(),
        id: config.id.into(),
        address: address_text(config.address).into(),
        ha_address: address_text(replication_address(config)).into(),
        zone: None,
        acting_master: false,
        expiry: Some(Duration::MAX),
        version: topics.version(),
        topics: offered.map(|topic| (topic.name.clone(), queues(config, topic))).collect(),
        conn: None,
    }
}

/// The body of a registration over the wire: of all topics, or of some.
pub(crate) fn body(config: &BrokerConfig, topics: &Topics, only: Option<&BTreeSet<TopicId>>) -> Bytes {
    let entry = |topic: &Topic| {
        let offered = admin::topic_body(topic, offered_perm(config, topic.config.perm));
        (String::from(&*topic.name), offered)
    };
    let data_version = admin::version_body(topics.version());
    let topics = match only {
        Some(only) => only.iter().filter_map(|id| topics.get(*id)).map(entry).collect(),
        None => topics.iter().map(entry).collect(),
    };
    let topics = TopicConfigs { data_version, topics, ..TopicConfigs::default() };
    Bytes::from(RegisterBroker { filter_servers: Vec::new(), topics }.encode())
}

/// What a broker offers of a topic: its queues, with no permission that the broker itself lacks.
fn queues(config: &BrokerConfig, topic: &Topic) -> Queues {
    let settings = &topic.config;
    Queues {
        read: settings.read_queues,
        write: settings.write_queues,
        perm: offered_perm(config, settings.perm),
        sys_flag: settings.sys_flag,
    }
}

/// A broker that lacks read or write registers its topics without them.
fn offered_perm(config: &BrokerConfig, perm: u32) -> u32 {
    use crate::config::perm::READ_WRITE;
    if config.permission & READ_WRITE == READ_WRITE { perm } else { perm & config.permission }
}

/// Where slaves would connect to, one port above the broker's.
pub(crate) fn replication_address(config: &BrokerConfig) -> SocketAddr {
    let mut address = config.address;
    address.set_port(config.address.port().wrapping_add(1));
    address
}

/// An address as routes carry it.
pub(crate) fn address_text(address: SocketAddr) -> String {
    format!("{address}")
}
