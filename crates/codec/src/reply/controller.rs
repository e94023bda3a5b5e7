//! Answers. Controllers (wire 3.1).

use crate::header::macros::header;

header! {
    /// The state of the controllers (wire 3.1).
    pub struct GetMetaDataReply<'a>: "GetMetaDataResponseHeader";
    /// The consumer group.
    group: text optional = "group",
    /// The id of the leading controller.
    controller_leader_id: text optional = "controllerLeaderId",
    /// The address of the leading controller.
    controller_leader_address: text optional = "controllerLeaderAddress",
    /// Whether the answering controller leads.
    is_leader: bool always = "isLeader",
    /// The controllers.
    peers: text optional = "peers",
}

header! {
    /// The epoch of the new set (wire 3.1).
    pub struct AlterSyncStateSetReply: "AlterSyncStateSetResponseHeader";
    /// The new epoch of the set of synchronised replicas.
    new_sync_state_set_epoch: i32 always = "newSyncStateSetEpoch",
}

header! {
    /// Who is master now (wire 3.1).
    pub struct ElectMasterReply<'a>: "ElectMasterResponseHeader";
    /// The id of the master.
    master_broker_id: i64 optional = "masterBrokerId",
    /// Address of the master.
    master_address: text optional = "masterAddress",
    /// The epoch of the master.
    master_epoch: i32 optional = "masterEpoch",
    /// The epoch of the set of synchronised replicas.
    sync_state_set_epoch: i32 optional = "syncStateSetEpoch",
}

header! {
    /// Who is master (wire 3.1).
    pub struct GetReplicaInfoReply<'a>: "GetReplicaInfoResponseHeader";
    /// The id of the master.
    master_broker_id: i64 optional = "masterBrokerId",
    /// Address of the master.
    master_address: text optional = "masterAddress",
    /// The epoch of the master.
    master_epoch: i32 optional = "masterEpoch",
}

header! {
    /// For which broker the id was given (wire 3.1).
    pub struct ApplyBrokerIdReply<'a>: "ApplyBrokerIdResponseHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
}

header! {
    /// The next free id (wire 3.1).
    pub struct GetNextBrokerIdReply<'a>: "GetNextBrokerIdResponseHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// The next free id.
    next_broker_id: i64 optional = "nextBrokerId",
}

header! {
    /// Who is master (wire 3.1).
    pub struct RegisterBrokerToControllerReply<'a>: "RegisterBrokerToControllerResponseHeader";
    /// The name of the cluster.
    cluster_name: text optional = "clusterName",
    /// The name of the broker.
    broker_name: text optional = "brokerName",
    /// The id of the master.
    master_broker_id: i64 optional = "masterBrokerId",
    /// Address of the master.
    master_address: text optional = "masterAddress",
    /// The epoch of the master.
    master_epoch: i32 optional = "masterEpoch",
    /// The epoch of the set of synchronised replicas.
    sync_state_set_epoch: i32 optional = "syncStateSetEpoch",
}
