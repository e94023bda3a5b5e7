//! Ids that cross the border between the client machine and its owner.

rocketry_machine::ids! {
    /// An operation that was submitted; it completes exactly once.
    pub OpId,
    /// A question that the machine asked and that waits for an answer.
    pub AskId,
    /// A record that was set aside.
    pub AsideId,
    /// A question about positions that the owner keeps.
    pub OffsetTaskId,
    /// A started producer.
    pub ProducerId,
    /// A started consumer.
    pub ConsumerId,
}
