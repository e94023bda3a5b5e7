//! Building frames: the head goes into a shared arena, the body stays its own segment.

use bytes::{BufMut, Bytes, BytesMut};

use crate::codes::{Language, RequestCode, ResponseCode, Version};
use crate::frame::{Flag, Frame, Head};
use crate::header::binary::{self, BinaryFields};
use crate::header::{Encoding, FieldBlock, JsonFields, Parsed, Request, Span, WriteFields, json_write};

/// Bytes that the arena takes at a time. A head has 200 to 700 bytes.
const CHUNK: usize = 16 * 1024;
/// Room made before a head is written, so that most heads are written without a further look at the capacity.
const HEAD: usize = 512;

/// What every frame of one side says about its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // built by literal
pub struct Sender {
    /// The language that the peer sees in connection lists.
    pub language: Language,
    /// The protocol version, which opens features at the peer (wire 2.5).
    pub version: Version,
    /// How headers are written where the code allows it.
    pub encoding: Encoding,
}

impl Default for Sender {
    /// RUST, 5.3.3, JSON.
    fn default() -> Self {
        Self { language: Language::RUST, version: Version::V5_3_3, encoding: Encoding::Json }
    }
}

/// A request that is typed no more: kept until it is sent, under whatever `opaque` and in whatever encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // built by literal
pub struct RawRequest {
    /// The request code.
    pub code: RequestCode,
    /// The header's fields.
    pub fields: FieldBlock,
    /// The body.
    pub body: Bytes,
}

impl RawRequest {
    /// Encodes the fields of `request`.
    #[must_use]
    pub fn new<R: Request>(request: &R, body: Bytes) -> Self {
        Self { code: R::CODE, fields: FieldBlock::of(request), body }
    }
}

/// The parts of a header beside its extension fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // built by literal
pub struct Parts<'a> {
    /// Request or response code.
    pub code: i32,
    /// Language of the sender.
    pub language: Language,
    /// Version of the sender.
    pub version: i32,
    /// Correlation id.
    pub opaque: i32,
    /// Flag bits.
    pub flag: i32,
    /// Text for people.
    pub remark: Option<&'a str>,
    /// The wanted encoding.
    pub encoding: Encoding,
}

impl Parts<'_> {
    /// The binary form has 16 bits for code and version and none for an absent language.
    fn fitting_encoding(&self) -> Encoding {
        if i16::try_from(self.code).is_ok() && i16::try_from(self.version).is_ok() {
            self.encoding
        } else {
            Encoding::Json
        }
    }
}

/// Builds frames. Heads are cut from one arena, so that a frame costs no allocation of its own; the arena's chunk lives
/// as long as a frame that was cut from it.
///
/// A frame above the size that the peer takes is built all the same: its size is known then, and
/// [`crate::wire::Wire::push`] refuses it.
#[derive(Debug, Default)]
pub struct FrameWriter {
    arena: BytesMut,
    sender: Sender,
}

impl FrameWriter {
    /// A writer for frames of `sender`.
    #[must_use]
    pub fn new(sender: Sender) -> Self {
        Self { arena: BytesMut::new(), sender }
    }

    /// What its frames say about their sender.
    #[must_use]
    pub const fn sender(&self) -> Sender {
        self.sender
    }

    /// A request that is answered.
    pub fn request<R: Request>(&mut self, opaque: i32, request: &R, body: Bytes) -> Frame {
        self.command(R::CODE.0, opaque, Flag::REQUEST, None, request, body)
    }

    /// A request with another code than its header's usual one.
    pub fn request_as<W: WriteFields + ?Sized>(
        &mut self,
        code: RequestCode,
        opaque: i32,
        fields: &W,
        body: Bytes,
    ) -> Frame {
        self.command(code.0, opaque, Flag::REQUEST, None, fields, body)
    }

    /// A request that is never answered.
    pub fn oneway<R: Request>(&mut self, opaque: i32, request: &R, body: Bytes) -> Frame {
        self.command(R::CODE.0, opaque, Flag::ONEWAY, None, request, body)
    }

    /// A request from its untyped form.
    pub fn raw_request(&mut self, opaque: i32, flag: Flag, request: &RawRequest) -> Frame {
        self.command(request.code.0, opaque, flag, None, &request.fields, request.body.clone())
    }

    /// The answer to the request that carried `opaque`.
    pub fn response<W: WriteFields + ?Sized>(
        &mut self,
        opaque: i32,
        code: ResponseCode,
        remark: Option<&str>,
        fields: &W,
        body: Bytes,
    ) -> Frame {
        self.command(code.0, opaque, Flag::RESPONSE, remark, fields, body)
    }

    /// Any command of this sender.
    pub fn command<W: WriteFields + ?Sized>(
        &mut self,
        code: i32,
        opaque: i32,
        flag: Flag,
        remark: Option<&str>,
        fields: &W,
        body: Bytes,
    ) -> Frame {
        let Sender { language, version, encoding } = self.sender;
        let parts = Parts { code, language, version: version.0, opaque, flag: flag.0, remark, encoding };
        self.build(&parts, fields, body)
    }

    /// The same command with `extra` fields behind its own: what hooks such as signing add. The fields that stand are
    /// copied as they are.
    pub fn extend(&mut self, frame: &Frame, extra: &[(&str, &str)]) -> Frame {
        let remark = frame.remark();
        let parts = Parts { remark: remark.as_deref(), ..frame.parts() };
        self.build(&parts, &(&frame.fields(), extra), frame.body().clone())
    }

    /// The same command under another `opaque`, as relays need it.
    pub fn restamp(&mut self, frame: &Frame, opaque: i32) -> Frame {
        let remark = frame.remark();
        let parts = Parts { remark: remark.as_deref(), opaque, ..frame.parts() };
        self.build(&parts, &frame.fields(), frame.body().clone())
    }

    /// Builds a frame from all its parts.
    pub fn build<W: WriteFields + ?Sized>(&mut self, parts: &Parts<'_>, fields: &W, body: Bytes) -> Frame {
        if self.arena.capacity() < HEAD {
            self.arena.reserve(CHUNK);
        }
        let out = &mut self.arena;
        // Everything written before was split off: a head starts at 0.
        out.put_u64(0);
        let encoding = parts.fitting_encoding();
        let (remark, fields) = match encoding {
            Encoding::Json => write_json(out, parts, fields),
            Encoding::Binary => write_binary(out, parts, fields),
        };
        let header = out.len().saturating_sub(8);
        let total = header.saturating_add(4).saturating_add(body.len());
        let word = u32::try_from(header).unwrap_or(u32::MAX).min(0x00FF_FFFF);
        let word = word | u32::from(encoding.to_byte()) << 24;
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        if let Some(prefix) = out.get_mut(..8) {
            prefix.copy_from_slice(&(u64::from(total) << 32 | u64::from(word)).to_be_bytes());
        }
        let bytes = self.arena.split().freeze();
        let &Parts { code, language, version, opaque, flag, .. } = parts;
        Frame::new(Head::new(bytes, encoding, Parsed { code, language, version, opaque, flag, remark, fields }), body)
    }
}

fn write_json<W: WriteFields + ?Sized>(out: &mut BytesMut, parts: &Parts<'_>, fields: &W) -> (Span, Span) {
    json_write::write_start(out, parts);
    let mut sink = JsonFields { out, start: 0 };
    fields.write_fields(&mut sink);
    let JsonFields { out, start } = sink;
    let fields = if start == 0 {
        Span::NONE
    } else {
        let span = Span::new(start, out.len());
        out.put_u8(b'}');
        span
    };
    (json_write::write_end(out, parts), fields)
}

fn write_binary<W: WriteFields + ?Sized>(out: &mut BytesMut, parts: &Parts<'_>, fields: &W) -> (Span, Span) {
    let length_at = binary::write_start(out, parts);
    let remark = match parts.remark {
        Some(text) if !text.is_empty() => Span::new(length_at.saturating_sub(text.len()), length_at),
        _ => Span::NONE,
    };
    let start = out.len();
    fields.write_fields(&mut BinaryFields { out });
    binary::finish(out, length_at);
    let fields = if out.len() == start { Span::NONE } else { Span::new(start, out.len()) };
    (remark, fields)
}
