//! What a name server knows: which brokers live, and which queues they offer for which topic (`spec/broker.md` 1.1).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::{ConnId, Moment};

use crate::config::{NameServerLimits, perm};
use crate::topics::Version;

/// What one broker name offers for a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queues {
    pub(crate) read: u32,
    pub(crate) write: u32,
    pub(crate) perm: u32,
    pub(crate) sys_flag: i32,
}

/// The brokers that share a name: a master with id 0 and its slaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broker {
    pub(crate) cluster: Arc<str>,
    pub(crate) addresses: BTreeMap<i64, Arc<str>>,
    pub(crate) acting_master: bool,
    pub(crate) zone: Option<Arc<str>>,
}

/// A broker that registered and has not expired.
#[derive(Clone, Debug)]
struct Live {
    name: Arc<str>,
    id: i64,
    seen: Moment,
    expiry: Duration,
    version: Version,
    conn: Option<ConnId>,
    ha_address: Arc<str>,
}

/// What a broker says when it registers.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) cluster: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) id: i64,
    pub(crate) address: Arc<str>,
    pub(crate) ha_address: Arc<str>,
    pub(crate) zone: Option<Arc<str>>,
    pub(crate) acting_master: bool,
    pub(crate) expiry: Option<Duration>,
    pub(crate) version: Version,
    pub(crate) topics: Vec<(Arc<str>, Queues)>,
    pub(crate) conn: Option<ConnId>,
}

/// What a registering slave learns of its master; both empty for a master.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Master {
    pub(crate) address: Option<Arc<str>>,
    pub(crate) ha_address: Option<Arc<str>>,
}

/// The route of one topic.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    pub(crate) queues: Vec<(&'a Arc<str>, Queues)>,
    pub(crate) brokers: Vec<(&'a Arc<str>, &'a Broker)>,
}

type Address = (Arc<str>, Arc<str>);

/// All tables of a name server.
#[derive(Debug)]
pub(crate) struct Tables {
    topics: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Queues>>,
    brokers: BTreeMap<Arc<str>, Broker>,
    live: BTreeMap<Address, Live>,
    topic_entries: usize,
    expiry: Duration,
    limits: NameServerLimits,
}

impl Tables {
    pub(crate) const fn new(expiry: Duration, limits: NameServerLimits) -> Self {
        Self {
            topics: BTreeMap::new(),
            brokers: BTreeMap::new(),
            live: BTreeMap::new(),
            topic_entries: 0,
            expiry,
            limits,
        }
    }

    /// The route of a topic: `None` without queues, or when none of their brokers is known.
    pub(crate) fn route(&self, topic: &str) -> Option<Route<'_>> {
        let entries = self.topics.get(topic)?;
        let brokers: Vec<_> = entries.keys().filter_map(|name| self.brokers.get_key_value(name)).collect();
        if brokers.is_empty() {
            return None;
        }
        Some(Route { queues: entries.iter().map(|(name, queues)| (name, *queues)).collect(), brokers })
    }

    /// Takes a registration; `None` when it is refused: a broker's first one must list more than one topic, and an
    /// older state from another address does not displace a newer one.
    pub(crate) fn register(&mut self, now: Moment, registration: Registration) -> Option<Master> {
        let Registration { cluster, name, id, address, .. } = &registration;
        let known = self.brokers.get(name).and_then(|broker| broker.addresses.get(id));
        match known {
            None if registration.topics.len() == 1 || self.live.len() >= self.limits.brokers => return None,
            Some(other) if other != address => {
                let theirs = self.live.get(&(cluster.clone(), other.clone())).map(|live| live.version.state);
                if theirs.is_some_and(|theirs| theirs > registration.version.state) {
                    return None;
                }
                self.live.remove(&(cluster.clone(), other.clone()));
            }
            None | Some(_) => {}
        }
        let broker = self.brokers.entry(name.clone()).or_insert_with(|| Broker {
            cluster: cluster.clone(),
            addresses: BTreeMap::new(),
            acting_master: false,
            zone: None,
        });
        broker.acting_master = registration.acting_master;
        broker.zone.clone_from(&registration.zone);
        // A broker that changed its id is no longer reachable under the old one.
        broker.addresses.retain(|known_id, known| known != address || known_id == id);
        broker.addresses.insert(*id, address.clone());
        let leads = broker.addresses.keys().next() == Some(id);
        let address_of_master = if *id == 0 { None } else { broker.addresses.get(&0).cloned() };
        let master = address_of_master.map_or_else(Master::default, |address| Master {
            ha_address: self.live.get(&(cluster.clone(), address.clone())).map(|live| live.ha_address.clone()),
            address: Some(address),
        });
        if leads {
            self.offer(name, &registration.topics);
        }
        let live = Live {
            name: name.clone(),
            id: *id,
            seen: now,
            expiry: registration.expiry.unwrap_or(self.expiry),
            version: registration.version,
            conn: registration.conn,
            ha_address: registration.ha_address.clone(),
        };
        self.live.insert((cluster.clone(), address.clone()), live);
        Some(master)
    }

    fn offer(&mut self, broker: &Arc<str>, topics: &[(Arc<str>, Queues)]) {
        for (topic, queues) in topics {
            let known = self.topics.get(topic).is_some_and(|entries| entries.contains_key(broker));
            if !known {
                if self.topic_entries >= self.limits.topics {
                    continue;
                }
                self.topic_entries += 1;
            }
            self.topics.entry(topic.clone()).or_default().insert(broker.clone(), *queues);
        }
    }

    /// A broker says that it goes, or is found to be gone; its queues leave with its last address.
    pub(crate) fn unregister(&mut self, cluster: &Arc<str>, name: &str, id: i64, address: &Arc<str>) {
        self.live.remove(&(cluster.clone(), address.clone()));
        let Some(broker) = self.brokers.get_mut(name) else { return };
        if broker.addresses.get(&id) == Some(address) {
            broker.addresses.remove(&id);
        }
        if broker.addresses.is_empty() {
            self.brokers.remove(name);
            self.withdraw(|_, broker| broker == name);
        }
    }

    /// The connection of a registered broker is gone; says whether it was one.
    pub(crate) fn close(&mut self, conn: ConnId) -> bool {
        let gone: Vec<Address> =
            self.live.iter().filter(|(_, live)| live.conn == Some(conn)).map(|(key, _)| key.clone()).collect();
        for key in &gone {
            self.drop_live(key);
        }
        !gone.is_empty()
    }

    /// Drops the brokers that have been silent too long; the connections over which they had registered.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<ConnId> {
        let silent = |live: &Live| now.since(live.seen) > live.expiry;
        let gone: Vec<Address> =
            self.live.iter().filter(|(_, live)| silent(live)).map(|(key, _)| key.clone()).collect();
        gone.iter().filter_map(|key| self.drop_live(key)).collect()
    }

    /// Whether a broker is registered over a connection.
    pub(crate) fn has_remote(&self) -> bool {
        self.live.values().any(|live| live.conn.is_some())
    }

    fn drop_live(&mut self, key: &Address) -> Option<ConnId> {
        let live = self.live.remove(key)?;
        self.unregister(&key.0, &live.name, live.id, &key.1);
        live.conn
    }

    /// Renews a broker's life without its topics; says whether its version differs from the known one, if known.
    pub(crate) fn touch(&mut self, now: Moment, cluster: &Arc<str>, address: &Arc<str>) -> Option<Version> {
        let live = self.live.get_mut(&(cluster.clone(), address.clone()))?;
        live.seen = now;
        Some(live.version)
    }

    /// Forgets a topic, at the brokers of one cluster or at all.
    pub(crate) fn delete_topic(&mut self, topic: &str, cluster: Option<&str>) {
        let brokers = &self.brokers;
        let inside = |name: &str| cluster.is_none_or(|c| brokers.get(name).is_some_and(|b| &*b.cluster == c));
        let gone: Vec<Arc<str>> =
            self.topics.get(topic).into_iter().flat_map(BTreeMap::keys).filter(|n| inside(n)).cloned().collect();
        self.withdraw(|name, broker| name == topic && gone.iter().any(|g| **g == *broker));
    }

    /// Adds what `queues` says of brokers that are known (`REGISTER_TOPIC_IN_NAMESRV`).
    pub(crate) fn add_topic(&mut self, topic: &Arc<str>, queues: &[(Arc<str>, Queues)]) {
        for (broker, queues) in queues {
            if self.brokers.contains_key(broker) {
                self.offer(broker, &[(topic.clone(), *queues)]);
            }
        }
    }

    /// Takes the write bit from every topic of a broker; how many topics it has.
    pub(crate) fn wipe_write(&mut self, broker: &str) -> u32 {
        self.change_perm(broker, |perm| perm & !perm::WRITE)
    }

    /// Makes every topic of a broker readable and writable and nothing else; how many topics it has.
    pub(crate) fn add_write(&mut self, broker: &str) -> u32 {
        self.change_perm(broker, |_| perm::READ_WRITE)
    }

    fn change_perm(&mut self, broker: &str, change: impl Fn(u32) -> u32) -> u32 {
        let mut count = 0;
        for queues in self.topics.values_mut().filter_map(|entries| entries.get_mut(broker)) {
            queues.perm = change(queues.perm);
            count += 1;
        }
        count
    }

    fn withdraw(&mut self, gone: impl Fn(&str, &str) -> bool) {
        let mut count = 0;
        self.topics.retain(|topic, entries| {
            let before = entries.len();
            entries.retain(|broker, _| !gone(topic, broker));
            count += before - entries.len();
            !entries.is_empty()
        });
        self.topic_entries -= count;
    }

    pub(crate) fn topic_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.keys()
    }

    /// The topics that a broker of the cluster offers.
    pub(crate) fn topics_of_cluster(&self, cluster: &str) -> impl Iterator<Item = &Arc<str>> {
        let inside = move |name: &str| self.brokers.get(name).is_some_and(|broker| &*broker.cluster == cluster);
        self.topics.iter().filter(move |(_, entries)| entries.keys().any(|name| inside(name))).map(|(topic, _)| topic)
    }

    pub(crate) fn brokers(&self) -> impl Iterator<Item = (&Arc<str>, &Broker)> {
        self.brokers.iter()
    }

    pub(crate) fn broker(&self, name: &str) -> Option<&Broker> {
        self.brokers.get(name)
    }

    /// Each cluster with the names of its brokers.
    pub(crate) fn clusters(&self) -> BTreeMap<&Arc<str>, BTreeSet<&Arc<str>>> {
        let mut clusters: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (name, broker) in &self.brokers {
            clusters.entry(&broker.cluster).or_default().insert(name);
        }
        clusters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use rocketry_machine::Key;

    const LIMITS: NameServerLimits = NameServerLimits::standard();
    const FOUR: Queues = Queues { read: 4, write: 4, perm: 6, sys_flag: 0 };

    fn tables() -> Tables {
        Tables::new(Duration::from_secs(120), LIMITS)
    }

    fn broker(name: &str, id: i64, topics: &[&str]) -> Registration {
        Registration {
            cluster: "C".into(),
            name: name.into(),
            id,
            address: format!("{name}-{id}:10911").into(),
            ha_address: format!("{name}-{id}:10912").into(),
            zone: None,
            acting_master: false,
            expiry: None,
            version: Version::default(),
            topics: topics.iter().map(|topic| (Arc::from(*topic), FOUR)).collect(),
            conn: Some(Key::from_parts(u32::try_from(id).unwrap_or(0), 0).into()),
        }
    }

    #[test]
    fn a_route_needs_queues_and_a_known_broker() {
        let mut tables = tables();
        assert!(tables.route("T").is_none());
        assert_eq!(tables.register(Moment::ZERO, broker("a", 0, &["T", "U"])), Some(Master::default()));
        let route = tables.route("T").expect("registered");
        assert_eq!((route.queues.len(), route.brokers.len()), (1, 1));
        tables.unregister(&"C".into(), "a", 0, &"a-0:10911".into());
        assert!(tables.route("T").is_none());
        assert_eq!(tables.topic_entries, 0);
    }

    #[test]
    fn a_first_registration_with_one_topic_is_refused_but_later_ones_add() {
        let mut tables = tables();
        assert_eq!(tables.register(Moment::ZERO, broker("a", 0, &["T"])), None);
        assert!(tables.register(Moment::ZERO, broker("a", 0, &["T", "U"])).is_some());
        assert!(tables.register(Moment::ZERO, broker("a", 0, &["V"])).is_some());
        assert!(tables.route("T").is_some(), "topics that are missing from a registration stay");
        assert!(tables.route("V").is_some());
    }

    #[test]
    fn a_slave_learns_its_master_and_its_topics_do_not_count() {
        let mut tables = tables();
        tables.register(Moment::ZERO, broker("a", 0, &["T", "U"]));
        let master = tables.register(Moment::ZERO, broker("a", 1, &["T", "W"])).expect("taken");
        assert_eq!(master.address.as_deref(), Some("a-0:10911"));
        assert_eq!(master.ha_address.as_deref(), Some("a-0:10912"));
        assert!(tables.route("W").is_none());
        tables.unregister(&"C".into(), "a", 0, &"a-0:10911".into());
        let route = tables.route("T").expect("the slave still has it");
        assert_eq!(route.brokers[0].1.addresses.keys().copied().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn silence_and_a_lost_connection_end_a_registration() {
        let mut tables = tables();
        tables.register(Moment::ZERO, broker("a", 0, &["T", "U"]));
        let mut quick = broker("b", 1, &["T", "U"]);
        quick.expiry = Some(Duration::from_secs(10));
        tables.register(Moment::ZERO, quick);
        assert_eq!(tables.expire(Moment::from_millis(10_000)), []);
        assert_eq!(tables.expire(Moment::from_millis(10_001)), [Key::from_parts(1, 0).into()]);
        assert!(tables.touch(Moment::from_millis(60_000), &"C".into(), &"a-0:10911".into()).is_some());
        assert_eq!(tables.expire(Moment::from_millis(180_000)), []);
        assert!(tables.close(Key::from_parts(0, 0).into()));
        assert!(!tables.close(Key::from_parts(0, 0).into()));
        assert!(tables.route("T").is_none());
    }

    #[test]
    fn an_older_state_from_another_address_is_refused() {
        let mut tables = tables();
        let mut first = broker("a", 0, &["T", "U"]);
        first.version.state = 5;
        tables.register(Moment::ZERO, first);
        let mut other = broker("a", 0, &["T", "U"]);
        other.address = "elsewhere:10911".into();
        assert_eq!(tables.register(Moment::ZERO, other.clone()), None);
        other.version.state = 6;
        assert!(tables.register(Moment::ZERO, other).is_some());
        let broker = tables.broker("a").expect("known");
        assert_eq!(broker.addresses.get(&0).map(|a| &**a), Some("elsewhere:10911"));
    }

    #[test]
    fn topics_can_be_deleted_by_cluster_and_permissions_changed_by_broker() {
        let mut tables = tables();
        tables.register(Moment::ZERO, broker("a", 0, &["T", "U"]));
        let mut other = broker("b", 0, &["T", "U"]);
        other.cluster = "D".into();
        tables.register(Moment::ZERO, other);
        assert_eq!(tables.wipe_write("a"), 2);
        let perms: Vec<u32> = tables.route("T").expect("there").queues.iter().map(|(_, q)| q.perm).collect();
        assert_eq!(perms, [4, 6]);
        assert_eq!(tables.add_write("a"), 2);
        tables.delete_topic("T", Some("C"));
        assert_eq!(tables.route("T").expect("left in D").queues.len(), 1);
        assert_eq!(tables.topics_of_cluster("C").map(|t| &**t).collect::<Vec<_>>(), ["U"]);
        tables.delete_topic("T", None);
        assert!(tables.route("T").is_none());
        assert_eq!(tables.clusters().len(), 2);
    }
}
