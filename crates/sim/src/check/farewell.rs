//! A stop ends in time and leaves nothing behind: no call, no handler, no position that was not saved.

use std::time::Duration;

use crate::lab::Cluster;

/// Notes members that have not left in order.
pub(crate) fn farewell(cluster: &mut Cluster) {
    let left = cluster.each_member(|member, _| {
        let id = member.client.config().client_id.clone();
        if !member.app.is_out() {
            return Some(format!("{id} has not left in time"));
        }
        if member.app.handlers() > 0 {
            return Some(format!("{id} left {} handlers behind", member.app.handlers()));
        }
        match &member.app.stopped {
            Some(report) if *report == rocketry_core::StopReport::default() => None,
            report => Some(format!("{id} left with {report:?}")),
        }
    });
    for what in left.into_iter().flatten() {
        cluster.ledger.borrow_mut().violate("farewell", what);
    }
}

/// Notes members that have calls open after everybody could have answered them. A client that lives on polls its routes
/// now and then, so a call counts only when some are open twice.
pub(crate) fn nothing_left(cluster: &mut Cluster) {
    let open = |cluster: &mut Cluster| cluster.each_member(|member, _| member.client.calls_in_flight());
    let before = open(cluster);
    cluster.world.run_for(Duration::from_millis(1_300));
    for (before, after) in before.into_iter().zip(open(cluster)) {
        if before > 0 && after > 0 {
            cluster.ledger.borrow_mut().violate("farewell", format!("a member left {after} calls behind"));
        }
    }
}
