//! Groups and locks (wire 4.6, 4.14).

use crate::header::macros::{header, request};
use crate::reply::{GetConsumerListByGroupReply, NoFields};

header! {
    /// Lists the client ids of a consumer group (wire 4.6).
    pub struct GetConsumerListByGroup<'a>: "GetConsumerListByGroupRequestHeader" + rpc;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
}

header! {
    /// Locks the queues in the body for ordered consumption (wire 4.6).
    pub struct LockBatchMq<'a>: "LockBatchMqRequestHeader" + rpc;
}

header! {
    /// Unlocks the queues in the body (wire 4.6).
    pub struct UnlockBatchMq<'a>: "UnlockBatchMqRequestHeader" + rpc;
}

header! {
    /// Deletes a consumer group (wire 4.14).
    pub struct DeleteSubscriptionGroup<'a>: "DeleteSubscriptionGroupRequestHeader" + rpc;
    /// The consumer group.
    group_name: text required = "groupName",
    /// Whether the offsets go too; called `removeOffset` in 4.9.
    clean_offset: bool always = "cleanOffset",
}

header! {
    /// Reads the configuration of a consumer group (wire 4.14).
    pub struct GetSubscriptionGroupConfig<'a>: "GetSubscriptionGroupConfigRequestHeader" + rpc;
    /// The consumer group.
    group: text required = "group",
}

header! {
    /// Lists the clients of a consumer group (wire 4.14).
    pub struct GetConsumerConnectionList<'a>: "GetConsumerConnectionListRequestHeader" + rpc;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
}

header! {
    /// Lists the clients of a producer group (wire 4.14).
    pub struct GetProducerConnectionList<'a>: "GetProducerConnectionListRequestHeader" + rpc;
    /// The producer group.
    producer_group: text required = "producerGroup",
}

header! {
    /// Reads or sets whether a group may read a topic (wire 4.14).
    pub struct UpdateGroupForbidden<'a>: "UpdateGroupForbiddenRequestHeader" + topic;
    /// The consumer group.
    group: text required = "group",
    /// The topic.
    topic: text required = "topic",
    /// Whether the group may read the topic; absent asks.
    readable: bool optional = "readable",
}

header! {
    /// Offsets and lag of a group (wire 4.14).
    pub struct GetConsumeStats<'a>: "GetConsumeStatsRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text optional = "topic",
    /// Topics, joined by `;`.
    topic_list: text optional = "topicList",
}

header! {
    /// Offsets and lag of all groups of a broker (wire 4.14).
    pub struct GetConsumeStatsInBroker: "GetConsumeStatsInBrokerHeader";
    /// Whether only ordered groups are wanted.
    is_order: bool required = "isOrder",
}

header! {
    /// Lists all producers (wire 4.14).
    pub struct GetAllProducerInfo: "GetAllProducerInfoRequestHeader";
}

request!(GetConsumerListByGroup<'_>, GET_CONSUMER_LIST_BY_GROUP, GetConsumerListByGroupReply);
request!(LockBatchMq<'_>, LOCK_BATCH_MQ, NoFields);
request!(UnlockBatchMq<'_>, UNLOCK_BATCH_MQ, NoFields);
request!(DeleteSubscriptionGroup<'_>, DELETE_SUBSCRIPTIONGROUP, NoFields);
request!(GetSubscriptionGroupConfig<'_>, GET_SUBSCRIPTIONGROUP_CONFIG, NoFields);
request!(GetConsumerConnectionList<'_>, GET_CONSUMER_CONNECTION_LIST, NoFields);
request!(GetProducerConnectionList<'_>, GET_PRODUCER_CONNECTION_LIST, NoFields);
request!(UpdateGroupForbidden<'_>, UPDATE_AND_GET_GROUP_FORBIDDEN, NoFields);
request!(GetConsumeStats<'_>, GET_CONSUME_STATS, NoFields);
request!(GetConsumeStatsInBroker, GET_BROKER_CONSUME_STATS, NoFields);
request!(GetAllProducerInfo, GET_ALL_PRODUCER_INFO, NoFields);
