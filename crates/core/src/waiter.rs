//! Who waits for the answer to a request: small plain values that print, compare and can be asserted.

use rocketry_machine::{ConnId, Key};

use crate::api::{ConsumerId, OpId};
use crate::heartbeat::Told;

/// The continuation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Waiter {
    /// A send of the producer part.
    Send(OpId),
    /// A look-up of the route part.
    Route(Key),
    /// A heartbeat.
    Heartbeat(Told),
    /// Something that a consumer asked.
    Consumer(ConsumerId, ConsumerCall),
    /// A call of the owner.
    User(OpId),
    /// A farewell: unregistering on this connection.
    Unregister(ConnId),
    /// Nobody: the answer is only counted.
    Forget,
}

/// What a consumer asked. The first `Key` names a process queue where nothing else is said; numbers are sequence numbers
/// of messages in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConsumerCall {
    /// The members of the group, to divide the queues of this subscription.
    Members(Key),
    /// Whether a broker understands the filter of this subscription.
    Check(Key),
    /// Messages.
    Pull(Key),
    /// The stored position.
    QueryOffset(Key),
    /// The end of the queue, or its offset for a time: the start position.
    StartOffset(Key),
    /// Saving the position, with an answer.
    SaveOffset(Key),
    /// Saving the first position of a queue that was given up; the key names it.
    PartingOffset(Key),
    /// One record that could not be decoded, again.
    Reread(Key, u64),
    /// The locks that were asked for in the request of this number.
    Lock(u32),
    /// Sending a message back.
    SendBack(Key, u64),
    /// Sending a copy to the retry topic because sending back failed.
    RetryCopy(Key, u64),
    /// Something for an operation of a lite consumer; the key names what is done for it.
    Errand(Key),
}
