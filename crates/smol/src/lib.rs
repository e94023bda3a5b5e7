//! RocketMQ producers and consumers on smol.
//!
//! # The first message
//!
//! ```no_run
//! use rocketry_smol::{Client, Message};
//!
//! # async fn hello() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder().name_servers("127.0.0.1:9876").build()?;
//! let producer = client.producer("orders-service").start().await?;
//! let receipt = producer.send(Message::builder("orders").body("hello").tag("created").key("42").build()?).await?;
//! println!("stored as {} in {}", receipt.message_id, receipt.queue);
//! # Ok(()) }
//! ```
//!
//! # Receiving, with a handler
//!
//! What the handler returns decides: `Ok` is done with, an `Err` comes again later, and to the dead-letter topic in the
//! end. A panic and a handler that is dropped mean that the message comes again, too.
//!
//! ```no_run
//! use rocketry_smol::{Client, Error, StartAt};
//!
//! # async fn bill(_: &[u8]) -> Result<(), Error> { Ok(()) }
//! # async fn hello(client: Client) -> Result<(), Error> {
//! let consumer = client.consumer("billing").subscribe("orders", "created || paid").start_at(StartAt::First).start().await?;
//! consumer.run(|message| async move { bill(message.body()).await }).await?;
//! # Ok(()) }
//! ```
//!
//! # Receiving, as a stream
//!
//! ```no_run
//! use std::time::Duration;
//! use rocketry_smol::{Client, DelayLevel, Error};
//!
//! # async fn bill(_: &[u8]) -> Result<(), Error> { Ok(()) }
//! # async fn hello(client: Client) -> Result<(), Error> {
//! let consumer = client.consumer("billing").subscribe("orders", "*").start().await?;
//! let mut deliveries = consumer.deliveries();
//! while let Some(delivery) = deliveries.next().await {
//!     match bill(delivery.body()).await {
//!         Ok(()) => delivery.succeed(),
//!         Err(_) => delivery.retry_after(DelayLevel::TEN_SECONDS),
//!     }
//! }
//! consumer.shutdown(Duration::from_secs(10)).await?; // drained, saved, unregistered
//! # Ok(()) }
//! ```
//!
//! # Asking for messages
//!
//! A lite consumer hands messages over when it is polled, and reads where it is told to. What one poll handed over counts
//! as handled when the next poll comes.
//!
//! ```no_run
//! use std::time::Duration;
//! use rocketry_smol::{Client, Commit, Error, SeekTo};
//!
//! # async fn bill(_: &[u8]) -> Result<(), Error> { Ok(()) }
//! # async fn hello(client: Client) -> Result<(), Error> {
//! let consumer = client.lite_consumer("billing").start().await?;
//! let queues = consumer.queues("orders").await?;
//! consumer.assign(queues.clone()).await?; // or subscribe, and share the queues with the group
//! for queue in &queues {
//!     consumer.seek_to(queue, SeekTo::Begin).await?;
//! }
//! loop {
//!     let messages = consumer.poll(32, Duration::from_secs(5)).await?;
//!     if messages.is_empty() {
//!         break;
//!     }
//!     for message in messages {
//!         bill(message.body()).await?;
//!     }
//! }
//! consumer.commit(Commit::All).await?; // the last poll's messages too
//! consumer.shutdown(Duration::from_secs(10)).await?;
//! # Ok(()) }
//! ```
//!
//! # A broker in the same process
//!
//! `rocketry-broker` is a name server and broker; [`server::Listener`] serves it. This is a whole program, and runs as a
//! test:
//!
//! ```
//! use std::time::Duration;
//! use rocketry_broker::{BrokerConfig, Embedded, NameServerConfig};
//! use rocketry_smol::{Client, Message, StartAt, server::Listener};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> { smol::block_on(async {
//! let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
//! let address = listener.address().ok_or("a socket has an address")?;
//! let _server = listener.serve(|now, seed| {
//!     Embedded::new(NameServerConfig::new(), BrokerConfig::new(address), seed, now)
//! })?;
//!
//! let client = Client::builder().name_servers(address.to_string()).build()?;
//! let producer = client.producer("orders-service").start().await?;
//! let receipt = producer.send(Message::new("orders", "hello")?).await?;
//!
//! let consumer = client.consumer("billing").subscribe("orders", "*").start_at(StartAt::First).start().await?;
//! let delivery = consumer.deliveries().next().await.ok_or("stopped")?;
//! assert_eq!((delivery.id(), delivery.body()), (receipt.message_id, &b"hello"[..]));
//! delivery.succeed();
//! client.shutdown(Duration::from_secs(5)).await?;
//! # Ok(()) }) }
//! ```
//!
//! # What runs where
//!
//! [`ClientBuilder::build`] spawns one task, the client's driver, which [`Client::closed`] joins; nothing else is spawned.
//! Handlers run inside the future that [`Consumer::run`] returns. Dropping the future of a call gives the call up;
//! dropping the last handle closes the client.
#![forbid(unsafe_code)]

mod net;
mod timer;

pub use net::Smol;
pub use rocketry_core::{
    self as core, Certainty, Commit, ConfigError, ConsumerStats, FilterExpression, Message, MessageQueue, Notice,
    OpError, OpErrorKind, PullOnce, PullStatus, Quarantine, QueueStats, Rate, Resolution, SeekTo, SendReceipt,
    SendStatus, StartAt, StopReport, Topic, TopicStats,
};
pub use rocketry_driver::{
    Action, Answer, Consumer, ConsumerBuilder, DelayLevel, Deliveries, Delivery, Driver, Error, LiteConsumer,
    LiteConsumerBuilder, LiteMessages, Notices, Producer, ProducerBuilder, Pull, QueueChanges, Received, Run, Sending,
    Transaction, TransactionCheck, TransactionChecks, Undecodable, Undecodables, memory,
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
