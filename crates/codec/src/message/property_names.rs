//! Names of message properties (wire section 8).

/// Index keys, joined by one space.
pub const KEYS: &str = "KEYS";
/// The message's one tag.
pub const TAGS: &str = "TAGS";
/// `true` or `false`: whether the sender waits for the store. Java always writes it.
pub const WAIT_STORE: &str = "WAIT";
/// Delay level, decimal.
pub const DELAY_LEVEL: &str = "DELAY";
/// Original topic of a message in a retry topic.
pub const RETRY_TOPIC: &str = "RETRY_TOPIC";
/// Real topic of a delayed, timer or half message.
pub const REAL_TOPIC: &str = "REAL_TOPIC";
/// Real queue id of a delayed, timer or half message.
pub const REAL_QUEUE_ID: &str = "REAL_QID";
/// `true` on half messages.
pub const TRANSACTION_PREPARED: &str = "TRAN_MSG";
/// Producer group of a half message.
pub const PRODUCER_GROUP: &str = "PGROUP";
/// Smallest offset of the queue, from the pull answer.
pub const MIN_OFFSET: &str = "MIN_OFFSET";
/// Offset after the newest message of the queue, from the pull answer.
pub const MAX_OFFSET: &str = "MAX_OFFSET";
/// Legacy.
pub const BUYER_ID: &str = "BUYER_ID";
/// Offset id of the first copy of a retried message.
pub const ORIGIN_MESSAGE_ID: &str = "ORIGIN_MESSAGE_ID";
/// Legacy.
pub const TRANSFER_FLAG: &str = "TRANSFER_FLAG";
/// Legacy.
pub const CORRECTION_FLAG: &str = "CORRECTION_FLAG";
/// Legacy.
pub const MQ2_FLAG: &str = "MQ2_FLAG";
/// How often the message was consumed before, on a send to a retry topic.
pub const RECONSUME_TIME: &str = "RECONSUME_TIME";
/// Region of the broker.
pub const MSG_REGION: &str = "MSG_REGION";
/// Whether the broker wants traces of this message.
pub const TRACE_ON: &str = "TRACE_ON";
/// The unique message id (wire 7.2).
pub const UNIQUE_KEY: &str = "UNIQ_KEY";
/// Reserved, without use.
pub const EXTEND_UNIQ_INFO: &str = "EXTEND_UNIQ_INFO";
/// Most times a message may be consumed, on a send to a retry topic.
pub const MAX_RECONSUME_TIMES: &str = "MAX_RECONSUME_TIMES";
/// When the consumer handed the message to its listener, in milliseconds.
pub const CONSUME_START_TIME: &str = "CONSUME_START_TIME";
/// Number of messages in an inner batch. A producer must not send it.
pub const INNER_NUM: &str = "INNER_NUM";
/// Base offset of an inner batch.
pub const INNER_BASE: &str = "INNER_BASE";
/// Marker of commit-log duplication.
pub const DUP_INFO: &str = "DUP_INFO";
/// Seconds before the first check of a half message.
pub const CHECK_IMMUNITY_SECONDS: &str = "CHECK_IMMUNITY_TIME_IN_SECONDS";
/// Queue offset of a half message that was put again.
pub const TRANSACTION_PREPARED_QUEUE_OFFSET: &str = "TRAN_PREPARED_QUEUE_OFFSET";
/// Transaction id.
pub const TRANSACTION_ID: &str = "__transactionId__";
/// How often the broker asked about a half message.
pub const TRANSACTION_CHECK_TIMES: &str = "TRANSACTION_CHECK_TIMES";
/// Namespace of the producer.
pub const INSTANCE_ID: &str = "INSTANCE_ID";
/// Ties a reply to its request.
pub const CORRELATION_ID: &str = "CORRELATION_ID";
/// Client id that waits for the reply.
pub const REPLY_TO_CLIENT: &str = "REPLY_TO_CLIENT";
/// Life of a request in milliseconds.
pub const TTL: &str = "TTL";
/// When a reply reached the requester, in milliseconds.
pub const ARRIVE_TIME: &str = "ARRIVE_TIME";
/// When the broker pushed a reply, in milliseconds.
pub const PUSH_REPLY_TIME: &str = "PUSH_REPLY_TIME";
/// Cluster of the broker.
pub const CLUSTER: &str = "CLUSTER";
/// `reply` on replies.
pub const MSG_TYPE: &str = "MSG_TYPE";
/// Receipt handle of a popped message (wire 7.5).
pub const POP_CK: &str = "POP_CK";
/// Offset of a pop check-point.
pub const POP_CK_OFFSET: &str = "POP_CK_OFFSET";
/// When the message was popped first, in milliseconds.
pub const FIRST_POP_TIME: &str = "1ST_POP_TIME";
/// Ordering key.
pub const SHARDING_KEY: &str = "__SHARDINGKEY";
/// Queue id of a forwarded message.
pub const FORWARD_QUEUE_ID: &str = "PROPERTY_FORWARD_QUEUE_ID";
/// Marker of a redirected message.
pub const REDIRECT: &str = "REDIRECT";
/// Comma list of light queues that also get the message.
pub const INNER_MULTI_DISPATCH: &str = "INNER_MULTI_DISPATCH";
/// Comma list of offsets in those queues.
pub const INNER_MULTI_QUEUE_OFFSET: &str = "INNER_MULTI_QUEUE_OFFSET";
/// Trace context of the proxy.
pub const TRACE_CONTEXT: &str = "TRACE_CONTEXT";
/// Delay in seconds.
pub const TIMER_DELAY_SEC: &str = "TIMER_DELAY_SEC";
/// Delay in milliseconds.
pub const TIMER_DELAY_MS: &str = "TIMER_DELAY_MS";
/// Delivery time in milliseconds since 1970.
pub const TIMER_DELIVER_MS: &str = "TIMER_DELIVER_MS";
/// When the timer took the message.
pub const TIMER_ENQUEUE_MS: &str = "TIMER_ENQUEUE_MS";
/// When the timer let the message go.
pub const TIMER_DEQUEUE_MS: &str = "TIMER_DEQUEUE_MS";
/// How often the timer re-queued the message.
pub const TIMER_ROLL_TIMES: &str = "TIMER_ROLL_TIMES";
/// When the timer fires.
pub const TIMER_OUT_MS: &str = "TIMER_OUT_MS";
/// Unique id of the timer message to delete.
pub const TIMER_DEL_UNIQ_KEY: &str = "TIMER_DEL_UNIQKEY";
/// Delay level turned into a timer.
pub const TIMER_DELAY_LEVEL: &str = "TIMER_DELAY_LEVEL";
/// Born host as text.
pub const BORN_HOST: &str = "__BORNHOST";
/// Born time as text.
pub const BORN_TIMESTAMP: &str = "BORN_TIMESTAMP";
/// Checksum of the record (wire 6.3).
pub const CRC32: &str = "__CRC32#";
/// Topic a dead letter came from.
pub const DLQ_ORIGIN_TOPIC: &str = "DLQ_ORIGIN_TOPIC";
/// Id of the message a dead letter came from.
pub const DLQ_ORIGIN_MESSAGE_ID: &str = "DLQ_ORIGIN_MESSAGE_ID";
/// Delivery time, cloud clients.
pub const START_DELIVER_TIME: &str = "__STARTDELIVERTIME";
/// Prefix of properties that are never stored.
pub const TRANSIENT_PREFIX: &str = "__RMQ.TRANSIENT.";
/// What joins the keys in [`KEYS`].
pub const KEY_SEPARATOR: char = ' ';

/// Names an application may not set: they belong to the protocol. Java's setter for user properties refuses the same.
pub const RESERVED: &[&str] = &[
    KEYS,
    TAGS,
    WAIT_STORE,
    DELAY_LEVEL,
    RETRY_TOPIC,
    REAL_TOPIC,
    REAL_QUEUE_ID,
    TRANSACTION_PREPARED,
    PRODUCER_GROUP,
    MIN_OFFSET,
    MAX_OFFSET,
    BUYER_ID,
    ORIGIN_MESSAGE_ID,
    TRANSFER_FLAG,
    CORRECTION_FLAG,
    MQ2_FLAG,
    RECONSUME_TIME,
    MSG_REGION,
    TRACE_ON,
    UNIQUE_KEY,
    EXTEND_UNIQ_INFO,
    MAX_RECONSUME_TIMES,
    CONSUME_START_TIME,
    DUP_INFO,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    INSTANCE_ID,
    CORRELATION_ID,
    REPLY_TO_CLIENT,
    TTL,
    ARRIVE_TIME,
    PUSH_REPLY_TIME,
    CLUSTER,
    MSG_TYPE,
    POP_CK,
    POP_CK_OFFSET,
    FIRST_POP_TIME,
    INNER_MULTI_QUEUE_OFFSET,
    TIMER_DELAY_SEC,
    TIMER_DELAY_MS,
    TIMER_DELIVER_MS,
    TIMER_ENQUEUE_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ROLL_TIMES,
    TIMER_OUT_MS,
    TIMER_DEL_UNIQ_KEY,
    TIMER_DELAY_LEVEL,
    BORN_HOST,
    BORN_TIMESTAMP,
    CRC32,
    DLQ_ORIGIN_TOPIC,
    DLQ_ORIGIN_MESSAGE_ID,
];

/// Whether `name` belongs to the protocol and may not be set by an application.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_names_are_reserved_and_user_names_are_not() {
        for name in [KEYS, TAGS, WAIT_STORE, UNIQUE_KEY, POP_CK, TIMER_DELAY_MS] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["colour", SHARDING_KEY, TRANSACTION_ID, CHECK_IMMUNITY_SECONDS, "keys"] {
            assert!(!is_reserved(name), "{name}");
        }
    }
}
