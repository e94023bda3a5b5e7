//! Routes (wire 5.2) and what clients derive from them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::body;

/// The permission bits of a topic.
pub mod permission {
    /// Messages may be read.
    pub const READ: i32 = 4;
    /// Messages may be written.
    pub const WRITE: i32 = 2;
    /// New topics may inherit from this one.
    pub const INHERIT: i32 = 1;
}

/// The most queues of a topic that are believed; more are cut off (`cases.md` COD-02).
pub const MOST_QUEUES: usize = 65_536;

body! {
    /// Where the queues of a topic are (answer of 105).
    pub struct TopicRoute {
        brokers: Vec<BrokerData> = "brokerDatas",
        filter_servers: BTreeMap<String, Vec<String>> = "filterServerTable",
        /// `broker:queues` entries separated by `;`, for ordered topics.
        order_conf: Option<String> = "orderTopicConf",
        queues: Vec<QueueData> = "queueDatas",
        mappings: Option<BTreeMap<String, TopicQueueMapping>> = "topicQueueMappingByBroker",
    }

    /// The addresses of a broker, by broker id; 0 is the master.
    pub struct BrokerData {
        addresses: BTreeMap<i64, String> = "brokerAddrs",
        name: String = "brokerName",
        cluster: String = "cluster",
        acting_master: bool = "enableActingMaster",
        zone: Option<String> = "zoneName",
    }

    /// How many queues a topic has on a broker.
    pub struct QueueData {
        broker_name: String = "brokerName",
        permission: i32 = "perm",
        read_queues: i32 = "readQueueNums",
        sys_flag: i32 = "topicSysFlag" | "topicSynFlag",
        write_queues: i32 = "writeQueueNums",
    }

    /// Which logical queues of a static topic a broker has.
    pub struct TopicQueueMapping {
        broker_name: String = "bname",
        current: BTreeMap<i32, i32> = "currIdMap",
        dirty: bool = "dirty",
        epoch: i64 = "epoch",
        scope: Option<String> = "scope",
        topic: String = "topic",
        total_queues: i32 = "totalQueues",
    }
}

impl TopicRoute {
    /// The queues that a producer may choose from, in Java's order (producer.md 2.4): those of the order configuration if
    /// there is one; else, by broker name, those of writable brokers that have a master. At most [`MOST_QUEUES`].
    #[must_use]
    pub fn publish_queues(&self) -> Vec<(String, i32)> {
        if let Some(conf) = self.order_conf.as_deref().filter(|conf| !conf.trim().is_empty()) {
            return order_queues(conf);
        }
        let with_master: BTreeSet<&str> =
            self.brokers.iter().filter(|broker| broker.master().is_some()).map(|broker| broker.name.as_str()).collect();
        let sorted = self.sorted_queues();
        let writable = sorted.iter().filter(|data| data.permission & permission::WRITE != 0);
        let usable = writable.filter(|data| with_master.contains(data.broker_name.as_str()));
        expand(usable.map(|data| (data.broker_name.as_str(), data.write_queues)))
    }

    /// The queues that consumers share (consumer.md 2.3): those of readable brokers, whether they have a master or not. At
    /// most [`MOST_QUEUES`].
    #[must_use]
    pub fn subscribe_queues(&self) -> Vec<(String, i32)> {
        let sorted = self.sorted_queues();
        let readable = sorted.iter().filter(|data| data.permission & permission::READ != 0);
        expand(readable.map(|data| (data.broker_name.as_str(), data.read_queues)))
    }

    /// What is known of a broker; the last entry of that name counts, as in Java's table.
    #[must_use]
    pub fn broker(&self, name: &str) -> Option<&BrokerData> {
        self.brokers.iter().rfind(|broker| broker.name == name)
    }

    /// Whether the topic is static: its queues are logical ones that brokers map (wire 5.2, producer.md 2.6).
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.mappings.as_ref().is_some_and(|mappings| !mappings.is_empty())
    }

    /// The route of the default topic as that of a topic which does not exist yet: at most so many queues on each broker
    /// (producer.md 2.2).
    pub fn cap_queues(&mut self, most: i32) {
        for data in &mut self.queues {
            let count = most.min(data.read_queues);
            data.read_queues = count;
            data.write_queues = count;
        }
    }

    fn sorted_queues(&self) -> Vec<&QueueData> {
        let mut sorted: Vec<&QueueData> = self.queues.iter().collect();
        sorted.sort_by(|left, right| crate::hash::java_order(&left.broker_name, &right.broker_name));
        sorted
    }
}

impl BrokerData {
    /// The id of a master.
    pub const MASTER: i64 = 0;

    /// The master's address.
    #[must_use]
    pub fn master(&self) -> Option<&str> {
        self.addresses.get(&Self::MASTER).map(String::as_str)
    }

    /// The address of the broker with that id; where there is none, of the master, and where there is no master, of any:
    /// a suggested id may be gone by the time it is used (`cases.md` ROU-07).
    #[must_use]
    pub fn address_near(&self, id: i64) -> Option<&str> {
        self.addresses
            .get(&id)
            .or_else(|| self.addresses.get(&Self::MASTER))
            .or_else(|| self.addresses.values().next())
            .map(String::as_str)
    }
}

fn expand<'a>(counts: impl Iterator<Item = (&'a str, i32)>) -> Vec<(String, i32)> {
    counts.flat_map(|(name, count)| (0..count).map(move |id| (name.to_string(), id))).take(MOST_QUEUES).collect()
}

/// The queues that an order configuration names; entries that cannot be are left out (`cases.md` COD-02).
fn order_queues(conf: &str) -> Vec<(String, i32)> {
    let entries = conf.split(';').filter_map(|entry| {
        let (name, count) = entry.split_once(':')?;
        let count: i32 = count.trim().parse().ok()?;
        (!name.is_empty()).then_some((name, count))
    });
    expand(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::JsonBody;

    fn addresses(text: &str) -> BTreeMap<i64, String> {
        let body = alloc::format!(
            r#"{{"brokerDatas":[{{"brokerAddrs":{text},"brokerName":"b","cluster":"c"}}],"queueDatas":[]}}"#
        );
        let route = TopicRoute::decode(body.as_bytes()).expect("a route");
        route.brokers.first().expect("one broker").addresses.clone()
    }

    fn map(entries: &[(i64, &str)]) -> BTreeMap<i64, String> {
        entries.iter().map(|(id, address)| (*id, (*address).into())).collect()
    }

    #[test]
    fn cod_01_bare_and_quoted_keys_read_alike() {
        assert_eq!(addresses(r#"{0:"a:1"}"#), map(&[(0, "a:1")]));
        assert_eq!(addresses(r#"{"0":"a:1"}"#), map(&[(0, "a:1")]));
        assert_eq!(addresses(r#"{ 0 : "a:1" , 1:"a:2"}"#), map(&[(0, "a:1"), (1, "a:2")]));
        assert_eq!(addresses(r#"{-1:"a:1"}"#), map(&[(-1, "a:1")]));
        assert_eq!(addresses(r#"{"-1":"a:1"}"#), map(&[(-1, "a:1")]));
    }

    #[test]
    fn cod_02_missing_parts_make_a_smaller_route() {
        for text in ["{}", "null", "", r#"{"brokerDatas":null}"#, r#"{"brokerDatas":[{"brokerName":"b"}]}"#] {
            let route = TopicRoute::decode(text.as_bytes()).expect(text);
            assert!(route.publish_queues().is_empty() && route.subscribe_queues().is_empty(), "{text}");
        }
        let route = TopicRoute::decode(br#"{"orderTopicConf":"b-a:4;broken;:3;x:"}"#).expect("a route");
        let expected: Vec<(String, i32)> = (0..4).map(|id| ("b-a".into(), id)).collect();
        assert_eq!(route.publish_queues(), expected);
        let huge = br#"{"queueDatas":[{"brokerName":"b","readQueueNums":-1,"writeQueueNums":2147483647,"perm":6}]}"#;
        let mut route = TopicRoute::decode(huge).expect("a route");
        assert_eq!((route.publish_queues().len(), route.subscribe_queues().len()), (0, 0));
        route.brokers.push(BrokerData { name: "b".into(), addresses: map(&[(0, "a:1")]), ..BrokerData::default() });
        assert_eq!(route.publish_queues().len(), MOST_QUEUES);
        assert!(TopicRoute::decode(b"[1]").is_err() && TopicRoute::decode(b"{").is_err());
    }

    #[test]
    fn cod_03_unknown_members_are_skipped_and_the_last_of_equal_ones_counts() {
        let text = br#"{"x":[{"y":1}],"orderTopicConf":"a:1","orderTopicConf":"a:2\u0000",
            "queueDatas":[{"perm":"6","brokerName":"b","readQueueNums":"4","/*":0/* here */}]}"#;
        let route = TopicRoute::decode(text).expect("a route");
        assert_eq!(route.order_conf.as_deref(), Some("a:2\0"));
        assert_eq!(route.queues.first().map(|data| (data.permission, data.read_queues)), Some((6, 4)));
    }

    #[test]
    fn queues_are_counted_up_to_the_limit_over_all_brokers() {
        let data = |name: &str, read_queues| QueueData {
            broker_name: name.into(),
            permission: permission::READ,
            read_queues,
            ..QueueData::default()
        };
        let most = i32::try_from(MOST_QUEUES).expect("a small number");
        let mut route = TopicRoute { queues: [data("a", most - 1), data("b", 1)].into(), ..TopicRoute::default() };
        assert_eq!(route.subscribe_queues().last(), Some(&("b".into(), 0)));
        route.queues.push(data("c", 1));
        assert_eq!(route.subscribe_queues().len(), MOST_QUEUES);
    }

    #[test]
    fn queues_come_by_broker_name_and_permission() {
        let text = br#"{"brokerDatas":[{"brokerName":"b","brokerAddrs":{0:"b:1"}},{"brokerName":"a","brokerAddrs":{0:"a:1",1:"a:2"}},
            {"brokerName":"c","brokerAddrs":{1:"c:2"}}],"queueDatas":[
            {"brokerName":"b","perm":6,"readQueueNums":1,"writeQueueNums":2},{"brokerName":"c","perm":6,"readQueueNums":1,"writeQueueNums":1},
            {"brokerName":"a","perm":2,"readQueueNums":5,"writeQueueNums":1},{"brokerName":"d","perm":4,"readQueueNums":1,"writeQueueNums":9}]}"#;
        let route = TopicRoute::decode(text).expect("a route");
        let names = |queues: Vec<(String, i32)>| {
            queues.iter().map(|(name, id)| alloc::format!("{name}{id}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(route.publish_queues()), "a0 b0 b1");
        assert_eq!(names(route.subscribe_queues()), "b0 c0 d0");
        assert!(!route.is_static());
    }

    #[test]
    fn rou_07_an_unknown_id_falls_back_to_a_known_address() {
        let broker = |entries| BrokerData { addresses: map(entries), ..BrokerData::default() };
        let both = broker(&[(0, "a:0"), (1, "a:1")]);
        assert_eq!(
            (both.address_near(1), both.address_near(5), both.master()),
            (Some("a:1"), Some("a:0"), Some("a:0"))
        );
        let slaves = broker(&[(2, "a:2")]);
        assert_eq!((slaves.address_near(5), slaves.master()), (Some("a:2"), None));
        assert_eq!(broker(&[]).address_near(0), None);
    }

    #[test]
    fn the_spelling_of_old_name_servers_is_read() {
        let route = TopicRoute::decode(br#"{"queueDatas":[{"brokerName":"b","topicSynFlag":3}]}"#).expect("a route");
        assert_eq!(route.queues.first().map(|data| data.sys_flag), Some(3));
    }
}
