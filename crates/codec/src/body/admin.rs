//! Lists and tables that admin requests carry (wire 5.2, 5.9).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::body;
use super::heartbeat::Subscription;
use super::queue::QueueName;
use super::route::BrokerData;

body! {
    /// A table of text by text.
    pub struct KeyValueTable {
        table: BTreeMap<String, String> = "table",
    }

    /// A list of topics.
    pub struct TopicList {
        broker_address: Option<String> = "brokerAddr",
        topics: BTreeSet<String> = "topicList",
    }

    /// A list of groups.
    pub struct GroupList {
        groups: BTreeSet<String> = "groupList",
    }

    /// Which brokers there are and which cluster they belong to (answer of 106).
    pub struct ClusterInfo {
        brokers: BTreeMap<String, BrokerData> = "brokerAddrTable",
        clusters: BTreeMap<String, BTreeSet<String>> = "clusterAddrTable",
    }

    /// The brokers of one name (answer of 901).
    pub struct MemberGroupReply {
        group: Option<MemberGroup> = "brokerMemberGroup",
    }

    /// The addresses of one broker name, by broker id.
    pub struct MemberGroup {
        addresses: BTreeMap<i64, String> = "brokerAddrs",
        name: String = "brokerName",
        cluster: String = "cluster",
    }

    /// One connected client.
    pub struct Connection {
        address: String = "clientAddr",
        client_id: String = "clientId",
        language: Option<String> = "language",
        version: i32 = "version",
    }

    /// The connected members of a consumer group (answer of 203).
    pub struct ConsumerConnection {
        connections: Vec<Connection> = "connectionSet",
        consume_from_where: Option<String> = "consumeFromWhere",
        consume_type: Option<String> = "consumeType",
        message_model: Option<String> = "messageModel",
        subscriptions: BTreeMap<String, Subscription> = "subscriptionTable",
    }

    /// The connected members of a producer group (answer of 204).
    pub struct ProducerConnection {
        connections: Vec<Connection> = "connectionSet",
    }

    /// All connected producers, by group (answer of 328).
    pub struct Producers {
        groups: BTreeMap<String, Vec<ProducerInfo>> = "data",
    }

    /// One producer of [`Producers`].
    pub struct ProducerInfo {
        client_id: String = "clientId",
        language: Option<String> = "language",
        last_update_ms: i64 = "lastUpdateTimestamp",
        remote_address: String = "remoteIP",
        version: i32 = "version",
    }

    /// What a group subscribes to of a topic (answer of 345).
    pub struct GroupSubscription {
        group: String = "group",
        subscription: Option<Subscription> = "subscriptionData",
        topic: String = "topic",
    }

    /// Whether a group may read a topic (answer of 353).
    pub struct GroupForbidden {
        group: String = "group",
        readable: Option<bool> = "readable",
        topic: String = "topic",
    }

    /// A part of a consume queue (answer of 321).
    pub struct ConsumeQueue {
        filter_data: Option<String> = "filterData",
        max_index: i64 = "maxQueueIndex",
        min_index: i64 = "minQueueIndex",
        entries: Vec<ConsumeQueueEntry> = "queueData",
        subscription: Option<Subscription> = "subscriptionData",
    }

    /// One entry of a [`ConsumeQueue`].
    pub struct ConsumeQueueEntry {
        bit_map: Option<String> = "bitMap",
        /// Whether the group's filter lets it through.
        passes: bool = "eval",
        extend_data: Option<String> = "extendDataJson",
        message: Option<String> = "msg",
        physical_offset: i64 = "physicOffset",
        physical_size: i32 = "physicSize",
        tags_code: i64 = "tagsCode",
    }

    /// How old what a group consumes is (answer of 303).
    pub struct ConsumeTimeSpans {
        spans: Vec<ConsumeTimeSpan> = "consumeTimeSpanSet",
    }

    /// One queue of [`ConsumeTimeSpans`].
    pub struct ConsumeTimeSpan {
        consume_ms: i64 = "consumeTimeStamp",
        consume_text: Option<String> = "consumeTimeStampStr",
        delay_ms: i64 = "delayTime",
        max_ms: i64 = "maxTimeStamp",
        max_text: Option<String> = "maxTimeStampStr",
        queue: Option<QueueName> = "messageQueue",
        min_ms: i64 = "minTimeStamp",
        min_text: Option<String> = "minTimeStampStr",
    }

    /// One value of a broker's statistics over three spans of time (answer of 315).
    pub struct BrokerStats {
        day: StatsItem = "statsDay",
        hour: StatsItem = "statsHour",
        minute: StatsItem = "statsMinute",
    }

    /// One span of [`BrokerStats`].
    pub struct StatsItem {
        average: f64 = "avgpt",
        sum: i64 = "sum",
        tps: f64 = "tps",
    }

    /// A user of a broker with access control (5.3 on).
    pub struct UserInfo {
        password: Option<String> = "password",
        status: Option<String> = "userStatus",
        kind: Option<String> = "userType",
        name: String = "username",
    }

    /// What a subject may do (5.3 on).
    pub struct AclInfo {
        policies: Vec<AclPolicy> = "policies",
        subject: String = "subject",
    }

    /// One policy of an [`AclInfo`].
    pub struct AclPolicy {
        entries: Vec<AclEntry> = "entries",
        kind: Option<String> = "policyType",
    }

    /// One entry of an [`AclPolicy`].
    pub struct AclEntry {
        actions: Vec<String> = "actions",
        decision: Option<String> = "decision",
        resource: Option<String> = "resource",
        source_ips: Vec<String> = "sourceIps",
    }
}
