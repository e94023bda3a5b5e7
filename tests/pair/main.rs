//! Client machines against the embedded name server and brokers, in memory, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod faults;
mod groups;
mod lite;
mod net;
mod orderly;
mod orderly_random;
mod positions;
mod random;
mod redelivery;
mod trace;
mod transactions;
