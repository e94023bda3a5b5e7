//! Command headers in both encodings and typed headers over them.
//!
//! A header is never turned into a map. Its bytes are checked once when the frame is decoded; after that [`Fields`]
//! walks the extension fields where they lie, and a typed header (see [`crate::request`], [`crate::reply`]) is read
//! straight from that walk. Writing goes the other way through [`FieldSink`]: a typed header hands its fields to the
//! sink of the encoding in use.

pub(crate) mod binary;
mod block;
mod fields;
pub(crate) mod json;
pub(crate) mod json_write;
pub(crate) mod macros;
mod sink;
mod typed;

pub use block::FieldBlock;
pub use fields::{Field, FieldText, Fields};
pub(crate) use json_write::JsonFields;
pub use sink::FieldSink;
pub use typed::{FieldKind, FieldSpec, Header, HeaderEntry, Presence, ReadFields, Request, Scope, WriteFields};
pub(crate) use typed::{ScopeSlots, optional, present, put, required, scope_fields};

use crate::error::WireError;

/// How a header is written: the type byte of the frame (wire 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// A JSON object, the default of Java peers (wire 2.3).
    #[default]
    Json,
    /// The ROCKETMQ binary form (wire 2.4). Codes above 32767 do not fit and travel as JSON instead.
    Binary,
}

impl Encoding {
    /// The type byte.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Json => 0,
            Self::Binary => 1,
        }
    }

    /// The encoding of a type byte; `None` for the bytes that mean nothing.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Json),
            1 => Some(Self::Binary),
            _ => None,
        }
    }
}

/// A range of bytes in a head, or nothing. Starts at 8 or later: the prefix comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) const NONE: Self = Self { start: 0, end: 0 };

    pub(crate) fn new(start: usize, end: usize) -> Self {
        // A header has at most 2^24 bytes; a larger one that was built locally is refused before it is written.
        Self { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
    }

    pub(crate) const fn is_some(self) -> bool {
        self.start != 0
    }

    pub(crate) const fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn of(self, bytes: &[u8]) -> Option<&[u8]> {
        if self.is_some() { bytes.get(self.start as usize..self.end as usize) } else { None }
    }
}

/// What a header says beside its extension fields, and where those and the remark lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) code: i32,
    pub(crate) language: crate::codes::Language,
    pub(crate) version: i32,
    pub(crate) opaque: i32,
    pub(crate) flag: i32,
    pub(crate) remark: Span,
    pub(crate) fields: Span,
}

/// Parses the header that stands in `head` behind the 8 bytes of the prefix.
pub(crate) fn parse(encoding: Encoding, head: &[u8], limits: &crate::limits::Limits) -> Result<Parsed, WireError> {
    match encoding {
        Encoding::Json => json::parse(head, limits),
        Encoding::Binary => binary::parse(head, limits),
    }
}
