//! Answers. Offsets (wire 4.6, 4.7).

use crate::header::macros::header;

header! {
    /// When the oldest message was stored (wire 4.7).
    pub struct GetEarliestMsgStoretimeReply: "GetEarliestMsgStoretimeResponseHeader";
    /// When the oldest message was stored, in milliseconds since the epoch.
    timestamp: i64 required = "timestamp",
}

header! {
    /// The offset behind the newest message (wire 4.7).
    pub struct GetMaxOffsetReply: "GetMaxOffsetResponseHeader";
    /// The offset.
    offset: i64 required = "offset",
}

header! {
    /// The offset of the oldest message (wire 4.7).
    pub struct GetMinOffsetReply: "GetMinOffsetResponseHeader";
    /// The offset.
    offset: i64 required = "offset",
}

header! {
    /// The committed offset (wire 4.6).
    pub struct QueryConsumerOffsetReply: "QueryConsumerOffsetResponseHeader";
    /// The offset of the next message to consume.
    offset: i64 required = "offset",
}

header! {
    /// The offset at that time (wire 4.7).
    pub struct SearchOffsetReply: "SearchOffsetResponseHeader";
    /// The offset.
    offset: i64 required = "offset",
}

header! {
    /// Nothing (wire 4.6).
    pub struct UpdateConsumerOffsetReply: "UpdateConsumerOffsetResponseHeader";
}
