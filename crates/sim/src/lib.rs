//! A deterministic world of RocketMQ clients, brokers and name servers, in virtual time.
//!
//! The machines are the real ones, and so is the codec between them: frames become bytes, are cut at random places, are
//! delayed, lost with their connection, or never arrive, and become frames again. Time jumps from event to event, so that
//! minutes take milliseconds. The same seed and the same steps give the same run, byte for byte: see
//! [`World::trace_hash`].
//!
//! A [`World`] holds [`Node`]s. A node is a machine with its application; it has two clocks of its own, can be crashed and
//! started again. What the network does is data: [`Fault`]s, scripted at moments or switched on and off by a test.
//!
//! What this crate refuses to do: read a real clock, open a socket, start a thread, or draw a number that the seed does
//! not decide.
#![forbid(unsafe_code)]

mod check;
mod client;
mod clock;
mod fault;
mod lab;
mod net;
mod node;
pub mod plan;
mod world;

pub use check::Violation;
pub use client::{Application, ClientNode};
pub use clock::Skew;
pub use fault::{Conditions, Fault};
#[cfg(feature = "broken")]
pub use lab::{Broken, run_broken};
pub use lab::{Profile, Report, run};
pub use node::{Boot, Node, NodeId, Server};
pub use world::{Stopped, World};
