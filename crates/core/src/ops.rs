//! Who owns a submitted operation.

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
    /// A change of a consumer that is complete when it is accepted.
    Change,
    /// A call of the owner.
    Call,
    /// A route that the owner wants to know.
    Route,
    /// The shutdown of the client.
    Shutdown,
}
