//! The world: a heap of events, nodes, a network, and time that jumps.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hasher;
use std::time::Duration;

use rocketry_machine::{
    CloseReason, ConnId, Endpoint, Fingerprinter, Input, LinkError, Moment, Output, PeerInfo, Seed,
};

use crate::clock::{Clock, Skew};
use crate::fault::{Conditions, Fault};
use crate::net::{End, LinkId, Network, Side};
use crate::node::{Boot, Node, NodeId};

/// A deterministic world.
pub struct World {
    now: Moment,
    events: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    sequence: u64,
    nodes: Vec<Slot>,
    net: Network,
    trace: Fingerprinter,
    steps: u64,
}

struct Slot {
    boot: Boot,
    alive: Option<Box<dyn Node>>,
    /// A killed node, with the connections that it still believes in.
    killed: Option<(Box<dyn Node>, Vec<ConnId>)>,
    clock: Clock,
    skew: Skew,
    paused_until: Moment,
    wake: Option<Moment>,
}

/// What happens at a moment. Ordered only so that the heap has a total order; moment and sequence decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Event {
    Wake(NodeId),
    Connect(LinkId),
    NoConnect(NodeId, ConnId, u8),
    Arrive(LinkId, Side, Vec<u8>),
    End(LinkId, Side, bool),
    Fault(u64),
}

/// Why [`World::run_until`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The condition holds.
    Satisfied,
    /// Time is up.
    TimeUp,
    /// Nothing is left to happen.
    Quiet,
}

impl World {
    /// An empty world. All randomness comes from the seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            now: Moment::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            nodes: Vec::new(),
            net: Network::new(seed),
            trace: Fingerprinter::new(),
            steps: 0,
        }
    }

    /// World time.
    #[must_use]
    pub const fn now(&self) -> Moment {
        self.now
    }

    /// How many events have happened.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// A hash over everything that happened so far: equal for equal runs.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.trace.finish()
    }

    /// Adds a node and boots it. It accepts connections at the addresses in `listens`.
    pub fn add(&mut self, listens: Vec<Endpoint>, skew: Skew, mut boot: Boot) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let clock = Clock::new(self.now, skew);
        let node = boot(clock.read(self.now));
        for endpoint in listens {
            self.net.listeners.insert(endpoint, id);
        }
        let paused_until = Moment::ZERO;
        self.nodes.push(Slot { boot, alive: Some(node), killed: None, clock, skew, paused_until, wake: None });
        self.after(id);
        id
    }

    /// Looks into a node. `None` when it is dead or of another type. What it decides inside is carried out.
    pub fn with<N: Node, R>(&mut self, id: NodeId, look: impl FnOnce(&mut N, rocketry_machine::Now) -> R) -> Option<R> {
        let slot = self.nodes.get_mut(id.0 as usize)?;
        let now = slot.clock.read(self.now);
        let node = slot.alive.as_mut()?.as_any().downcast_mut::<N>()?;
        let seen = look(node, now);
        self.after(id);
        Some(seen)
    }

    /// Makes something happen after a wait.
    pub fn schedule(&mut self, after: Duration, fault: Fault) {
        let number = self.net.faults.len() as u64;
        self.net.faults.insert(number, fault);
        let at = self.now + after;
        self.push(at, Event::Fault(number));
    }

    /// Makes something happen now.
    pub fn inflict(&mut self, fault: Fault) {
        match fault {
            Fault::Link { from, to, conditions } => self.set_conditions(from, to, conditions),
            Fault::Reset { a, b } => self.reset_between(a, b),
            Fault::Crash { node, silently } => drop(self.crash(node, silently)),
            Fault::Kill { node, silently } => self.kill(node, silently),
            Fault::Boot(node) => self.boot(node),
            Fault::WallJump { node, millis } => {
                if let Some(slot) = self.nodes.get_mut(node.0 as usize) {
                    slot.skew.wall_ms += millis;
                    slot.clock.skew_mut().wall_ms += millis;
                }
            }
            Fault::Pause { node, lasts } => {
                let until = self.now + lasts;
                if let Some(slot) = self.nodes.get_mut(node.0 as usize) {
                    slot.paused_until = until;
                }
                self.push(until, Event::Wake(node));
            }
        }
    }

    /// The conditions between all pairs of nodes that have none of their own.
    pub fn set_usual(&mut self, conditions: Conditions) {
        self.net.usual = conditions;
    }

    /// Ends all faults of the network: what was set between nodes is forgotten, what was stalled moves.
    pub fn heal(&mut self) {
        self.net.conditions.clear();
        self.move_all();
    }

    /// Runs for a time.
    pub fn run_for(&mut self, lasts: Duration) {
        self.run_until(lasts, |_| false);
    }

    /// Runs until the condition holds, at most for a time. The condition is looked at after each event.
    pub fn run_until(&mut self, at_most: Duration, mut done: impl FnMut(&mut Self) -> bool) -> Stopped {
        let end = self.now + at_most;
        loop {
            if done(self) {
                return Stopped::Satisfied;
            }
            let Some(Reverse((at, _, _))) = self.events.peek() else {
                self.now = end;
                return Stopped::Quiet;
            };
            if *at > end {
                self.now = end;
                return Stopped::TimeUp;
            }
            self.step();
        }
    }

    fn step(&mut self) {
        let Some(Reverse((at, _, event))) = self.events.pop() else { return };
        self.now = self.now.max(at);
        self.steps += 1;
        if let Some(until) = self.sleeps(&event) {
            return self.push(until, event);
        }
        self.trace.add(&at.as_nanos()).add(&event);
        match event {
            Event::Wake(node) => self.wake(node),
            Event::Connect(link) => self.connected(link),
            Event::NoConnect(node, conn, why) => {
                let cause = if why == 0 { LinkError::Refused } else { LinkError::Unreachable };
                self.feed(node, Input::Closed { conn, cause });
            }
            Event::Arrive(link, to, bytes) => self.arrive(link, to, &bytes),
            Event::End(link, to, reset) => self.ended(link, to, if reset { LinkError::Reset } else { LinkError::Eof }),
            Event::Fault(number) => {
                if let Some(fault) = self.net.faults.remove(&number) {
                    self.inflict(fault);
                }
            }
        }
    }

    /// Until when the node sleeps that an event is for, if it does.
    fn sleeps(&self, event: &Event) -> Option<Moment> {
        let node = match event {
            Event::NoConnect(node, ..) => *node,
            Event::Connect(link) => self.net.links.get(link)?.end(Side::Listener).node,
            Event::Arrive(link, to, _) | Event::End(link, to, _) => self.net.links.get(link)?.end(*to).node,
            Event::Wake(_) | Event::Fault(_) => return None,
        };
        let until = self.nodes.get(node.0 as usize)?.paused_until;
        (until > self.now).then_some(until)
    }

    fn push(&mut self, at: Moment, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    fn wake(&mut self, id: NodeId) {
        let world = self.now;
        let Some(slot) = self.nodes.get_mut(id.0 as usize) else { return };
        if slot.wake.is_some_and(|at| at <= world) {
            slot.wake = None;
        }
        if world >= slot.paused_until {
            let now = slot.clock.read(world);
            if let Some(node) = slot.alive.as_mut() {
                node.handle_timeout(now);
            }
        }
        self.after(id);
    }

    fn feed(&mut self, id: NodeId, input: Input<rocketry_codec::frame::Frame>) {
        let world = self.now;
        let Some(slot) = self.nodes.get_mut(id.0 as usize) else { return };
        let now = slot.clock.read(world);
        if let Some(node) = slot.alive.as_mut() {
            node.handle_input(now, input);
        }
        self.after(id);
    }

    /// Carries out what a node wants, and sees to it that it is woken in time.
    fn after(&mut self, id: NodeId) {
        loop {
            let Some(slot) = self.nodes.get_mut(id.0 as usize) else { return };
            let now = slot.clock.read(self.now);
            let Some(output) = slot.alive.as_mut().and_then(|node| node.poll_network(now)) else { break };
            match output {
                Output::Open { conn, endpoint } => self.open(id, conn, &endpoint),
                Output::Send { conn, frame } => {
                    if let Some((link, side)) = self.net.find(id, conn)
                        && let Some(connection) = self.net.links.get_mut(&link)
                    {
                        let fits = connection.write(side, &frame).is_ok();
                        assert!(fits, "a machine emitted a frame that no wire takes: {frame:?}");
                    }
                }
                Output::Close { conn, why } => self.close(id, conn, why),
                Output::Event(never) => match never {},
            }
        }
        self.move_node(id);
        let Some(slot) = self.nodes.get_mut(id.0 as usize) else { return };
        let Some(deadline) = slot.alive.as_ref().and_then(|node| node.poll_timeout()) else { return };
        let at = slot.clock.when(deadline.at).max(slot.paused_until).max(self.now);
        if at != Moment::NEVER && slot.wake.is_none_or(|wake| at < wake) {
            slot.wake = Some(at);
            self.push(at, Event::Wake(id));
        }
    }

    fn open(&mut self, from: NodeId, conn: ConnId, endpoint: &Endpoint) {
        let Some(&to) = self.net.listeners.get(endpoint) else {
            let at = self.now + self.net.usual.delay;
            return self.push(at, Event::NoConnect(from, conn, 1));
        };
        let there = self.net.between(from, to).clone();
        let back = self.net.between(to, from).clone();
        let at = self.now + there.delay + back.delay;
        let dead = self.nodes.get(to.0 as usize).is_none_or(|slot| slot.alive.is_none());
        if there.swallow || back.swallow || there.silent || back.silent || there.stall || back.stall {
            return;
        }
        if there.refuse || dead {
            return self.push(at, Event::NoConnect(from, conn, 0));
        }
        let link = self.net.connect(End { node: from, conn: Some(conn) }, to);
        self.push(at, Event::Connect(link));
    }

    fn connected(&mut self, link: LinkId) {
        let Some(connection) = self.net.links.get(&link) else { return };
        let (caller, listener) = (connection.end(Side::Caller), connection.end(Side::Listener));
        let Some(conn) = caller.conn else {
            self.net.remove(link);
            return;
        };
        let world = self.now;
        let accepted = self.nodes.get_mut(listener.node.0 as usize).and_then(|slot| {
            let now = slot.clock.read(world);
            slot.alive.as_mut()?.accept(now, PeerInfo::default()).ok()
        });
        let Some(accepted) = accepted else {
            self.net.remove(link);
            return self.feed(caller.node, Input::Closed { conn, cause: LinkError::Refused });
        };
        if let Some(connection) = self.net.links.get_mut(&link) {
            connection.open = true;
            connection.set_conn(Side::Listener, Some(accepted));
        }
        self.feed(caller.node, Input::Opened { conn, peer: PeerInfo::default() });
        self.after(listener.node);
    }

    fn arrive(&mut self, link: LinkId, to: Side, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let Some(connection) = self.net.links.get_mut(&link) else { return };
            let End { node, conn: Some(conn) } = connection.end(to) else { return };
            let taken = connection.wire(to).feed(rest);
            rest = &rest[taken..];
            match connection.wire(to).next_frame() {
                Ok(Some(frame)) => self.feed(node, Input::Frame { conn, frame }),
                Ok(None) if rest.is_empty() => return,
                Ok(None) => {}
                Err(_) => {
                    self.reset(link, Some(to));
                    return self.feed(node, Input::Closed { conn, cause: LinkError::Malformed("simulated peer") });
                }
            }
        }
    }

    /// The end of a stream arrives at a side.
    fn ended(&mut self, link: LinkId, to: Side, cause: LinkError) {
        let Some(connection) = self.net.remove(link) else { return };
        if let End { node, conn: Some(conn) } = connection.end(to) {
            self.feed(node, Input::Closed { conn, cause });
        }
    }

    fn close(&mut self, id: NodeId, conn: ConnId, _why: CloseReason) {
        let Some((link, side)) = self.net.find(id, conn) else { return };
        self.move_link(link, side);
        let Some(connection) = self.net.links.get_mut(&link) else { return };
        connection.set_conn(side, None);
        if !connection.open {
            return;
        }
        let conditions = self.net.between(id, self.net.links[&link].end(side.other()).node).clone();
        let at = self.net.links[&link].end_arrives(side, self.now, &conditions);
        self.push(at, Event::End(link, side.other(), false));
    }

    /// Takes written frames to the kernel and bytes onto the network, for all connections of a node.
    fn move_node(&mut self, id: NodeId) {
        for (link, side) in self.net.of_node(id) {
            self.move_link(link, side);
        }
    }

    fn move_all(&mut self) {
        let links: Vec<LinkId> = self.net.links.keys().copied().collect();
        for link in links {
            self.move_link(link, Side::Caller);
            self.move_link(link, Side::Listener);
        }
    }

    fn move_link(&mut self, link: LinkId, side: Side) {
        let Some(connection) = self.net.links.get(&link) else { return };
        let (from, to) = (connection.end(side), connection.end(side.other()));
        let conditions = self.net.between(from.node, to.node).clone();
        let now = self.now;
        let Some(connection) = self.net.links.get_mut(&link) else { return };
        let frames = connection.flush(side, &conditions);
        let chunks = connection.send(side, now, &conditions);
        for chunk in chunks {
            self.push(chunk.at, Event::Arrive(link, side.other(), chunk.bytes));
        }
        if frames > 0
            && let Some(conn) = from.conn
        {
            self.feed(from.node, Input::Flushed { conn, frames });
        }
    }

    fn set_conditions(&mut self, from: NodeId, to: NodeId, conditions: Conditions) {
        self.net.conditions.insert((from, to), conditions);
        self.move_all();
    }

    fn reset_between(&mut self, a: NodeId, b: NodeId) {
        for (link, _) in self.net.of_node(a) {
            if self.net.links.get(&link).is_some_and(|connection| connection.side_at(b).is_some()) {
                self.reset(link, None);
            }
        }
    }

    /// Ends a connection at once; both sides hear of it, or only the other one of `except`.
    fn reset(&mut self, link: LinkId, except: Option<Side>) {
        let Some(connection) = self.net.remove(link) else { return };
        for side in [Side::Caller, Side::Listener] {
            if let End { node, conn: Some(conn) } = connection.end(side)
                && Some(side) != except
            {
                self.feed(node, Input::Closed { conn, cause: LinkError::Reset });
            }
        }
    }

    /// Takes a node out of the world, with the connections that it had.
    fn crash(&mut self, id: NodeId, silently: bool) -> Option<(Box<dyn Node>, Vec<ConnId>)> {
        let slot = self.nodes.get_mut(id.0 as usize)?;
        let node = slot.alive.take()?;
        slot.wake = None;
        let mut conns = Vec::new();
        for (link, side) in self.net.of_node(id) {
            let Some(connection) = self.net.links.get_mut(&link) else { continue };
            conns.extend(connection.end(side).conn);
            if silently {
                connection.set_conn(side, None);
            } else {
                self.reset(link, Some(side));
            }
        }
        Some((node, conns))
    }

    fn kill(&mut self, id: NodeId, silently: bool) {
        let killed = self.crash(id, silently);
        if let (Some(slot), Some(killed)) = (self.nodes.get_mut(id.0 as usize), killed) {
            slot.killed = Some(killed);
        }
    }

    fn boot(&mut self, id: NodeId) {
        let world = self.now;
        let Some(slot) = self.nodes.get_mut(id.0 as usize) else { return };
        if slot.alive.is_some() {
            return;
        }
        let mut lost = Vec::new();
        if let Some((node, conns)) = slot.killed.take() {
            slot.alive = Some(node);
            lost = conns;
        } else {
            slot.clock = Clock::new(world, slot.skew);
            slot.alive = Some((slot.boot)(slot.clock.read(world)));
        }
        for conn in lost {
            self.feed(id, Input::Closed { conn, cause: LinkError::Reset });
        }
        self.after(id);
    }

    /// Whether a node is alive.
    #[must_use]
    pub fn is_alive(&self, id: NodeId) -> bool {
        self.nodes.get(id.0 as usize).is_some_and(|slot| slot.alive.is_some())
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now).field("steps", &self.steps).finish_non_exhaustive()
    }
}
