//! Typed response headers, one file per family.

mod broker;
mod client;
mod controller;
mod group;
mod naming;
mod offset;
mod pop;
mod pull;
mod query;
mod send;
mod topic;
mod transaction;

pub use broker::*;
pub use client::*;
pub use controller::*;
pub use group::*;
pub use naming::*;
pub use offset::*;
pub use pop::*;
pub use pull::*;
pub use query::*;
pub use send::*;
pub use topic::*;
pub use transaction::*;

use crate::header::HeaderEntry;
use crate::header::macros::header;

header! {
    /// An answer whose header has no fields.
    pub struct NoFields: "";
}

/// Every typed response header, for tools and tests that go by name.
pub const ALL: &[HeaderEntry] = &[
    HeaderEntry::header::<CheckTransactionStateReply<'static>>(),
    HeaderEntry::header::<EndTransactionReply>(),
    HeaderEntry::header::<GetAllTopicConfigReply>(),
    HeaderEntry::header::<GetBrokerConfigReply<'static>>(),
    HeaderEntry::header::<ExchangeHAInfoReply<'static>>(),
    HeaderEntry::header::<GetMetaDataReply<'static>>(),
    HeaderEntry::header::<AlterSyncStateSetReply>(),
    HeaderEntry::header::<ElectMasterReply<'static>>(),
    HeaderEntry::header::<GetReplicaInfoReply<'static>>(),
    HeaderEntry::header::<ApplyBrokerIdReply<'static>>(),
    HeaderEntry::header::<GetNextBrokerIdReply<'static>>(),
    HeaderEntry::header::<RegisterBrokerToControllerReply<'static>>(),
    HeaderEntry::header::<ChangeInvisibleTimeReply>(),
    HeaderEntry::header::<NotificationReply>(),
    HeaderEntry::header::<PollingInfoReply>(),
    HeaderEntry::header::<PopMessageReply<'static>>(),
    HeaderEntry::header::<GetConsumerListByGroupReply>(),
    HeaderEntry::header::<GetEarliestMsgStoretimeReply>(),
    HeaderEntry::header::<GetMaxOffsetReply>(),
    HeaderEntry::header::<GetMinOffsetReply>(),
    HeaderEntry::header::<QueryConsumerOffsetReply>(),
    HeaderEntry::header::<SearchOffsetReply>(),
    HeaderEntry::header::<UpdateConsumerOffsetReply>(),
    HeaderEntry::header::<PullMessageReply>(),
    HeaderEntry::header::<QueryMessageReply>(),
    HeaderEntry::header::<ViewMessageReply>(),
    HeaderEntry::header::<RecallMessageReply<'static>>(),
    HeaderEntry::header::<SendMessageReply<'static>>(),
    HeaderEntry::header::<UnregisterClientReply>(),
    HeaderEntry::header::<AddWritePermOfBrokerReply>(),
    HeaderEntry::header::<GetKVConfigReply<'static>>(),
    HeaderEntry::header::<QueryDataVersionReply>(),
    HeaderEntry::header::<RegisterBrokerReply<'static>>(),
    HeaderEntry::header::<WipeWritePermOfBrokerReply>(),
    HeaderEntry::header::<HeartbeatReply>(),
    HeaderEntry::header::<NoFields>(),
];
