//! What is known about topics and brokers; read by every part, changed only by the route part.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use rocketry_codec::body::route::TopicRoute;
use rocketry_machine::{ConnId, Endpoint};

use crate::api::{BrokerName, MessageQueue, Topic};

/// A broker's place in the table; stays the same for the life of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct BrokerSlot(pub(crate) u32);

/// A queue that messages may be sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublishQueue {
    /// The broker.
    pub(crate) broker: BrokerSlot,
    /// The queue's number there.
    pub(crate) id: i32,
}

/// What is known about one topic.
#[derive(Debug)]
pub(crate) struct TopicEntry {
    route: TopicRoute,
    publish: Vec<PublishQueue>,
    subscribe: Vec<MessageQueue>,
    is_fallback: bool,
    turn: u32,
}

/// What is known about one broker.
#[derive(Debug)]
pub(crate) struct Broker {
    /// Its name.
    pub(crate) name: BrokerName,
    addresses: BTreeMap<i64, Endpoint>,
    /// The connection to its master that was used last; to be checked before use.
    pub(crate) master_conn: Option<ConnId>,
    /// Sends that wait for its answer.
    pub(crate) in_flight: usize,
}

/// Routes and broker addresses.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    topics: BTreeMap<Topic, TopicEntry>,
    brokers: Vec<Broker>,
    slots: BTreeMap<BrokerName, BrokerSlot>,
    used: BTreeSet<Endpoint>,
}

/// What a new route changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Whether the route differs from the one before.
    pub(crate) changed: bool,
    /// Addresses that no route names any more.
    pub(crate) abandoned: Vec<Endpoint>,
}

impl RouteTable {
    /// Takes the route of a topic. `is_fallback` marks the route of the default topic that stands in for a topic which
    /// does not exist yet; consumers never see it.
    pub(crate) fn apply(&mut self, topic: &Topic, route: TopicRoute, is_fallback: bool) -> Applied {
        let same = self.topics.get(topic).is_some_and(|old| old.route == route && old.is_fallback == is_fallback);
        if same {
            return Applied { changed: false, abandoned: Vec::new() };
        }
        for data in &route.brokers {
            let slot = self.slot(&BrokerName::from(data.name.as_str()));
            let addresses =
                data.addresses.iter().filter_map(|(id, address)| Some((*id, Endpoint::parse(address).ok()?))).collect();
            if let Some(broker) = self.brokers.get_mut(slot.0 as usize)
                && broker.addresses != addresses
            {
                broker.addresses = addresses;
                broker.master_conn = None;
            }
        }
        let turn = self.topics.get(topic).map_or(0, |old| old.turn);
        let publish = self.publish_queues(&route);
        let subscribe = if is_fallback { Vec::new() } else { subscribe_queues(topic, &route) };
        self.topics.insert(topic.clone(), TopicEntry { route, publish, subscribe, is_fallback, turn });
        Applied { changed: true, abandoned: self.sweep_addresses() }
    }

    /// Whether a route of the topic is known.
    pub(crate) fn knows(&self, topic: &Topic) -> bool {
        self.topics.contains_key(topic)
    }

    /// Whether the topic's route is only that of the default topic.
    pub(crate) fn is_fallback(&self, topic: &Topic) -> bool {
        self.topics.get(topic).is_some_and(|entry| entry.is_fallback)
    }

    /// How many topics are known.
    pub(crate) fn topics(&self) -> usize {
        self.topics.len()
    }

    /// The queues that a producer may choose from, in Java's order.
    pub(crate) fn publish(&self, topic: &Topic) -> Option<&[PublishQueue]> {
        self.topics.get(topic).map(|entry| entry.publish.as_slice())
    }

    /// The next turn of the topic's round robin, a running number.
    pub(crate) fn next_turn(&mut self, topic: &Topic, first: impl FnOnce() -> u32) -> u32 {
        let Some(entry) = self.topics.get_mut(topic) else { return 0 };
        if entry.turn == 0 {
            entry.turn = first().max(1);
        }
        entry.turn = if entry.turn == u32::MAX { 1 } else { entry.turn + 1 };
        entry.turn
    }

    /// The queues that consumers share, sorted; `None` when no route is known.
    pub(crate) fn subscribe_queues(&self, topic: &Topic) -> Option<&[MessageQueue]> {
        self.topics.get(topic).filter(|entry| !entry.is_fallback).map(|entry| entry.subscribe.as_slice())
    }

    /// A queue of the table as the name that the owner knows.
    pub(crate) fn queue(&self, topic: &Topic, queue: PublishQueue) -> Option<MessageQueue> {
        let broker = self.broker(queue.broker)?;
        Some(MessageQueue { topic: topic.clone(), broker: broker.name.clone(), id: queue.id })
    }

    /// The queues that a producer may choose from, by name.
    pub(crate) fn publish_by_name(&self, topic: &Topic) -> Vec<MessageQueue> {
        let queues = self.publish(topic).unwrap_or_default();
        queues.iter().filter_map(|queue| self.queue(topic, *queue)).collect()
    }

    pub(crate) fn broker(&self, slot: BrokerSlot) -> Option<&Broker> {
        self.brokers.get(slot.0 as usize)
    }

    pub(crate) fn broker_mut(&mut self, slot: BrokerSlot) -> Option<&mut Broker> {
        self.brokers.get_mut(slot.0 as usize)
    }

    pub(crate) fn slot_of(&self, name: &BrokerName) -> Option<BrokerSlot> {
        self.slots.get(name).copied()
    }

    /// The address of a broker's master.
    pub(crate) fn master(&self, name: &BrokerName) -> Option<Endpoint> {
        self.broker(self.slot_of(name)?)?.master().cloned()
    }

    /// An address of a broker for reading: the wanted id; else, unless only that one will do, the next id and then the
    /// lowest one (consumer.md 2.4).
    pub(crate) fn broker_address(&self, name: &BrokerName, id: i64, only_this: bool) -> Option<(Endpoint, i64)> {
        let addresses = &self.broker(self.slot_of(name)?)?.addresses;
        let wanted = addresses.get_key_value(&id);
        let next = || if id == 0 { None } else { addresses.get_key_value(&id.checked_add(1)?) };
        let lowest = || if only_this { None } else { addresses.first_key_value() };
        let (id, endpoint) = wanted.or_else(next).or_else(lowest)?;
        Some((endpoint.clone(), *id))
    }

    /// Some broker of the topic, chosen by `pick`: its master, else its lowest id.
    pub(crate) fn any_address_of_topic(&self, topic: &Topic, pick: u64) -> Option<Endpoint> {
        let brokers = &self.topics.get(topic)?.route.brokers;
        let count = u64::try_from(brokers.len()).ok().filter(|count| *count > 0)?;
        let data = brokers.get(usize::try_from(pick % count).ok()?)?;
        self.broker_address(&BrokerName::from(data.name.as_str()), 0, false).map(|(endpoint, _)| endpoint)
    }

    /// Every known broker address with its id; 0 is a master.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (i64, &Endpoint)> {
        self.brokers.iter().flat_map(|broker| broker.addresses.iter().map(|(id, endpoint)| (*id, endpoint)))
    }

    /// Whether some broker has this address.
    pub(crate) fn uses(&self, endpoint: &Endpoint) -> bool {
        self.used.contains(endpoint)
    }

    fn slot(&mut self, name: &BrokerName) -> BrokerSlot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let slot = BrokerSlot(u32::try_from(self.brokers.len()).unwrap_or(u32::MAX));
        self.brokers.push(Broker { name: name.clone(), addresses: BTreeMap::new(), master_conn: None, in_flight: 0 });
        self.slots.insert(name.clone(), slot);
        slot
    }

    fn publish_queues(&mut self, route: &TopicRoute) -> Vec<PublishQueue> {
        let named = route.publish_queues();
        named.into_iter().map(|(broker, id)| PublishQueue { broker: self.slot(&broker.into()), id }).collect()
    }

    /// Brokers that no route names any more lose their addresses, so that nothing is sent there.
    fn sweep_addresses(&mut self) -> Vec<Endpoint> {
        let named: BTreeSet<&str> =
            self.topics.values().flat_map(|entry| entry.route.brokers.iter().map(|data| data.name.as_str())).collect();
        for broker in &mut self.brokers {
            if !named.contains(broker.name.as_str()) {
                broker.addresses.clear();
                broker.master_conn = None;
            }
        }
        let used: BTreeSet<Endpoint> = self.addresses().map(|(_, endpoint)| endpoint.clone()).collect();
        let abandoned = self.used.difference(&used).cloned().collect();
        self.used = used;
        abandoned
    }
}

impl Broker {
    /// The master's address.
    pub(crate) fn master(&self) -> Option<&Endpoint> {
        self.addresses.get(&0)
    }
}

fn subscribe_queues(topic: &Topic, route: &TopicRoute) -> Vec<MessageQueue> {
    let mut queues: Vec<MessageQueue> = route
        .subscribe_queues()
        .into_iter()
        .map(|(broker, id)| MessageQueue { topic: topic.clone(), broker: broker.into(), id })
        .collect();
    queues.sort();
    queues
}
