//! RocketMQ remoting frames, headers, bodies and stored messages.
//!
//! The crate turns bytes into typed values and back. It opens no socket, reads no clock and starts no thread; it never
//! panics on what a peer sent and never reserves memory for what a peer merely announced.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod base64;
pub mod body;
pub mod codes;
pub mod crc;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod frame;
pub mod hash;
pub mod header;
pub mod ids;
pub mod json;
pub mod limits;
pub mod message;
pub mod names;
pub mod namespace;
pub mod pop;
pub mod reply;
pub mod request;
pub mod sign;
pub mod tags;
pub mod wire;

pub use encoder::{FrameWriter, RawRequest, Sender};
pub use error::{WireError, WireErrorKind};
pub use frame::{Flag, Frame};
pub use limits::Limits;
pub use wire::Wire;
