//! What can go wrong, as data.

use std::time::Duration;

use crate::node::NodeId;

/// The state of the network between two nodes, in one direction where that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// The shortest time that bytes take.
    pub delay: Duration,
    /// How much longer they may take, drawn for each chunk; order is kept.
    pub jitter: Duration,
    /// The largest chunk in which bytes arrive; each chunk's length is drawn from 1 to this.
    pub chunk: usize,
    /// Attempts to connect are refused.
    pub refuse: bool,
    /// Attempts to connect are not answered at all.
    pub swallow: bool,
    /// Bytes on standing connections vanish in this direction, and the connection with them: a half-open link.
    pub silent: bool,
    /// Bytes wait until this ends: a stall. The kernel takes no more than its buffer.
    pub stall: bool,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            delay: Duration::from_micros(200),
            jitter: Duration::from_micros(300),
            chunk: 4_096,
            refuse: false,
            swallow: false,
            silent: false,
            stall: false,
        }
    }
}

/// Something that happens to the world at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The network from one node to another is like this from now on.
    Link {
        /// Where bytes come from.
        from: NodeId,
        /// Where they go.
        to: NodeId,
        /// How they fare.
        conditions: Conditions,
    },
    /// All connections between two nodes are reset.
    Reset {
        /// One of them.
        a: NodeId,
        /// The other.
        b: NodeId,
    },
    /// A node dies at once. Its peers see resets, or nothing at all when `silently`.
    Crash {
        /// Which.
        node: NodeId,
        /// Whether its peers are left with half-open connections.
        silently: bool,
    },
    /// A node's process dies at once; what it had in its store survives. Its peers see resets, or nothing at all when
    /// `silently`.
    Kill {
        /// Which.
        node: NodeId,
        /// Whether its peers are left with half-open connections.
        silently: bool,
    },
    /// A dead node comes back: one that was killed as it was, without its connections; one that crashed boots anew.
    Boot(NodeId),
    /// A node's wall clock jumps.
    WallJump {
        /// Which.
        node: NodeId,
        /// By how many milliseconds.
        millis: i64,
    },
    /// A node does nothing for a while: a long pause of its process.
    Pause {
        /// Which.
        node: NodeId,
        /// How long.
        lasts: Duration,
    },
}
