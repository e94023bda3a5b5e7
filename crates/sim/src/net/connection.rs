//! One connection: two ends with their codecs, two pipes between them.

use std::collections::VecDeque;

use rocketry_codec::error::WireError;
use rocketry_codec::frame::Frame;
use rocketry_codec::limits::Limits;
use rocketry_codec::wire::Wire;
use rocketry_machine::{ConnId, Moment, Prng};

use crate::fault::Conditions;
use crate::node::NodeId;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    /// The one that connected.
    Caller,
    /// The one that listened.
    Listener,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Caller => Self::Listener,
            Self::Listener => Self::Caller,
        }
    }
}

/// A node's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) node: NodeId,
    /// The id under which the node knows it; a listener has one once it has accepted, and neither has one once it has
    /// closed.
    pub(crate) conn: Option<ConnId>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    caller: End,
    listener: End,
    wires: [Wire; 2],
    pipes: [Pipe; 2],
    pub(crate) open: bool,
    random: Prng,
}

/// Bytes on their way in one direction.
#[derive(Debug, Default)]
struct Pipe {
    waiting: VecDeque<u8>,
    last_arrival: Moment,
}

/// A chunk of bytes and when it arrives.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) at: Moment,
    pub(crate) bytes: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(caller: End, to: NodeId, random: Prng) -> Self {
        Self {
            caller,
            listener: End { node: to, conn: None },
            wires: [Wire::new(&Limits::DEFAULT), Wire::new(&Limits::DEFAULT)],
            pipes: [Pipe::default(), Pipe::default()],
            open: false,
            random,
        }
    }

    pub(crate) const fn end(&self, side: Side) -> End {
        match side {
            Side::Caller => self.caller,
            Side::Listener => self.listener,
        }
    }

    pub(crate) const fn set_conn(&mut self, side: Side, conn: Option<ConnId>) {
        match side {
            Side::Caller => self.caller.conn = conn,
            Side::Listener => self.listener.conn = conn,
        }
    }

    pub(crate) fn side_of(&self, node: NodeId, conn: ConnId) -> Option<Side> {
        let is = |end: End| end.node == node && end.conn == Some(conn);
        if is(self.caller) {
            Some(Side::Caller)
        } else if is(self.listener) {
            Some(Side::Listener)
        } else {
            None
        }
    }

    pub(crate) fn side_at(&self, node: NodeId) -> Option<Side> {
        if self.caller.node == node {
            Some(Side::Caller)
        } else if self.listener.node == node {
            Some(Side::Listener)
        } else {
            None
        }
    }

    /// A frame that the node at `side` wants to send.
    pub(crate) fn write(&mut self, side: Side, frame: &Frame) -> Result<(), WireError> {
        self.wires[side as usize].push(frame)
    }

    /// The kernel at `side` takes what is written, unless the pipe is stalled and its buffer full: how many frames it
    /// now has whole.
    pub(crate) fn flush(&mut self, side: Side, conditions: &Conditions) -> u32 {
        let pipe = &mut self.pipes[side as usize];
        if !self.open || (conditions.stall && pipe.waiting.len() >= KERNEL_BUFFER) {
            return 0;
        }
        let wire = &mut self.wires[side as usize];
        let mut taken = 0;
        for segment in wire.segments() {
            taken += segment.len();
            if !conditions.silent {
                pipe.waiting.extend(segment);
            }
        }
        wire.advance(taken)
    }

    /// Bytes that leave now, as chunks with their times of arrival.
    pub(crate) fn send(&mut self, side: Side, now: Moment, conditions: &Conditions) -> Vec<Chunk> {
        let pipe = &mut self.pipes[side as usize];
        let mut chunks = Vec::new();
        while !conditions.stall && !pipe.waiting.is_empty() {
            let most = conditions.chunk.min(pipe.waiting.len()).max(1) as u64;
            let length = usize::try_from(1 + self.random.below(most)).unwrap_or(1);
            let late = self.random.below(u64::try_from(conditions.jitter.as_nanos()).unwrap_or(u64::MAX));
            let at = now + conditions.delay + std::time::Duration::from_nanos(late);
            pipe.last_arrival = pipe.last_arrival.max(at);
            let bytes = pipe.waiting.drain(..length.min(pipe.waiting.len())).collect();
            chunks.push(Chunk { at: pipe.last_arrival, bytes });
        }
        chunks
    }

    /// When the end of the stream from `side` arrives: behind all its bytes.
    pub(crate) fn end_arrives(&self, side: Side, now: Moment, conditions: &Conditions) -> Moment {
        self.pipes[side as usize].last_arrival.max(now + conditions.delay)
    }

    /// The decoder of the node at `side`.
    pub(crate) const fn wire(&mut self, side: Side) -> &mut Wire {
        &mut self.wires[side as usize]
    }
}

/// What a kernel takes while nothing leaves.
const KERNEL_BUFFER: usize = 256 * 1024;
