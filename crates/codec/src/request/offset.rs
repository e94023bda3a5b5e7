//! Offsets (wire 4.6, 4.7).

use crate::header::macros::{header, request};
use crate::reply::{
    GetEarliestMsgStoretimeReply, GetMaxOffsetReply, GetMinOffsetReply, NoFields, QueryConsumerOffsetReply,
    SearchOffsetReply, UpdateConsumerOffsetReply,
};

header! {
    /// Reads the offset that a group has committed (wire 4.6).
    pub struct QueryConsumerOffset<'a>: "QueryConsumerOffsetRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// Whether a queue without offset counts from 0; from 5.0.
    set_zero_if_not_found: bool optional = "setZeroIfNotFound",
}

header! {
    /// Commits an offset of a group; usually oneway (wire 4.6).
    pub struct UpdateConsumerOffset<'a>: "UpdateConsumerOffsetRequestHeader" + topic;
    /// The consumer group.
    consumer_group: text required = "consumerGroup",
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// The offset of the next message to consume.
    commit_offset: i64 required = "commitOffset",
}

header! {
    /// Where a new group starts; passed between parts of a broker.
    pub struct InitConsumerOffset<'a>: "InitConsumerOffsetRequestHeader" + topic;
    /// The topic.
    topic: text optional = "topic",
    /// Where a new group starts: 0 at the oldest message, 1 at the newest.
    init_mode: i32 always = "initMode",
}

header! {
    /// Asks for the offset behind the newest message of a queue (wire 4.7).
    pub struct GetMaxOffset<'a>: "GetMaxOffsetRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// Whether only replicated messages count; true; from 5.0.
    committed: bool always = "committed",
}

header! {
    /// Asks for the offset of the oldest message of a queue (wire 4.7).
    pub struct GetMinOffset<'a>: "GetMinOffsetRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
}

header! {
    /// Asks when the oldest message of a queue was stored (wire 4.7).
    pub struct GetEarliestMsgStoretime<'a>: "GetEarliestMsgStoretimeRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
}

header! {
    /// Asks for the offset at a time (wire 4.7).
    pub struct SearchOffset<'a>: "SearchOffsetRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// The store time that is looked for, in milliseconds since the epoch.
    timestamp: i64 required = "timestamp",
    /// Which message of equal times: `LOWER` or `UPPER`; from 5.1.
    boundary_type: text optional = "boundaryType",
}

header! {
    /// Copies the offsets of a group to another (wire 4.14).
    pub struct CloneGroupOffset<'a>: "CloneGroupOffsetRequestHeader" + rpc;
    /// The group whose offsets are copied.
    src_group: text required = "srcGroup",
    /// The group that gets them.
    dest_group: text required = "destGroup",
    /// The topic.
    topic: text optional = "topic",
    /// Whether the groups are offline.
    offline: bool always = "offline",
}

header! {
    /// Asks for the offsets of other groups (wire 4.14).
    pub struct QueryCorrectionOffset<'a>: "QueryCorrectionOffsetHeader" + topic;
    /// Groups to leave out, joined by `,`.
    filter_groups: text optional = "filterGroups",
    /// The group to compare with.
    compare_group: text required = "compareGroup",
    /// The topic.
    topic: text required = "topic",
}

request!(QueryConsumerOffset<'_>, QUERY_CONSUMER_OFFSET, QueryConsumerOffsetReply);
request!(UpdateConsumerOffset<'_>, UPDATE_CONSUMER_OFFSET, UpdateConsumerOffsetReply);
request!(GetMaxOffset<'_>, GET_MAX_OFFSET, GetMaxOffsetReply);
request!(GetMinOffset<'_>, GET_MIN_OFFSET, GetMinOffsetReply);
request!(GetEarliestMsgStoretime<'_>, GET_EARLIEST_MSG_STORETIME, GetEarliestMsgStoretimeReply);
request!(SearchOffset<'_>, SEARCH_OFFSET_BY_TIMESTAMP, SearchOffsetReply);
request!(CloneGroupOffset<'_>, CLONE_GROUP_OFFSET, NoFields);
request!(QueryCorrectionOffset<'_>, QUERY_CORRECTION_OFFSET, NoFields);
