//! Who waits for the answer to a request: small plain values that print, compare and can be asserted.

use rocketry_machine::{ConnId, Key};

use crate::api::{ConsumerId, OpId};

/// The continuation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Waiter {
    /// A send of the producer part.
    Send(OpId),
    /// A look-up of the route part.
    Route(Key),
    /// A heartbeat on this connection.
    Heartbeat(ConnId),
    /// Something that a consumer asked.
    Consumer(ConsumerId, ConsumerCall),
    /// A call of the owner.
    User(OpId),
    /// A farewell: unregistering on this connection.
    Unregister(ConnId),
    /// Nobody: the answer is only counted.
    Forget,
}

/// What a consumer asked. `Key`s name process queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConsumerCall {
    /// The member list of the group, for the topic with this number in the consumer's subscription table.
    Members(u32),
    /// Messages of a queue.
    Pull(Key),
    /// The stored position of a queue.
    QueryOffset(Key),
    /// The end of a queue, or its offset for a time: the start position.
    StartOffset(Key),
    /// Saving the position of a queue, with an answer.
    SaveOffset(Key),
    /// Sending a message back: the queue, and the message's offset.
    SendBack(Key, i64),
    /// Sending a copy to the retry topic because sending back failed.
    RetryCopy(Key, i64),
    /// The check of a subscription at a broker.
    CheckConfig,
}
