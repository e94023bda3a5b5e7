//! zlib, LZ4 frame and ZSTD bodies behind one bounded interface (wire 6.7).
//!
//! [`compress`] writes what Java reads, [`inflate`] reads what Java and other clients write, and
//! [`plain_body`] does it for a stored message by its system flag; [`Codecs`] does the same for many bodies. Inflating stops at a limit the caller sets,
//! whatever the input says about itself: beside the output, at most the limit in size, zlib needs under 1 MiB, LZ4
//! nothing, and ZSTD its window, which is refused above 8 MiB. Truncated or corrupt input is an error, never a panic
//! and never a part of a body.
//!
//! The features `zlib`, `lz4` and `zstd` are on by default; without one of them its bodies are
//! [`InflateError::Unsupported`].
#![forbid(unsafe_code)]

mod error;
#[cfg(any(feature = "zlib", feature = "zstd"))]
mod growth;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstandard;

use bytes::Bytes;
use rocketry_codec::message::{Compression, StoredMessage};

pub use error::{CompressError, InflateError};

/// Default limit of an inflated body in bytes, that of [`rocketry_codec::Limits`].
pub const DEFAULT_LIMIT: usize = rocketry_codec::Limits::DEFAULT.inflated_body;

/// How hard to compress. Each codec takes the nearest level it has; LZ4 has only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(i32);

impl Level {
    /// Level 5, Java's default for every codec.
    pub const JAVA_DEFAULT: Self = Self(5);

    /// A level; the larger, the smaller and slower.
    #[must_use]
    pub const fn new(level: i32) -> Self {
        Self(level)
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::JAVA_DEFAULT
    }
}

/// Compresses and inflates bodies, keeping what the codecs need from one body to the next.
///
/// Setting a codec up costs more than a small body, so whoever handles many keeps one of these: tens of KiB once used
/// for zlib, under 1 MiB for ZSTD, whose state is let go after a body with a large window.
#[derive(Debug, Default)]
pub struct Codecs {
    level: Level,
    #[cfg(feature = "zlib")]
    zlib: zlib::Zlib,
    #[cfg(feature = "zstd")]
    zstd: zstandard::Zstandard,
}

impl Codecs {
    /// Codecs that compress at `level` and have not been used yet.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self {
            level,
            #[cfg(feature = "zlib")]
            zlib: zlib::Zlib::default(),
            #[cfg(feature = "zstd")]
            zstd: zstandard::Zstandard::default(),
        }
    }

    /// Compresses a body as `compression`, to be marked with
    /// [`SysFlag::with_compression`](rocketry_codec::message::SysFlag::with_compression).
    ///
    /// # Errors
    ///
    /// [`CompressError::Unsupported`] when the codec is switched off.
    pub fn compress(&mut self, compression: Compression, body: &[u8]) -> Result<Vec<u8>, CompressError> {
        match compression {
            #[cfg(feature = "zlib")]
            Compression::Zlib => self.zlib.compress(self.level.0, body),
            #[cfg(feature = "lz4")]
            Compression::Lz4 => lz4::compress(body),
            #[cfg(feature = "zstd")]
            Compression::Zstd => self.zstd.compress(self.level.0, body),
            #[allow(unreachable_patterns, reason = "reachable when a feature is off, and for codecs to come")]
            other => {
                let _ = (self.level.0, body);
                Err(CompressError::Unsupported(other))
            }
        }
    }

    /// Inflates a body of at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// [`InflateError::TooLarge`] when there is more than `limit`, and the other [`InflateError`]s for input that is
    /// not a whole body. No part of a body is ever returned.
    pub fn inflate(&mut self, compression: Compression, body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
        match compression {
            #[cfg(feature = "zlib")]
            Compression::Zlib => self.zlib.inflate(body, limit),
            #[cfg(feature = "lz4")]
            Compression::Lz4 => lz4::inflate(body, limit),
            #[cfg(feature = "zstd")]
            Compression::Zstd => self.zstd.inflate(body, limit),
            #[allow(unreachable_patterns, reason = "reachable when a feature is off, and for codecs to come")]
            other => {
                let _ = (body, limit);
                Err(InflateError::Unsupported(other))
            }
        }
    }

    /// The plain body of a message, of at most `limit` bytes if it has to be inflated. Give it back to the message
    /// with [`StoredMessage::with_body`], which clears the compressed bit as Java does. A body that is not compressed
    /// is shared.
    ///
    /// # Errors
    ///
    /// As [`inflate`](Self::inflate), and [`InflateError::UnknownCodec`] for compression bits nobody defined. The
    /// message's body is then still the compressed one and must not be taken for what its producer sent.
    pub fn plain_body(&mut self, message: &StoredMessage, limit: usize) -> Result<Bytes, InflateError> {
        match message.compression() {
            Ok(Some(compression)) => self.inflate(compression, message.body_bytes(), limit).map(Bytes::from),
            Ok(None) => Ok(message.body()),
            Err(_) => Err(InflateError::UnknownCodec),
        }
    }
}

/// Compresses one body; see [`Codecs::compress`].
///
/// # Errors
///
/// As [`Codecs::compress`].
pub fn compress(compression: Compression, level: Level, body: &[u8]) -> Result<Vec<u8>, CompressError> {
    Codecs::new(level).compress(compression, body)
}

/// Inflates one body; see [`Codecs::inflate`].
///
/// # Errors
///
/// As [`Codecs::inflate`].
pub fn inflate(compression: Compression, body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    Codecs::default().inflate(compression, body, limit)
}

/// The plain body of one message; see [`Codecs::plain_body`].
///
/// # Errors
///
/// As [`Codecs::plain_body`].
pub fn plain_body(message: &StoredMessage, limit: usize) -> Result<Bytes, InflateError> {
    Codecs::default().plain_body(message, limit)
}

/// `out` with its unused capacity given back, where that is more than a quarter.
#[cfg(any(feature = "zlib", feature = "lz4", feature = "zstd"))]
fn without_slack(mut out: Vec<u8>) -> Vec<u8> {
    if out.capacity() - out.len() > out.len() / 4 {
        out.shrink_to_fit();
    }
    out
}

#[cfg(test)]
mod tests;
