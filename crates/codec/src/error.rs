//! Errors of the codec: what was wrong with a peer's bytes and where.

use core::fmt;

/// What a peer's bytes did wrong and where.
///
/// `Copy` and free of allocation, so that a parser may return it from anywhere. After one of these the connection that
/// carried the bytes is closed: a stream that lost its framing cannot be trusted again (wire 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    /// What was wrong.
    pub kind: WireErrorKind,
    /// Offset in bytes from the start of the slice that was parsed (frame, header, body or message).
    pub offset: usize,
}

/// Kinds of [`WireError`]. Each carries a static context: the field or structure that was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireErrorKind {
    /// The bytes end inside the named structure.
    Truncated(&'static str),
    /// The named value is not what the format allows.
    Invalid(&'static str),
    /// The named required header field is absent.
    MissingField(&'static str),
    /// The named text is not UTF-8.
    NotUtf8(&'static str),
    /// The named quantity is above its limit.
    TooLarge {
        /// What was measured.
        what: &'static str,
        /// What the peer announced or sent.
        found: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The peer speaks the named protocol, not RocketMQ remoting.
    ForeignProtocol(Foreign),
    /// The named feature or version is not spoken here.
    Unsupported(&'static str),
    /// The checksum of the named content does not match.
    Checksum(&'static str),
}

/// Protocols recognised by their first bytes (wire 1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Plain text HTTP/1.x.
    Http,
    /// HTTP/2, as gRPC speaks it.
    Http2,
    /// A TLS record.
    Tls,
}

impl WireError {
    /// An error of `kind` at `offset`.
    #[must_use]
    pub const fn new(kind: WireErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }

    /// The bytes end inside `what`.
    #[must_use]
    pub const fn truncated(what: &'static str, offset: usize) -> Self {
        Self::new(WireErrorKind::Truncated(what), offset)
    }

    /// `what` is not what the format allows.
    #[must_use]
    pub const fn invalid(what: &'static str, offset: usize) -> Self {
        Self::new(WireErrorKind::Invalid(what), offset)
    }

    /// The text `what` is not UTF-8.
    #[must_use]
    pub const fn not_utf8(what: &'static str, offset: usize) -> Self {
        Self::new(WireErrorKind::NotUtf8(what), offset)
    }

    /// `what` is above its limit.
    #[must_use]
    pub const fn too_large(what: &'static str, found: u64, limit: u64, offset: usize) -> Self {
        Self::new(WireErrorKind::TooLarge { what, found, limit }, offset)
    }

    /// The same error seen from a slice that starts `base` bytes earlier.
    #[must_use]
    pub const fn shifted(self, base: usize) -> Self {
        Self { kind: self.kind, offset: self.offset.saturating_add(base) }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.kind, self.offset)
    }
}

impl fmt::Display for WireErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(what) => write!(f, "the bytes end inside {what}"),
            Self::Invalid(what) => write!(f, "{what} is malformed"),
            Self::MissingField(name) => write!(f, "required header field {name} is missing"),
            Self::NotUtf8(what) => write!(f, "{what} is not UTF-8"),
            Self::TooLarge { what, found, limit } => write!(f, "{what} of {found} is above the limit of {limit}"),
            Self::ForeignProtocol(foreign) => foreign.fmt(f),
            Self::Unsupported(what) => write!(f, "{what} is not supported"),
            Self::Checksum(what) => write!(f, "the checksum of {what} does not match"),
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => {
                "the peer speaks HTTP, not RocketMQ remoting: is this the port of a console or of an HTTP proxy?"
            }
            Self::Http2 => {
                "the peer speaks HTTP/2 (gRPC), not RocketMQ remoting: is this the port of a 5.x gRPC proxy?"
            }
            Self::Tls => "the peer speaks TLS, but this side expects plain text: is one side configured without TLS?",
        })
    }
}

impl core::error::Error for WireError {}

impl<I> nom::error::ParseError<I> for WireError {
    fn from_error_kind(_input: I, _kind: nom::error::ErrorKind) -> Self {
        Self::invalid("input", 0)
    }

    fn append(_input: I, _kind: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn messages_name_the_thing_and_the_place() {
        let error = WireError::too_large("frame", 20, 10, 0);
        assert_eq!(error.to_string(), "frame of 20 is above the limit of 10 (at byte 0)");
        let error = WireError::new(WireErrorKind::MissingField("topic"), 7);
        assert_eq!(error.to_string(), "required header field topic is missing (at byte 7)");
    }

    #[test]
    fn shifting_moves_the_offset_only() {
        assert_eq!(WireError::invalid("x", 3).shifted(4), WireError::invalid("x", 7));
    }
}
