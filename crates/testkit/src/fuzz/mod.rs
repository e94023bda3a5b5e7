//! Fuzz bodies: each takes any bytes, drives one parser with them and asserts what must hold for every input.
//!
//! A body is `pub fn name(data: &[u8])` in a file of its own and has a line in [`TARGETS`]; the target of the same
//! name in `fuzz/fuzz_targets/` calls it, and `tests/fuzz_replay.rs` runs it over the seeds in `fuzz/seeds/name/` on
//! every compiler. A body never allocates in proportion to what the input merely announces.

#![allow(clippy::expect_used, reason = "a panic is how a fuzz body tells what it found")]

mod frame_stream;
mod header;
mod json_body;
mod message_batch;
mod properties;
mod route_body;
mod sql_filter;

pub use frame_stream::frame_stream;
pub use header::{binary_header, json_header};
pub use json_body::json_body;
pub use message_batch::message_batch;
pub use properties::properties;
pub use route_body::route_body;
pub use sql_filter::sql_filter;

/// A fuzz target's name and body.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, in alphabetical order.
pub const TARGETS: &[Target] = &[
    ("binary_header", binary_header),
    ("frame_stream", frame_stream),
    ("json_body", json_body),
    ("json_header", json_header),
    ("message_batch", message_batch),
    ("properties", properties),
    ("route_body", route_body),
    ("sql_filter", sql_filter),
];
