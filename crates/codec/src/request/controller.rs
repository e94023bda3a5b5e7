//! Controllers (wire 3.1).

use crate::header::macros::{header, request};
use crate::reply::{
    AlterSyncStateSetReply, ApplyBrokerIdReply, ElectMasterReply, GetNextBrokerIdReply, GetReplicaInfoReply, NoFields,
    RegisterBrokerToControllerReply,
};

header! {
    /// A master changes the set of synchronised replicas (wire 3.1).
    pub struct AlterSyncStateSet<'a>: "AlterSyncStateSetRequestHeader";
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// The id of the master.
    master_broker_id: i64 optional = "masterBrokerId",
    /// The epoch of the master.
    master_epoch: i32 optional = "masterEpoch",
    /// When the request was made, in milliseconds since the epoch.
    invoke_time: i64 always = "invokeTime",
}

header! {
    /// Elects a master (wire 3.1).
    pub struct ElectMaster<'a>: "ElectMasterRequestHeader";
    /// The name of the cluster.
    cluster_name: text required = "clusterName",
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// The id of the broker; 0 is the master.
    broker_id: i64 required = "brokerId",
    /// Whether this broker must become master.
    designate_elect: bool required = "designateElect",
    /// When the request was made, in milliseconds since the epoch.
    invoke_time: i64 optional = "invokeTime",
}

header! {
    /// Asks a controller for the replicas of a broker (wire 3.1).
    pub struct GetReplicaInfo<'a>: "GetReplicaInfoRequestHeader";
    /// The name of the broker.
    broker_name: text optional = "brokerName",
}

header! {
    /// Removes brokers from the data of the controllers (wire 3.1).
    pub struct CleanControllerBrokerData<'a>: "CleanControllerBrokerDataRequestHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// Ids to clean, joined by `;`.
    broker_controller_ids_to_clean: text optional = "brokerControllerIdsToClean",
    /// Whether living brokers may be cleaned too.
    is_clean_living_broker: bool always = "isCleanLivingBroker",
    /// When the request was made, in milliseconds since the epoch.
    invoke_time: i64 always = "invokeTime",
}

header! {
    /// A broker applies for an id (wire 3.1).
    pub struct ApplyBrokerId<'a>: "ApplyBrokerIdRequestHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// The id that the broker applies for.
    applied_broker_id: i64 optional = "appliedBrokerId",
    /// A code that proves the application.
    register_check_code: text optional = "registerCheckCode",
}

header! {
    /// Asks a controller for the next free id (wire 3.1).
    pub struct GetNextBrokerId<'a>: "GetNextBrokerIdRequestHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
}

header! {
    /// A broker registers with a controller (wire 3.1).
    pub struct RegisterBrokerToController<'a>: "RegisterBrokerToControllerRequestHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// The id of the broker; 0 is the master.
    broker_id: i64 optional = "brokerId",
    /// The address of the broker.
    broker_address: text optional = "brokerAddress",
    /// When the request was made, in milliseconds since the epoch.
    invoke_time: i64 always = "invokeTime",
}

request!(AlterSyncStateSet<'_>, CONTROLLER_ALTER_SYNC_STATE_SET, AlterSyncStateSetReply);
request!(ElectMaster<'_>, CONTROLLER_ELECT_MASTER, ElectMasterReply<'a>);
request!(GetReplicaInfo<'_>, CONTROLLER_GET_REPLICA_INFO, GetReplicaInfoReply<'a>);
request!(CleanControllerBrokerData<'_>, CLEAN_BROKER_DATA, NoFields);
request!(ApplyBrokerId<'_>, CONTROLLER_APPLY_BROKER_ID, ApplyBrokerIdReply<'a>);
request!(GetNextBrokerId<'_>, CONTROLLER_GET_NEXT_BROKER_ID, GetNextBrokerIdReply<'a>);
request!(RegisterBrokerToController<'_>, CONTROLLER_REGISTER_BROKER, RegisterBrokerToControllerReply<'a>);
