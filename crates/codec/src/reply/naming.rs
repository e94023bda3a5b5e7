//! Answers. Name servers (wire 4.13).

use crate::header::macros::header;

header! {
    /// How many topics were changed (wire 4.13).
    pub struct AddWritePermOfBrokerReply: "AddWritePermOfBrokerResponseHeader";
    /// How many topics were changed.
    add_topic_count: i32 required = "addTopicCount",
}

header! {
    /// The value (wire 4.13).
    pub struct GetKVConfigReply<'a>: "GetKVConfigResponseHeader";
    /// The value.
    value: text optional = "value",
}

header! {
    /// Whether it is; the version is in the body (wire 4.13).
    pub struct QueryDataVersionReply: "QueryDataVersionResponseHeader";
    /// Whether the name server's data is older.
    changed: bool required = "changed",
}

header! {
    /// Addresses for slaves; the order configuration is in the body (wire 4.13).
    pub struct RegisterBrokerReply<'a>: "RegisterBrokerResponseHeader";
    /// The replication address, `ip:port`.
    ha_server_addr: text optional = "haServerAddr",
    /// The address of the master, for slaves.
    master_addr: text optional = "masterAddr",
}

header! {
    /// How many topics were changed (wire 4.13).
    pub struct WipeWritePermOfBrokerReply: "WipeWritePermOfBrokerResponseHeader";
    /// How many topics were changed.
    wipe_topic_count: i32 required = "wipeTopicCount",
}
