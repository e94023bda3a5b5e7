//! Answers. Transactions (wire 4.9).

use crate::header::macros::header;

header! {
    /// Declared by Java and never sent (wire 4.9).
    pub struct CheckTransactionStateReply<'a>: "CheckTransactionStateResponseHeader";
    /// The producer group.
    producer_group: text required = "producerGroup",
    /// Offset of the half message in the half queue.
    tran_state_table_offset: i64 required = "tranStateTableOffset",
    /// Offset of the half message in the commit log.
    commit_log_offset: i64 required = "commitLogOffset",
    /// 8 commit, 12 rollback, 0 unknown.
    commit_or_rollback: i32 required = "commitOrRollback",
}

header! {
    /// Nothing (wire 4.9).
    pub struct EndTransactionReply: "EndTransactionResponseHeader";
}
