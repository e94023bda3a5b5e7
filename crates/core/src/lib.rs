//! The RocketMQ client as a pure state machine.
//!
//! [`Client`] is fed with frames and time and leaves outputs: connections to open, frames to send, answers for the
//! application, questions to it. It has no socket, clock, thread or source of randomness, and is `no_std`. `rocketry-tokio`
//! and `rocketry-smol` drive it on their runtimes; a program with its own event loop needs this crate alone, since the
//! codec with its pure `Wire` (bytes in, frames out) is re-exported as [`codec`] and the vocabulary of machines as
//! [`machine`].
//!
//! The laws that the machine keeps are those of [`machine::Machine`]. What it refuses to do: retry for ever without
//! saying so, drop a message unseen, complete an operation twice, or hide whether a failed send may have happened.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

extern crate alloc;

mod admin;
mod api;
mod calls;
mod client;
mod consumer;
mod cx;
mod dress;
mod go_away;
mod heartbeat;
mod lifecycle;
mod links;
mod message_trace;
mod naming;
mod ops;
mod producer;
mod registry;
mod routes;
mod serverside;
mod stats;
mod timer;
mod waiter;

pub use api::*;
pub use client::Client;
pub use consumer::{Allocate, Allocation, AllocationError, Rooms};
pub use stats::Counters;

pub use rocketry_codec as codec;
pub use rocketry_machine as machine;
