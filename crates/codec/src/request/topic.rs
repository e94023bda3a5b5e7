//! Topics (wire 4.14).

use crate::header::macros::{header, request};
use crate::reply::NoFields;

header! {
    /// Creates or alters a topic (wire 4.14).
    pub struct CreateTopic<'a>: "CreateTopicRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The topic that serves as template when the topic is created.
    default_topic: text required = "defaultTopic",
    /// Number of queues that can be read.
    read_queue_nums: i32 required = "readQueueNums",
    /// Number of queues that can be written.
    write_queue_nums: i32 required = "writeQueueNums",
    /// Permission bits: 4 read, 2 write, 1 inherit, 8 priority.
    perm: i32 required = "perm",
    /// `SINGLE_TAG` or `MULTI_TAG`.
    topic_filter_type: text required = "topicFilterType",
    /// Flag bits of the topic: bit 0 unit, bit 1 subscribed by units.
    topic_sys_flag: i32 optional = "topicSysFlag",
    /// Whether order is kept.
    order: bool required = "order",
    /// Changes of attributes: `+key=value` sets, `-key` deletes, comma between; from 5.0.
    attributes: text optional = "attributes",
    /// Whether to skip the checks of attributes; from 5.0.
    force: bool optional = "force",
}

header! {
    /// Creates or alters the topics in the body (wire 4.14).
    pub struct CreateTopicList<'a>: "CreateTopicListRequestHeader" + rpc;
}

header! {
    /// Deletes a topic from a broker (wire 4.14).
    pub struct DeleteTopic<'a>: "DeleteTopicRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
}

header! {
    /// Reads the configuration of a topic (wire 4.14).
    pub struct GetTopicConfig<'a>: "GetTopicConfigRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
}

header! {
    /// Offsets of every queue of a topic (wire 4.14).
    pub struct GetTopicStatsInfo<'a>: "GetTopicStatsInfoRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
}

request!(CreateTopic<'_>, UPDATE_AND_CREATE_TOPIC, NoFields);
request!(CreateTopicList<'_>, UPDATE_AND_CREATE_TOPIC_LIST, NoFields);
request!(DeleteTopic<'_>, DELETE_TOPIC_IN_BROKER, NoFields);
request!(GetTopicConfig<'_>, GET_TOPIC_CONFIG, NoFields);
request!(GetTopicStatsInfo<'_>, GET_TOPIC_STATS_INFO, NoFields);
