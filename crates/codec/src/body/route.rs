//! Routes (wire 5.2) and what clients derive from them.

use alloc::collections::BTreeMap;
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
    /// there is one; else, by broker name, those of writable brokers that have a master.
    #[must_use]
    pub fn publish_queues(&self) -> Vec<(String, i32)> {
        if let Some(conf) = self.order_conf.as_deref().filter(|conf| !conf.trim().is_empty()) {
            return order_queues(conf);
        }
        let has_master =
            |name: &str| self.brokers.iter().any(|broker| broker.name == name && broker.addresses.contains_key(&0));
        let writable = |data: &&&QueueData| data.permission & permission::WRITE != 0 && has_master(&data.broker_name);
        let sorted = self.sorted_queues();
        let counts = sorted.iter().filter(writable).map(|data| (data.broker_name.as_str(), data.write_queues));
        expand(counts)
    }

    /// The queues that consumers share (consumer.md 2.3): those of readable brokers, whether they have a master or not.
    #[must_use]
    pub fn subscribe_queues(&self) -> Vec<(String, i32)> {
        let sorted = self.sorted_queues();
        let readable = sorted.iter().filter(|data| data.permission & permission::READ != 0);
        expand(readable.map(|data| (data.broker_name.as_str(), data.read_queues)))
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

    #[test]
    fn cod_01_bare_and_quoted_keys_read_alike() {
        let plain = addresses(r#"{0:"a:1"}"#);
        assert_eq!(plain.get(&0).map(String::as_str), Some("a:1"));
        assert_eq!(addresses(r#"{"0":"a:1"}"#), plain);
        assert_eq!(addresses(r#"{ 0 : "a:1" , 1:"a:2"}"#).len(), 2);
        assert_eq!(addresses(r#"{-1:"a:1"}"#), addresses(r#"{"-1":"a:1"}"#));
    }

    #[test]
    fn cod_02_missing_parts_make_a_smaller_route() {
        for text in ["{}", "null", "", r#"{"brokerDatas":null}"#, r#"{"brokerDatas":[{"brokerName":"b"}]}"#] {
            let route = TopicRoute::decode(text.as_bytes()).expect(text);
            assert!(route.publish_queues().is_empty() && route.subscribe_queues().is_empty(), "{text}");
        }
        let route = TopicRoute::decode(br#"{"orderTopicConf":"b-a:4;broken;:3;x:"}"#).expect("a route");
        assert_eq!(route.publish_queues().len(), 4);
        let huge = br#"{"brokerDatas":[{"brokerName":"b","brokerAddrs":{"0":"a:1"}}],
            "queueDatas":[{"brokerName":"b","readQueueNums":-1,"writeQueueNums":2147483647,"perm":6}]}"#;
        let route = TopicRoute::decode(huge).expect("a route");
        assert_eq!((route.publish_queues().len(), route.subscribe_queues().len()), (MOST_QUEUES, 0));
    }

    #[test]
    fn cod_03_unknown_members_are_skipped_and_the_last_of_equal_ones_counts() {
        let text = br#"{"x":[{"y":1}],"orderTopicConf":"a:1","orderTopicConf":"a:2\u0000","queueDatas":[]}"#;
        let route = TopicRoute::decode(text).expect("a route");
        assert_eq!(route.order_conf.as_deref(), Some("a:2\0"));
    }
}
