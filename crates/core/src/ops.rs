//! Who owns a submitted operation.

use crate::api::ConsumerId;

/// The part that will complete an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpOwner {
    /// A send.
    Send,
    /// The start of a producer.
    StartProducer,
    /// The stop of a producer.
    StopProducer,
    /// The start of a consumer.
    StartConsumer,
    /// The stop of a consumer.
    StopConsumer,
    /// Something that a lite consumer does.
    Lite(ConsumerId),
    /// A change of a consumer that is complete when it is accepted.
    Change,
    /// A call of the owner.
    Call,
    /// A route that the owner wants to know.
    Route,
    /// The shutdown of the client.
    Shutdown,
}
