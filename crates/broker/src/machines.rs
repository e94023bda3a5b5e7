//! The public machines: a name server, a broker, and both in one.

use rocketry_codec::frame::Frame;
use rocketry_machine::{Acceptor, ConnId, Deadline, Input, Machine, Now, Output, PeerInfo, Refused, Seed};

use crate::config::{BrokerConfig, NameServerConfig};
use crate::event::Event;
use crate::faults::{FaultId, FaultRule};
use crate::names::Names;
use crate::server::Server;
use crate::shell::Shell;
use crate::state::State;

/// A name server.
///
/// Brokers register with it over their connections, Apache's as well as ours; clients ask it for routes.
#[derive(Debug)]
pub struct NameServer(Server);

impl NameServer {
    /// A name server that knows no broker yet.
    #[must_use]
    pub fn new(config: NameServerConfig, now: Now) -> Self {
        let shell = Shell::new(now, config.limits.connections, config.limits.unflushed_bytes);
        let names = Names::new(config);
        Self(Server::new(shell, Some(names), None))
    }
}

/// A broker.
///
/// It registers with the name servers of its configuration, Apache's as well as ours.
#[derive(Debug)]
pub struct Broker(Server);

impl Broker {
    /// A broker with an empty store.
    #[must_use]
    pub fn new(config: BrokerConfig, seed: Seed, now: Now) -> Self {
        let mut shell = Shell::new(now, config.limits.connections, config.limits.unflushed_bytes);
        let state = State::new(config, seed, &mut shell);
        Self(Server::new(shell, None, Some(state)))
    }

    /// Deletes the messages of a queue below an offset, as retention does in time.
    pub fn trim(&mut self, topic: &str, queue: u32, min_offset: u64) {
        if let Some(broker) = &mut self.0.broker {
            broker.store.trim(topic, queue, min_offset);
        }
    }
}

/// A name server and a broker in one machine.
///
/// Clients may use every connection for both: a request is answered by the part that serves its code. The broker's
/// topics are known to the name server at once. Other brokers may register with the name server too.
#[derive(Debug)]
pub struct Embedded(Server);

impl Embedded {
    /// Both parts, with an empty store.
    #[must_use]
    pub fn new(names: NameServerConfig, broker: BrokerConfig, seed: Seed, now: Now) -> Self {
        let mut shell = Shell::new(now, broker.limits.connections, broker.limits.unflushed_bytes);
        let names = Names::new(names);
        let state = State::new(broker, seed, &mut shell);
        Self(Server::new(shell, Some(names), Some(state)))
    }

    /// Deletes the messages of a queue below an offset, as retention does in time.
    pub fn trim(&mut self, topic: &str, queue: u32, min_offset: u64) {
        if let Some(broker) = &mut self.0.broker {
            broker.store.trim(topic, queue, min_offset);
        }
    }
}

macro_rules! machine {
    ($($name:ident),+) => {$(
        impl $name {
            /// Lets requests go wrong from now on; the oldest rule that matches a request decides what happens to it.
            /// At most 1,000 rules are kept.
            pub fn add_fault(&mut self, rule: FaultRule) -> FaultId {
                self.0.faults.add(rule)
            }

            /// Ends a rule; false if it had ended before. What it has put off is still served in time.
            pub fn remove_fault(&mut self, id: FaultId) -> bool {
                self.0.faults.remove(id)
            }

            /// Ends all rules. Connections that are half open stay so.
            pub fn clear_faults(&mut self) {
                self.0.faults.clear();
            }

            /// How many requests a rule has hit; 0 once it has ended.
            #[must_use]
            pub fn fault_hits(&self, id: FaultId) -> u32 {
                self.0.faults.hits(id)
            }
        }

        impl Machine for $name {
            type Frame = Frame;
            type Event = Event;

            fn handle_input(&mut self, now: Now, input: Input<Frame>) {
                self.0.handle_input(now, input);
            }

            fn handle_timeout(&mut self, now: Now) {
                self.0.handle_timeout(now);
            }

            fn poll_output(&mut self) -> Option<Output<Frame, Event>> {
                self.0.poll_output()
            }

            fn poll_timeout(&self) -> Option<Deadline> {
                self.0.poll_timeout()
            }
        }

        impl Acceptor for $name {
            fn accept(&mut self, now: Now, peer: PeerInfo) -> Result<ConnId, Refused> {
                self.0.accept(now, &peer)
            }
        }
    )+};
}

machine!(NameServer, Broker, Embedded);
