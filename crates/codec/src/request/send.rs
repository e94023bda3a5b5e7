//! Sending: messages, retries, recalls and pushed replies (wire 4.1, 4.8, 4.10, 4.12).

use crate::header::macros::{header, request};
use crate::reply::{NoFields, RecallMessageReply, SendMessageReply};

header! {
    /// Sends a message under long field names; also code 324 (wire 4.1).
    pub struct SendMessage<'a>: "SendMessageRequestHeader" + topic;
    /// The producer group.
    producer_group: text required = "producerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The topic that serves as template when the topic is created.
    default_topic: text required = "defaultTopic",
    /// Queues of a topic that is created by the send.
    default_topic_queue_nums: i32 required = "defaultTopicQueueNums",
    /// The queue; negative lets the broker choose.
    queue_id: i32 required = "queueId",
    /// Bits of wire 6.2; a client sets compression and transaction only.
    sys_flag: i32 required = "sysFlag",
    /// When the message was made, in milliseconds since the epoch.
    born_timestamp: i64 required = "bornTimestamp",
    /// The user's flag, stored as it is.
    flag: i32 required = "flag",
    /// The properties of the message (wire 6.4).
    properties: text optional = "properties",
    /// How often the message was delivered before.
    reconsume_times: i32 optional = "reconsumeTimes",
    /// Unit mode; false.
    unit_mode: bool optional = "unitMode",
    /// Whether the body is a batch.
    batch: bool optional = "batch",
    /// Deliveries after which a message becomes a dead letter.
    max_reconsume_times: i32 optional = "maxReconsumeTimes",
}

header! {
    /// Sends a message or a batch under field names of one letter; also codes 320 and 325 (wire 4.1).
    pub struct SendMessageV2<'a>: "SendMessageRequestHeaderV2" + topic;
    /// The producer group.
    producer_group: text required = "a",
    /// The topic.
    topic: text required = "b",
    /// The topic that serves as template when the topic is created.
    default_topic: text required = "c",
    /// Queues of a topic that is created by the send.
    default_topic_queue_nums: i32 required = "d",
    /// The queue; negative lets the broker choose.
    queue_id: i32 required = "e",
    /// Bits of wire 6.2; a client sets compression and transaction only.
    sys_flag: i32 required = "f",
    /// When the message was made, in milliseconds since the epoch.
    born_timestamp: i64 required = "g",
    /// The user's flag, stored as it is.
    flag: i32 required = "h",
    /// The properties of the message (wire 6.4).
    properties: text optional = "i",
    /// How often the message was delivered before.
    reconsume_times: i32 optional = "j",
    /// Unit mode; false.
    unit_mode: bool optional = "k",
    /// Deliveries after which a message becomes a dead letter.
    max_reconsume_times: i32 optional = "l",
    /// Whether the body is a batch.
    batch: bool optional = "m",
    /// The broker's name, for proxies; from 4.9.5 and 5.1.
    broker_name: text optional = "n",
}

header! {
    /// Moves a message to the retry topic or to the dead letters (wire 4.8).
    pub struct ConsumerSendMsgBack<'a>: "ConsumerSendMsgBackRequestHeader" + rpc;
    /// The message's offset in the commit log.
    offset: i64 required = "offset",
    /// The consumer group.
    group: text required = "group",
    /// 0: the broker picks 3 + reconsume times; below 0: straight to the dead letters; above 0: that level.
    delay_level: i32 required = "delayLevel",
    /// The offset message id.
    origin_msg_id: text optional = "originMsgId",
    /// The topic that the message was first sent to.
    origin_topic: text optional = "originTopic",
    /// Unit mode; false.
    unit_mode: bool always = "unitMode",
    /// Deliveries after which a message becomes a dead letter.
    max_reconsume_times: i32 optional = "maxReconsumeTimes",
}

header! {
    /// Cancels a timed message (wire 4.12; 5.3.2).
    pub struct RecallMessage<'a>: "RecallMessageRequestHeader" + topic;
    /// The producer group.
    producer_group: text optional = "producerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The handle that recalls a timed message; from 5.3.2 (wire 7.6).
    recall_handle: text required = "recallHandle",
}

header! {
    /// A broker pushes a reply to the client that waits for it (wire 4.10).
    pub struct PushReplyMessage<'a>: "ReplyMessageRequestHeader" + topic;
    /// The producer group.
    producer_group: text required = "producerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The topic that serves as template when the topic is created.
    default_topic: text required = "defaultTopic",
    /// Queues of a topic that is created by the send.
    default_topic_queue_nums: i32 required = "defaultTopicQueueNums",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// Flag bits.
    sys_flag: i32 required = "sysFlag",
    /// When the message was made, in milliseconds since the epoch.
    born_timestamp: i64 required = "bornTimestamp",
    /// The user's flag, stored as it is.
    flag: i32 required = "flag",
    /// The properties of the message (wire 6.4).
    properties: text optional = "properties",
    /// How often the message was delivered before.
    reconsume_times: i32 optional = "reconsumeTimes",
    /// Unit mode; false.
    unit_mode: bool always = "unitMode",
    /// Who sent it, `ip:port`.
    born_host: text required = "bornHost",
    /// Who stored it, `ip:port`.
    store_host: text required = "storeHost",
    /// When it was stored, in milliseconds since the epoch.
    store_timestamp: i64 required = "storeTimestamp",
}

request!(SendMessage<'_>, SEND_MESSAGE, SendMessageReply<'a>);
request!(SendMessageV2<'_>, SEND_MESSAGE_V2, SendMessageReply<'a>);
request!(ConsumerSendMsgBack<'_>, CONSUMER_SEND_MSG_BACK, NoFields);
request!(RecallMessage<'_>, RECALL_MESSAGE, RecallMessageReply<'a>);
request!(PushReplyMessage<'_>, PUSH_REPLY_MESSAGE_TO_CLIENT, NoFields);
