//! Pulling (wire 4.2).

use crate::header::macros::{header, request};
use crate::reply::PullMessageReply;

header! {
    /// Pulls messages of one queue; also under code 361 (wire 4.2).
    pub struct PullMessage<'a>: "PullMessageRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// The first wanted offset.
    queue_offset: i64 required = "queueOffset",
    /// Most messages to return.
    max_msg_nums: i32 required = "maxMsgNums",
    /// Bit 0 commit the offset, bit 1 may be held, bit 2 subscription included, bit 3 class filter, bit 4 lite pull.
    sys_flag: i32 required = "sysFlag",
    /// The offset to commit if bit 0 of `sys_flag` is set, else 0.
    commit_offset: i64 required = "commitOffset",
    /// How long the broker may hold the request, in milliseconds.
    suspend_timeout_millis: i64 required = "suspendTimeoutMillis",
    /// The filter expression, if bit 2 of `sys_flag` is set.
    subscription: text optional = "subscription",
    /// The version of the subscription from the heartbeat, or 0.
    sub_version: i64 required = "subVersion",
    /// `TAG` or `SQL92`.
    expression_type: text optional = "expressionType",
    /// Most bytes of messages to return; from 5.0.
    max_msg_bytes: i32 optional = "maxMsgBytes",
    /// -1 client library, 0 ordered proxy, 1 broadcasting proxy, 2 streaming proxy; from 5.0.
    request_source: i32 optional = "requestSource",
    /// The client that a proxy forwards for. The wire name is misspelt.
    proxy_forward_client_id: text optional = "proxyFrowardClientId",
}

request!(PullMessage<'_>, PULL_MESSAGE, PullMessageReply);
