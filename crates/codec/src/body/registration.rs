//! What brokers tell name servers, and how topics and groups are configured (wire 5.9).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::route::TopicQueueMapping;
use super::{JsonBody, body};
use crate::json::{FromJson, JsonWriter, ToJson, Value};

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
        /// The whole mappings of static topics, from 5.0 on.
        mapping_details: Option<BTreeMap<String, TopicQueueMappingDetail>> = "topicQueueMappingDetailMap",
        /// What routes say of them.
        mapping_info: Option<BTreeMap<String, TopicQueueMapping>> = "topicQueueMappingInfoMap",
    }

    /// The whole mapping of a static topic on one broker (request 513).
    pub struct TopicQueueMappingDetail {
        broker_name: String = "bname",
        current: BTreeMap<i32, i32> = "currIdMap",
        dirty: bool = "dirty",
        epoch: i64 = "epoch",
        /// The physical queues behind each logical one, oldest first.
        hosted: BTreeMap<i32, Vec<MappingItem>> = "hostedQueues",
        scope: Option<String> = "scope",
        topic: String = "topic",
        total_queues: i32 = "totalQueues",
    }

    /// A physical queue that holds a span of a logical one.
    pub struct MappingItem {
        broker_name: String = "bname",
        /// Where the span ends in the physical queue; -1 while it is open.
        end_offset: i64 = "endOffset" ? -1,
        generation: i32 = "gen",
        /// Where the span begins in the logical queue.
        logic_offset: i64 = "logicOffset",
        queue_id: i32 = "queueId",
        /// Where the span begins in the physical queue.
        start_offset: i64 = "startOffset",
        end_ms: i64 = "timeOfEnd" ? -1,
        start_ms: i64 = "timeOfStart" ? -1,
    }

    /// Creates or changes many topics at once (request 18).
    pub struct TopicConfigList {
        topics: Vec<TopicConfig> = "topicConfigList",
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
        /// What members may subscribe to, where a broker restricts it (5.0 on).
        subscriptions: Option<Vec<SimpleSubscription>> = "subscriptionDataSet",
        which_broker_when_slow: i64 = "whichBrokerWhenConsumeSlowly" ? 1,
    }

    /// One entry of [`GroupConfig::subscriptions`].
    pub struct SimpleSubscription {
        expression: String = "expression",
        /// `TAG` or `SQL92`.
        expression_type: String = "expressionType" ? "TAG".into(),
        topic: String = "topic",
        version: i64 = "version",
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
        /// Permissions taken from a group by topic; newest brokers only.
        forbidden: Option<BTreeMap<String, BTreeMap<String, i32>>> = "forbiddenTable",
        groups: BTreeMap<String, GroupConfig> = "subscriptionGroupTable",
    }

    /// Creates or changes many groups at once (request 225).
    pub struct GroupConfigList {
        groups: Vec<GroupConfig> = "groupConfigList",
    }
}

/// The configuration of a topic and, of a static one, its mapping (answer of 351): one object with the members of both.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(clippy::exhaustive_structs)] // built by literal
pub struct TopicConfigReply {
    /// The configuration.
    pub config: TopicConfig,
    /// The mapping.
    pub mapping: Option<TopicQueueMappingDetail>,
}

impl FromJson for TopicConfigReply {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        let mapping = value.as_object()?.get("mappingDetail").and_then(TopicQueueMappingDetail::from_json);
        Some(Self { config: TopicConfig::from_json(value)?, mapping })
    }
}

impl ToJson for TopicConfigReply {
    fn write_json(&self, out: &mut JsonWriter) {
        let Self { config, mapping } = self;
        out.object(|out| {
            out.member("attributes", &config.attributes);
            out.member("mappingDetail", mapping);
            out.member("order", &config.order);
            out.member("perm", &config.permission);
            out.member("readQueueNums", &config.read_queues);
            out.member("topicFilterType", &config.filter_type);
            out.member("topicName", &config.topic);
            out.member("topicSysFlag", &config.sys_flag);
            out.member("writeQueueNums", &config.write_queues);
        });
    }
}

impl JsonBody for TopicConfigReply {}
