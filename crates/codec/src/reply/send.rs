//! Answers. Sending: messages, retries, recalls and pushed replies (wire 4.1, 4.8, 4.10, 4.12).

use crate::header::macros::header;

header! {
    /// Which message was cancelled (wire 4.12).
    pub struct RecallMessageReply<'a>: "RecallMessageResponseHeader";
    /// The `UNIQ_KEY` of the message that was recalled.
    msg_id: text required = "msgId",
}

header! {
    /// Where the message was stored (wire 4.1).
    pub struct SendMessageReply<'a>: "SendMessageResponseHeader";
    /// The offset message id; for a batch one per message, comma between.
    msg_id: text required = "msgId",
    /// The queue.
    queue_id: i32 required = "queueId",
    /// The offset in the queue, of the first message of a batch.
    queue_offset: i64 required = "queueOffset",
    /// The transaction id: the `UNIQ_KEY` of the message.
    transaction_id: text optional = "transactionId",
    /// The unique id of a batch that was stored as one record; from 5.0.
    batch_uniq_id: text optional = "batchUniqId",
    /// The handle that recalls a timed message; from 5.3.2 (wire 7.6).
    recall_handle: text optional = "recallHandle",
    /// The region of the broker.
    region_id: text bare = "MSG_REGION",
    /// Whether the broker wants the message traced; absent counts as true.
    trace_on: bool bare = "TRACE_ON",
}
