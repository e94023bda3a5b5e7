//! Frames: one request or response, header and body.
//!
//! A frame keeps its header as the bytes that stand on the wire and reads typed headers straight from them. A frame that
//! was built and one that was decoded are the same thing: machines may hand frames to each other without bytes between.

use alloc::borrow::Cow;
use alloc::format;
use core::fmt;

use bytes::{Buf, Bytes, BytesMut};

use crate::codes::{Language, RequestCode, ResponseCode, Version};
use crate::decoder::Prefix;
use crate::encoder::Parts;
use crate::error::WireError;
use crate::header::{self, Encoding, FieldText, Fields, Parsed, ReadFields, Request};
use crate::limits::Limits;

/// One request or response.
#[derive(Clone)]
pub struct Frame {
    head: Head,
    body: Bytes,
    /// Size of the block of memory that `body` is a part of.
    block: usize,
}

/// The 8-byte prefix and the header as they stand on the wire, with the fixed fields taken out.
#[derive(Clone)]
pub(crate) struct Head {
    bytes: Bytes,
    encoding: Encoding,
    parsed: Parsed,
}

impl Head {
    pub(crate) const fn new(bytes: Bytes, encoding: Encoding, parsed: Parsed) -> Self {
        Self { bytes, encoding, parsed }
    }
}

/// Flag bits of a command. Unknown bits are kept and mean nothing (wire 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(clippy::exhaustive_structs)]
pub struct Flag(pub i32);

impl Flag {
    /// A request that is answered.
    pub const REQUEST: Self = Self(0);
    /// A response.
    pub const RESPONSE: Self = Self(1);
    /// A request that is never answered.
    pub const ONEWAY: Self = Self(2);

    /// Whether bit 0 says response.
    #[must_use]
    pub const fn is_response(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether bit 1 says that no answer is wanted.
    #[must_use]
    pub const fn is_oneway(self) -> bool {
        self.0 & 2 != 0
    }
}

impl Frame {
    pub(crate) const fn new(head: Head, body: Bytes) -> Self {
        let block = body.len();
        Self { head, body, block }
    }

    /// Decodes one whole frame, its length word included.
    ///
    /// # Errors
    /// When the bytes are not exactly one frame (wire 1.3) or a limit is passed.
    pub fn decode(bytes: Bytes, limits: &Limits) -> Result<Self, WireError> {
        let prefix = Prefix::read(&bytes, limits)?.ok_or(WireError::truncated("frame", bytes.len()))?;
        if bytes.len() < prefix.total {
            return Err(WireError::truncated("frame", bytes.len()));
        }
        if bytes.len() > prefix.total {
            return Err(WireError::invalid("bytes after the frame", prefix.total));
        }
        let block = bytes.len();
        Self::assemble(prefix, bytes, block, limits)
    }

    /// Takes apart the bytes of one whole frame, a part of a block of memory of `block` bytes.
    pub(crate) fn assemble(prefix: Prefix, mut bytes: Bytes, block: usize, limits: &Limits) -> Result<Self, WireError> {
        let head = bytes.split_to(prefix.head.min(bytes.len()));
        let parsed = header::parse(prefix.encoding, &head, limits)?;
        Ok(Self { head: Head::new(head, prefix.encoding, parsed), body: bytes, block })
    }

    /// The code: of a request if this is one, else of a response.
    #[must_use]
    pub const fn code(&self) -> i32 {
        self.head.parsed.code
    }

    /// The code as that of a request.
    #[must_use]
    pub const fn request_code(&self) -> RequestCode {
        RequestCode(self.head.parsed.code)
    }

    /// The code as that of a response.
    #[must_use]
    pub const fn response_code(&self) -> ResponseCode {
        ResponseCode(self.head.parsed.code)
    }

    /// The number that ties a response to its request.
    #[must_use]
    pub const fn opaque(&self) -> i32 {
        self.head.parsed.opaque
    }

    /// The flag bits.
    #[must_use]
    pub const fn flag(&self) -> Flag {
        Flag(self.head.parsed.flag)
    }

    /// Whether this is a response. Nothing else tells responses from requests (wire 1.5).
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.flag().is_response()
    }

    /// Whether this is a request that must not be answered.
    #[must_use]
    pub const fn is_oneway(&self) -> bool {
        self.flag().is_oneway()
    }

    /// The sender's version.
    #[must_use]
    pub const fn version(&self) -> Version {
        Version(self.head.parsed.version)
    }

    /// The sender's language.
    #[must_use]
    pub const fn language(&self) -> Language {
        self.head.parsed.language
    }

    /// The sender's language as its header spells it, also if the name is unknown here. A byte is shown as a number.
    #[must_use]
    pub fn language_text(&self) -> Cow<'_, str> {
        match self.language().name() {
            Some(name) => Cow::Borrowed(name),
            None if self.head.encoding == Encoding::Json => header::json::language_text(&self.head.bytes),
            None => Cow::Owned(format!("{}", self.language().to_byte())),
        }
    }

    /// How the header is written.
    #[must_use]
    pub const fn encoding(&self) -> Encoding {
        self.head.encoding
    }

    /// The remark, escapes resolved. An empty one of the binary form counts as none (wire 2.4).
    #[must_use]
    pub fn remark(&self) -> Option<Cow<'_, str>> {
        let text = core::str::from_utf8(self.head.parsed.remark.of(&self.head.bytes)?).ok()?;
        Some(match self.head.encoding {
            Encoding::Json if text.contains('\\') => Cow::Owned(header::json::unescape(text)),
            _ => Cow::Borrowed(text),
        })
    }

    /// The extension fields.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        let span = self.head.parsed.fields;
        span.of(&self.head.bytes).map_or(Fields::EMPTY, |block| Fields::new(self.head.encoding, block, span.start()))
    }

    /// One extension field by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Cow<'_, str>> {
        self.fields().get(name).map(FieldText::text)
    }

    /// Reads the extension fields as a typed header.
    ///
    /// # Errors
    /// Names the field that is missing though required, or that does not parse.
    pub fn read<'a, H: ReadFields<'a>>(&'a self) -> Result<H, WireError> {
        H::read_fields(self.fields())
    }

    /// Reads the extension fields as the answer to a request of type `R`.
    ///
    /// # Errors
    /// As [`Frame::read`].
    pub fn reply_to<'a, R: Request>(&'a self) -> Result<R::Reply<'a>, WireError> {
        self.read()
    }

    /// The body; empty when there is none.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// Size in bytes of the memory that the body keeps alive: what a limit on kept bodies should count. A large received
    /// frame has a block of its own, small ones share one.
    #[must_use]
    pub const fn body_block(&self) -> usize {
        self.block
    }

    /// Lets go of the header and keeps the body.
    #[must_use]
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// The prefix and the header as they stand on the wire; the body follows them there.
    #[must_use]
    pub const fn head(&self) -> &Bytes {
        &self.head.bytes
    }

    /// Size in bytes on the wire.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        self.head.bytes.len().saturating_add(self.body.len())
    }

    /// The whole frame as one piece, copied.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.wire_len());
        out.extend_from_slice(&self.head.bytes);
        out.extend_from_slice(&self.body);
        out.freeze()
    }

    /// Everything in the header but the remark and the fields.
    pub(crate) const fn parts(&self) -> Parts<'static> {
        let Parsed { code, language, version, opaque, flag, .. } = self.head.parsed;
        Parts { code, language, version, opaque, flag, remark: None, encoding: self.head.encoding }
    }
}

/// Frames are equal when their bytes on the wire are.
impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        self.head.bytes == other.head.bytes && self.body == other.body
    }
}

impl Eq for Frame {}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Frame");
        if self.is_response() {
            shown.field("response", &self.response_code());
        } else {
            shown.field("request", &self.request_code());
        }
        shown.field("opaque", &self.opaque()).field("flag", &self.flag().0);
        if let Some(remark) = self.remark() {
            shown.field("remark", &remark);
        }
        shown.field("fields", &Shown(self.fields())).field("body", &self.body.remaining()).finish_non_exhaustive()
    }
}

/// Shows fields as a map.
struct Shown<'a>(Fields<'a>);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.map(|field| (field.name, field.value.text()))).finish()
    }
}

#[cfg(test)]
mod tests;
