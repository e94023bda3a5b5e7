//! Queue locks (wire 5.4).

use alloc::collections::BTreeSet;
use alloc::string::String;

use super::body;
use super::queue::QueueName;

body! {
    /// Locks or unlocks queues for a member of a group (requests 41 and 42).
    pub struct LockRequest {
        client_id: String = "clientId",
        consumer_group: String = "consumerGroup",
        queues: BTreeSet<QueueName> = "mqSet",
        only_this_broker: bool = "onlyThisBroker",
    }

    /// The queues that were locked (answer of 41).
    pub struct LockReply {
        locked: BTreeSet<QueueName> = "lockOKMQSet",
    }
}
