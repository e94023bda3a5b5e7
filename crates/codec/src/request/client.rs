//! Clients: heartbeats, and what brokers ask of clients (wire 4.4, 4.5, 4.11).

use crate::header::macros::{header, request};
use crate::reply::{HeartbeatReply, NoFields, UnregisterClientReply};

header! {
    /// Registers the client and its groups, which are in the body (wire 4.4).
    pub struct Heartbeat<'a>: "HeartbeatRequestHeader" + rpc;
}

header! {
    /// Takes a client out of one of its groups (wire 4.5).
    pub struct UnregisterClient<'a>: "UnregisterClientRequestHeader" + rpc;
    /// The client id; spelt with a capital D here.
    client_id: text required = "clientID",
    /// The producer group.
    producer_group: text optional = "producerGroup",
    /// The consumer group.
    consumer_group: text optional = "consumerGroup",
}

header! {
    /// A broker tells a client that the members of a group changed; never answered (wire 4.11).
    pub struct NotifyConsumerIdsChanged<'a>: "NotifyConsumerIdsChangedRequestHeader" + rpc;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
}

header! {
    /// Asks a client how it is (wire 4.11).
    pub struct GetConsumerRunningInfo<'a>: "GetConsumerRunningInfoRequestHeader" + rpc;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The client id.
    client_id: text required = "clientId",
    /// Whether the stacks of the threads are wanted.
    jstack_enable: bool always = "jstackEnable",
}

header! {
    /// Has a client consume one message at once (wire 4.11).
    pub struct ConsumeMessageDirectlyResult<'a>: "ConsumeMessageDirectlyResultRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The client id.
    client_id: text optional = "clientId",
    /// The offset message id.
    msg_id: text optional = "msgId",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// The topic.
    topic: text optional = "topic",
    /// Flag bits of the topic: bit 0 unit, bit 1 subscribed by units.
    topic_sys_flag: i32 optional = "topicSysFlag",
    /// Flag bits of the group.
    group_sys_flag: i32 optional = "groupSysFlag",
}

header! {
    /// Asks the clients of a group for their offsets (wire 4.14); code 221 on the way to a client (wire 4.11).
    pub struct GetConsumerStatus<'a>: "GetConsumerStatusRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The consumer group.
    group: text required = "group",
    /// Only the client at this address.
    client_addr: text optional = "clientAddr",
}

header! {
    /// Moves the offsets of a group (wire 4.14); code 220 on the way to a client (wire 4.11).
    pub struct ResetOffset<'a>: "ResetOffsetRequestHeader" + topic;
    /// The consumer group.
    group: text required = "group",
    /// The topic.
    topic: text required = "topic",
    /// The queue; -1 for all.
    queue_id: i32 always = "queueId",
    /// Where to as an offset; -1 for none.
    offset: i64 optional = "offset",
    /// Where to, in milliseconds since the epoch; -1 for the newest.
    timestamp: i64 required = "timestamp",
    /// Whether offsets may also move forward.
    is_force: bool required = "isForce",
}

request!(Heartbeat<'_>, HEART_BEAT, HeartbeatReply);
request!(UnregisterClient<'_>, UNREGISTER_CLIENT, UnregisterClientReply);
request!(NotifyConsumerIdsChanged<'_>, NOTIFY_CONSUMER_IDS_CHANGED, NoFields);
request!(GetConsumerRunningInfo<'_>, GET_CONSUMER_RUNNING_INFO, NoFields);
request!(ConsumeMessageDirectlyResult<'_>, CONSUME_MESSAGE_DIRECTLY, NoFields);
request!(GetConsumerStatus<'_>, INVOKE_BROKER_TO_GET_CONSUMER_STATUS, NoFields);
request!(ResetOffset<'_>, INVOKE_BROKER_TO_RESET_OFFSET, NoFields);
