//! Answers. Pulling (wire 4.2).

use crate::header::macros::header;

header! {
    /// Where to go on; the messages are in the body (wire 4.2).
    pub struct PullMessageReply: "PullMessageResponseHeader";
    /// The broker id to pull from next; 0 is the master.
    suggest_which_broker_id: i64 required = "suggestWhichBrokerId",
    /// The offset to pull from next.
    next_begin_offset: i64 required = "nextBeginOffset",
    /// The smallest offset in the queue.
    min_offset: i64 required = "minOffset",
    /// The offset behind the newest message.
    max_offset: i64 required = "maxOffset",
    /// What to add to the queue offset of every message; static topics.
    offset_delta: i64 optional = "offsetDelta",
    /// Flag bits of the topic: bit 0 unit, bit 1 subscribed by units.
    topic_sys_flag: i32 optional = "topicSysFlag",
    /// Flag bits of the group.
    group_sys_flag: i32 optional = "groupSysFlag",
    /// With NO_PERMISSION: 1 broker, 2 group, 3 topic, 4 broadcasting, 5 subscription.
    forbidden_type: i32 optional = "forbiddenType",
}
