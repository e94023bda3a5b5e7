//! Nodes: machines with their applications.

use std::any::Any;

use rocketry_codec::frame::Frame;
use rocketry_machine::{Acceptor, ConnId, Deadline, Input, Machine, Now, Output, PeerInfo, Refused};

/// A node's number in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The number, from 0 in the order in which nodes were added.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// A machine with its application, as the world sees it.
pub trait Node: Any {
    /// The network speaks.
    fn handle_input(&mut self, now: Now, input: Input<Frame>);

    /// Time has come.
    fn handle_timeout(&mut self, now: Now);

    /// The next thing that the node wants of the network. Events for the application are handled inside the node.
    fn poll_network(&mut self, now: Now) -> Option<Output<Frame, core::convert::Infallible>>;

    /// When the node wants to be called again.
    fn poll_timeout(&self) -> Option<Deadline>;

    /// Someone connects.
    ///
    /// # Errors
    /// The reason why not; clients refuse everybody.
    fn accept(&mut self, now: Now, peer: PeerInfo) -> Result<ConnId, Refused>;

    /// The node itself, for a test that looks into it.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// Makes a node at each boot. The world calls it at the start and after each crash.
pub type Boot = Box<dyn FnMut(Now) -> Box<dyn Node>>;

/// A node that is just a server machine; its events go to a function.
pub struct Server<M: Acceptor> {
    /// The machine.
    pub machine: M,
    on_event: Box<OnEvent<M>>,
}

type OnEvent<M> = dyn FnMut(Now, &mut M, <M as Machine>::Event);

impl<M: Acceptor> Server<M> {
    /// A server whose events are handled by `on_event`.
    pub fn new(machine: M, on_event: impl FnMut(Now, &mut M, M::Event) + 'static) -> Self {
        Self { machine, on_event: Box::new(on_event) }
    }
}

impl<M> Node for Server<M>
where
    M: Acceptor<Frame = Frame> + 'static,
    M::Event: 'static,
{
    fn handle_input(&mut self, now: Now, input: Input<Frame>) {
        self.machine.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Now) {
        self.machine.handle_timeout(now);
    }

    fn poll_network(&mut self, now: Now) -> Option<Output<Frame, core::convert::Infallible>> {
        loop {
            return Some(match self.machine.poll_output()? {
                Output::Open { conn, endpoint } => Output::Open { conn, endpoint },
                Output::Send { conn, frame } => Output::Send { conn, frame },
                Output::Close { conn, why } => Output::Close { conn, why },
                Output::Event(event) => {
                    (self.on_event)(now, &mut self.machine, event);
                    continue;
                }
            });
        }
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        self.machine.poll_timeout()
    }

    fn accept(&mut self, now: Now, peer: PeerInfo) -> Result<ConnId, Refused> {
        self.machine.accept(now, peer)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<M: Acceptor> std::fmt::Debug for Server<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
