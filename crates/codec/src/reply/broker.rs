//! Answers. Brokers among themselves and their state (wire 3.1, 4.14).

use crate::header::macros::header;

header! {
    /// The version of the configuration in the body (wire 4.14).
    pub struct GetBrokerConfigReply<'a>: "GetBrokerConfigResponseHeader";
    /// The data version of the configuration, as JSON.
    version: text required = "version",
}

header! {
    /// The other side of the exchange (wire 3.1).
    pub struct ExchangeHAInfoReply<'a>: "ExchangeHAInfoResponseHeader";
    /// Replication address of the master.
    master_ha_address: text optional = "masterHaAddress",
    /// How far the master has flushed.
    master_flush_offset: i64 optional = "masterFlushOffset",
    /// Address of the master.
    master_address: text optional = "masterAddress",
}
