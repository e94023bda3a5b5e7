//! A pure wire: bytes in, frames out; frames in, segments to write.
//!
//! Whoever owns a socket owns one of these beside it. Reading: read into [`Wire::space`], say how much with
//! [`Wire::filled`], take frames with [`Wire::next_frame`] until there is none. Writing: [`Wire::push`] frames, write
//! [`Wire::segments`] with a vectored write, say how much was taken with [`Wire::advance`], which tells how many frames
//! are wholly with the kernel. There is no clock and no timer in it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::{Buf, Bytes};

use crate::decoder::Deframer;
use crate::error::WireError;
use crate::frame::Frame;
use crate::limits::Limits;

/// Bodies up to this size are copied behind their head, so that many small frames make one segment.
const COPIED: usize = 4 * 1024;
/// Memory that the copy buffer keeps when it runs empty.
const KEPT: usize = 256 * 1024;

/// The two directions of one connection.
#[derive(Debug)]
pub struct Wire {
    deframer: Deframer,
    out: Out,
    limits: Limits,
}

/// The write queue.
#[derive(Debug, Default)]
struct Out {
    /// Bytes of the copied parts; those before `at` are written.
    copied: Vec<u8>,
    at: usize,
    parts: VecDeque<Part>,
    /// Where each queued frame ends, counted in bytes over the life of the connection.
    ends: VecDeque<u64>,
    pushed: u64,
    written: u64,
}

#[derive(Debug)]
enum Part {
    /// So many bytes of the copy buffer.
    Copied(usize),
    /// A body of its own.
    Shared(Bytes),
}

impl Wire {
    /// A wire at the start of a connection.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { deframer: Deframer::new(limits), out: Out::default(), limits: *limits }
    }

    /// Room for the next read; see [`Deframer::space`].
    pub fn space(&mut self) -> &mut [u8] {
        self.deframer.space()
    }

    /// The first `count` bytes of the last [`Wire::space`] were read.
    pub fn filled(&mut self, count: usize) {
        self.deframer.filled(count);
    }

    /// Copies from `bytes` what there is room for and returns how much that was; for tests and memory streams.
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        self.deframer.feed(bytes)
    }

    /// The next whole frame; see [`Deframer::next_frame`].
    ///
    /// # Errors
    /// As soon as the bytes cannot be a stream of frames, and from then on always.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, WireError> {
        self.deframer.next_frame()
    }

    /// Bytes of an unfinished frame; see [`Deframer::pending`].
    #[must_use]
    pub const fn pending(&self) -> usize {
        self.deframer.pending()
    }

    /// Queues a frame.
    ///
    /// # Errors
    /// When the frame is above [`Limits::frame`], which its receiver would not take, or when the queue is not empty and
    /// would pass [`Limits::write_queue`]. Nothing is queued then.
    pub fn push(&mut self, frame: &Frame) -> Result<(), WireError> {
        let size = frame.wire_len();
        let (found, limit) = (size as u64, self.limits.frame as u64);
        // The length of the header has 24 bits.
        if found > limit || frame.head().len() > 0x0100_0007 {
            return Err(WireError::too_large("frame (setting: frame limit)", found, limit, 0));
        }
        let queued = self.queued();
        if queued > 0 && queued.saturating_add(size) > self.limits.write_queue {
            let (found, limit) = (queued.saturating_add(size) as u64, self.limits.write_queue as u64);
            return Err(WireError::too_large("write queue", found, limit, 0));
        }
        self.out.push(frame);
        Ok(())
    }

    /// What is to be written, in order. Few long segments; none is empty.
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.out.segments()
    }

    /// The first `count` bytes of the segments were written. Returns how many frames became whole by that.
    pub fn advance(&mut self, count: usize) -> u32 {
        self.out.advance(count)
    }

    /// Bytes that are queued and not written.
    #[must_use]
    pub fn queued(&self) -> usize {
        usize::try_from(self.out.pushed.saturating_sub(self.out.written)).unwrap_or(usize::MAX)
    }

    /// Frames that are queued and not wholly written.
    #[must_use]
    pub fn queued_frames(&self) -> usize {
        self.out.ends.len()
    }
}

impl Out {
    fn push(&mut self, frame: &Frame) {
        let (head, body) = (frame.head(), frame.body());
        self.pushed = self.pushed.saturating_add(frame.wire_len() as u64);
        self.ends.push_back(self.pushed);
        self.copy(head);
        if body.len() <= COPIED {
            self.copy(body);
        } else {
            self.parts.push_back(Part::Shared(body.clone()));
        }
    }

    fn copy(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // A queue that never runs empty must not grow for ever: drop the written front once it is the larger part.
        if self.at > KEPT && self.at > self.copied.len() / 2 {
            self.copied.drain(..self.at);
            self.at = 0;
        }
        self.copied.extend_from_slice(bytes);
        if let Some(Part::Copied(size)) = self.parts.back_mut() {
            *size = size.saturating_add(bytes.len());
        } else {
            self.parts.push_back(Part::Copied(bytes.len()));
        }
    }

    fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = self.at;
        self.parts.iter().map(move |part| match part {
            Part::Copied(size) => {
                let start = at;
                at = at.saturating_add(*size);
                self.copied.get(start..at).unwrap_or_default()
            }
            Part::Shared(body) => body,
        })
    }

    fn advance(&mut self, count: usize) -> u32 {
        let queued = self.pushed.saturating_sub(self.written);
        let count = usize::try_from(queued).unwrap_or(usize::MAX).min(count);
        self.written = self.written.saturating_add(count as u64);
        let mut left = count;
        while left > 0 {
            let Some(part) = self.parts.front_mut() else { break };
            let size = match part {
                Part::Copied(size) => *size,
                Part::Shared(body) => body.len(),
            };
            let taken = size.min(left);
            left = left.saturating_sub(taken);
            match part {
                Part::Copied(size) => {
                    *size = size.saturating_sub(taken);
                    self.at = self.at.saturating_add(taken);
                }
                Part::Shared(body) => body.advance(taken),
            }
            if taken == size {
                self.parts.pop_front();
            }
        }
        if self.at == self.copied.len() {
            self.copied.clear();
            self.copied.shrink_to(KEPT);
            self.at = 0;
        }
        let mut flushed = 0_u32;
        while self.ends.front().is_some_and(|end| *end <= self.written) {
            self.ends.pop_front();
            flushed = flushed.saturating_add(1);
        }
        flushed
    }
}

#[cfg(test)]
mod tests;
