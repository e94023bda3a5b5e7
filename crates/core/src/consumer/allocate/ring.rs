//! Consistent hashing: members and queues on one ring of 32-bit hashes (`CONSISTENT_HASH`).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use md5::{Digest, Md5};

use crate::api::MessageQueue;

/// Each queue goes to the next place on the ring, and to the first one after the last.
pub(super) fn consistent_hash(
    queues: &[MessageQueue],
    members: &[String],
    place: usize,
    virtual_nodes: u32,
) -> Vec<MessageQueue> {
    let me = members.get(place).map(String::as_str);
    let mut ring: BTreeMap<u32, &str> = BTreeMap::new();
    let mut next: BTreeMap<&str, u32> = BTreeMap::new();
    for member in members {
        // A member that is in the list twice gets further places.
        let first = next.entry(member).or_default();
        for node in *first..first.saturating_add(virtual_nodes) {
            ring.insert(hash(&alloc::format!("{member}-{node}")), member);
        }
        *first = first.saturating_add(virtual_nodes);
    }
    let owner = |queue: &&MessageQueue| {
        let text =
            alloc::format!("MessageQueue [topic={}, brokerName={}, queueId={}]", queue.topic, queue.broker, queue.id);
        ring.range(hash(&text)..).next().or_else(|| ring.first_key_value()).map(|(_, member)| *member) == me
    };
    queues.iter().filter(|queue| !ring.is_empty() && owner(queue)).cloned().collect()
}

/// The first four bytes of the MD5 of a text, as Java's ring has it.
fn hash(text: &str) -> u32 {
    let digest = Md5::digest(text.as_bytes());
    let (first, _) = digest.split_at(4);
    first.iter().fold(0, |hash, byte| hash << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(queues: i32, members: &[&str], virtual_nodes: u32) -> Vec<Option<usize>> {
        let queues: Vec<MessageQueue> = (0..queues).map(|id| MessageQueue::new("T", "broker-a", id)).collect();
        let members: Vec<String> = members.iter().map(|member| (*member).into()).collect();
        let mut owners = alloc::vec![None; queues.len()];
        for place in 0..members.len() {
            for queue in consistent_hash(&queues, &members, place, virtual_nodes) {
                owners[usize::try_from(queue.id).expect("small")] = Some(place);
            }
        }
        owners
    }

    /// The tables of consumer.md A.1.
    #[test]
    fn reb_12_the_ring_is_javas() {
        assert_eq!(hash("10.0.0.1@a-0"), 395_373_794);
        let three = ["10.0.0.1@a", "10.0.0.2@b", "10.0.0.3@c"];
        assert_eq!(owners(8, &three, 10), [1, 0, 1, 2, 2, 2, 2, 2].map(Some));
        assert_eq!(owners(3, &["c0", "c1", "c2", "c3", "c4"], 10), [0, 0, 4].map(Some));
        assert_eq!(owners(3, &three, 0), [None; 3], "without places nobody owns anything");
    }
}
