//! Push consumers against a name server and a broker that are played by the test, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod access;
mod broadcast;
mod filters;
mod flow;
mod life;
mod lite;
mod lite_commit;
mod lite_life;
mod lite_once;
mod lite_random;
mod offsets;
mod orderly;
mod quarantine;
mod random;
mod rebalance;
mod retry;
mod servers;
mod stored;
mod world;
