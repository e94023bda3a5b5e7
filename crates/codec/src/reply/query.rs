//! Answers. Looking up messages and subscriptions (wire 4.7, 4.14).

use crate::header::macros::header;

header! {
    /// How far the index reaches; the messages are in the body (wire 4.7).
    pub struct QueryMessageReply: "QueryMessageResponseHeader";
    /// When the index was last written, in milliseconds since the epoch.
    index_last_update_timestamp: i64 required = "indexLastUpdateTimestamp",
    /// Up to where in the commit log the index reaches.
    index_last_update_phyoffset: i64 required = "indexLastUpdatePhyoffset",
}

header! {
    /// Nothing; the message is in the body (wire 4.7).
    pub struct ViewMessageReply: "ViewMessageResponseHeader";
}
