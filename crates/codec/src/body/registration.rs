//! What brokers tell name servers (wire 5.9).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::body;
use super::route::TopicQueueMapping;

body! {
    /// The version of a table.
    pub struct DataVersion {
        counter: i64 = "counter",
        state_version: i64 = "stateVersion",
        timestamp_ms: i64 = "timestamp",
    }

    /// The configuration of a topic.
    pub struct TopicConfig {
        attributes: Option<BTreeMap<String, String>> = "attributes",
        order: bool = "order",
        permission: i32 = "perm" ? 6,
        read_queues: i32 = "readQueueNums" ? 16,
        filter_type: String = "topicFilterType" ? "SINGLE_TAG".into(),
        topic: String = "topicName",
        sys_flag: i32 = "topicSysFlag",
        write_queues: i32 = "writeQueueNums" ? 16,
    }

    /// All topics of a broker.
    pub struct TopicConfigs {
        data_version: DataVersion = "dataVersion",
        mapping_data_version: Option<DataVersion> = "mappingDataVersion",
        topics: BTreeMap<String, TopicConfig> = "topicConfigTable",
        mapping_info: Option<BTreeMap<String, TopicQueueMapping>> = "topicQueueMappingInfoMap",
    }

    /// What a broker registers at a name server (request 103).
    pub struct RegisterBroker {
        filter_servers: Vec<String> = "filterServerList",
        topics: TopicConfigs = "topicConfigSerializeWrapper",
    }

    /// The configuration of a consumer group.
    pub struct GroupConfig {
        attributes: Option<BTreeMap<String, String>> = "attributes",
        broker_id: i64 = "brokerId",
        consume_broadcast: bool = "consumeBroadcastEnable" ? true,
        consume: bool = "consumeEnable" ? true,
        consume_from_min: bool = "consumeFromMinEnable" ? true,
        orderly: bool = "consumeMessageOrderly",
        consume_timeout_minutes: i32 = "consumeTimeoutMinute" ? 15,
        group: String = "groupName",
        retry_policy: Option<RetryPolicy> = "groupRetryPolicy",
        sys_flag: i32 = "groupSysFlag",
        notify_ids_changed: bool = "notifyConsumerIdsChangedEnable" ? true,
        retry_max_times: i32 = "retryMaxTimes" ? 16,
        retry_queues: i32 = "retryQueueNums" ? 1,
        which_broker_when_slow: i64 = "whichBrokerWhenConsumeSlowly" ? 1,
    }

    /// When a failed message comes again.
    pub struct RetryPolicy {
        customized: Option<CustomizedRetry> = "customizedRetryPolicy",
        exponential: Option<ExponentialRetry> = "exponentialRetryPolicy",
        /// `CUSTOMIZED` or `EXPONENTIAL`.
        kind: String = "type" ? "CUSTOMIZED".into(),
    }

    /// Fixed waits, in milliseconds.
    pub struct CustomizedRetry {
        next_ms: Vec<i64> = "next",
    }

    /// Waits that grow.
    pub struct ExponentialRetry {
        initial_ms: i64 = "initial",
        max_ms: i64 = "max",
        multiplier: i64 = "multiplier",
    }

    /// All groups of a broker (answer of 201).
    pub struct GroupConfigs {
        data_version: DataVersion = "dataVersion",
        groups: BTreeMap<String, GroupConfig> = "subscriptionGroupTable",
    }
}
