//! The runtime-neutral shell around the client machine: handles, workers, and the one future that waits.
//!
//! Applications use it through `rocketry-tokio` or `rocketry-smol`, which export its types. It needs the standard library
//! alone; a runtime is a type that implements [`io::Runtime`]: sockets, one timer, a way to spawn.
//!
//! # How a call goes
//!
//! The machine stands behind one short lock. Whoever has an input for it, be it a caller who sends, the driver whose socket
//! can be read, or a timer, takes a *step*: feed the machine, take all its outputs, write without blocking what there is to
//! write, note who is to be woken, release the lock, wake them. So a lone send costs one wake-up, its caller's. With many
//! operations in flight their frames are gathered, and the driver writes them together.
//!
//! What a step cannot do it leaves to the [`Driver`]: connecting, waiting for sockets and timers. It reads and decodes
//! outside the lock, and yields to the runtime when it has had its share.
//!
//! # What it promises
//!
//! - Nothing is spawned but the driver, and that only by [`ClientBuilder::build`]; [`Client::closed`] joins it.
//! - A dropped future of a call cancels the call. A dropped client closes. A driver that is dropped, with its runtime or
//!   without, ends every call with what is known about it.
//! - Commands that find no room wait in order; nobody overtakes.
//! - A message whose handler fails, panics or is dropped comes again, at once.
//! - Bodies are inflated before their handler begins, outside the lock, within one budget for the whole client.
//! - What was flushed is reported before a connection is reported closed, so that `NotSent` can be relied on.
#![forbid(unsafe_code)]

mod client;
mod clock;
mod conns;
mod consumer;
mod driver;
mod end;
mod error;
mod host;
mod inbound;
pub mod io;
pub mod memory;
mod offsets;
mod outbound;
mod producer;
pub mod server;
mod shell;
mod signal;
mod span;
mod sync;
#[cfg(test)]
mod testing;
#[cfg(feature = "tracing")]
mod trace;
mod transaction;

pub use client::Client;
pub use client::builder::{ClientBuilder, Driver};
pub use client::notices::Notices;
pub use clock::{Clock, seed};
pub use consumer::Consumer;
pub use consumer::builder::ConsumerBuilder;
pub use consumer::deliveries::{Deliveries, Delivery};
pub use consumer::lite::LiteConsumer;
pub use consumer::lite::builder::LiteConsumerBuilder;
pub use consumer::lite::changes::QueueChanges;
pub use consumer::lite::messages::LiteMessages;
pub use consumer::lite::once::Pull;
pub use consumer::received::Received;
pub use consumer::run::Run;
pub use consumer::undecodable::{Undecodable, Undecodables};
pub use consumer::verdict::{Action, Answer, DelayLevel};
pub use error::Error;
pub use producer::{Producer, ProducerBuilder, Sending};
pub use transaction::{Transaction, TransactionCheck, TransactionChecks};
