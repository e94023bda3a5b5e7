//! The message store in memory: one commit log, and for each queue an index into it.
//!
//! This is the whole interface between the broker's rules and the place where messages lie: append a record, look at
//! a queue, read records. Nothing here waits: what a durable store adds are outputs of the machine, not calls.

mod commit;
mod queue;

pub(crate) use commit::CommitLog;
pub(crate) use queue::{ENTRY_BYTES, Entry, Queue};
