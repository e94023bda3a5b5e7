//! What name server and broker share as machines: connections, the queue of outputs, timers and time.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::{Language, ResponseCode, Version};
use rocketry_codec::encoder::{FrameWriter, Sender};
use rocketry_codec::error::WireError;
use rocketry_codec::frame::Frame;
use rocketry_codec::header::{Encoding, Request, WriteFields};
use rocketry_machine::{
    CloseReason, ConnId, Deadline, Endpoint, Health, Moment, Now, Outbox, Output, PeerInfo, Refused, Slab, TimerKey,
    Timers, UnixMillis, invariant,
};

use crate::event::Event;

/// A connection without traffic in either direction for longer is closed, as Apache's servers do.
const IDLE: Duration = Duration::from_secs(120);
/// How often idle connections and silent clients are looked for.
pub(crate) const SCAN: Duration = Duration::from_secs(10);

/// A header without fields.
pub(crate) const NO_FIELDS: &[(&str, &str)] = &[];

/// Where the answer to a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyTo {
    pub(crate) conn: ConnId,
    pub(crate) opaque: i32,
    /// No answer is wanted, not even for errors.
    pub(crate) oneway: bool,
}

/// A request as handlers see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) to: ReplyTo,
    pub(crate) frame: &'a Frame,
    /// Where it came from; unspecified when the driver does not know.
    pub(crate) remote: SocketAddr,
}

/// The pointer to its questions page that Apache appends to many remarks.
pub(crate) const FAQ: &str = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.";

/// Everything a server waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Look for brokers that have stopped registering.
    Brokers,
    /// Look for idle connections and silent clients.
    Idle,
    /// Answer the waiting pulls of queues that have grown.
    Wake,
    /// Look over all waiting pulls.
    Hold,
    /// Deliver the delayed messages of a level.
    Delay(u8),
    /// Look at half messages that are open.
    Transactions,
    /// Tell the name servers that the broker lives.
    Register,
    /// Connect to a name server again, or give up an attempt.
    Link(u16),
    /// Serve the requests that a fault has put off.
    Fault,
    /// Revive popped messages, or end the wait of pops.
    Pop,
}

impl TimerKey for Timer {
    fn why(&self) -> &'static str {
        match self {
            Self::Brokers => "scan of registered brokers",
            Self::Idle => "scan of idle connections",
            Self::Wake => "news for waiting pulls",
            Self::Hold => "scan of waiting pulls",
            Self::Delay(_) => "delayed messages",
            Self::Transactions => "open half messages",
            Self::Register => "registration at name servers",
            Self::Link(_) => "connection to a name server",
            Self::Pop => "popped messages and waiting pops",
            Self::Fault => "requests that a fault has put off",
        }
    }
}

/// What is known about a connection.
#[derive(Debug)]
pub(crate) struct Conn {
    remote: SocketAddr,
    last_traffic: Moment,
    /// Sizes of the frames that are emitted but not flushed.
    unflushed: VecDeque<u32>,
    unflushed_bytes: usize,
    /// A fault wants nothing served on it and nothing sent.
    dead: bool,
}

/// Connections, outputs and time of one server.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) now: Now,
    pub(crate) timers: Timers<Timer>,
    pub(crate) health: Health,
    start: Moment,
    boot: UnixMillis,
    writer: FrameWriter,
    opaque: i32,
    conns: Slab<ConnId, Conn>,
    out: Outbox<Output<Frame, Event>>,
    /// Connections whose peers have let far too much pile up.
    overrun: Vec<ConnId>,
    max_conns: usize,
    max_unflushed: usize,
}

impl Shell {
    pub(crate) fn new(now: Now, max_conns: usize, max_unflushed: usize) -> Self {
        Self {
            now,
            timers: Timers::new(),
            health: Health::sound(),
            start: now.at,
            boot: now.wall,
            writer: FrameWriter::new(Sender {
                language: Language::JAVA,
                version: Version::V5_3_3,
                encoding: Encoding::Json,
            }),
            opaque: 0,
            conns: Slab::new(),
            // Each input is answered with few outputs and the driver drains after each, so the bound that counts is
            // that of unflushed bytes.
            out: Outbox::with_limit(usize::MAX),
            overrun: Vec::new(),
            max_conns,
            max_unflushed,
        }
    }

    /// Takes the time of a call; the monotone clock never goes back.
    pub(crate) fn tick(&mut self, now: Now) {
        self.now = Now::new(self.now.at.max(now.at), now.wall);
    }

    pub(crate) fn accept(&mut self, peer: &PeerInfo) -> Result<ConnId, Refused> {
        if self.conns.len() >= self.max_conns {
            return Err(Refused::TooMany { limit: self.max_conns });
        }
        Ok(self.insert(peer.remote))
    }

    /// Asks for a connection.
    pub(crate) fn open(&mut self, endpoint: Endpoint) -> ConnId {
        let conn = self.insert(None);
        self.out.push_reserved(Output::Open { conn, endpoint });
        conn
    }

    fn insert(&mut self, remote: Option<SocketAddr>) -> ConnId {
        if self.timers.armed(Timer::Idle).is_none() {
            self.set_on_grid(Timer::Idle, SCAN);
        }
        self.conns.insert(Conn {
            remote: remote.unwrap_or_else(|| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0)),
            last_traffic: self.now.at,
            unflushed: VecDeque::new(),
            unflushed_bytes: 0,
            dead: false,
        })
    }

    /// When the server began, in milliseconds since 1970.
    pub(crate) const fn started(&self) -> i64 {
        self.boot.get()
    }

    /// The address of a peer; unspecified when the driver does not know it.
    pub(crate) fn remote(&self, conn: ConnId) -> Option<SocketAddr> {
        self.conns.get(conn).map(|conn| conn.remote)
    }

    /// A connection is gone by the peer's doing.
    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<Conn> {
        self.conns.remove(conn)
    }

    /// A frame arrived on a connection; from where, if the connection is known.
    pub(crate) fn heard(&mut self, conn: ConnId) -> Option<SocketAddr> {
        let state = self.conns.get_mut(conn)?;
        state.last_traffic = self.now.at;
        (!state.dead).then_some(state.remote)
    }

    /// From here on nothing is heard from a connection, and nothing sent on it.
    pub(crate) fn deaden(&mut self, conn: ConnId) {
        if let Some(state) = self.conns.get_mut(conn) {
            state.dead = true;
        }
    }

    /// Answers a request, unless it wants no answer.
    pub(crate) fn respond<W: WriteFields + ?Sized>(
        &mut self,
        to: ReplyTo,
        code: ResponseCode,
        remark: Option<&str>,
        fields: &W,
        body: Bytes,
    ) {
        if !to.oneway {
            let frame = self.writer.response(to.opaque, code, remark, fields, body);
            self.send(to.conn, frame);
        }
    }

    /// A successful answer that is to be sent later.
    pub(crate) fn response<W: WriteFields + ?Sized>(&mut self, to: ReplyTo, remark: Option<&str>, fields: &W) -> Frame {
        self.writer.response(to.opaque, ResponseCode::SUCCESS, remark, fields, Bytes::new())
    }

    /// Answers a request whose header or body does not parse.
    pub(crate) fn malformed(&mut self, to: ReplyTo, error: WireError) {
        self.refuse(to, ResponseCode::SYSTEM_ERROR, &format!("{error}"));
    }

    /// Answers a request with success and nothing else.
    pub(crate) fn respond_ok(&mut self, to: ReplyTo) {
        self.respond(to, ResponseCode::SUCCESS, None, NO_FIELDS, Bytes::new());
    }

    /// Answers a request with success and a body.
    pub(crate) fn respond_body(&mut self, to: ReplyTo, body: impl Into<Bytes>) {
        self.respond(to, ResponseCode::SUCCESS, None, NO_FIELDS, body.into());
    }

    /// Answers a request with an error.
    pub(crate) fn refuse(&mut self, to: ReplyTo, code: ResponseCode, remark: &str) {
        self.respond(to, code, Some(remark), NO_FIELDS, Bytes::new());
    }

    /// Sends a request that wants no answer.
    pub(crate) fn push<R: Request>(&mut self, conn: ConnId, request: &R, body: Bytes) {
        let opaque = self.next_opaque();
        let frame = self.writer.oneway(opaque, request, body);
        self.send(conn, frame);
    }

    /// Sends a request and says under which number its answer will come.
    pub(crate) fn request<R: Request>(&mut self, conn: ConnId, request: &R, body: Bytes) -> i32 {
        let opaque = self.next_opaque();
        let frame = self.writer.request(opaque, request, body);
        self.send(conn, frame);
        opaque
    }

    fn next_opaque(&mut self) -> i32 {
        self.opaque = self.opaque.wrapping_add(1) & i32::MAX;
        self.opaque
    }

    /// Emits a frame, unless the connection is gone.
    pub(crate) fn send(&mut self, conn: ConnId, frame: Frame) {
        let at = self.now.at;
        let Some(state) = self.conns.get_mut(conn).filter(|state| !state.dead) else { return };
        let size = frame.wire_len();
        state.last_traffic = at;
        state.unflushed.push_back(u32::try_from(size).unwrap_or(u32::MAX));
        let bound = self.max_unflushed.saturating_mul(2);
        let was_within = state.unflushed_bytes <= bound;
        state.unflushed_bytes += size;
        if was_within && state.unflushed_bytes > bound {
            self.overrun.push(conn);
        }
        self.out.push_reserved(Output::Send { conn, frame });
    }

    /// The connections that hold more than twice the bound of unflushed bytes. Their owner closes them.
    pub(crate) fn take_overrun(&mut self) -> Vec<ConnId> {
        core::mem::take(&mut self.overrun)
    }

    /// Whether the peer takes its answers too slowly to be given more.
    pub(crate) fn congested(&self, conn: ConnId) -> bool {
        self.conns.get(conn).is_some_and(|conn| conn.unflushed_bytes > self.max_unflushed)
    }

    pub(crate) fn flushed(&mut self, conn: ConnId, frames: u32) {
        let at = self.now.at;
        let Some(state) = self.conns.get_mut(conn) else { return };
        state.last_traffic = at;
        for _ in 0..frames {
            let Some(size) = state.unflushed.pop_front() else { break };
            state.unflushed_bytes -= size as usize;
        }
        invariant!(self.health, !state.unflushed.is_empty() || state.unflushed_bytes == 0, "unflushed bytes add up");
    }

    /// Closes a connection; nothing is emitted for it afterwards.
    pub(crate) fn close(&mut self, conn: ConnId, why: CloseReason) {
        if self.conns.remove(conn).is_some() {
            self.out.push_reserved(Output::Close { conn, why });
        }
    }

    /// The connections without traffic for too long. Their owner closes them.
    pub(crate) fn idle(&self) -> Vec<ConnId> {
        let idle = |conn: &Conn| self.now.at.since(conn.last_traffic) > IDLE;
        self.conns.iter().filter(|(_, conn)| idle(conn)).map(|(id, _)| id).collect()
    }

    pub(crate) fn has_conns(&self) -> bool {
        !self.conns.is_empty()
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.out.push_reserved(Output::Event(event));
    }

    /// Arms a timer for the next point of a grid that starts with the server.
    pub(crate) fn set_on_grid(&mut self, timer: Timer, period: Duration) {
        let period = period.as_nanos().max(1);
        let periods = self.now.at.since(self.start).as_nanos() / period + 1;
        let wait = Duration::from_nanos(u64::try_from(periods * period).unwrap_or(u64::MAX));
        self.timers.set(self.now.at, timer, self.start + wait);
    }

    /// Arms a timer relative to now.
    pub(crate) fn set_after(&mut self, timer: Timer, wait: Duration) {
        self.timers.set(self.now.at, timer, self.now.at + wait);
    }

    /// The next timer that is due.
    pub(crate) fn due(&mut self) -> Option<Timer> {
        self.timers.pop(self.now.at)
    }

    pub(crate) fn poll_output(&mut self) -> Option<Output<Frame, Event>> {
        self.out.pop()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Deadline> {
        if self.out.is_empty() {
            self.timers.next()
        } else {
            Some(Deadline { at: self.now.at, why: "undrained output" })
        }
    }
}
