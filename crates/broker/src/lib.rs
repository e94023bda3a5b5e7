//! An embedded RocketMQ name server and broker, as pure state machines.
//!
//! To a client they behave like Apache's 5.3 line (`spec/broker.md`): same codes, same texts, same bytes in the log. They
//! are for development and tests: production is Apache's own cluster.
//!
//! | machine | is |
//! | --- | --- |
//! | [`NameServer`] | routes; brokers of any make register with it |
//! | [`Broker`] | topics, messages, groups, offsets; registers with name servers of any make |
//! | [`Embedded`] | one of each in one machine, for a process or a test that needs no more |
//!
//! Each implements [`Machine`](rocketry_machine::Machine) and [`Acceptor`](rocketry_machine::Acceptor) and keeps the
//! laws that are written there: a driver feeds connections, frames and time, and does what the outputs say.
//!
//! ```
//! use rocketry_broker::{BrokerConfig, Embedded, NameServerConfig};
//! use rocketry_codec::codes::ResponseCode;
//! use rocketry_codec::encoder::FrameWriter;
//! use rocketry_codec::request::GetRouteInfo;
//! use rocketry_machine::{Acceptor, Input, Machine, Now, Output, PeerInfo, Seed};
//!
//! let config = BrokerConfig::new("127.0.0.1:10911".parse()?).with_topic("orders", 4);
//! let now = Now::default();
//! let mut server = Embedded::new(NameServerConfig::new(), config, Seed::from(1), now);
//!
//! let conn = server.accept(now, PeerInfo::default())?;
//! let request = GetRouteInfo { topic: "orders".into(), ..GetRouteInfo::default() };
//! let frame = FrameWriter::default().request(1, &request, bytes::Bytes::new());
//! server.handle_input(now, Input::Frame { conn, frame });
//!
//! let answer = std::iter::from_fn(|| server.poll_output()).find_map(|output| match output {
//!     Output::Send { frame, .. } => Some(frame),
//!     _ => None,
//! });
//! assert_eq!(answer.map(|frame| frame.response_code()), Some(ResponseCode::SUCCESS));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! State lies in modules that know nothing of each other (topics, log, groups, clients, offsets, locks, hold, delay); the
//! rules that answer requests lie in modules of their own (send, pull, pop, retry, membership, positions, admin) and work
//! on all of it. The store is memory within a bound; it has one way in and one way out, so that durability can be added as
//! outputs of the machine.
//!
//! # What this crate refuses to do
//!
//! Read a clock, open a socket or a file, start a thread, draw a number that was not seeded, or share code with the
//! client: a misunderstanding that both shared would hide itself.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod admin;
mod append;
mod clients;
pub mod config;
mod delay;
mod event;
mod faults;
mod groups;
mod hold;
mod locks;
mod log;
mod machines;
mod matcher;
mod membership;
mod names;
mod offsets;
mod pop;
mod positions;
mod properties;
mod pull;
mod queue_locks;
mod registrar;
mod registration;
mod retry;
mod schedule;
mod send;
mod server;
mod shell;
mod state;
mod store;
#[cfg(test)]
mod testing;
mod topics;
mod transactions;

pub use config::{BrokerConfig, BrokerLimits, DelayLevels, NameServerConfig, NameServerLimits, TopicSpec};
pub use event::Event;
pub use faults::{Fault, FaultId, FaultRule, FaultSyntax};
pub use machines::{Broker, Embedded, NameServer};
