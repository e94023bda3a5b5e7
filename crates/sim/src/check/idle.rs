//! A cluster with nothing to do sends little (FLO-08): long polls, heartbeats, polls of routes, divisions.

use std::time::Duration;

use crate::lab::Cluster;

/// Requests for each queue and second that an idle cluster may make, a generous bound.
const MOST: u64 = 2;

/// Notes when servers received too much since `before` requests.
pub(crate) fn idle(cluster: &Cluster, before: u64, lasted: Duration) {
    let made = cluster.ledger.borrow().requests - before;
    let most = MOST * u64::from(cluster.profile.queues) * lasted.as_secs();
    if made > most {
        let what = format!("{made} requests in {} s with nothing to do, at most {most} are allowed", lasted.as_secs());
        cluster.ledger.borrow_mut().violate("idle", what);
    }
}
