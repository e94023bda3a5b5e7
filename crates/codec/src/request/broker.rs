//! Brokers among themselves and their state (wire 3.1, 4.14).

use crate::header::macros::{header, request};
use crate::reply::{ExchangeHAInfoReply, NoFields};

header! {
    /// Reads one statistic of a broker (wire 4.14).
    pub struct ViewBrokerStatsData<'a>: "ViewBrokerStatsDataRequestHeader";
    /// The name of the statistics.
    stats_name: text required = "statsName",
    /// The key within them.
    stats_key: text required = "statsKey",
}

header! {
    /// Writes configuration out as JSON files (wire 3.1; 5.3).
    pub struct ExportRocksDBConfigToJson<'a>: "ExportRocksDBConfigToJsonRequestHeader";
    /// Which configuration to export.
    config_type: text required = "configType",
}

header! {
    /// Compares the two kinds of consume queues (wire 3.1; 5.3).
    pub struct CheckRocksdbCqWriteProgress<'a>: "CheckRocksdbCqWriteProgressRequestHeader";
    /// The topic.
    topic: text required = "topic",
    /// Messages stored from here on are checked, in milliseconds since the epoch.
    check_store_time: i64 always = "checkStoreTime",
}

header! {
    /// Adds a broker to a container of brokers (wire 3.1).
    pub struct AddBroker<'a>: "AddBrokerRequestHeader";
    /// Path of the configuration of the broker to add.
    config_path: text optional = "configPath",
}

header! {
    /// Removes a broker from a container of brokers (wire 3.1).
    pub struct RemoveBroker<'a>: "RemoveBrokerRequestHeader";
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// The name of the cluster.
    broker_cluster_name: text required = "brokerClusterName",
    /// The id of the broker; 0 is the master.
    broker_id: i64 required = "brokerId",
}

header! {
    /// Sets how far the master has flushed (wire 3.1).
    pub struct ResetMasterFlushOffset: "ResetMasterFlushOffsetHeader";
    /// How far the master has flushed.
    master_flush_offset: i64 required = "masterFlushOffset",
}

header! {
    /// Brokers exchange replication addresses (wire 3.1).
    pub struct ExchangeHAInfo<'a>: "ExchangeHAInfoRequestHeader";
    /// Replication address of the master.
    master_ha_address: text optional = "masterHaAddress",
    /// How far the master has flushed.
    master_flush_offset: i64 optional = "masterFlushOffset",
    /// Address of the master.
    master_address: text optional = "masterAddress",
}

header! {
    /// A name server tells brokers who has the smallest id (wire 3.1).
    pub struct NotifyMinBrokerIdChange<'a>: "NotifyMinBrokerIdChangeRequestHeader";
    /// The smallest broker id that is alive.
    min_broker_id: i64 optional = "minBrokerId",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// Its address.
    min_broker_addr: text optional = "minBrokerAddr",
    /// The address of the broker that went away.
    offline_broker_addr: text optional = "offlineBrokerAddr",
    /// The replication address of the broker with the smallest id.
    ha_broker_addr: text optional = "haBrokerAddr",
}

header! {
    /// A controller tells a broker its role (wire 3.1).
    pub struct NotifyBrokerRoleChanged<'a>: "NotifyBrokerRoleChangedRequestHeader";
    /// Address of the master.
    master_address: text optional = "masterAddress",
    /// The epoch of the master.
    master_epoch: i32 optional = "masterEpoch",
    /// The epoch of the set of synchronised replicas.
    sync_state_set_epoch: i32 optional = "syncStateSetEpoch",
    /// The id of the master.
    master_broker_id: i64 optional = "masterBrokerId",
}

request!(ViewBrokerStatsData<'_>, VIEW_BROKER_STATS_DATA, NoFields);
request!(ExportRocksDBConfigToJson<'_>, EXPORT_ROCKSDB_CONFIG_TO_JSON, NoFields);
request!(CheckRocksdbCqWriteProgress<'_>, CHECK_ROCKSDB_CQ_WRITE_PROGRESS, NoFields);
request!(AddBroker<'_>, ADD_BROKER, NoFields);
request!(RemoveBroker<'_>, REMOVE_BROKER, NoFields);
request!(ResetMasterFlushOffset, RESET_MASTER_FLUSH_OFFSET, NoFields);
request!(ExchangeHAInfo<'_>, EXCHANGE_BROKER_HA_INFO, ExchangeHAInfoReply<'a>);
request!(NotifyMinBrokerIdChange<'_>, NOTIFY_MIN_BROKER_ID_CHANGE, NoFields);
request!(NotifyBrokerRoleChanged<'_>, NOTIFY_BROKER_ROLE_CHANGED, NoFields);
