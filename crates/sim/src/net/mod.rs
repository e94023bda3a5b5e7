//! The modelled network: connections as TCP has them.
//!
//! A connection is two pipes. Bytes of a pipe arrive in order, cut at random places, each chunk after a drawn delay. A
//! stalled pipe holds them, a silent one swallows them. No byte is reordered or doubled inside a connection, since TCP
//! forbids it; doubles arise from retries, as in life.

mod connection;

use std::collections::{BTreeMap, BTreeSet};

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
    /// How many connections there were from one node to another.
    between: BTreeMap<(NodeId, NodeId), u64>,
    /// The connections in which each node takes part.
    of_nodes: BTreeMap<NodeId, BTreeSet<LinkId>>,
}

impl Network {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { seed, ..Self::default() }
    }

    /// How bytes fare from one node to another.
    pub(crate) fn between(&self, from: NodeId, to: NodeId) -> &Conditions {
        self.conditions.get(&(from, to)).unwrap_or(&self.usual)
    }

    /// A new connection. Its randomness depends on its ends and on how many there were between them, so that a fault
    /// elsewhere does not shift it.
    pub(crate) fn connect(&mut self, from: End, to: NodeId) -> LinkId {
        let id = LinkId(self.next);
        self.next += 1;
        let count = self.between.entry((from.node, to)).or_default();
        let label = format!("link {} {} {count}", from.node.index(), to.index());
        *count += 1;
        let random: Prng = self.seed.stream(&label);
        self.links.insert(id, Connection::new(from, to, random));
        self.of_nodes.entry(from.node).or_default().insert(id);
        self.of_nodes.entry(to).or_default().insert(id);
        id
    }

    /// A connection is over.
    pub(crate) fn remove(&mut self, id: LinkId) -> Option<Connection> {
        let connection = self.links.remove(&id)?;
        for side in [Side::Caller, Side::Listener] {
            if let Some(own) = self.of_nodes.get_mut(&connection.end(side).node) {
                own.remove(&id);
            }
        }
        Some(connection)
    }

    /// The connection and the side of it that a node knows under an id.
    pub(crate) fn find(&self, node: NodeId, conn: rocketry_machine::ConnId) -> Option<(LinkId, Side)> {
        let own = self.of_nodes.get(&node)?;
        own.iter().find_map(|id| Some((*id, self.links.get(id)?.side_of(node, conn)?)))
    }

    /// All connections in which a node takes part.
    pub(crate) fn of_node(&self, node: NodeId) -> Vec<(LinkId, Side)> {
        let own = self.of_nodes.get(&node).into_iter().flatten();
        own.filter_map(|id| Some((*id, self.links.get(id)?.side_at(node)?))).collect()
    }
}
