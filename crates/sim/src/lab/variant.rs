//! Which clients a case runs: the real ones, or, with the feature `broken`, ones with a mistake.

use crate::client::{Application, ClientNode};
use crate::node::Node;

/// The real clients, or broken ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variant {
    #[cfg(feature = "broken")]
    pub(crate) broken: Option<super::broken::Broken>,
}

impl Variant {
    /// The node that a client becomes.
    pub(crate) fn node<A: Application>(self, client: ClientNode<A>) -> Box<dyn Node> {
        #[cfg(feature = "broken")]
        if let Some(broken) = self.broken {
            return Box::new(super::broken::BrokenNode::new(client, broken));
        }
        Box::new(client)
    }
}
