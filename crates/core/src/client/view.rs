//! What an owner may look at without an operation.

use alloc::vec::Vec;

use super::Client;
use crate::api::{ConsumerId, MessageQueue, Topic};

impl Client {
    /// The queues of a topic that messages may be read from, sorted; empty when no route is known.
    #[must_use]
    pub fn readable_queues(&self, topic: &Topic) -> Vec<MessageQueue> {
        self.shared.table.subscribe_queues(topic).unwrap_or_default().to_vec()
    }

    /// The queues that a consumer has now, sorted; empty when it is stopped.
    #[must_use]
    pub fn assignment(&self, consumer: ConsumerId) -> Vec<MessageQueue> {
        self.consumers.assignment(consumer)
    }

    /// The offset of the first message of a queue that a consumer has not handed over yet; `None` while the queue is not
    /// the consumer's, or its position is still being asked for.
    #[must_use]
    pub fn position(&self, consumer: ConsumerId, queue: &MessageQueue) -> Option<i64> {
        self.consumers.position(consumer, queue)
    }
}
