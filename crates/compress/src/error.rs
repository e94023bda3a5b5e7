//! What can go wrong with a compressed body.

use std::fmt;

use rocketry_codec::message::Compression;

/// Why a body was not inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InflateError {
    /// It inflates to more than the limit.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The input ends before the body does.
    Truncated,
    /// The input is not what its codec says it is.
    Corrupt(Compression),
    /// A ZSTD frame asks for a larger window than 8 MiB.
    WindowTooLarge,
    /// The body needs a dictionary, which the protocol has no place for.
    NeedsDictionary,
    /// The codec is switched off in this build.
    Unsupported(Compression),
    /// The compression bits name a codec nobody defined.
    UnknownCodec,
}

impl fmt::Display for InflateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "the body inflates to more than the limit of {limit} bytes"),
            Self::Truncated => f.write_str("the compressed body is cut short"),
            Self::Corrupt(compression) => write!(f, "the body is not {}", name(*compression)),
            Self::WindowTooLarge => f.write_str("the ZSTD frame asks for a window above 8 MiB"),
            Self::NeedsDictionary => f.write_str("the compressed body needs a dictionary"),
            Self::Unsupported(compression) => write!(f, "{} is switched off in this build", name(*compression)),
            Self::UnknownCodec => f.write_str("the compression bits name no codec"),
        }
    }
}

impl std::error::Error for InflateError {}

/// Why a body was not compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressError {
    /// The codec is switched off in this build.
    Unsupported(Compression),
    /// The codec failed, for want of memory.
    Failed(Compression),
}

impl fmt::Display for CompressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(compression) => write!(f, "{} is switched off in this build", name(*compression)),
            Self::Failed(compression) => write!(f, "{} could not compress the body", name(*compression)),
        }
    }
}

impl std::error::Error for CompressError {}

fn name(compression: Compression) -> &'static str {
    match compression {
        Compression::Zlib => "zlib",
        Compression::Lz4 => "an LZ4 frame",
        Compression::Zstd => "ZSTD",
        _ => "a known codec",
    }
}
