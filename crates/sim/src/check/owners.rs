//! After convergence each queue of the topic has exactly one owner among the members that are there.

use std::collections::BTreeMap;

use rocketry_core::MessageQueue;

use crate::lab::{Cluster, TOPIC, broker_name};

/// The first queue that has not exactly one owner.
pub(crate) fn owners(cluster: &mut Cluster) -> Option<String> {
    let mut owners: BTreeMap<MessageQueue, usize> = BTreeMap::new();
    let per_broker = cluster.profile.queues / u32::from(cluster.profile.brokers);
    for broker in 0..cluster.profile.brokers {
        for queue in 0..per_broker {
            let queue = i32::try_from(queue).unwrap_or(0);
            owners.insert(MessageQueue::new(TOPIC, broker_name(broker).as_str(), queue), 0);
        }
    }
    let owned = cluster.each_member(|member, now| {
        let stats = member.app.consumer.and_then(|consumer| member.client.consumer_stats(now, consumer));
        stats.map(|stats| stats.queues).unwrap_or_default()
    });
    for queue in owned.into_iter().flatten().filter(|stats| stats.queue.topic.as_str() == TOPIC) {
        *owners.entry((*queue.queue).clone()).or_default() += 1;
    }
    let wrong = owners.iter().find(|(_, count)| **count != 1)?;
    Some(format!("{} has {} owners", wrong.0, wrong.1))
}
