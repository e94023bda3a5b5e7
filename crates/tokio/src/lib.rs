//! RocketMQ producers and consumers on tokio.
#![forbid(unsafe_code)]

mod net;
mod timer;

pub use net::Tokio;
pub use rocketry_core::{
    self as core, Certainty, ConfigError, Message, MessageQueue, Notice, OpError, OpErrorKind, SendReceipt, SendStatus,
    StartAt, StopReport, Topic,
};
pub use rocketry_driver::{
    Action, Answer, Consumer, ConsumerBuilder, DelayLevel, Deliveries, Delivery, Driver, Error, Notices, Producer,
    ProducerBuilder, Received, Run, Sending, memory,
};

/// A client on tokio.
pub type Client = rocketry_driver::Client<Tokio>;
/// Sets up a [`Client`].
pub type ClientBuilder = rocketry_driver::ClientBuilder<Tokio>;

pub mod server {
    //! Servers in this process on tokio: any machine that accepts connections, on sockets or in memory.

    pub use rocketry_driver::server::Server;

    /// Bound addresses on tokio.
    pub type Listener = rocketry_driver::server::Listener<super::Tokio>;
}
