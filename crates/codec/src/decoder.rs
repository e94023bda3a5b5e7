//! Bytes to frames: the length prefix, its limits and what other protocols look like.
//!
//! The deframer owns the buffers that are read into. Small frames share a chunk; a frame that does not fit the chunk and
//! is large gets a buffer of its own, so that a body that is kept for long pins nothing else. Such a buffer grows with
//! what arrives, never with what is announced. After the first error it yields that error for ever.

use bytes::{Bytes, BytesMut};

use crate::error::{Foreign, WireError, WireErrorKind};
use crate::frame::Frame;
use crate::header::Encoding;
use crate::limits::Limits;

/// Bytes of a shared chunk.
const CHUNK: usize = 64 * 1024;
/// A frame above this size that does not fit the rest of a chunk gets a buffer of its own.
const LARGE: usize = 16 * 1024;
/// First size of such a buffer; it doubles from here as bytes arrive.
const OWN: usize = 256 * 1024;
/// When less room than this is left in a chunk, a fresh one is taken.
const ROOM: usize = 4 * 1024;

/// What the first 8 bytes of a frame announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Size of the whole frame, the length word included.
    pub(crate) total: usize,
    /// Size of the prefix and the header.
    pub(crate) head: usize,
    pub(crate) encoding: Encoding,
}

impl Prefix {
    /// Reads the prefix; `None` as long as it is incomplete and not wrong yet.
    pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Option<Self>, WireError> {
        let Some(total) = Self::total(bytes, limits)? else { return Ok(None) };
        let Some(&[kind, high, middle, low]) = bytes.get(4..).and_then(<[u8]>::first_chunk::<4>) else {
            return Ok(None);
        };
        let encoding = Encoding::from_byte(kind).ok_or(WireError::invalid("serialize type", 4))?;
        let header = u32::from_be_bytes([0, high, middle, low]) as usize;
        let head = header.saturating_add(8);
        if head > total {
            return Err(WireError::new(
                WireErrorKind::TooLarge {
                    what: "header length",
                    found: header as u64,
                    limit: total.saturating_sub(8) as u64,
                },
                4,
            ));
        }
        if header == 0 && encoding == Encoding::Json {
            return Err(WireError::invalid("header length", 4));
        }
        Ok(Some(Self { total, head, encoding }))
    }

    /// The size of the whole frame from its length word.
    fn total(bytes: &[u8], limits: &Limits) -> Result<Option<usize>, WireError> {
        let Some(word) = bytes.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*word);
        let total = u64::from(length).saturating_add(4);
        if total <= limits.frame as u64 {
            // Room for the word with the serialize type and the header's length.
            if length < 4 {
                return Err(WireError::invalid("frame length", 0));
            }
            return Ok(usize::try_from(total).ok());
        }
        Err(match foreign(*word) {
            Some(protocol) => WireError::new(WireErrorKind::ForeignProtocol(protocol), 0),
            None if length > i32::MAX as u32 => WireError::invalid("frame length (negative)", 0),
            None => WireError::too_large("frame (setting: frame limit)", total, limits.frame as u64, 0),
        })
    }
}

/// The protocol whose first bytes these are. All of them are lengths that no frame has.
fn foreign(word: [u8; 4]) -> Option<Foreign> {
    match &word {
        b"PRI " => Some(Foreign::Http2),
        b"GET " | b"POST" | b"PUT " | b"HEAD" | b"HTTP" | b"OPTI" | b"DELE" | b"PATC" | b"CONN" | b"TRAC" => {
            Some(Foreign::Http)
        }
        [0x15 | 0x16, 0x03, ..] => Some(Foreign::Tls),
        _ => None,
    }
}

/// Cuts a stream of bytes into frames. Any split of the stream yields the same frames and the same error.
#[derive(Debug)]
pub struct Deframer {
    limits: Limits,
    /// Initialised bytes; those below `filled` came from the peer and were not taken yet.
    buffer: BytesMut,
    filled: usize,
    /// Whether `buffer` belongs to one large frame.
    own: bool,
    /// The rest of the chunk while a large frame has the floor.
    chunk: BytesMut,
    failed: Option<WireError>,
}

impl Deframer {
    /// A deframer at the start of a stream. Takes no memory before the first read.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { limits: *limits, buffer: BytesMut::new(), filled: 0, own: false, chunk: BytesMut::new(), failed: None }
    }

    /// Room for the next read, never empty unless the deframer has failed or frames were not taken with
    /// [`Deframer::next_frame`] until it said `None`.
    pub fn space(&mut self) -> &mut [u8] {
        if self.failed.is_some() {
            return &mut [];
        }
        let prefix = Prefix::read(self.buffer.get(..self.filled).unwrap_or_default(), &self.limits);
        let total = prefix.ok().flatten().map_or(0, |prefix| prefix.total);
        if self.own {
            if self.filled == self.buffer.len() {
                let size = self.buffer.len().saturating_mul(2).min(total);
                self.buffer.resize(size, 0);
            }
        } else if total > LARGE && total > self.buffer.len() {
            self.move_out(total);
        } else if self.buffer.len().saturating_sub(self.filled) < ROOM {
            self.refill();
        }
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// The first `count` bytes of the last [`Deframer::space`] were read.
    pub fn filled(&mut self, count: usize) {
        self.filled = self.filled.saturating_add(count).min(self.buffer.len());
    }

    /// Copies from `bytes` what there is room for and returns how much that was. Take the frames between two calls.
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let space = self.space();
        let count = space.len().min(bytes.len());
        if let (Some(to), Some(from)) = (space.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        self.filled(count);
        count
    }

    /// The next whole frame, `None` until more bytes are there.
    ///
    /// # Errors
    /// As soon as the bytes cannot be a stream of frames, and from then on always. The offset counts from the start of
    /// the offending frame. The connection must be closed (wire 1.3).
    pub fn next_frame(&mut self) -> Result<Option<Frame>, WireError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.take().inspect_err(|error| {
            self.failed = Some(*error);
            self.buffer = BytesMut::new();
            self.chunk = BytesMut::new();
            self.filled = 0;
        })
    }

    /// Bytes of an unfinished frame. Not 0 at the end of a stream: the peer closed in the middle of a frame.
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.filled
    }

    fn take(&mut self) -> Result<Option<Frame>, WireError> {
        let bytes = self.buffer.get(..self.filled).unwrap_or_default();
        let Some(prefix) = Prefix::read(bytes, &self.limits)? else { return Ok(None) };
        if self.filled < prefix.total {
            return Ok(None);
        }
        let block = if self.own { prefix.total } else { CHUNK };
        let frame: Bytes = self.buffer.split_to(prefix.total).freeze();
        self.filled = self.filled.saturating_sub(prefix.total);
        if self.own && self.filled == 0 {
            self.own = false;
            self.buffer = core::mem::take(&mut self.chunk);
        }
        Frame::assemble(prefix, frame, block, &self.limits).map(Some)
    }

    /// Gives the unfinished frame of `total` bytes a buffer of its own.
    fn move_out(&mut self, total: usize) {
        let size = total.min(OWN.max(self.filled.saturating_mul(2)));
        let mut own = BytesMut::zeroed(size);
        let begun = self.buffer.get(..self.filled).unwrap_or_default();
        if let Some(start) = own.get_mut(..begun.len()) {
            start.copy_from_slice(begun);
        }
        self.chunk = core::mem::replace(&mut self.buffer, own);
        self.own = true;
    }

    /// Makes room for small frames: in the chunk itself if no frame holds it any more, else in a fresh one.
    fn refill(&mut self) {
        self.buffer.truncate(self.filled);
        self.buffer.reserve(CHUNK.saturating_sub(self.filled));
        self.buffer.resize(CHUNK.max(self.filled), 0);
    }
}

#[cfg(test)]
mod tests;
