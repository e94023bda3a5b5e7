//! Every JSON body by the name of Java's class, with one check that holds for any input.

use std::fmt::Debug;

use rocketry_codec::WireError;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::{admin, assignment, heartbeat, lock, offset, registration, route, running};
use rocketry_codec::limits::Limits;

/// One kind of body.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name of Java's class; a list of them ends with `[]`.
    pub class: &'static str,
    /// Decodes a text, checks that what was decoded survives being written in both dialects, and gives it written anew.
    pub transcode: fn(&[u8], &Limits) -> Result<String, WireError>,
}

/// The kind of that class.
#[must_use]
pub fn kind(class: &str) -> Option<Kind> {
    ALL.iter().copied().find(|kind| kind.class == class)
}

fn transcode<B: JsonBody + PartialEq + Debug>(bytes: &[u8], limits: &Limits) -> Result<String, WireError> {
    let body = B::decode_within(bytes, limits)?;
    let text = body.encode();
    for text in [&text, &body.encode_standard()] {
        let again = B::decode(text.as_bytes());
        assert_eq!(again.as_ref(), Ok(&body), "a body does not survive being written as {text}");
    }
    Ok(text)
}

macro_rules! kinds {
    ($($class:literal => $body:ty,)+) => {
        /// Every kind.
        pub const ALL: &[Kind] = &[$(Kind { class: $class, transcode: transcode::<$body> },)+];
    };
}

kinds! {
    "AclInfo" => admin::AclInfo,
    "BatchAckMessageRequestBody" => assignment::BatchAck,
    "BrokerStatsData" => admin::BrokerStats,
    "CheckClientRequestBody" => heartbeat::CheckClient,
    "ClusterInfo" => admin::ClusterInfo,
    "ConsumeMessageDirectlyResult" => running::ConsumeDirectlyResult,
    "ConsumeStats" => offset::ConsumeStats,
    "ConsumeStatsList" => offset::ConsumeStatsList,
    "ConsumerConnection" => admin::ConsumerConnection,
    "ConsumerOffsetSerializeWrapper" => offset::StoredOffsets,
    "ConsumerRunningInfo" => running::RunningInfo,
    "CreateTopicListRequestBody" => registration::TopicConfigList,
    "DataVersion" => registration::DataVersion,
    "GetBrokerMemberGroupResponseBody" => admin::MemberGroupReply,
    "GetConsumerListByGroupResponseBody" => assignment::ConsumerList,
    "GetConsumerStatusBody" => offset::ConsumerStatus,
    "GroupForbidden" => admin::GroupForbidden,
    "GroupList" => admin::GroupList,
    "HeartbeatData" => heartbeat::HeartbeatData,
    "KVTable" => admin::KeyValueTable,
    "LockBatchRequestBody" => lock::LockRequest,
    "LockBatchResponseBody" => lock::LockReply,
    "ProducerConnection" => admin::ProducerConnection,
    "ProducerTableInfo" => admin::Producers,
    "QueryAssignmentRequestBody" => assignment::QueryAssignment,
    "QueryAssignmentResponseBody" => assignment::AssignmentReply,
    "QueryConsumeQueueResponseBody" => admin::ConsumeQueue,
    "QueryConsumeTimeSpanBody" => admin::ConsumeTimeSpans,
    "QueryCorrectionOffsetBody" => offset::CorrectionOffsets,
    "QuerySubscriptionResponseBody" => admin::GroupSubscription,
    "RegisterBrokerBody" => registration::RegisterBroker,
    "ResetOffsetBody" => offset::ResetOffsets,
    "SetMessageRequestModeRequestBody" => assignment::SetRequestMode,
    "SubscriptionGroupConfig" => registration::GroupConfig,
    "SubscriptionGroupList" => registration::GroupConfigList,
    "SubscriptionGroupWrapper" => registration::GroupConfigs,
    "TopicConfig" => registration::TopicConfig,
    "TopicConfigAndMappingSerializeWrapper" => registration::TopicConfigs,
    "TopicConfigAndQueueMapping" => registration::TopicConfigReply,
    "TopicConfigSerializeWrapper" => registration::TopicConfigs,
    "TopicList" => admin::TopicList,
    "TopicQueueMappingDetail" => registration::TopicQueueMappingDetail,
    "TopicRouteData" => route::TopicRoute,
    "TopicStatsTable" => offset::TopicStats,
    "UnlockBatchRequestBody" => lock::LockRequest,
    "UserInfo" => admin::UserInfo,
    "UserInfo[]" => Vec<admin::UserInfo>,
}
