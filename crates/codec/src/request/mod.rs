//! Typed request headers, one file per family.
//!
//! A request is a struct with public fields: the protocol's names in full words, texts as `Cow<str>`, so that both
//! `"text".into()` and an owned `String` fit. What may be left out is an `Option`; `..Default::default()` leaves it out.

mod auth;
mod broker;
mod client;
mod controller;
mod group;
mod naming;
mod offset;
mod plain;
mod pop;
mod pull;
mod query;
mod send;
mod topic;
mod transaction;

pub use auth::*;
pub use broker::*;
pub use client::*;
pub use controller::*;
pub use group::*;
pub use naming::*;
pub use offset::*;
pub use plain::*;
pub use pop::*;
pub use pull::*;
pub use query::*;
pub use send::*;
pub use topic::*;
pub use transaction::*;

use crate::header::HeaderEntry;

/// Every typed request header, for tools and tests that go by name or code.
pub const ALL: &[HeaderEntry] = &[
    HeaderEntry::request::<SendMessage<'static>>(),
    HeaderEntry::request::<SendMessageV2<'static>>(),
    HeaderEntry::request::<ConsumerSendMsgBack<'static>>(),
    HeaderEntry::request::<RecallMessage<'static>>(),
    HeaderEntry::request::<PushReplyMessage<'static>>(),
    HeaderEntry::request::<PullMessage<'static>>(),
    HeaderEntry::request::<PopMessage<'static>>(),
    HeaderEntry::request::<PeekMessage<'static>>(),
    HeaderEntry::request::<AckMessage<'static>>(),
    HeaderEntry::request::<ChangeInvisibleTime<'static>>(),
    HeaderEntry::request::<Notification<'static>>(),
    HeaderEntry::request::<PollingInfo<'static>>(),
    HeaderEntry::header::<StatisticsMessages<'static>>(),
    HeaderEntry::request::<Heartbeat<'static>>(),
    HeaderEntry::request::<UnregisterClient<'static>>(),
    HeaderEntry::request::<NotifyConsumerIdsChanged<'static>>(),
    HeaderEntry::request::<GetConsumerRunningInfo<'static>>(),
    HeaderEntry::request::<ConsumeMessageDirectlyResult<'static>>(),
    HeaderEntry::request::<GetConsumerStatus<'static>>(),
    HeaderEntry::request::<ResetOffset<'static>>(),
    HeaderEntry::request::<QueryConsumerOffset<'static>>(),
    HeaderEntry::request::<UpdateConsumerOffset<'static>>(),
    HeaderEntry::header::<InitConsumerOffset<'static>>(),
    HeaderEntry::request::<GetMaxOffset<'static>>(),
    HeaderEntry::request::<GetMinOffset<'static>>(),
    HeaderEntry::request::<GetEarliestMsgStoretime<'static>>(),
    HeaderEntry::request::<SearchOffset<'static>>(),
    HeaderEntry::request::<CloneGroupOffset<'static>>(),
    HeaderEntry::request::<QueryCorrectionOffset<'static>>(),
    HeaderEntry::request::<EndTransaction<'static>>(),
    HeaderEntry::request::<CheckTransactionState<'static>>(),
    HeaderEntry::request::<ResumeCheckHalfMessage<'static>>(),
    HeaderEntry::request::<QueryMessage<'static>>(),
    HeaderEntry::request::<ViewMessage<'static>>(),
    HeaderEntry::request::<QueryConsumeQueue<'static>>(),
    HeaderEntry::request::<QueryConsumeTimeSpan<'static>>(),
    HeaderEntry::request::<QuerySubscriptionByConsumer<'static>>(),
    HeaderEntry::request::<QueryTopicConsumeByWho<'static>>(),
    HeaderEntry::request::<QueryTopicsByConsumer<'static>>(),
    HeaderEntry::request::<GetConsumerListByGroup<'static>>(),
    HeaderEntry::request::<LockBatchMq<'static>>(),
    HeaderEntry::request::<UnlockBatchMq<'static>>(),
    HeaderEntry::request::<DeleteSubscriptionGroup<'static>>(),
    HeaderEntry::request::<GetSubscriptionGroupConfig<'static>>(),
    HeaderEntry::request::<GetConsumerConnectionList<'static>>(),
    HeaderEntry::request::<GetProducerConnectionList<'static>>(),
    HeaderEntry::request::<UpdateGroupForbidden<'static>>(),
    HeaderEntry::request::<GetConsumeStats<'static>>(),
    HeaderEntry::request::<GetConsumeStatsInBroker>(),
    HeaderEntry::request::<GetAllProducerInfo>(),
    HeaderEntry::request::<CreateTopic<'static>>(),
    HeaderEntry::request::<CreateTopicList<'static>>(),
    HeaderEntry::request::<DeleteTopic<'static>>(),
    HeaderEntry::request::<GetTopicConfig<'static>>(),
    HeaderEntry::request::<GetTopicStatsInfo<'static>>(),
    HeaderEntry::request::<ViewBrokerStatsData<'static>>(),
    HeaderEntry::request::<ExportRocksDBConfigToJson<'static>>(),
    HeaderEntry::request::<CheckRocksdbCqWriteProgress<'static>>(),
    HeaderEntry::request::<AddBroker<'static>>(),
    HeaderEntry::request::<RemoveBroker<'static>>(),
    HeaderEntry::request::<ResetMasterFlushOffset>(),
    HeaderEntry::request::<ExchangeHAInfo<'static>>(),
    HeaderEntry::request::<NotifyMinBrokerIdChange<'static>>(),
    HeaderEntry::request::<NotifyBrokerRoleChanged<'static>>(),
    HeaderEntry::request::<CreateUser<'static>>(),
    HeaderEntry::request::<UpdateUser<'static>>(),
    HeaderEntry::request::<DeleteUser<'static>>(),
    HeaderEntry::request::<GetUser<'static>>(),
    HeaderEntry::request::<ListUsers<'static>>(),
    HeaderEntry::request::<CreateAcl<'static>>(),
    HeaderEntry::request::<UpdateAcl<'static>>(),
    HeaderEntry::request::<DeleteAcl<'static>>(),
    HeaderEntry::request::<GetAcl<'static>>(),
    HeaderEntry::request::<ListAcls<'static>>(),
    HeaderEntry::request::<GetRouteInfo<'static>>(),
    HeaderEntry::request::<GetTopicsByCluster<'static>>(),
    HeaderEntry::request::<PutKVConfig<'static>>(),
    HeaderEntry::request::<GetKVConfig<'static>>(),
    HeaderEntry::request::<DeleteKVConfig<'static>>(),
    HeaderEntry::request::<GetKVListByNamespace<'static>>(),
    HeaderEntry::request::<DeleteTopicFromNamesrv<'static>>(),
    HeaderEntry::request::<RegisterTopic<'static>>(),
    HeaderEntry::header::<RegisterOrderTopic<'static>>(),
    HeaderEntry::request::<WipeWritePermOfBroker<'static>>(),
    HeaderEntry::request::<AddWritePermOfBroker<'static>>(),
    HeaderEntry::request::<RegisterBroker<'static>>(),
    HeaderEntry::request::<UnregisterBroker<'static>>(),
    HeaderEntry::request::<QueryDataVersion<'static>>(),
    HeaderEntry::request::<BrokerHeartbeat<'static>>(),
    HeaderEntry::request::<GetBrokerMemberGroup<'static>>(),
    HeaderEntry::request::<AlterSyncStateSet<'static>>(),
    HeaderEntry::request::<ElectMaster<'static>>(),
    HeaderEntry::request::<GetReplicaInfo<'static>>(),
    HeaderEntry::request::<CleanControllerBrokerData<'static>>(),
    HeaderEntry::request::<ApplyBrokerId<'static>>(),
    HeaderEntry::request::<GetNextBrokerId<'static>>(),
    HeaderEntry::request::<RegisterBrokerToController<'static>>(),
    HeaderEntry::request::<UpdateBrokerConfig>(),
    HeaderEntry::request::<GetBrokerConfig>(),
    HeaderEntry::request::<GetBrokerRuntimeInfo>(),
    HeaderEntry::request::<GetAllTopicConfig>(),
    HeaderEntry::request::<GetAllConsumerOffset>(),
    HeaderEntry::request::<GetAllDelayOffset>(),
    HeaderEntry::request::<CheckClientConfig>(),
    HeaderEntry::request::<GetBrokerClusterInfo>(),
    HeaderEntry::request::<GetAllTopicList>(),
    HeaderEntry::request::<GetSystemTopicListFromNs>(),
    HeaderEntry::request::<GetSystemTopicListFromBroker>(),
    HeaderEntry::request::<UpdateNamesrvConfig>(),
    HeaderEntry::request::<GetNamesrvConfig>(),
    HeaderEntry::request::<CreateSubscriptionGroup>(),
    HeaderEntry::request::<CreateSubscriptionGroupList>(),
    HeaderEntry::request::<GetAllSubscriptionGroupConfig>(),
    HeaderEntry::request::<CleanExpiredConsumeQueue>(),
    HeaderEntry::request::<CleanUnusedTopic>(),
    HeaderEntry::request::<DeleteExpiredCommitLog>(),
    HeaderEntry::request::<GetBrokerHaStatus>(),
    HeaderEntry::request::<QueryAssignment>(),
    HeaderEntry::request::<SetMessageRequestMode>(),
    HeaderEntry::request::<GetAllMessageRequestMode>(),
    HeaderEntry::request::<BatchAckMessage>(),
    HeaderEntry::request::<GetControllerMetaData>(),
];
