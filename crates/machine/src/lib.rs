//! Time, ids, timers and the contract of sans-IO machines.
//!
//! A *machine* is a plain struct with four verbs: [`Machine::handle_input`], [`Machine::handle_timeout`],
//! [`Machine::poll_output`] and [`Machine::poll_timeout`]. It owns no clock, no socket, no thread and no source of
//! randomness: time arrives as a [`Now`] with each call, bytes arrive as frames, and everything that it wants done
//! leaves as an [`Output`]. The client, the broker and the name server of rocketry are machines; sockets, the simulator
//! and a program's own event loop are drivers of them.
//!
//! What this crate refuses to do: read a clock, draw a random number that was not seeded, hash in a random order,
//! start a thread, or touch the operating system. It is `no_std` so that none of this can be named.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod credit;
mod fingerprint;
mod id;
mod invariant;
mod io;
mod machine;
mod outbox;
mod prng;
mod slab;
mod time;
mod timers;

pub use credit::Credit;
pub use fingerprint::{Fingerprint, Fingerprinter};
pub use id::{ConnId, Key};
pub use invariant::Health;
pub use io::{CloseReason, Endpoint, EndpointError, Input, LinkError, Output, PeerInfo, Refused};
pub use machine::{Acceptor, Machine};
pub use outbox::Outbox;
pub use prng::{Prng, Seed};
pub use slab::Slab;
pub use time::{Deadline, Moment, Now, UnixMillis};
pub use timers::{TimerKey, Timers};
