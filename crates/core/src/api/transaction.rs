//! Transactions (producer.md 4): a half message is sent with [`SendMode::Half`](super::SendMode), ended with a call that
//! [`Resolution::of_half`] makes, and asked about by [`Ask::CheckTransaction`](super::Ask).
//!
//! A half message is stored and seen by nobody until its producer has said what becomes of it. A producer that says
//! nothing is asked; so is any other member of its group, which is why all members of a producer group must be able to
//! answer for all of its transactions, from what is stored and not from what they remember.

use bytes::Bytes;
use rocketry_codec::encoder::RawRequest;
use rocketry_codec::header::Scope;
use rocketry_codec::ids::OffsetId;
use rocketry_codec::message::StoredMessage;
use rocketry_codec::request::EndTransaction;
use rocketry_machine::Endpoint;

use super::command::{Call, Peer};
use super::event::SendReceipt;
use super::ids::ProducerId;
use super::names::{Group, Topic};

/// What becomes of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums)] // the protocol has no fourth
pub enum Resolution {
    /// The message is delivered.
    Commit,
    /// The message never was.
    Rollback,
    /// It is not decided; the broker asks again later.
    Unknown,
}

impl Resolution {
    const fn flag(self) -> i32 {
        match self {
            Self::Commit => 8,
            Self::Rollback => 12,
            Self::Unknown => 0,
        }
    }

    /// The request that tells the broker about a half message, as its receipt says where it lies. `None` when the receipt
    /// is of no broker that this client can address.
    #[must_use]
    pub fn of_half(self, group: &Group, receipt: &SendReceipt) -> Option<Call> {
        let id: OffsetId = receipt.offset_message_id.parse().ok()?;
        let request = EndTransaction {
            topic: Some(receipt.queue.topic.as_str().into()),
            producer_group: group.as_str().into(),
            tran_state_table_offset: receipt.queue_offset,
            commit_log_offset: id.offset,
            commit_or_rollback: self.flag(),
            from_transaction_check: Some(false),
            msg_id: receipt.message_id.as_str().into(),
            transaction_id: receipt.transaction_id.as_deref().map(Into::into),
            scope: Scope::broker(receipt.queue.broker.as_str()),
        };
        let peer = Peer::Broker(receipt.queue.broker.clone());
        Some(Call::new(peer, RawRequest::new(&request, Bytes::new())))
    }
}

/// A broker wants to know what became of a half message. An answer that is not given is asked for again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransactionCheck {
    /// The producer that is asked, of the group that sent it; perhaps not the one that did.
    pub producer: ProducerId,
    /// Its group.
    pub group: Group,
    /// The topic that the message is for.
    pub topic: Topic,
    /// The message.
    pub message: StoredMessage,
    pub(crate) from: Endpoint,
    pub(crate) queue_offset: i64,
    pub(crate) log_offset: i64,
}

impl TransactionCheck {
    /// The request that answers it, to the broker that asked.
    #[must_use]
    pub fn answer(&self, resolution: Resolution) -> Call {
        let unique = self.message.unique_key().unwrap_or_default();
        let request = EndTransaction {
            topic: Some(self.topic.as_str().into()),
            producer_group: self.group.as_str().into(),
            tran_state_table_offset: self.queue_offset,
            commit_log_offset: self.log_offset,
            commit_or_rollback: resolution.flag(),
            from_transaction_check: Some(true),
            msg_id: unique.into(),
            transaction_id: Some(unique.into()),
            scope: Scope::default(),
        };
        Call::new(Peer::Address(self.from.clone()), RawRequest::new(&request, Bytes::new()))
    }
}
