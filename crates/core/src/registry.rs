//! What heartbeats say: the groups of this client and what they subscribe to.

use alloc::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::heartbeat::{ConsumerData, HeartbeatData, ProducerData};

use crate::api::Group;

/// The groups that live in this client. Parts keep their own entries; the heartbeat part reads them.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    producers: BTreeSet<Group>,
    consumers: BTreeMap<Group, ConsumerData>,
    body: Option<Bytes>,
}

impl Registry {
    /// A producer group has come; `false` if it was there already.
    pub(crate) fn add_producer(&mut self, group: &Group) -> bool {
        self.body = None;
        self.producers.insert(group.clone())
    }

    /// A producer group is gone.
    pub(crate) fn remove_producer(&mut self, group: &Group) {
        self.body = None;
        self.producers.remove(group);
    }

    /// Whether the producer group is taken.
    pub(crate) fn has_producer(&self, group: &Group) -> bool {
        self.producers.contains(group)
    }

    /// A consumer group has come or changed what it subscribes to.
    pub(crate) fn set_consumer(&mut self, group: Group, data: ConsumerData) {
        self.body = None;
        self.consumers.insert(group, data);
    }

    /// A consumer group is gone.
    pub(crate) fn remove_consumer(&mut self, group: &Group) {
        self.body = None;
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

    /// The body of a heartbeat, encoded once for all brokers.
    pub(crate) fn body(&mut self, client_id: &str) -> Bytes {
        let (producers, consumers) = (&self.producers, &self.consumers);
        self.body
            .get_or_insert_with(|| {
                HeartbeatData {
                    client_id: client_id.into(),
                    producers: producers.iter().map(|group| ProducerData { group: group.as_str().into() }).collect(),
                    consumers: consumers.values().cloned().collect(),
                    ..HeartbeatData::default()
                }
                .encode()
                .into()
            })
            .clone()
    }
}
