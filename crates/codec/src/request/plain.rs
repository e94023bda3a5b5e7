//! Requests whose header has no fields of its own.

use crate::header::macros::{header, request};
use crate::reply::{GetAllTopicConfigReply, GetBrokerConfigReply, GetMetaDataReply, NoFields};

header! {
    /// Changes settings of a broker: `key=value` lines in the body (wire 4.14).
    pub struct UpdateBrokerConfig: "";
}

header! {
    /// Reads the settings of a broker (wire 4.14).
    pub struct GetBrokerConfig: "";
}

header! {
    /// Reads the state of a broker (wire 4.14).
    pub struct GetBrokerRuntimeInfo: "";
}

header! {
    /// Reads the configuration of all topics of a broker (wire 4.14).
    pub struct GetAllTopicConfig: "";
}

header! {
    /// Reads the offsets of all groups of a broker (wire 4.14).
    pub struct GetAllConsumerOffset: "";
}

header! {
    /// Reads the offsets of the delay levels (wire 3.1).
    pub struct GetAllDelayOffset: "";
}

header! {
    /// Has a broker compile the filter in the body (wire 4.14).
    pub struct CheckClientConfig: "";
}

header! {
    /// Lists clusters and brokers (wire 4.13).
    pub struct GetBrokerClusterInfo: "";
}

header! {
    /// Lists all topics of a name server (wire 4.13).
    pub struct GetAllTopicList: "";
}

header! {
    /// Lists the system topics of a name server (wire 4.13).
    pub struct GetSystemTopicListFromNs: "";
}

header! {
    /// Lists the system topics of a broker (wire 3.1).
    pub struct GetSystemTopicListFromBroker: "";
}

header! {
    /// Changes settings of a name server: `key=value` lines in the body (wire 4.13).
    pub struct UpdateNamesrvConfig: "";
}

header! {
    /// Reads the settings of a name server (wire 4.13).
    pub struct GetNamesrvConfig: "";
}

header! {
    /// Creates or alters the consumer group in the body (wire 4.14).
    pub struct CreateSubscriptionGroup: "";
}

header! {
    /// Creates or alters the consumer groups in the body (wire 4.14; 5.3.1).
    pub struct CreateSubscriptionGroupList: "";
}

header! {
    /// Reads the configuration of all consumer groups (wire 4.14).
    pub struct GetAllSubscriptionGroupConfig: "";
}

header! {
    /// Removes consume queues whose messages are gone (wire 3.1).
    pub struct CleanExpiredConsumeQueue: "";
}

header! {
    /// Removes consume queues of deleted topics (wire 3.1).
    pub struct CleanUnusedTopic: "";
}

header! {
    /// Removes expired files of the commit log (wire 3.1).
    pub struct DeleteExpiredCommitLog: "";
}

header! {
    /// Reads the state of replication (wire 3.1).
    pub struct GetBrokerHaStatus: "";
}

header! {
    /// Asks for the queues of a client; the question is in the body (wire 4.6).
    pub struct QueryAssignment: "";
}

header! {
    /// Has a group pull or pop; the mode is in the body (wire 4.6).
    pub struct SetMessageRequestMode: "";
}

header! {
    /// Reads the modes of all groups (wire 3.1).
    pub struct GetAllMessageRequestMode: "";
}

header! {
    /// Acknowledges the popped messages in the body (wire 4.3; 5.1.3).
    pub struct BatchAckMessage: "";
}

header! {
    /// Asks a controller who leads (wire 3.1).
    pub struct GetControllerMetaData: "";
}

request!(UpdateBrokerConfig, UPDATE_BROKER_CONFIG, NoFields);
request!(GetBrokerConfig, GET_BROKER_CONFIG, GetBrokerConfigReply<'a>);
request!(GetBrokerRuntimeInfo, GET_BROKER_RUNTIME_INFO, NoFields);
request!(GetAllTopicConfig, GET_ALL_TOPIC_CONFIG, GetAllTopicConfigReply);
request!(GetAllConsumerOffset, GET_ALL_CONSUMER_OFFSET, NoFields);
request!(GetAllDelayOffset, GET_ALL_DELAY_OFFSET, NoFields);
request!(CheckClientConfig, CHECK_CLIENT_CONFIG, NoFields);
request!(GetBrokerClusterInfo, GET_BROKER_CLUSTER_INFO, NoFields);
request!(GetAllTopicList, GET_ALL_TOPIC_LIST_FROM_NAMESERVER, NoFields);
request!(GetSystemTopicListFromNs, GET_SYSTEM_TOPIC_LIST_FROM_NS, NoFields);
request!(GetSystemTopicListFromBroker, GET_SYSTEM_TOPIC_LIST_FROM_BROKER, NoFields);
request!(UpdateNamesrvConfig, UPDATE_NAMESRV_CONFIG, NoFields);
request!(GetNamesrvConfig, GET_NAMESRV_CONFIG, NoFields);
request!(CreateSubscriptionGroup, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NoFields);
request!(CreateSubscriptionGroupList, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, NoFields);
request!(GetAllSubscriptionGroupConfig, GET_ALL_SUBSCRIPTIONGROUP_CONFIG, NoFields);
request!(CleanExpiredConsumeQueue, CLEAN_EXPIRED_CONSUMEQUEUE, NoFields);
request!(CleanUnusedTopic, CLEAN_UNUSED_TOPIC, NoFields);
request!(DeleteExpiredCommitLog, DELETE_EXPIRED_COMMITLOG, NoFields);
request!(GetBrokerHaStatus, GET_BROKER_HA_STATUS, NoFields);
request!(QueryAssignment, QUERY_ASSIGNMENT, NoFields);
request!(SetMessageRequestMode, SET_MESSAGE_REQUEST_MODE, NoFields);
request!(GetAllMessageRequestMode, GET_ALL_MESSAGE_REQUEST_MODE, NoFields);
request!(BatchAckMessage, BATCH_ACK_MESSAGE, NoFields);
request!(GetControllerMetaData, CONTROLLER_GET_METADATA_INFO, GetMetaDataReply<'a>);
