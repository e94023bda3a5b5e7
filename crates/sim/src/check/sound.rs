//! No machine has found a fault in itself: the assertions inside the machines hold.

use crate::client::ClientNode;
use crate::lab::{Cluster, SenderApp};

/// Notes the faults that clients found in themselves.
pub(crate) fn sound(cluster: &mut Cluster) {
    let mut broken: Vec<String> =
        cluster.each_member(|member, _| member.client.broken().map(ToOwned::to_owned)).into_iter().flatten().collect();
    let sender = cluster.sender;
    let of_sender = cluster.world.with::<ClientNode<SenderApp>, _>(sender, |node, _| node.client.broken());
    broken.extend(of_sender.flatten().map(ToOwned::to_owned));
    for what in broken {
        cluster.ledger.borrow_mut().violate("sound", what);
    }
}
