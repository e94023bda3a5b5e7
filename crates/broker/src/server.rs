//! The machine that drives a name server, a broker, or both: connections in, requests to the part that serves them.
//!
//! Both parts share one [`Shell`]. When both are there, a request goes to the part that serves its code, whichever
//! address the client dialled; and the broker's topics reach the name server without a connection, within the call that
//! changed them.

use alloc::vec::Vec;
use core::net::SocketAddr;

use bytes::Bytes;
use rocketry_codec::frame::Frame;
use rocketry_machine::{CloseReason, ConnId, Deadline, Input, Now, Output, PeerInfo, Refused};

use crate::event::Event;
use crate::faults::{Fault, Faults};
use crate::names::Names;
use crate::registration;
use crate::shell::{Call, NO_FIELDS, ReplyTo, SCAN, Shell, Timer};
use crate::state::State;

/// Connections with the parts that serve them.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) shell: Shell,
    pub(crate) names: Option<Names>,
    pub(crate) broker: Option<State>,
    pub(crate) faults: Faults,
}

impl Server {
    pub(crate) fn new(shell: Shell, names: Option<Names>, broker: Option<State>) -> Self {
        let mut server = Self { shell, names, broker, faults: Faults::default() };
        if let (Some(_), Some(broker)) = (&server.names, &mut server.broker) {
            broker.registrar.register_locally();
        }
        server.settle();
        server
    }

    pub(crate) fn accept(&mut self, now: Now, peer: &PeerInfo) -> Result<ConnId, Refused> {
        self.shell.tick(now);
        self.shell.accept(peer)
    }

    pub(crate) fn handle_input(&mut self, now: Now, input: Input<Frame>) {
        self.shell.tick(now);
        if self.shell.health.broken().is_some() {
            return;
        }
        match input {
            Input::Opened { conn, .. } => self.on_opened(conn),
            Input::Frame { conn, frame } => self.on_frame(conn, &frame),
            Input::Flushed { conn, frames } => self.shell.flushed(conn, frames),
            Input::Closed { conn, .. } => {
                if self.shell.remove(conn).is_some() {
                    self.on_closed(conn);
                }
            }
        }
        self.settle();
    }

    pub(crate) fn handle_timeout(&mut self, now: Now) {
        self.shell.tick(now);
        while let Some(timer) = self.shell.due() {
            match timer {
                Timer::Idle => self.on_idle_scan(),
                Timer::Brokers => {
                    let silent = self.names.as_mut().map(|names| names.on_scan(&mut self.shell));
                    self.close_all(silent.unwrap_or_default());
                }
                Timer::Fault => self.on_delay_over(),
                _ => {
                    if let Some(broker) = &mut self.broker {
                        broker.on_timer(&mut self.shell, timer);
                    }
                }
            }
        }
        self.settle();
    }

    pub(crate) fn poll_output(&mut self) -> Option<Output<Frame, Event>> {
        self.shell.poll_output()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Deadline> {
        self.shell.poll_timeout()
    }

    fn on_opened(&mut self, conn: ConnId) {
        if let Some(broker) = &mut self.broker {
            broker.registrar.on_opened(&broker.config, &broker.store.topics, &mut self.shell, conn);
        }
    }

    fn on_frame(&mut self, conn: ConnId, frame: &Frame) {
        let Some(remote) = self.shell.heard(conn) else { return };
        if frame.is_response() {
            // Nothing here asks clients for answers yet; name servers answer registrations.
            if let Some(broker) = &mut self.broker {
                broker.registrar.on_reply(&mut self.shell, conn, frame);
            }
            return;
        }
        let to = ReplyTo { conn, opaque: frame.opaque(), oneway: frame.is_oneway() };
        match self.faults.strike(frame) {
            None => self.serve(to, frame, remote),
            Some(fault) => self.fail(&fault, to, frame, remote),
        }
    }

    /// Does to a request what a fault says.
    fn fail(&mut self, fault: &Fault, to: ReplyTo, frame: &Frame, remote: SocketAddr) {
        match fault {
            Fault::Delay(wait) => {
                if self.faults.delay(self.shell.now.at + *wait, to.conn, frame) {
                    self.await_delay();
                } else {
                    self.serve(to, frame, remote);
                }
            }
            Fault::CloseBefore => self.cut(to.conn),
            Fault::CloseAfter => {
                self.serve(ReplyTo { oneway: true, ..to }, frame, remote);
                self.cut(to.conn);
            }
            Fault::DropAnswer => self.serve(ReplyTo { oneway: true, ..to }, frame, remote),
            Fault::Answer { code, remark } => {
                let remark = Some(&**remark).filter(|remark| !remark.is_empty());
                self.shell.respond(to, *code, remark, NO_FIELDS, Bytes::new());
            }
            Fault::HalfOpen => self.shell.deaden(to.conn),
        }
    }

    fn on_delay_over(&mut self) {
        for (conn, frame) in self.faults.take_due(self.shell.now.at) {
            if let Some(remote) = self.shell.heard(conn) {
                let to = ReplyTo { conn, opaque: frame.opaque(), oneway: frame.is_oneway() };
                self.serve(to, &frame, remote);
            }
        }
        self.await_delay();
    }

    fn await_delay(&mut self) {
        if let Some(at) = self.faults.next_due() {
            self.shell.timers.set(self.shell.now.at, Timer::Fault, at);
        }
    }

    fn cut(&mut self, conn: ConnId) {
        self.shell.close(conn, CloseReason::Stopping);
        self.on_closed(conn);
    }

    /// Takes a request to the part that serves it.
    fn serve(&mut self, to: ReplyTo, frame: &Frame, remote: SocketAddr) {
        let call = Call { to, frame, remote };
        match (&mut self.names, &mut self.broker) {
            (Some(names), broker) if broker.is_none() || Names::serves(frame.request_code()) => {
                names.on_request(&mut self.shell, &call);
            }
            (_, Some(broker)) => broker.on_request(&mut self.shell, &call),
            (_, None) => {}
        }
    }

    fn on_closed(&mut self, conn: ConnId) {
        self.faults.close(conn);
        if let Some(names) = &mut self.names {
            names.on_closed(conn);
        }
        if let Some(broker) = &mut self.broker
            && !broker.registrar.on_closed(&mut self.shell, conn)
        {
            broker.on_closed(&mut self.shell, conn);
        }
    }

    fn on_idle_scan(&mut self) {
        self.close_all(self.shell.idle());
        let silent = self.broker.as_mut().map(|broker| broker.on_idle_scan(&self.shell));
        self.close_all(silent.unwrap_or_default());
        if self.shell.has_conns() {
            self.shell.set_on_grid(Timer::Idle, SCAN);
        }
    }

    /// Closes connections whose peers have gone silent or take nothing.
    fn close_all(&mut self, conns: Vec<ConnId>) {
        for conn in conns {
            self.shell.close(conn, CloseReason::Unresponsive);
            self.on_closed(conn);
        }
    }

    /// Carries what changed from one part to the other.
    fn settle(&mut self) {
        let overrun = self.shell.take_overrun();
        self.close_all(overrun);
        let Some(broker) = &mut self.broker else { return };
        broker.settle(&mut self.shell);
        let changed = broker.registrar.take_local();
        if let Some(names) = &mut self.names
            && !changed.is_empty()
        {
            names
                .register_local(self.shell.now.at, registration::local(&broker.config, &broker.store.topics, &changed));
        }
    }
}
