//! Name servers (wire 4.13).

use crate::header::macros::{header, request};
use crate::reply::{
    AddWritePermOfBrokerReply, GetKVConfigReply, NoFields, QueryDataVersionReply, RegisterBrokerReply,
    WipeWritePermOfBrokerReply,
};

header! {
    /// Asks for the route of a topic (wire 4.13).
    pub struct GetRouteInfo<'a>: "GetRouteInfoRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// Whether the answer must quote the keys of maps; from 4.9.4.
    accept_standard_json_only: bool optional = "acceptStandardJsonOnly",
}

header! {
    /// Lists the topics of a cluster (wire 4.13).
    pub struct GetTopicsByCluster<'a>: "GetTopicsByClusterRequestHeader";
    /// The name of the cluster.
    cluster: text required = "cluster",
}

header! {
    /// Stores a value in the name server (wire 4.13).
    pub struct PutKVConfig<'a>: "PutKVConfigRequestHeader";
    /// The namespace of the key.
    namespace: text required = "namespace",
    /// The key.
    key: text required = "key",
    /// The value.
    value: text required = "value",
}

header! {
    /// Reads a value from the name server (wire 4.13).
    pub struct GetKVConfig<'a>: "GetKVConfigRequestHeader";
    /// The namespace of the key.
    namespace: text required = "namespace",
    /// The key.
    key: text required = "key",
}

header! {
    /// Deletes a value from the name server (wire 4.13).
    pub struct DeleteKVConfig<'a>: "DeleteKVConfigRequestHeader";
    /// The namespace of the key.
    namespace: text required = "namespace",
    /// The key.
    key: text required = "key",
}

header! {
    /// Reads all values of a namespace from the name server (wire 4.13).
    pub struct GetKVListByNamespace<'a>: "GetKVListByNamespaceRequestHeader";
    /// The namespace of the key.
    namespace: text required = "namespace",
}

header! {
    /// Deletes a topic from the name server (wire 4.13).
    pub struct DeleteTopicFromNamesrv<'a>: "DeleteTopicFromNamesrvRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
    /// Only in this cluster.
    cluster_name: text optional = "clusterName",
}

header! {
    /// Registers the topic in the body (wire 4.13).
    pub struct RegisterTopic<'a>: "RegisterTopicRequestHeader" + topic;
    /// The topic.
    topic: text required = "topic",
}

header! {
    /// Declares the queues of an ordered topic; declared by Java without a code.
    pub struct RegisterOrderTopic<'a>: "RegisterOrderTopicRequestHeader";
    /// The topic.
    topic: text required = "topic",
    /// The queues of an ordered topic by broker.
    order_topic_string: text required = "orderTopicString",
}

header! {
    /// Takes the write permission from the topics of a broker (wire 4.13).
    pub struct WipeWritePermOfBroker<'a>: "WipeWritePermOfBrokerRequestHeader";
    /// The name of the broker.
    broker_name: text required = "brokerName",
}

header! {
    /// Gives the topics of a broker their write permission back (wire 4.13).
    pub struct AddWritePermOfBroker<'a>: "AddWritePermOfBrokerRequestHeader";
    /// The name of the broker.
    broker_name: text required = "brokerName",
}

header! {
    /// A broker registers with a name server; its topics are in the body (wire 4.13).
    pub struct RegisterBroker<'a>: "RegisterBrokerRequestHeader";
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// The address of the broker, `ip:port`.
    broker_addr: text required = "brokerAddr",
    /// The name of the cluster.
    cluster_name: text required = "clusterName",
    /// The replication address, `ip:port`.
    ha_server_addr: text required = "haServerAddr",
    /// The id of the broker; 0 is the master.
    broker_id: i64 required = "brokerId",
    /// How long the broker counts as alive, in milliseconds; absent 120000.
    heartbeat_timeout_millis: i64 optional = "heartbeatTimeoutMillis",
    /// Whether a slave may act as master; absent for old brokers.
    enable_acting_master: bool optional = "enableActingMaster",
    /// Whether the body is compressed.
    compressed: bool always = "compressed",
    /// CRC-32 of the body as sent, without its highest bit; 0 is not checked.
    body_crc32: i32 optional = "bodyCrc32",
    /// The zone of the broker.
    zone_name: text bare = "__ZONE_NAME",
}

header! {
    /// A broker takes leave of a name server (wire 4.13).
    pub struct UnregisterBroker<'a>: "UnRegisterBrokerRequestHeader";
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// The address of the broker, `ip:port`.
    broker_addr: text required = "brokerAddr",
    /// The name of the cluster.
    cluster_name: text required = "clusterName",
    /// The id of the broker; 0 is the master.
    broker_id: i64 required = "brokerId",
}

header! {
    /// Asks whether the name server's data of a broker is old (wire 4.13).
    pub struct QueryDataVersion<'a>: "QueryDataVersionRequestHeader";
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// The address of the broker, `ip:port`.
    broker_addr: text required = "brokerAddr",
    /// The name of the cluster.
    cluster_name: text required = "clusterName",
    /// The id of the broker; 0 is the master.
    broker_id: i64 required = "brokerId",
}

header! {
    /// A broker says that it is alive (wire 4.13).
    pub struct BrokerHeartbeat<'a>: "BrokerHeartbeatRequestHeader";
    /// The name of the cluster.
    cluster_name: text required = "clusterName",
    /// The address of the broker, `ip:port`.
    broker_addr: text required = "brokerAddr",
    /// The name of the broker.
    broker_name: text required = "brokerName",
    /// The id of the broker; 0 is the master.
    broker_id: i64 optional = "brokerId",
    /// The epoch of the master.
    epoch: i32 optional = "epoch",
    /// The offset behind the newest message.
    max_offset: i64 optional = "maxOffset",
    /// How far replicas have confirmed.
    confirm_offset: i64 optional = "confirmOffset",
    /// How long the broker counts as alive, in milliseconds. The wire name is misspelt.
    heartbeat_timeout_millis: i64 optional = "heartbeatTimeoutMills",
    /// Its priority in elections.
    election_priority: i32 optional = "electionPriority",
}

header! {
    /// Lists the brokers of one name (wire 4.13).
    pub struct GetBrokerMemberGroup<'a>: "GetBrokerMemberGroupRequestHeader";
    /// The name of the cluster.
    cluster_name: text required = "clusterName",
    /// The name of the broker.
    broker_name: text required = "brokerName",
}

request!(GetRouteInfo<'_>, GET_ROUTEINFO_BY_TOPIC, NoFields);
request!(GetTopicsByCluster<'_>, GET_TOPICS_BY_CLUSTER, NoFields);
request!(PutKVConfig<'_>, PUT_KV_CONFIG, NoFields);
request!(GetKVConfig<'_>, GET_KV_CONFIG, GetKVConfigReply<'a>);
request!(DeleteKVConfig<'_>, DELETE_KV_CONFIG, NoFields);
request!(GetKVListByNamespace<'_>, GET_KVLIST_BY_NAMESPACE, NoFields);
request!(DeleteTopicFromNamesrv<'_>, DELETE_TOPIC_IN_NAMESRV, NoFields);
request!(RegisterTopic<'_>, REGISTER_TOPIC_IN_NAMESRV, NoFields);
request!(WipeWritePermOfBroker<'_>, WIPE_WRITE_PERM_OF_BROKER, WipeWritePermOfBrokerReply);
request!(AddWritePermOfBroker<'_>, ADD_WRITE_PERM_OF_BROKER, AddWritePermOfBrokerReply);
request!(RegisterBroker<'_>, REGISTER_BROKER, RegisterBrokerReply<'a>);
request!(UnregisterBroker<'_>, UNREGISTER_BROKER, NoFields);
request!(QueryDataVersion<'_>, QUERY_DATA_VERSION, QueryDataVersionReply);
request!(BrokerHeartbeat<'_>, BROKER_HEARTBEAT, NoFields);
request!(GetBrokerMemberGroup<'_>, GET_BROKER_MEMBER_GROUP, NoFields);
