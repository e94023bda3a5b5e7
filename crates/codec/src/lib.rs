//! RocketMQ remoting frames, headers, bodies and stored messages.
//!
//! The crate turns bytes into typed values and back. It opens no socket, reads no clock and starts no thread; it never
//! panics on what a peer sent and never reserves memory for what a peer merely announced.
//!
//! ```
//! use rocketry_codec::request::GetRouteInfo;
//! use rocketry_codec::{FrameWriter, Limits, Sender, Wire};
//!
//! let mut writer = FrameWriter::new(Sender::default());
//! let request = GetRouteInfo { topic: "orders".into(), ..GetRouteInfo::default() };
//! let frame = writer.request(1, &request, Default::default());
//!
//! let (mut here, mut there) = (Wire::new(&Limits::DEFAULT), Wire::new(&Limits::DEFAULT));
//! here.push(&frame)?;
//! for segment in here.segments() {
//!     assert_eq!(there.feed(segment), segment.len());
//! }
//! let received = there.next_frame()?.ok_or("no frame")?;
//! assert_eq!(received.read::<GetRouteInfo<'_>>()?.topic, "orders");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Frame`] is one request or response; [`Wire`] cuts the bytes of a connection into frames and queues frames to be
//!   written; [`FrameWriter`] builds them.
//! - [`request`] and [`reply`] hold the typed headers, [`codes`] the numbers, [`header`] what lies below both.
//! - [`body`], [`json`] and [`message`] read and write what frames carry.
//! - [`ids`], [`names`], [`tags`], [`filter`], [`crc`] and [`sign`] are the small rules around them.
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
pub mod filter;
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
pub mod trace;
pub mod wire;

pub use encoder::{FrameWriter, RawRequest, Sender};
pub use error::{WireError, WireErrorKind};
pub use frame::{Flag, Frame};
pub use limits::Limits;
pub use wire::Wire;
