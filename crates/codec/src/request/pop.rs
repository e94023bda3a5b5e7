//! Popping (wire 4.3).

use crate::header::macros::{header, request};
use crate::reply::{ChangeInvisibleTimeReply, NoFields, NotificationReply, PollingInfoReply, PopMessageReply};

header! {
    /// Pops messages; they come back unless acknowledged in time (wire 4.3).
    pub struct PopMessage<'a>: "PopMessageRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic, never the retry topic.
    topic: text required = "topic",
    /// The queue; -1 for any.
    queue_id: i32 required = "queueId",
    /// Most messages to return; up to 32.
    max_msg_nums: i32 required = "maxMsgNums",
    /// How long the messages stay invisible, in milliseconds.
    invisible_time: i64 required = "invisibleTime",
    /// How long the broker may hold the request, in milliseconds; 0 not at all.
    poll_time: i64 required = "pollTime",
    /// When the request was made, in milliseconds since the epoch; 0 takes the clock of the broker.
    born_time: i64 required = "bornTime",
    /// Where a new group starts: 0 at the oldest message, 1 at the newest.
    init_mode: i32 required = "initMode",
    /// `TAG` or `SQL92`.
    expression_type: text optional = "expType",
    /// The filter expression; empty for everything.
    expression: text optional = "exp",
    /// Whether order is kept.
    order: bool optional = "order",
    /// Identifies the attempt of an ordered pop that is repeated.
    attempt_id: text optional = "attemptId",
}

header! {
    /// Reads messages as a pop would, without making them invisible (wire 4.3).
    pub struct PeekMessage<'a>: "PeekMessageRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// Most messages to return.
    max_msg_nums: i32 required = "maxMsgNums",
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
}

header! {
    /// Acknowledges one popped message (wire 4.3).
    pub struct AckMessage<'a>: "AckMessageRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic as stored: the pop retry topic for a message that was retried.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// The receipt handle of the message (wire 7.5).
    extra_info: text required = "extraInfo",
    /// The message's offset in its queue.
    offset: i64 required = "offset",
}

header! {
    /// Changes how long a popped message stays invisible (wire 4.3).
    pub struct ChangeInvisibleTime<'a>: "ChangeInvisibleTimeRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic as stored: the pop retry topic for a message that was retried.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// The receipt handle of the message (wire 7.5).
    extra_info: text required = "extraInfo",
    /// The message's offset in its queue.
    offset: i64 required = "offset",
    /// How long the message stays invisible from now on, in milliseconds.
    invisible_time: i64 required = "invisibleTime",
}

header! {
    /// Asks whether there is anything to pop (wire 4.3).
    pub struct Notification<'a>: "NotificationRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The queue; -1 for any.
    queue_id: i32 required = "queueId",
    /// How long the broker may hold the request, in milliseconds; 0 not at all.
    poll_time: i64 required = "pollTime",
    /// When the request was made, in milliseconds since the epoch; 0 takes the clock of the broker.
    born_time: i64 required = "bornTime",
    /// Whether order is kept.
    order: bool optional = "order",
    /// Identifies the attempt of an ordered pop that is repeated.
    attempt_id: text optional = "attemptId",
}

header! {
    /// Asks how many polls are held (wire 4.3).
    pub struct PollingInfo<'a>: "PollingInfoRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
}

header! {
    /// Counts messages; declared by Java without a code.
    pub struct StatisticsMessages<'a>: "StatisticsMessagesRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// From when, in milliseconds since the epoch.
    from_time: i64 always = "fromTime",
    /// Until when, in milliseconds since the epoch.
    to_time: i64 always = "toTime",
}

request!(PopMessage<'_>, POP_MESSAGE, PopMessageReply<'a>);
request!(PeekMessage<'_>, PEEK_MESSAGE, PopMessageReply<'a>);
request!(AckMessage<'_>, ACK_MESSAGE, NoFields);
request!(ChangeInvisibleTime<'_>, CHANGE_MESSAGE_INVISIBLETIME, ChangeInvisibleTimeReply);
request!(Notification<'_>, NOTIFICATION, NotificationReply);
request!(PollingInfo<'_>, POLLING_INFO, PollingInfoReply);
