//! What heartbeats say: the groups of this client and what they subscribe to.

use alloc::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::heartbeat::{ConsumerData, HeartbeatData, ProducerData};
use rocketry_codec::hash::java_hash;

use crate::api::Group;

/// The groups that live in this client. Parts keep their own entries; the heartbeat part reads them.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    producers: BTreeSet<Group>,
    consumers: BTreeMap<Group, ConsumerData>,
    bodies: Option<Bodies>,
}

impl Registry {
    /// A producer group has come; `false` if it was there already.
    pub(crate) fn add_producer(&mut self, group: &Group) -> bool {
        self.bodies = None;
        self.producers.insert(group.clone())
    }

    /// A producer group is gone.
    pub(crate) fn remove_producer(&mut self, group: &Group) {
        self.bodies = None;
        self.producers.remove(group);
    }

    /// Whether the producer group is taken.
    pub(crate) fn has_producer(&self, group: &Group) -> bool {
        self.producers.contains(group)
    }

    /// A consumer group has come or changed what it subscribes to.
    pub(crate) fn set_consumer(&mut self, group: Group, data: ConsumerData) {
        self.bodies = None;
        self.consumers.insert(group, data);
    }

    /// A consumer group is gone.
    pub(crate) fn remove_consumer(&mut self, group: &Group) {
        self.bodies = None;
        self.consumers.remove(group);
    }

    /// Whether the consumer group is taken.
    pub(crate) fn has_consumer(&self, group: &Group) -> bool {
        self.consumers.contains_key(group)
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.producers.len() + self.consumers.len()
    }

    /// Whether brokers need not hear from us.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some group consumes: slaves hear only then.
    pub(crate) fn consumes(&self) -> bool {
        !self.consumers.is_empty()
    }

    /// What a heartbeat says, encoded once for all brokers. With `fingerprinted` in the second form (consumer.md 2.6).
    pub(crate) fn bodies(&mut self, client_id: &str, fingerprinted: bool) -> &Bodies {
        let (producers, consumers) = (&self.producers, &self.consumers);
        self.bodies.get_or_insert_with(|| {
            let mut data = HeartbeatData {
                client_id: client_id.into(),
                producers: producers.iter().map(|group| ProducerData { group: group.as_str().into() }).collect(),
                consumers: consumers.values().cloned().collect(),
                ..HeartbeatData::default()
            };
            if fingerprinted {
                data.fingerprint = fingerprint(&data);
            }
            let full = data.encode().into();
            if fingerprinted {
                data.without_subscriptions = true;
                data.consumers.iter_mut().for_each(|consumer| consumer.subscriptions.clear());
            }
            Bodies { full, short: data.encode().into(), fingerprint: data.fingerprint }
        })
    }
}

/// The bodies of a heartbeat.
#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    /// With all subscriptions.
    pub(crate) full: Bytes,
    /// Without, for brokers that know them by their fingerprint.
    pub(crate) short: Bytes,
    /// What the subscriptions hash to; 0 where fingerprints are not used.
    pub(crate) fingerprint: i32,
}

/// The hash of what is said apart from who says it and when it came to be: equal for members that subscribe alike. Never
/// 0, which brokers take for the first form.
fn fingerprint(data: &HeartbeatData) -> i32 {
    let mut content = HeartbeatData { client_id: Default::default(), fingerprint: 0, ..data.clone() };
    for subscription in content.consumers.iter_mut().flat_map(|consumer| &mut consumer.subscriptions) {
        subscription.version_ms = 0;
    }
    match java_hash(&content.encode()) {
        0 => 1,
        hash => hash,
    }
}
