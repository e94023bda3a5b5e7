//! The driver: the one future that waits, for sockets, for the timer, for new connections.
//!
//! One poll goes in rounds. A round looks at the connections whose wakers fired (connect, read, decode, outside the
//! lock), then takes one turn of the shell (feed, fire what is due, write), then carries out what the turn left to it.
//! After [`ROUNDS`] rounds it yields to the runtime. The priority inside a round is fixed: inputs, timers, outputs.
//!
//! Timers: the machine's deadline; the time that a closed connection may take to be written out ([`LINGER`]); the pause
//! of a listener that failed ([`LISTEN_PAUSE`]).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rocketry_codec::frame::Frame;
use rocketry_machine::{ConnId, Input, Machine, Moment, Now, PeerInfo, Refused};

use crate::clock;
use crate::conns::ConnMap;
use crate::end::Ended;
use crate::host::{After, Host, Life};
use crate::inbound::{Inbound, Seen};
use crate::io::{Connect, Connected, Listen, Timer};
use crate::shell::{Order, Shell, Turn};
use crate::signal::{Ring, Token};

/// Rounds of one poll before other tasks of the runtime get their turn.
const ROUNDS: usize = 8;
/// How long a connection that the machine closed may take to be written out.
const LINGER: Duration = Duration::from_secs(1);
/// How long a listener rests after it failed, for example for want of file descriptors.
const LISTEN_PAUSE: Duration = Duration::from_millis(100);
/// Peers of one listener that are accepted before others get their turn.
const ACCEPTS: usize = 16;

/// How a machine that accepts connections does it.
pub(crate) type Accept<M> = fn(&mut M, Now, PeerInfo) -> Result<ConnId, Refused>;

/// What a driver waits with.
pub(crate) struct Waiting<M> {
    pub(crate) connect: Arc<dyn Connect>,
    pub(crate) timer: Box<dyn Timer>,
    pub(crate) listeners: Vec<Box<dyn Listen>>,
    pub(crate) accept: Option<Accept<M>>,
}

/// Drives a machine: polls until the machine's owner has ended it. Dropping it ends it at once.
#[must_use = "a driver does nothing unless it is polled"]
pub(crate) struct Engine<M: Machine<Frame = Frame>, H: Host<M>> {
    /// `None` once it has ended.
    shell: Option<Arc<Shell<M, H>>>,
    waiting: Waiting<M>,
    conns: ConnMap<Inbound>,
    listeners: Vec<Waker>,
    /// Listeners to look at again at this moment.
    paused: Vec<(Moment, usize)>,
    lingering: Vec<(Moment, ConnId)>,
    tokens: Vec<Token>,
    woken: Vec<ConnId>,
    inputs: Vec<Input<Frame>>,
    orders: Vec<Order>,
    after: After,
    /// What the timer is set to.
    armed: Moment,
    /// Whether the ring that woke this poll was answered by letting others run first.
    yielded: bool,
    ended: Arc<Ended>,
}

impl<M: Machine<Frame = Frame>, H: Host<M>> Engine<M, H> {
    pub(crate) fn new(shell: Arc<Shell<M, H>>, waiting: Waiting<M>, ended: Arc<Ended>) -> Self {
        let listeners = (0..waiting.listeners.len()).map(|at| shell.signal.waker(Token::Listener(at))).collect();
        let tokens = (0..waiting.listeners.len()).map(Token::Listener).collect();
        Self {
            shell: Some(shell),
            waiting,
            conns: ConnMap::new(),
            listeners,
            paused: Vec::new(),
            lingering: Vec::new(),
            tokens,
            woken: Vec::new(),
            inputs: Vec::new(),
            orders: Vec::new(),
            after: After::default(),
            armed: Moment::ZERO,
            yielded: false,
            ended,
        }
    }

    /// One round. Returns what the turn said, and whether another round has work to do at once.
    fn round(&mut self, shell: &Shell<M, H>) -> (Turn, bool) {
        let mut tokens = std::mem::take(&mut self.tokens);
        for token in tokens.drain(..) {
            match token {
                Token::Conn(conn) => {
                    self.woken.push(conn);
                    self.look_at(shell, conn);
                }
                Token::Listener(at) => self.accept(shell, at),
            }
        }
        // What the looks listed again is for the next round.
        tokens.append(&mut self.tokens);
        self.tokens = tokens;
        let turn = shell.turn(&self.woken, &mut self.inputs, &mut self.orders, &mut self.after, self.armed);
        self.woken.clear();
        self.after.run();
        let ordered = !self.orders.is_empty();
        self.carry_out(shell);
        let again = ordered || turn.again || !self.tokens.is_empty();
        (turn, again)
    }

    fn look_at(&mut self, shell: &Shell<M, H>, conn: ConnId) {
        let Some(inbound) = self.conns.get_mut(conn) else { return };
        match inbound.look(&mut self.inputs) {
            Seen::Nothing => {}
            Seen::More => self.tokens.push(Token::Conn(conn)),
            Seen::Stands(connected) => {
                let Connected { reader, writer, peer } = *connected;
                inbound.stand(reader);
                if shell.connected(conn, writer, inbound.waker().clone(), peer) {
                    // The first read registers for the next.
                    self.tokens.push(Token::Conn(conn));
                } else {
                    self.conns.remove(conn);
                }
            }
        }
    }

    fn accept(&mut self, shell: &Shell<M, H>, at: usize) {
        let (Some(listener), Some(waker)) = (self.waiting.listeners.get_mut(at), self.listeners.get(at)) else {
            return;
        };
        let Some(accept) = self.waiting.accept else { return };
        for _ in 0..ACCEPTS {
            let Connected { reader, writer, peer } = match listener.poll_accept(&mut Context::from_waker(waker)) {
                Poll::Pending => return,
                Poll::Ready(Ok(connected)) => connected,
                Poll::Ready(Err(_)) => {
                    self.paused.push((shell.clock.now().at + LISTEN_PAUSE, at));
                    return;
                }
            };
            let mut reader = Some(reader);
            let conns = &mut self.conns;
            let accepted = shell.accepted(
                |machine, now| accept(machine, now, peer),
                |conn| {
                    let waker = shell.signal.waker(Token::Conn(conn));
                    if let Some(reader) = reader.take() {
                        conns.insert(conn, Inbound::reading(conn, waker.clone(), reader));
                    }
                    (writer, waker)
                },
            );
            // A refused peer finds its connection closed: both halves are dropped.
            if let Ok(conn) = accepted {
                self.tokens.push(Token::Conn(conn));
            }
        }
        self.tokens.push(Token::Listener(at));
    }

    fn carry_out(&mut self, shell: &Shell<M, H>) {
        let mut orders = std::mem::take(&mut self.orders);
        for order in orders.drain(..) {
            match order {
                Order::Open { conn, endpoint } => {
                    let attempt = self.waiting.connect.connect(&endpoint);
                    let waker = shell.signal.waker(Token::Conn(conn));
                    self.conns.insert(conn, Inbound::connecting(conn, waker, attempt));
                    self.tokens.push(Token::Conn(conn));
                }
                Order::Linger(conn) => {
                    if let Some(inbound) = self.conns.get_mut(conn) {
                        inbound.quiet();
                        self.lingering.push((shell.clock.now().at + LINGER, conn));
                    }
                }
                Order::Drop(conn) => {
                    self.conns.remove(conn);
                    self.lingering.retain(|(_, other)| *other != conn);
                }
            }
        }
        self.orders = orders;
    }

    /// Gives up what has lingered too long and wakes what has rested. Returns the next moment of either.
    fn own_timers(&mut self, shell: &Shell<M, H>) -> Option<Moment> {
        if self.lingering.is_empty() && self.paused.is_empty() {
            return None;
        }
        let now = shell.clock.now().at;
        let conns = &mut self.conns;
        self.lingering.retain(|(at, conn)| {
            if *at <= now {
                shell.give_up(*conn);
                conns.remove(*conn);
            }
            *at > now
        });
        let tokens = &mut self.tokens;
        self.paused.retain(|(at, listener)| {
            if *at <= now {
                tokens.push(Token::Listener(*listener));
            }
            *at > now
        });
        let lingering = self.lingering.iter().map(|(at, _)| *at);
        lingering.chain(self.paused.iter().map(|(at, _)| *at)).min()
    }

    fn finish(&mut self) {
        if let Some(shell) = self.shell.take() {
            self.conns.clear();
            self.waiting.listeners.clear();
            shell.end();
            // Whoever waits for the end may want to be the last owner of the shell.
            drop(shell);
            self.ended.set();
        }
    }
}

impl<M: Machine<Frame = Frame> + Send, H: Host<M>> Future for Engine<M, H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let Some(shell) = this.shell.clone() else { return Poll::Ready(()) };
        let rung = shell.signal.look(cx.waker(), &mut this.tokens);
        if rung == Some(Ring::Gather) && this.tokens.is_empty() && !std::mem::replace(&mut this.yielded, true) {
            // Whoever rang may be the first of many that were woken together: their frames make one write.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.yielded = false;
        for _ in 0..ROUNDS {
            let (turn, again) = this.round(&shell);
            if turn.life == Life::Over || (turn.life == Life::Ending && !turn.lingering) {
                drop(shell);
                this.finish();
                return Poll::Ready(());
            }
            let own = this.own_timers(&shell);
            if again || !this.tokens.is_empty() {
                continue;
            }
            let wake_at = turn.wake_at.min(own.unwrap_or(Moment::NEVER));
            if wake_at != this.armed {
                this.armed = wake_at;
                this.waiting.timer.set(clock::instant(wake_at));
            }
            if this.waiting.timer.poll_elapsed(cx).is_pending() {
                return Poll::Pending;
            }
            this.armed = Moment::ZERO;
            shell.signal.look(cx.waker(), &mut this.tokens);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<M: Machine<Frame = Frame>, H: Host<M>> Unpin for Engine<M, H> {}

impl<M: Machine<Frame = Frame>, H: Host<M>> Drop for Engine<M, H> {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests;
