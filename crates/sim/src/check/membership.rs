//! Brokers know exactly the members of the group that are there.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::ConsumerList;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::encoder::RawRequest;
use rocketry_codec::request::GetConsumerListByGroup;
use rocketry_core::{Call, Command, Outcome, Peer};
use rocketry_machine::Endpoint;

use crate::client::ClientNode;
use crate::lab::{Cluster, GROUP, SenderApp, broker_address, broker_name};

/// The first broker that thinks otherwise when it is asked.
pub(crate) fn membership(cluster: &mut Cluster) -> Option<String> {
    let there: BTreeSet<String> =
        cluster.each_member(|member, _| member.client.config().client_id.clone()).into_iter().collect();
    (0..cluster.profile.brokers).find_map(|number| {
        let known = ask(cluster, broker_address(number).into());
        let agrees = known.as_ref() == Some(&there);
        (!agrees).then(|| format!("{} knows {known:?}, there are {there:?}", broker_name(number)))
    })
}

/// The first broker that still knows somebody after everybody has left.
pub(crate) fn forgotten(cluster: &mut Cluster) {
    for number in 0..cluster.profile.brokers {
        let known = ask(cluster, broker_address(number).into());
        if known.as_ref().is_none_or(|known| !known.is_empty()) {
            let what = format!("everybody has left, {} knows {known:?}", broker_name(number));
            cluster.ledger.borrow_mut().violate("membership", what);
        }
    }
}

/// Whom a broker knows; nobody where it answers that there is no such group.
fn ask(cluster: &mut Cluster, broker: Endpoint) -> Option<BTreeSet<String>> {
    let request = GetConsumerListByGroup { consumer_group: GROUP.into(), ..GetConsumerListByGroup::default() };
    let call = Call::new(Peer::Address(broker), RawRequest::new(&request, Bytes::new()));
    let sender = cluster.sender;
    let op = cluster
        .world
        .with::<ClientNode<SenderApp>, _>(sender, |node, now| node.client.submit(now, Command::Call(call)).ok())??;
    cluster.world.run_for(Duration::from_secs(2));
    let outcome = cluster.world.with::<ClientNode<SenderApp>, _>(sender, |node, _| node.app.replies.remove(&op))??;
    let Outcome::Reply(frame) = outcome else { return None };
    if frame.response_code() != ResponseCode::SUCCESS {
        return Some(BTreeSet::new());
    }
    Some(ConsumerList::decode(frame.body()).ok()?.members.into_iter().collect())
}
