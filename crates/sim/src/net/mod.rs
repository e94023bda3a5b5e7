//! The modelled network: connections as TCP has them.
//!
//! A connection is two pipes. Bytes of a pipe arrive in order, cut at random places, each chunk after a drawn delay. A
//! stalled pipe holds them, a silent one swallows them. No byte is reordered or doubled inside a connection, since TCP
//! forbids it; doubles arise from retries, as in life.

mod connection;

use std::collections::BTreeMap;

use rocketry_machine::{Endpoint, Prng, Seed};

pub(crate) use connection::{Connection, End, Side};

use crate::fault::{Conditions, Fault};
use crate::node::NodeId;

/// The number of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LinkId(pub(crate) u64);

/// Who listens where, how the network fares between whom, and all connections.
#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) listeners: BTreeMap<Endpoint, NodeId>,
    pub(crate) conditions: BTreeMap<(NodeId, NodeId), Conditions>,
    pub(crate) usual: Conditions,
    pub(crate) links: BTreeMap<LinkId, Connection>,
    pub(crate) faults: BTreeMap<u64, Fault>,
    seed: Seed,
    next: u64,
}

impl Network {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { seed, ..Self::default() }
    }

    /// How bytes fare from one node to another.
    pub(crate) fn between(&self, from: NodeId, to: NodeId) -> &Conditions {
        self.conditions.get(&(from, to)).unwrap_or(&self.usual)
    }

    /// A new connection. Its randomness depends on its ends and its number alone, so that a fault elsewhere does not
    /// shift it.
    pub(crate) fn connect(&mut self, from: End, to: NodeId) -> LinkId {
        let id = LinkId(self.next);
        self.next += 1;
        let label = format!("link {} {} {}", from.node.index(), to.index(), id.0);
        let random: Prng = self.seed.stream(&label);
        self.links.insert(id, Connection::new(from, to, random));
        id
    }

    /// The connection and the side of it that a node knows under an id.
    pub(crate) fn find(&self, node: NodeId, conn: rocketry_machine::ConnId) -> Option<(LinkId, Side)> {
        self.links.iter().find_map(|(id, link)| Some((*id, link.side_of(node, conn)?)))
    }

    /// All connections in which a node takes part.
    pub(crate) fn of_node(&self, node: NodeId) -> Vec<(LinkId, Side)> {
        self.links.iter().filter_map(|(id, link)| Some((*id, link.side_at(node)?))).collect()
    }
}
