//! Looking up messages and subscriptions (wire 4.7, 4.14).

use crate::header::macros::{header, request};
use crate::reply::{NoFields, QueryMessageReply, ViewMessageReply};

header! {
    /// Finds messages by key (wire 4.7).
    pub struct QueryMessage<'a>: "QueryMessageRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// A key or a unique key.
    key: text required = "key",
    /// Most messages to return.
    max_num: i32 required = "maxNum",
    /// From when, in milliseconds since the epoch.
    begin_timestamp: i64 required = "beginTimestamp",
    /// Until when, in milliseconds since the epoch.
    end_timestamp: i64 required = "endTimestamp",
    /// Whether `key` is a unique key; `max_num` counts as 32 then.
    unique_key: bool bare = "_UNIQUE_KEY_QUERY",
}

header! {
    /// Reads one message by its place in the commit log (wire 4.7).
    pub struct ViewMessage<'a>: "ViewMessageRequestHeader";
    /// The topic; from 5.3, for access control.
    topic: text optional = "topic",
    /// The offset in the commit log, from the offset message id.
    offset: i64 required = "offset",
}

header! {
    /// Reads entries of a consume queue (wire 4.14).
    pub struct QueryConsumeQueue<'a>: "QueryConsumeQueueRequestHeader" + topic;
    /// The topic.
    topic: text optional = "topic",
    /// The queue.
    queue_id: i32 always = "queueId",
    /// The index in the consume queue to start at.
    index: i64 always = "index",
    /// How many entries to return.
    count: i32 always = "count",
    /// The consumer group.
    consumer_group: text optional = "consumerGroup",
}

header! {
    /// Asks how far back a group is, in time (wire 4.14).
    pub struct QueryConsumeTimeSpan<'a>: "QueryConsumeTimeSpanRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The consumer group.
    group: text required = "group",
}

header! {
    /// Asks what a group subscribes to in a topic (wire 4.14).
    pub struct QuerySubscriptionByConsumer<'a>: "QuerySubscriptionByConsumerRequestHeader" + topic;
    /// The consumer group.
    group: text required = "group",
    /// The topic.
    topic: text optional = "topic",
}

header! {
    /// Lists the groups of a topic (wire 4.14).
    pub struct QueryTopicConsumeByWho<'a>: "QueryTopicConsumeByWhoRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
}

header! {
    /// Lists the topics of a group (wire 4.14).
    pub struct QueryTopicsByConsumer<'a>: "QueryTopicsByConsumerRequestHeader" + rpc;
    /// The consumer group.
    group: text required = "group",
}

request!(QueryMessage<'_>, QUERY_MESSAGE, QueryMessageReply);
request!(ViewMessage<'_>, VIEW_MESSAGE_BY_ID, ViewMessageReply);
request!(QueryConsumeQueue<'_>, QUERY_CONSUME_QUEUE, NoFields);
request!(QueryConsumeTimeSpan<'_>, QUERY_CONSUME_TIME_SPAN, NoFields);
request!(QuerySubscriptionByConsumer<'_>, QUERY_SUBSCRIPTION_BY_CONSUMER, NoFields);
request!(QueryTopicConsumeByWho<'_>, QUERY_TOPIC_CONSUME_BY_WHO, NoFields);
request!(QueryTopicsByConsumer<'_>, QUERY_TOPICS_BY_CONSUMER, NoFields);
