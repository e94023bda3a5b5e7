//! The shell around a machine: one short lock, and one step that everybody takes who has an input for it.
//!
//! A step feeds the machine, takes all its outputs, and writes without blocking what there is to write. What it cannot do
//! itself (connect, wait for a socket or a timer) it leaves to the driver, which it rings for.
//!
//! The order inside a step: drain outputs; write what is dirty and report it as flushed; let the host feed what waited;
//! again until nothing moves, at most [`ROUNDS`] times, the rest being left to the driver.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use rocketry_codec::frame::Frame;
use rocketry_machine::{ConnId, Endpoint, Input, LinkError, Machine, Moment, Now, Output, PeerInfo};

use crate::clock::Clock;
use crate::conns::ConnMap;
use crate::host::{After, Host, Life, Pace};
use crate::io::Writer;
use crate::outbound::{Outbound, Written};
use crate::signal::{Ring, Signal};
use crate::sync::lock;

/// Rounds of one step, so that a fast peer cannot keep the lock with one caller.
const ROUNDS: usize = 64;

/// A machine, its host and the sending sides of its connections behind one lock.
pub(crate) struct Shell<M: Machine, H> {
    inner: Mutex<Inner<M, H>>,
    pub(crate) signal: Arc<Signal>,
    pub(crate) clock: Clock,
}

/// What the driver must do because a step cannot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Connect.
    Open { conn: ConnId, endpoint: Endpoint },
    /// Read no more; the sending side is still being written out.
    Linger(ConnId),
    /// Forget the connection.
    Drop(ConnId),
}

/// What a driver learns from its turn.
#[derive(Debug)]
pub(crate) struct Turn {
    /// When to take the next turn if nothing else happens; not later than the machine's deadline.
    pub(crate) wake_at: Moment,
    pub(crate) life: Life,
    /// Connections that are being written out.
    pub(crate) lingering: bool,
    /// More can be done at once.
    pub(crate) again: bool,
}

struct Inner<M: Machine, H> {
    machine: M,
    host: H,
    outbounds: ConnMap<Outbound>,
    dirty: Vec<ConnId>,
    /// Connections that a frame could not be queued on.
    broken: Vec<(ConnId, LinkError)>,
    orders: Vec<Order>,
    after: After,
    /// The driver wakes by itself at this moment.
    armed: Moment,
    lingering: usize,
    ended: bool,
}

impl<M: Machine<Frame = Frame>, H: Host<M>> Shell<M, H> {
    pub(crate) fn new(machine: M, host: H, clock: Clock) -> Self {
        let inner = Inner {
            machine,
            host,
            outbounds: ConnMap::new(),
            dirty: Vec::new(),
            broken: Vec::new(),
            orders: Vec::new(),
            after: After::default(),
            armed: Moment::ZERO,
            lingering: 0,
            ended: false,
        };
        Self { inner: Mutex::new(inner), signal: Arc::new(Signal::default()), clock }
    }

    /// Takes a step: feeds the machine and does everything that follows and does not block.
    pub(crate) fn step<R>(&self, feed: impl FnOnce(&mut M, &mut H, Now, &mut After) -> R) -> R {
        let mut inner = self.lock();
        // Read under the lock: whoever comes later is not earlier.
        let now = self.clock.now();
        let Inner { machine, host, after, .. } = &mut *inner;
        let result = feed(machine, host, now, after);
        let pace = inner.host.pace();
        inner.settle(now, pace);
        let ring = inner.needs_driver();
        let mut after = std::mem::take(&mut inner.after);
        drop(inner);
        if let Some(ring) = ring {
            self.signal.ring(ring);
        }
        after.run();
        result
    }

    /// Looks at the host alone: nothing is fed, so nothing follows.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&mut H) -> R) -> R {
        look(&mut self.lock().host)
    }

    /// The driver's turn: feeds what it read, fires what is due, writes, and hands over what is left to it. `timer` is the
    /// moment that the driver's timer is armed for.
    pub(crate) fn turn(
        &self,
        woken: &[ConnId],
        inputs: &mut Vec<Input<Frame>>,
        orders: &mut Vec<Order>,
        after: &mut After,
        timer: Moment,
    ) -> Turn {
        let mut inner = self.lock();
        let now = self.clock.now();
        std::mem::swap(&mut inner.after, after);
        for conn in woken {
            inner.unblock(*conn);
        }
        for input in inputs.drain(..) {
            inner.feed(now, input);
        }
        if inner.machine.poll_timeout().is_some_and(|deadline| deadline.at <= now.at) {
            inner.machine.handle_timeout(now);
        }
        inner.settle(now, Pace::AtOnce);
        orders.append(&mut inner.orders);
        let deadline = inner.machine.poll_timeout().map_or(Moment::NEVER, |deadline| deadline.at);
        // A timer that is armed for an earlier moment stays: to wake once for nothing is cheaper than to arm it anew with
        // every answer that moves the deadline.
        inner.armed = if timer > now.at { deadline.min(timer) } else { deadline };
        let turn = Turn {
            wake_at: inner.armed,
            life: inner.host.life(),
            lingering: inner.lingering > 0,
            again: !inner.dirty.is_empty() || deadline <= now.at,
        };
        std::mem::swap(&mut inner.after, after);
        turn
    }

    /// A connection that the machine asked for stands. Returns whether it is still wanted.
    pub(crate) fn connected(&self, conn: ConnId, writer: Box<dyn Writer>, waker: Waker, peer: PeerInfo) -> bool {
        let mut inner = self.lock();
        let Some(outbound) = inner.outbounds.get_mut(conn) else { return false };
        outbound.stand(writer, waker);
        let now = self.clock.now();
        inner.machine.handle_input(now, Input::Opened { conn, peer });
        inner.touch(conn);
        true
    }

    /// A peer connected to us under the id that the machine gave it.
    pub(crate) fn accepted<R>(
        &self,
        accept: impl FnOnce(&mut M, Now) -> Result<ConnId, R>,
        link: impl FnOnce(ConnId) -> (Box<dyn Writer>, Waker),
    ) -> Result<ConnId, R> {
        let mut inner = self.lock();
        let conn = accept(&mut inner.machine, self.clock.now())?;
        let (writer, waker) = link(conn);
        let mut outbound = Outbound::new();
        outbound.stand(writer, waker);
        inner.outbounds.insert(conn, outbound);
        Ok(conn)
    }

    /// A connection is given up although it was not written out.
    pub(crate) fn give_up(&self, conn: ConnId) {
        self.lock().forget(conn);
    }

    /// The driver has ended: closes all connections towards the machine and the peers.
    pub(crate) fn end(&self) {
        let mut inner = self.lock();
        if std::mem::replace(&mut inner.ended, true) {
            return;
        }
        let now = self.clock.now();
        // The driver may end because the machine panicked, and may do so again: what waits must be told all the same.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            for conn in inner.outbounds.ids() {
                inner.machine.handle_input(now, Input::Closed { conn, cause: LinkError::Stopping });
            }
            inner.drain();
        }));
        inner.outbounds.clear();
        inner.orders.clear();
        inner.dirty.clear();
        let Inner { host, after, .. } = &mut *inner;
        host.on_end(after);
        let mut after = std::mem::take(&mut inner.after);
        drop(inner);
        after.run();
    }

    /// The machine, once nobody else uses the shell.
    pub(crate) fn into_machine(self) -> M {
        self.inner.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).machine
    }

    fn lock(&self) -> MutexGuard<'_, Inner<M, H>> {
        lock(&self.inner)
    }
}

impl<M: Machine<Frame = Frame>, H: Host<M>> Inner<M, H> {
    /// Whether only the driver can do what is left.
    fn needs_driver(&self) -> Option<Ring> {
        if !self.orders.is_empty()
            || self.host.life() != Life::Running
            || self.machine.poll_timeout().is_some_and(|deadline| deadline.at < self.armed)
        {
            return Some(Ring::Now);
        }
        (!self.dirty.is_empty()).then_some(Ring::Gather)
    }

    fn settle(&mut self, now: Now, pace: Pace) {
        for _ in 0..ROUNDS {
            self.drain();
            let mut fed = self.lose_broken(now);
            fed |= pace == Pace::AtOnce && self.write(now);
            let Self { machine, host, after, .. } = self;
            fed |= host.settle(machine, now, after);
            if !fed {
                return;
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Open { conn, endpoint } => {
                    self.forget(conn);
                    self.outbounds.insert(conn, Outbound::new());
                    self.orders.push(Order::Open { conn, endpoint });
                }
                Output::Send { conn, frame } => self.queue(conn, &frame),
                Output::Close { conn, .. } => self.close(conn),
                Output::Event(event) => self.host.on_event(event, &mut self.after),
            }
        }
    }

    fn queue(&mut self, conn: ConnId, frame: &Frame) {
        let Some(outbound) = self.outbounds.get_mut(conn) else { return };
        match outbound.push(frame) {
            Ok(()) => self.touch(conn),
            Err(cause) => self.broken.push((conn, cause)),
        }
    }

    fn close(&mut self, conn: ConnId) {
        let Some(outbound) = self.outbounds.get_mut(conn) else { return };
        if !outbound.stands() {
            // What was never connected has nothing to write out.
            self.forget(conn);
            self.orders.push(Order::Drop(conn));
            return;
        }
        outbound.closing = true;
        self.lingering += 1;
        self.orders.push(Order::Linger(conn));
        self.touch(conn);
    }

    /// Lists the connection as having something to write.
    fn touch(&mut self, conn: ConnId) {
        if let Some(outbound) = self.outbounds.get_mut(conn)
            && outbound.stands()
            && !std::mem::replace(&mut outbound.dirty, true)
        {
            self.dirty.push(conn);
        }
    }

    fn unblock(&mut self, conn: ConnId) {
        if self.outbounds.get_mut(conn).is_some_and(Outbound::unblock) {
            self.touch(conn);
        }
    }

    /// Writes every dirty connection. Returns whether the machine was told something.
    fn write(&mut self, now: Now) -> bool {
        let mut told = false;
        let mut dirty = std::mem::take(&mut self.dirty);
        for conn in dirty.drain(..) {
            let Some(outbound) = self.outbounds.get_mut(conn) else { continue };
            outbound.dirty = false;
            let closing = outbound.closing;
            let (frames, written) = outbound.write();
            if frames > 0 && !closing {
                told = true;
                self.machine.handle_input(now, Input::Flushed { conn, frames });
            }
            match written {
                Written::Waiting => {}
                Written::All if !closing => {}
                Written::Broken(cause) if !closing => {
                    told = true;
                    self.lose(now, conn, cause);
                }
                Written::All | Written::Broken(_) => {
                    self.forget(conn);
                    self.orders.push(Order::Drop(conn));
                }
            }
        }
        // Keep the memory of the list, and what was listed meanwhile.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
        told
    }

    fn lose_broken(&mut self, now: Now) -> bool {
        let broken = std::mem::take(&mut self.broken);
        let any = !broken.is_empty();
        for (conn, cause) in broken {
            self.lose(now, conn, cause);
        }
        any
    }

    /// The connection is gone without the machine's doing.
    fn lose(&mut self, now: Now, conn: ConnId, cause: LinkError) {
        self.forget(conn);
        self.orders.push(Order::Drop(conn));
        self.machine.handle_input(now, Input::Closed { conn, cause });
    }

    fn forget(&mut self, conn: ConnId) {
        if self.outbounds.remove(conn).is_some_and(|outbound| outbound.closing) {
            self.lingering -= 1;
        }
    }

    fn feed(&mut self, now: Now, input: Input<Frame>) {
        match input {
            Input::Closed { conn, cause } => {
                // A connection that the machine closed is only being written out: it has nothing more to say.
                match self.outbounds.get_mut(conn) {
                    Some(outbound) if outbound.closing => {}
                    Some(_) => self.lose(now, conn, cause),
                    None => {}
                }
            }
            Input::Frame { conn, .. } | Input::Opened { conn, .. } | Input::Flushed { conn, .. } => {
                if self.outbounds.get_mut(conn).is_some_and(|outbound| !outbound.closing) {
                    self.machine.handle_input(now, input);
                }
            }
        }
    }
}
