//! RocketMQ producers and consumers on smol.
#![forbid(unsafe_code)]

mod net;
mod timer;

pub use net::Smol;
pub use rocketry_core::{
    self as core, Certainty, ConfigError, Message, MessageQueue, Notice, OpError, OpErrorKind, SendReceipt, SendStatus,
    StartAt, StopReport, Topic,
};
pub use rocketry_driver::{
    Action, Answer, Consumer, ConsumerBuilder, DelayLevel, Deliveries, Delivery, Driver, Error, Notices, Producer,
    ProducerBuilder, Received, Run, Sending, memory,
};

/// A client on smol.
pub type Client = rocketry_driver::Client<Smol>;
/// Sets up a [`Client`].
pub type ClientBuilder = rocketry_driver::ClientBuilder<Smol>;

pub mod server {
    //! Servers in this process on smol: any machine that accepts connections, on sockets or in memory.

    pub use rocketry_driver::server::Server;

    /// Bound addresses on smol.
    pub type Listener = rocketry_driver::server::Listener<super::Smol>;
}
