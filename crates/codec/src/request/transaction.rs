//! Transactions (wire 4.9).

use crate::header::macros::{header, request};
use crate::reply::{EndTransactionReply, NoFields};

header! {
    /// Commits or rolls back a half message; usually oneway (wire 4.9).
    pub struct EndTransaction<'a>: "EndTransactionRequestHeader" + rpc;
    /// The topic; from 5.3, for access control.
    topic: text optional = "topic",
    /// The producer group; equal to the stored `PGROUP`.
    producer_group: text required = "producerGroup",
    /// Offset of the half message in the half queue.
    tran_state_table_offset: i64 required = "tranStateTableOffset",
    /// Offset of the half message in the commit log.
    commit_log_offset: i64 required = "commitLogOffset",
    /// 8 commit, 12 rollback, 0 unknown.
    commit_or_rollback: i32 required = "commitOrRollback",
    /// Whether this answers a check.
    from_transaction_check: bool optional = "fromTransactionCheck",
    /// The `UNIQ_KEY` of the message.
    msg_id: text required = "msgId",
    /// The transaction id: the `UNIQ_KEY` of the message.
    transaction_id: text optional = "transactionId",
}

header! {
    /// A broker asks a producer for the outcome of a transaction; never answered (wire 4.9).
    pub struct CheckTransactionState<'a>: "CheckTransactionStateRequestHeader" + rpc;
    /// The half topic; from 5.3.
    topic: text optional = "topic",
    /// Offset of the half message in the half queue.
    tran_state_table_offset: i64 required = "tranStateTableOffset",
    /// Offset of the half message in the commit log.
    commit_log_offset: i64 required = "commitLogOffset",
    /// The `UNIQ_KEY` of the message.
    msg_id: text optional = "msgId",
    /// The transaction id: the `UNIQ_KEY` of the message.
    transaction_id: text optional = "transactionId",
    /// The offset message id; from 4.3.
    offset_msg_id: text optional = "offsetMsgId",
}

header! {
    /// Has a broker ask again about a half message (wire 4.14).
    pub struct ResumeCheckHalfMessage<'a>: "ResumeCheckHalfMessageRequestHeader";
    /// The topic.
    topic: text optional = "topic",
    /// The message id.
    msg_id: text optional = "msgId",
}

request!(EndTransaction<'_>, END_TRANSACTION, EndTransactionReply);
request!(CheckTransactionState<'_>, CHECK_TRANSACTION_STATE, NoFields);
request!(ResumeCheckHalfMessage<'_>, RESUME_CHECK_HALF_MESSAGE, NoFields);
