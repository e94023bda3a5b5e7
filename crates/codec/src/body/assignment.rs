//! POP and assignment bodies (wire 5.6), and the member list of a group.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::body;
use super::queue::QueueName;

body! {
    /// The members of a group (answer of 38).
    pub struct ConsumerList {
        members: Vec<String> = "consumerIdList",
    }

    /// Asks which queues a member should have (request 400).
    pub struct QueryAssignment {
        client_id: String = "clientId",
        consumer_group: String = "consumerGroup",
        message_model: String = "messageModel",
        strategy_name: String = "strategyName",
        topic: String = "topic",
    }

    /// The queues that a member should have (answer of 400); absent when the broker has none to give.
    pub struct AssignmentReply {
        assignments: Option<Vec<Assignment>> = "messageQueueAssignments",
    }

    /// One queue of an [`AssignmentReply`], with the mode in which it is read: `PULL` or `POP`.
    pub struct Assignment {
        attachments: Option<BTreeMap<String, String>> = "attachments",
        queue: Option<QueueName> = "messageQueue",
        mode: String = "mode",
    }

    /// Sets how a group reads a topic (request 401).
    pub struct SetRequestMode {
        consumer_group: String = "consumerGroup",
        mode: String = "mode",
        pop_share_queue_num: i32 = "popShareQueueNum",
        topic: String = "topic",
    }

    /// Acknowledges many popped messages at once (request 200151).
    pub struct BatchAck {
        acks: Vec<BatchAckItem> = "acks",
        broker_name: String = "brokerName",
    }

    /// One check point of a [`BatchAck`]. Java reads the long names too.
    pub struct BatchAckItem {
        /// Base64 of a little-endian bit set: bit i set means that offset `start_offset + i` is acknowledged.
        bits: String = "b" | "bitSet",
        consumer_group: String = "c" | "consumerGroup",
        invisible_time_ms: i64 = "it" | "invisibleTime",
        pop_time_ms: i64 = "pt" | "popTime",
        queue_id: i32 = "q" | "queueId",
        /// `0` the normal topic, `1` and `2` the retry topics.
        retry: String = "r" | "retry",
        revive_queue_id: i32 = "rq" | "reviveQueueId",
        start_offset: i64 = "so" | "startOffset",
        /// The normal topic, also for retried messages.
        topic: String = "t" | "topic",
    }
}
