//! Who is connected for which group, and what each group subscribes to (`spec/broker.md` 6).
//!
//! A member is a *connection*: a second client id on the same connection replaces the first, and one client id on two
//! connections is listed twice. Subscriptions belong to the group, not to the member: the latest heartbeat decides
//! which topics there are, and a known topic is replaced only by a greater version.
//!
//! Every change says what it was, so that the caller can tell the members; a member leaves when it unregisters, when
//! its connection closes, or when it has been silent for 120 s, which a scan every 10 s finds.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::codes::{Language, Version};
use rocketry_codec::filter::SqlExpression;
use rocketry_machine::{ConnId, Moment};

/// A client that sends no heartbeat for longer is dropped.
pub(crate) const CLIENT_EXPIRY: Duration = Duration::from_secs(120);

/// What a connection said about itself.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) client: Arc<str>,
    pub(crate) language: Language,
    pub(crate) version: Version,
    pub(crate) last_heartbeat: Moment,
}

/// How a group gets its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ConsumeType {
    /// The application pulls.
    Actively,
    /// The client pulls on behalf of a listener.
    #[default]
    Passively,
    /// The broker hands out messages.
    Pop,
}

/// Where a group starts that has no position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StartFrom {
    /// After the newest message.
    #[default]
    Last,
    /// At the oldest message.
    First,
    /// At a time.
    Timestamp,
}

/// The kind of a group, which the latest heartbeat decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupKind {
    pub(crate) consume_type: ConsumeType,
    pub(crate) broadcasting: bool,
    pub(crate) start_from: StartFrom,
}

/// What a group wants of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) expression: Arc<str>,
    pub(crate) by_tag: bool,
    pub(crate) expression_type: Arc<str>,
    pub(crate) tags: Vec<Arc<str>>,
    pub(crate) codes: Vec<i32>,
    /// The compiled expression of a type other than tags; nothing where it did not compile.
    pub(crate) sql: Option<Arc<SqlExpression>>,
    pub(crate) version: i64,
}

/// The members and subscriptions of a consumer group.
#[derive(Debug, Default)]
pub(crate) struct ConsumerGroup {
    pub(crate) kind: GroupKind,
    pub(crate) members: BTreeMap<ConnId, Member>,
    pub(crate) subscriptions: BTreeMap<Arc<str>, Subscription>,
    pub(crate) fingerprint: Option<i32>,
}

/// What a heartbeat changed in a consumer group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// A connection joined the group.
    pub(crate) joined: bool,
    /// A topic was added or removed.
    pub(crate) topics: bool,
}

/// All members of all groups.
#[derive(Debug)]
pub(crate) struct Clients {
    consumers: BTreeMap<Arc<str>, ConsumerGroup>,
    producers: BTreeMap<Arc<str>, BTreeMap<ConnId, Member>>,
    limit: usize,
}

impl Clients {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { consumers: BTreeMap::new(), producers: BTreeMap::new(), limit }
    }

    pub(crate) fn consumer(&self, group: &str) -> Option<&ConsumerGroup> {
        self.consumers.get(group)
    }

    pub(crate) fn consumers(&self) -> impl Iterator<Item = (&Arc<str>, &ConsumerGroup)> {
        self.consumers.iter()
    }

    pub(crate) fn producer(&self, group: &str) -> Option<&BTreeMap<ConnId, Member>> {
        self.producers.get(group)
    }

    /// A consumer entry of a heartbeat. Without `subscriptions` only the liveness of the member is renewed.
    pub(crate) fn heartbeat(
        &mut self,
        conn: ConnId,
        member: Member,
        group: &str,
        kind: GroupKind,
        subscriptions: Option<BTreeMap<Arc<str>, Subscription>>,
    ) -> Change {
        if !self.consumers.contains_key(group) {
            if self.consumers.len() >= self.limit {
                return Change::default();
            }
            self.consumers.insert(group.into(), ConsumerGroup::default());
        }
        let Some(state) = self.consumers.get_mut(group) else { return Change::default() };
        state.kind = kind;
        let joined = state.members.insert(conn, member).is_none();
        let topics = subscriptions.is_some_and(|wanted| state.merge(wanted));
        Change { joined, topics }
    }

    /// Stores the fingerprint of a group's heartbeat and says whether it differs from the one before, if there was one.
    pub(crate) fn fingerprint(&mut self, group: &str, fingerprint: i32) -> bool {
        let Some(state) = self.consumers.get_mut(group) else { return false };
        state.fingerprint.replace(fingerprint).is_some_and(|before| before != fingerprint)
    }

    /// A producer entry of a heartbeat.
    pub(crate) fn produce(&mut self, conn: ConnId, member: Member, group: &str) {
        if !self.producers.contains_key(group) {
            if self.producers.len() >= self.limit {
                return;
            }
            self.producers.insert(group.into(), BTreeMap::new());
        }
        if let Some(members) = self.producers.get_mut(group) {
            members.insert(conn, member);
        }
    }

    /// A connection leaves a consumer group; says whether it was in it.
    pub(crate) fn leave(&mut self, conn: ConnId, group: &str) -> bool {
        let Some(state) = self.consumers.get_mut(group) else { return false };
        let was = state.members.remove(&conn).is_some();
        if state.members.is_empty() {
            self.consumers.remove(group);
        }
        was
    }

    /// A connection leaves a producer group.
    pub(crate) fn stop_producing(&mut self, conn: ConnId, group: &str) {
        if let Some(members) = self.producers.get_mut(group) {
            members.remove(&conn);
            if members.is_empty() {
                self.producers.remove(group);
            }
        }
    }

    /// A connection is gone; the consumer groups that it leaves behind with other members.
    pub(crate) fn close(&mut self, conn: ConnId) -> Vec<Arc<str>> {
        let mut left = Vec::new();
        self.consumers.retain(|group, state| {
            if state.members.remove(&conn).is_some() && !state.members.is_empty() {
                left.push(group.clone());
            }
            !state.members.is_empty()
        });
        self.producers.retain(|_, members| {
            members.remove(&conn);
            !members.is_empty()
        });
        left
    }

    /// Drops the members that have been silent too long, and says which connections to close.
    pub(crate) fn expire(&mut self, now: Moment) -> Vec<ConnId> {
        let mut silent = Vec::new();
        let mut keep = |members: &mut BTreeMap<ConnId, Member>| {
            members.retain(|conn, member| {
                let alive = now.since(member.last_heartbeat) <= CLIENT_EXPIRY;
                if !alive {
                    silent.push(*conn);
                }
                alive
            });
            !members.is_empty()
        };
        self.consumers.retain(|_, state| keep(&mut state.members));
        self.producers.retain(|_, members| keep(members));
        silent.sort_unstable();
        silent.dedup();
        silent
    }
}

impl ConsumerGroup {
    /// Takes over the subscriptions of a heartbeat; says whether a topic came or went.
    fn merge(&mut self, wanted: BTreeMap<Arc<str>, Subscription>) -> bool {
        let before = self.subscriptions.len();
        self.subscriptions.retain(|topic, _| wanted.contains_key(topic));
        let mut changed = self.subscriptions.len() < before;
        for (topic, subscription) in wanted {
            match self.subscriptions.get_mut(&topic) {
                Some(known) if subscription.version > known.version => *known = subscription,
                Some(_) => {}
                None => {
                    self.subscriptions.insert(topic, subscription);
                    changed = true;
                }
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocketry_machine::Key;

    fn conn(index: u32) -> ConnId {
        Key::from_parts(index, 0).into()
    }

    fn member(client: &str, at: Moment) -> Member {
        Member { client: client.into(), language: Language::JAVA, version: Version::V5_3_3, last_heartbeat: at }
    }

    fn wants(topics: &[(&str, i64)]) -> Option<BTreeMap<Arc<str>, Subscription>> {
        let subscription = |version| Subscription {
            expression: "*".into(),
            by_tag: true,
            expression_type: "TAG".into(),
            tags: Vec::new(),
            codes: Vec::new(),
            sql: None,
            version,
        };
        Some(topics.iter().map(|(topic, version)| ((*topic).into(), subscription(*version))).collect())
    }

    #[test]
    fn the_same_heartbeat_again_changes_nothing() {
        let mut clients = Clients::new(10);
        let mut beat = |topics: &[(&str, i64)]| {
            clients.heartbeat(conn(1), member("a", Moment::ZERO), "g", GroupKind::default(), wants(topics))
        };
        assert_eq!(beat(&[("t", 1)]), Change { joined: true, topics: true });
        assert_eq!(beat(&[("t", 1)]), Change::default());
        assert_eq!(beat(&[("t", 2)]), Change::default(), "only the version changed");
        assert_eq!(beat(&[("u", 1)]), Change { joined: false, topics: true });
    }

    #[test]
    fn only_a_greater_version_replaces_a_subscription() {
        let mut clients = Clients::new(10);
        for version in [5, 4, 6, 6] {
            clients.heartbeat(conn(1), member("a", Moment::ZERO), "g", GroupKind::default(), wants(&[("t", version)]));
            let stored = clients.consumer("g").expect("it has a member").subscriptions["t"].version;
            assert_eq!(stored, version.max(5));
        }
    }

    #[test]
    fn a_closed_connection_leaves_all_its_groups() {
        let mut clients = Clients::new(10);
        for (id, group) in [(1, "g"), (2, "g"), (1, "alone")] {
            clients.heartbeat(conn(id), member("a", Moment::ZERO), group, GroupKind::default(), wants(&[]));
        }
        clients.produce(conn(1), member("a", Moment::ZERO), "p");
        assert_eq!(clients.close(conn(1)), [Arc::from("g")]);
        assert!(clients.consumer("alone").is_none(), "a group without members vanishes");
        assert!(clients.producer("p").is_none());
        assert!(clients.leave(conn(2), "g"));
        assert!(!clients.leave(conn(2), "g"));
    }

    #[test]
    fn silence_of_more_than_120_s_ends_a_membership() {
        let mut clients = Clients::new(10);
        clients.heartbeat(conn(1), member("a", Moment::ZERO), "g", GroupKind::default(), wants(&[]));
        clients.produce(conn(1), member("a", Moment::ZERO), "p");
        clients.produce(conn(2), member("b", Moment::from_millis(5)), "p");
        assert_eq!(clients.expire(Moment::from_millis(120_000)), []);
        assert_eq!(clients.expire(Moment::from_millis(120_001)), [conn(1)]);
        assert_eq!(clients.producer("p").map(BTreeMap::len), Some(1));
    }

    #[test]
    fn a_fingerprint_counts_as_changed_only_against_another_one() {
        let mut clients = Clients::new(10);
        clients.heartbeat(conn(1), member("a", Moment::ZERO), "g", GroupKind::default(), wants(&[]));
        assert!(!clients.fingerprint("g", 7), "first contact");
        assert!(!clients.fingerprint("g", 7));
        assert!(clients.fingerprint("g", 8));
        assert!(clients.fingerprint("g", 0), "a plain heartbeat stores 0");
    }
}
