//! When everybody has left in order, every position is saved: nothing that was handled comes again.

use crate::lab::Cluster;

/// Notes the first queue whose saved position is not behind its last handled message.
pub(crate) fn saved(cluster: &Cluster) {
    let unsaved = {
        let ledger = cluster.ledger.borrow();
        let behind = ledger.positions().find(|(queue, done)| ledger.saved.get(*queue).copied().unwrap_or(0) < *done);
        behind.map(|(queue, done)| {
            format!("{:?} is saved of {queue}, {done} is done", ledger.saved.get(queue).copied().unwrap_or(0))
        })
    };
    if let Some(what) = unsaved {
        cluster.ledger.borrow_mut().violate("saved", what);
    }
}
