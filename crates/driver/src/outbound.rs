//! The sending side of one connection: frames queued, written without blocking, reported as flushed.
//!
//! It exists from the moment a machine asks for the connection, so that frames may be queued before it stands.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, Waker};

use rocketry_codec::frame::Frame;
use rocketry_codec::limits::Limits;
use rocketry_codec::wire::Wire;
use rocketry_machine::LinkError;

use crate::io::{Writer, link_error};

/// Segments of one vectored write.
const SEGMENTS: usize = 64;

/// The sending side of one connection.
pub(crate) struct Outbound {
    wire: Wire,
    link: Option<(Box<dyn Writer>, Waker)>,
    /// The kernel takes nothing; the waker will say when it does.
    blocked: bool,
    /// Listed as having something to write.
    pub(crate) dirty: bool,
    /// To be closed once the queue is empty.
    pub(crate) closing: bool,
}

/// Where a write left the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Everything is with the kernel.
    All,
    /// Some is left, until the connection stands or the kernel takes more.
    Waiting,
    /// The connection is broken.
    Broken(LinkError),
}

impl Outbound {
    pub(crate) fn new() -> Self {
        let wire = Wire::new(&Limits::DEFAULT);
        Self { wire, link: None, blocked: false, dirty: false, closing: false }
    }

    /// The connection stands; `waker` fires when a blocked write is worth another attempt.
    pub(crate) fn stand(&mut self, writer: Box<dyn Writer>, waker: Waker) {
        self.link = Some((writer, waker));
        self.blocked = false;
    }

    pub(crate) const fn stands(&self) -> bool {
        self.link.is_some()
    }

    /// The waker fired: a blocked write may be tried again. Returns whether there is one.
    pub(crate) const fn unblock(&mut self) -> bool {
        std::mem::replace(&mut self.blocked, false)
    }

    /// Queues a frame. Fails when the frame is one that no peer takes or the queue is over its limit.
    pub(crate) fn push(&mut self, frame: &Frame) -> Result<(), LinkError> {
        self.wire.push(frame).map_err(|_| LinkError::Malformed("a frame or a write queue over its limit"))
    }

    /// Writes what the kernel takes. Returns how many frames became whole by it.
    pub(crate) fn write(&mut self) -> (u32, Written) {
        let Some((writer, waker)) = &mut self.link else { return (0, Written::Waiting) };
        let mut flushed = 0;
        while self.wire.queued() > 0 {
            if self.blocked {
                return (flushed, Written::Waiting);
            }
            let mut slices = [IoSlice::new(&[]); SEGMENTS];
            let mut count = 0;
            for (slot, segment) in slices.iter_mut().zip(self.wire.segments()) {
                *slot = IoSlice::new(segment);
                count += 1;
            }
            match writer.try_write(&slices[..count]) {
                Ok(0) => return (flushed, Written::Broken(LinkError::Eof)),
                Ok(taken) => flushed += self.wire.advance(taken),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match writer.poll_writable(&mut Context::from_waker(waker)) {
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(error)) => return (flushed, Written::Broken(link_error(&error))),
                        Poll::Pending => self.blocked = true,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (flushed, Written::Broken(link_error(&error))),
            }
        }
        (flushed, Written::All)
    }
}
