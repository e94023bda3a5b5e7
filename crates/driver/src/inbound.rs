//! The receiving side of one connection: a connect attempt, then bytes that become frames.
//!
//! It belongs to the driver alone and is read outside the shell's lock; decoding happens where the bytes were read.

use std::task::{Context, Poll, Waker};

use rocketry_codec::error::{Foreign, WireError, WireErrorKind};
use rocketry_codec::frame::Frame;
use rocketry_codec::limits::Limits;
use rocketry_codec::wire::Wire;
use rocketry_machine::{ConnId, Input, LinkError};

use crate::io::{Connected, Connecting, Reader, link_error};

/// Reads of one connection before others get their turn.
const READS: usize = 16;

/// The receiving side of one connection.
pub(crate) struct Inbound {
    conn: ConnId,
    waker: Waker,
    state: State,
}

enum State {
    Connecting(Connecting),
    Reading(Box<dyn Reader>, Box<Wire>),
    /// Nothing is read any more.
    Quiet,
}

/// What a look at the connection brought.
pub(crate) enum Seen {
    /// Nothing more for now; the waker will fire.
    Nothing,
    /// It stands: the sending half goes to the shell.
    Stands(Box<Connected>),
    /// More is there, but others wait.
    More,
}

impl Inbound {
    pub(crate) fn connecting(conn: ConnId, waker: Waker, attempt: Connecting) -> Self {
        Self { conn, waker, state: State::Connecting(attempt) }
    }

    pub(crate) fn reading(conn: ConnId, waker: Waker, reader: Box<dyn Reader>) -> Self {
        Self { conn, waker, state: State::Reading(reader, Box::new(Wire::new(&Limits::DEFAULT))) }
    }

    pub(crate) const fn waker(&self) -> &Waker {
        &self.waker
    }

    /// The attempt to connect has succeeded.
    pub(crate) fn stand(&mut self, reader: Box<dyn Reader>) {
        self.state = State::Reading(reader, Box::new(Wire::new(&Limits::DEFAULT)));
    }

    /// Stops reading.
    pub(crate) fn quiet(&mut self) {
        self.state = State::Quiet;
    }

    /// Goes on connecting or reading; what arrives is appended to `inputs`.
    pub(crate) fn look(&mut self, inputs: &mut Vec<Input<Frame>>) -> Seen {
        let cx = &mut Context::from_waker(&self.waker);
        match &mut self.state {
            State::Connecting(attempt) => match attempt.as_mut().poll(cx) {
                Poll::Pending => Seen::Nothing,
                Poll::Ready(Ok(connected)) => {
                    self.state = State::Quiet;
                    Seen::Stands(Box::new(connected))
                }
                Poll::Ready(Err(cause)) => self.closed(inputs, cause),
            },
            State::Reading(reader, wire) => {
                for _ in 0..READS {
                    let read = match reader.poll_read(cx, wire.space()) {
                        Poll::Pending => return Seen::Nothing,
                        Poll::Ready(Ok(0)) if wire.pending() > 0 => Err(LinkError::Truncated),
                        Poll::Ready(Ok(0)) => Err(LinkError::Eof),
                        Poll::Ready(Ok(count)) => Ok(count),
                        Poll::Ready(Err(error)) => Err(link_error(&error)),
                    };
                    let decoded = read.and_then(|count| decode(self.conn, wire, count, inputs));
                    if let Err(cause) = decoded {
                        return self.closed(inputs, cause);
                    }
                }
                Seen::More
            }
            State::Quiet => Seen::Nothing,
        }
    }

    fn closed(&mut self, inputs: &mut Vec<Input<Frame>>, cause: LinkError) -> Seen {
        self.state = State::Quiet;
        inputs.push(Input::Closed { conn: self.conn, cause });
        Seen::Nothing
    }
}

/// Takes all whole frames out of the wire.
fn decode(conn: ConnId, wire: &mut Wire, count: usize, inputs: &mut Vec<Input<Frame>>) -> Result<(), LinkError> {
    wire.filled(count);
    loop {
        match wire.next_frame() {
            Ok(Some(frame)) => inputs.push(Input::Frame { conn, frame }),
            Ok(None) => return Ok(()),
            Err(error) => return Err(LinkError::Malformed(summary(&error))),
        }
    }
}

/// The kind of an error as a fixed text, which is all that a machine takes.
fn summary(error: &WireError) -> &'static str {
    match error.kind {
        WireErrorKind::Truncated(what)
        | WireErrorKind::Invalid(what)
        | WireErrorKind::MissingField(what)
        | WireErrorKind::NotUtf8(what)
        | WireErrorKind::Unsupported(what)
        | WireErrorKind::Checksum(what)
        | WireErrorKind::TooLarge { what, .. } => what,
        WireErrorKind::ForeignProtocol(Foreign::Http) => "the peer speaks HTTP",
        WireErrorKind::ForeignProtocol(Foreign::Http2) => "the peer speaks HTTP/2 (gRPC)",
        WireErrorKind::ForeignProtocol(Foreign::Tls) => "the peer speaks TLS, and this side is set up without it",
        _ => "not a frame",
    }
}
