//! Every acknowledged message is handled at least once, and without any trouble exactly once.

use crate::client::ClientNode;
use crate::lab::{Cluster, SenderApp};

/// Messages that are not acknowledged, or that no handler has succeeded with yet.
pub(crate) fn undelivered(cluster: &mut Cluster) -> Option<String> {
    let sender = cluster.sender;
    let sent = cluster.world.with::<ClientNode<SenderApp>, _>(sender, |node, _| node.app.is_done());
    if sent != Some(true) {
        return Some("not every message is acknowledged".into());
    }
    let ledger = cluster.ledger.borrow();
    let missing: Vec<u32> =
        ledger.acknowledged.iter().filter(|number| !ledger.handled.contains_key(number)).copied().collect();
    let first = missing.first()?;
    Some(format!(
        "{} of {} acknowledged messages are not handled, {first} first",
        missing.len(),
        ledger.acknowledged.len()
    ))
}

/// Messages that came more than once though nothing went wrong.
pub(crate) fn duplicates(cluster: &Cluster) {
    let twice = cluster.ledger.borrow().handled.iter().find(|(_, times)| **times > 1).map(|(number, _)| *number);
    if let Some(number) = twice {
        cluster.ledger.borrow_mut().violate("duplicates", format!("message {number} was handled more than once"));
    }
}
