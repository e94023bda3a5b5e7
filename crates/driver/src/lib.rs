//! The runtime-neutral shell around the client machine.
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

pub use client::Client;
pub use client::builder::{ClientBuilder, Driver};
pub use client::notices::Notices;
pub use clock::{Clock, seed};
pub use consumer::Consumer;
pub use consumer::builder::ConsumerBuilder;
pub use consumer::deliveries::{Deliveries, Delivery};
pub use consumer::received::Received;
pub use consumer::run::Run;
pub use consumer::verdict::{Action, Answer, DelayLevel};
pub use error::Error;
pub use producer::{Producer, ProducerBuilder, Sending};
