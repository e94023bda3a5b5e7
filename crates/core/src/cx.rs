//! What a part of the client may touch: time, the request table, timers, links, the route table, outputs, and wants.
//!
//! A part cannot reach a sibling. What it needs from one, it says as a [`Want`]; `client.rs` hands wants over until none
//! is left.

use alloc::string::String;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::RequestCode;
use rocketry_codec::encoder::{FrameWriter, RawRequest};
use rocketry_codec::frame::{Flag, Frame};
use rocketry_codec::header::Request;
use rocketry_machine::{CloseReason, ConnId, Endpoint, Health, LinkError, Now, Outbox, Output, Slab, Timers};

use crate::api::{Ask, BrokerName, Config, ConsumerId, Event, Group, Notice, OpId, Outcome, Topic};
use crate::calls::{Calls, NewCall};
use crate::dress::dress;
use crate::links::{Links, NoLink, Obtained};
use crate::message_trace::TraceBuffer;
use crate::naming::Naming;
use crate::ops::OpOwner;
use crate::registry::Registry;
use crate::routes::RouteTable;
use crate::stats::Counters;
use crate::timer::TimerKey;
use crate::waiter::Waiter;

/// What one part asks of another. At most 16 kinds; each names who handles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Routes: this topic is in use; fetch its route now unless it is known.
    Route {
        /// The topic.
        topic: Topic,
        /// Whether messages are sent to it, so that the default topic's route may stand in.
        publish: bool,
    },
    /// Routes: fetch the route of this topic again now.
    Refresh(Topic),
    /// Producers and consumers: the route of the topic is known or has changed.
    RouteUpdated(Topic),
    /// Producers and consumers: no route for the topic; why.
    RouteFailed(Topic, RouteFailure),
    /// Heartbeat: tell every known broker that we live and what we subscribe to.
    HeartbeatAll,
    /// Consumers: a heartbeat round has ended, with this many answers out of so many.
    HeartbeatDone {
        /// Brokers that answered.
        answered: usize,
        /// Brokers that were told.
        told: usize,
    },
    /// Heartbeat: say goodbye to all brokers for this group.
    Unregister(Farewell),
    /// The group's owner: the goodbye is said, or given up.
    Unregistered(Farewell),
    /// Producers and consumers: a link has room again for frames that had to wait.
    LinkRoom(ConnId),
    /// Links: close this draining connection if no call waits on it.
    CloseDrained(ConnId),
    /// Consumers: stop all of them within this time.
    StopConsumers(Duration),
    /// Producers: stop all of them within this time.
    StopProducers(Duration),
    /// Lifecycle: something that it may wait for has stopped.
    Stopped,
    /// Links: close every connection.
    CloseAll,
}

/// Why there is no route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RouteFailure {
    /// Every name server that answered lacks the topic; the last remark.
    Unknown(String),
    /// No name server answered.
    NoNameServer(alloc::vec::Vec<(Endpoint, LinkError)>),
}

/// Which group leaves the brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Farewell {
    /// The group.
    pub(crate) group: Group,
    /// The consumer that it belonged to, or `None` for a producer.
    pub(crate) consumer: Option<ConsumerId>,
}

/// State that all parts share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) calls: Calls,
    pub(crate) timers: Timers<TimerKey>,
    pub(crate) links: Links,
    pub(crate) naming: Naming,
    pub(crate) table: RouteTable,
    pub(crate) registry: Registry,
    pub(crate) writer: FrameWriter,
    pub(crate) ops: Slab<OpId, OpOwner>,
    pub(crate) out: Outbox<Output<Frame, Event>>,
    pub(crate) wants: Outbox<Want>,
    pub(crate) counters: Counters,
    pub(crate) trace: TraceBuffer,
    pub(crate) health: Health,
    pub(crate) notices: usize,
    pub(crate) oneways: i32,
}

/// What a part may touch during one call.
#[derive(Debug)]
pub(crate) struct Cx<'a> {
    pub(crate) now: Now,
    pub(crate) shared: &'a mut Shared,
}

/// A request as a part hands it over.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// How long to wait for the answer.
    pub(crate) timeout: Duration,
    /// Who waits.
    pub(crate) waiter: Waiter,
}

/// Why a request could not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// The address cannot be reached for now.
    NoLink(NoLink),
    /// The link has more unsent bytes than allowed; wait for [`Want::LinkRoom`].
    NoRoom(ConnId),
    /// The request table is full.
    NoCall,
    /// The request does not fit into a frame.
    TooLarge {
        /// The frame's size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

impl Cx<'_> {
    /// Sends a typed request to an address, over control credit: small frames that must not starve behind sends.
    pub(crate) fn request<R: Request>(
        &mut self,
        to: &Endpoint,
        request: &R,
        body: Bytes,
        how: Outgoing,
    ) -> Result<ConnId, NotSent> {
        let conn = self.link(to).map_err(NotSent::NoLink)?;
        let opaque = self.shared.calls.reserve().ok_or(NotSent::NoCall)?;
        let frame = self.shared.writer.request(opaque, request, body);
        self.launch(conn, opaque, frame, how)?;
        Ok(conn)
    }

    /// As [`Cx::request`], under another code than the header's usual one and without a body.
    pub(crate) fn request_as<R: Request>(
        &mut self,
        to: &Endpoint,
        code: RequestCode,
        request: &R,
        how: Outgoing,
    ) -> Result<ConnId, NotSent> {
        let conn = self.link(to).map_err(NotSent::NoLink)?;
        let opaque = self.shared.calls.reserve().ok_or(NotSent::NoCall)?;
        let frame = self.shared.writer.request_as(code, opaque, request, Bytes::new());
        self.launch(conn, opaque, frame, how)?;
        Ok(conn)
    }

    /// As [`Cx::request`], for a request whose type is not known here.
    pub(crate) fn request_raw(
        &mut self,
        to: &Endpoint,
        request: &RawRequest,
        how: Outgoing,
    ) -> Result<ConnId, NotSent> {
        let conn = self.link(to).map_err(NotSent::NoLink)?;
        let opaque = self.shared.calls.reserve().ok_or(NotSent::NoCall)?;
        let frame = self.shared.writer.raw_request(opaque, Flag::REQUEST, request);
        self.launch(conn, opaque, frame, how)?;
        Ok(conn)
    }

    /// Sends a typed request on a connection, if its credit has room for it: the way of messages.
    pub(crate) fn request_on<R: Request>(
        &mut self,
        conn: ConnId,
        request: &R,
        body: Bytes,
        how: Outgoing,
    ) -> Result<(), NotSent> {
        self.check_room(conn, body.len())?;
        let opaque = self.shared.calls.reserve().ok_or(NotSent::NoCall)?;
        let frame = self.shared.writer.request(opaque, request, body);
        self.launch(conn, opaque, frame, how)
    }

    /// Sends a one-way request for an operation that ends when the kernel has the frame.
    pub(crate) fn oneway_on<R: Request>(
        &mut self,
        conn: ConnId,
        request: &R,
        body: Bytes,
        op: OpId,
    ) -> Result<(), NotSent> {
        self.check_room(conn, body.len())?;
        let seq = self.notify_on(conn, request, body)?;
        if let Some(link) = self.shared.links.get_mut(conn) {
            link.await_flush(seq, op);
        }
        Ok(())
    }

    /// Sends a one-way request that nobody waits for; its place in the link's send order.
    pub(crate) fn notify_on<R: Request>(&mut self, conn: ConnId, request: &R, body: Bytes) -> Result<u64, NotSent> {
        // Nothing comes back, so the number only has to differ from those in use.
        self.shared.oneways = self.shared.oneways.wrapping_add(1) & i32::MAX;
        let frame = self.shared.writer.oneway(self.shared.oneways, request, body);
        let frame = dress(&self.shared.config, &mut self.shared.writer, frame);
        self.fits(&frame)?;
        Ok(self.emit(conn, frame))
    }

    fn check_room(&mut self, conn: ConnId, size: usize) -> Result<(), NotSent> {
        match self.shared.links.get_mut(conn) {
            Some(link) if link.has_room(size as u64) => Ok(()),
            Some(link) => {
                link.want_room();
                Err(NotSent::NoRoom(conn))
            }
            None => Err(NotSent::NoRoom(conn)),
        }
    }

    /// Emits an answer to a peer's request.
    pub(crate) fn respond(&mut self, conn: ConnId, frame: Frame) {
        self.emit(conn, frame);
    }

    /// The connection to an address, opened if there is none.
    pub(crate) fn link(&mut self, to: &Endpoint) -> Result<ConnId, NoLink> {
        match self.open(to)? {
            Obtained::Existing(conn) | Obtained::Fresh(conn) => Ok(conn),
        }
    }

    /// As [`Cx::link`], and says whether the connection is new. A new one to a broker has been greeted already.
    pub(crate) fn open(&mut self, to: &Endpoint) -> Result<Obtained, NoLink> {
        let obtained = self.shared.links.obtain(self.now.at, to)?;
        if let Obtained::Fresh(conn) = obtained {
            self.wake_after(TimerKey::Connect(conn), self.shared.config.connect_timeout);
            self.shared.out.push_reserved(Output::Open { conn, endpoint: to.clone() });
            self.shared.counters.connects += 1;
            crate::heartbeat::greet(self, conn, to);
        }
        Ok(obtained)
    }

    /// Sends a call again whose first answer was GO_AWAY; its deadline stays.
    pub(crate) fn launch_again(&mut self, to: &Endpoint, frame: &Frame, how: Outgoing) -> Result<(), NotSent> {
        let conn = self.link(to).map_err(NotSent::NoLink)?;
        let opaque = self.shared.calls.reserve().ok_or(NotSent::NoCall)?;
        let frame = self.shared.writer.restamp(frame, opaque);
        let seq = self.emit(conn, frame);
        self.enter(conn, opaque, seq, None, how);
        Ok(())
    }

    /// Closes a connection. Its calls must have been taken before.
    pub(crate) fn close(&mut self, conn: ConnId, why: CloseReason) {
        self.shared.timers.cancel(TimerKey::Connect(conn));
        self.shared.out.push_reserved(Output::Close { conn, why });
    }

    /// Ends an operation. A second end of the same operation is a bug of ours.
    pub(crate) fn done(&mut self, op: OpId, outcome: Outcome) {
        let known = self.shared.ops.remove(op).is_some();
        rocketry_machine::invariant!(self.shared.health, known, "an operation ended twice");
        if known {
            self.shared.out.push_reserved(Output::Event(Event::Done { op, outcome }));
        }
    }

    /// Nobody uses this address any more: its connection ends once its calls have.
    pub(crate) fn retire(&mut self, endpoint: &Endpoint) {
        if self.shared.naming.contains(endpoint) {
            return;
        }
        if let Some(conn) = self.shared.links.existing(endpoint) {
            self.shared.links.drain(conn);
            self.want(Want::CloseDrained(conn));
        }
    }

    /// Asks the owner something.
    pub(crate) fn ask(&mut self, ask: Ask) {
        self.shared.out.push_reserved(Output::Event(Event::Ask(ask)));
    }

    /// Tells the owner something, unless too many notices wait already.
    pub(crate) fn notice(&mut self, notice: Notice) {
        if self.shared.notices >= self.shared.config.limits.notices {
            self.shared.counters.notices_dropped += 1;
            return;
        }
        self.shared.notices += 1;
        self.shared.out.push_reserved(Output::Event(Event::Notice(notice)));
    }

    /// Asks something of a sibling part.
    pub(crate) fn want(&mut self, want: Want) {
        if !self.shared.wants.iter().any(|waiting| *waiting == want) {
            self.shared.wants.push_reserved(want);
        }
    }

    /// Arms a timer after a wait.
    pub(crate) fn wake_after(&mut self, key: TimerKey, wait: Duration) {
        self.shared.timers.set(self.now.at, key, self.now.at + wait);
    }

    /// The address of a broker's master.
    pub(crate) fn master(&self, broker: &BrokerName) -> Option<Endpoint> {
        self.shared.table.master(broker)
    }

    fn launch(&mut self, conn: ConnId, opaque: i32, frame: Frame, how: Outgoing) -> Result<(), NotSent> {
        let frame = dress(&self.shared.config, &mut self.shared.writer, frame);
        self.fits(&frame)?;
        let resend = Some(frame.clone());
        let seq = self.emit(conn, frame);
        self.enter(conn, opaque, seq, resend, how);
        Ok(())
    }

    /// A peer closes the connection on a frame that is too large; better not to send it (`cases.md` COD-25).
    fn fits(&self, frame: &Frame) -> Result<(), NotSent> {
        let (size, limit) = (frame.wire_len(), self.shared.config.limits.frame);
        if size > limit { Err(NotSent::TooLarge { size, limit }) } else { Ok(()) }
    }

    fn enter(&mut self, conn: ConnId, opaque: i32, seq: u64, resend: Option<Frame>, how: Outgoing) {
        let call = NewCall { conn, seq, waiter: how.waiter, resend };
        self.shared.calls.enter(opaque, self.now.at, how.timeout, call);
        if let Some(link) = self.shared.links.get_mut(conn) {
            link.call_entered();
        }
    }

    fn emit(&mut self, conn: ConnId, frame: Frame) -> u64 {
        let seq = self.shared.links.get_mut(conn).map_or(0, |link| link.emit(frame.wire_len()));
        self.shared.out.push_reserved(Output::Send { conn, frame });
        seq
    }
}
