//! Answers. Popping (wire 4.3).

use crate::header::macros::header;

header! {
    /// The parts of the new receipt handle (wire 4.3).
    pub struct ChangeInvisibleTimeReply: "ChangeInvisibleTimeResponseHeader";
    /// When the messages were popped, in milliseconds since the epoch.
    pop_time: i64 required = "popTime",
    /// How long the messages stay invisible, in milliseconds.
    invisible_time: i64 required = "invisibleTime",
    /// Queue of the revive topic that watches the messages; 999 for ordered ones.
    revive_queue_id: i32 required = "reviveQid",
}

header! {
    /// Whether there is (wire 4.3).
    pub struct NotificationReply: "NotificationResponseHeader";
    /// Whether there is a message to pop.
    has_msg: bool required = "hasMsg",
    /// Whether the broker holds as many polls as it can.
    polling_full: bool always = "pollingFull",
}

header! {
    /// How many polls are held (wire 4.3).
    pub struct PollingInfoReply: "PollingInfoResponseHeader";
    /// How many polls are held.
    polling_num: i32 required = "pollingNum",
}

header! {
    /// What was popped; the messages are in the body (wire 4.3).
    pub struct PopMessageReply<'a>: "PopMessageResponseHeader";
    /// When the messages were popped, in milliseconds since the epoch.
    pop_time: i64 required = "popTime",
    /// How long the messages stay invisible, in milliseconds.
    invisible_time: i64 required = "invisibleTime",
    /// Queue of the revive topic that watches the messages; 999 for ordered ones.
    revive_queue_id: i32 required = "reviveQid",
    /// How many messages remain.
    rest_num: i64 required = "restNum",
    /// First offset of each queue (wire 7.5).
    start_offset_info: text optional = "startOffsetInfo",
    /// Offsets of the messages of each queue (wire 7.5).
    msg_offset_info: text optional = "msgOffsetInfo",
    /// Delivery counts of ordered messages (wire 7.5).
    order_count_info: text optional = "orderCountInfo",
}
