//! A node that is a client machine with an application.

use std::any::Any;
use std::convert::Infallible;

use rocketry_codec::frame::Frame;
use rocketry_core::{Client, Event};
use rocketry_machine::{ConnId, Deadline, Input, Machine, Now, Output, PeerInfo, Refused};

use crate::node::Node;

/// What an application does with the events of its client. It may submit, begin and answer right away.
pub trait Application: 'static {
    /// The client says something.
    fn on_event(&mut self, now: Now, client: &mut Client, event: Event);

    /// When the application wants to act by itself; `None` for never.
    fn poll_timeout(&self) -> Option<Deadline> {
        None
    }

    /// The moment has come.
    fn handle_timeout(&mut self, now: Now, client: &mut Client) {
        let _ = (now, client);
    }
}

/// A client machine with its application.
pub struct ClientNode<A> {
    /// The machine.
    pub client: Client,
    /// The application.
    pub app: A,
}

impl<A: Application> ClientNode<A> {
    /// A node of both.
    pub const fn new(client: Client, app: A) -> Self {
        Self { client, app }
    }
}

impl<A: Application> Node for ClientNode<A> {
    fn handle_input(&mut self, now: Now, input: Input<Frame>) {
        self.client.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Now) {
        self.client.handle_timeout(now);
        if self.app.poll_timeout().is_some_and(|deadline| deadline.at <= now.at) {
            self.app.handle_timeout(now, &mut self.client);
        }
    }

    fn poll_network(&mut self, now: Now) -> Option<Output<Frame, Infallible>> {
        loop {
            match self.client.poll_output()? {
                Output::Open { conn, endpoint } => return Some(Output::Open { conn, endpoint }),
                Output::Send { conn, frame } => return Some(Output::Send { conn, frame }),
                Output::Close { conn, why } => return Some(Output::Close { conn, why }),
                Output::Event(event) => self.app.on_event(now, &mut self.client, event),
            }
        }
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        match (self.client.poll_timeout(), self.app.poll_timeout()) {
            (Some(client), Some(app)) => Some(if client.at <= app.at { client } else { app }),
            (one, other) => one.or(other),
        }
    }

    fn accept(&mut self, _: Now, _: PeerInfo) -> Result<ConnId, Refused> {
        Err(Refused::Stopping)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<A> std::fmt::Debug for ClientNode<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientNode").finish_non_exhaustive()
    }
}
