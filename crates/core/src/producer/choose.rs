//! Which queue takes a message (producer.md 2.7, 2.10).

use rocketry_codec::hash::java_hash;

use crate::api::{MessageQueue, Target, Topic};
use crate::cx::Cx;
use crate::routes::{BrokerSlot, PublishQueue};

/// The queue for the next attempt, or what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This queue.
    Queue(PublishQueue),
    /// No route is known yet.
    NoRoute,
    /// A route is known, but no queue of it takes messages.
    NotWritable,
    /// The queue that was asked for is not one that takes messages.
    NotThere,
}

/// Chooses a queue. `last` is the broker of the attempt that failed before.
pub(super) fn choose(
    cx: &mut Cx<'_>,
    topic: &Topic,
    target: &Target,
    last: Option<BrokerSlot>,
    first_turn: impl FnOnce() -> u32,
) -> Choice {
    let Some(queues) = cx.shared.table.publish(topic) else { return Choice::NoRoute };
    if queues.is_empty() {
        return Choice::NotWritable;
    }
    match target {
        Target::Any => round_robin(cx, topic, last, first_turn),
        Target::Key(key) => Choice::Queue(queues[by_hash(java_hash(key), queues.len())]),
        Target::Queue(queue) => named(cx, queue),
    }
}

/// Java's `SelectMessageQueueByHash`: the absolute value of the remainder (`cases.md` ROU-03).
fn by_hash(hash: i32, queues: usize) -> usize {
    let count = i64::try_from(queues).unwrap_or(i64::MAX);
    usize::try_from((i64::from(hash) % count).abs()).unwrap_or(0)
}

fn round_robin(cx: &mut Cx<'_>, topic: &Topic, last: Option<BrokerSlot>, first_turn: impl FnOnce() -> u32) -> Choice {
    let turn = cx.shared.table.next_turn(topic, first_turn) as usize;
    let half = cx.shared.config.limits.sends / 2;
    let table = &cx.shared.table;
    let queues = table.publish(topic).unwrap_or_default();
    let at = |step: usize| queues[(turn + step) % queues.len()];
    let crowded = |slot: BrokerSlot| table.broker(slot).is_some_and(|broker| broker.in_flight >= half);
    // One broker that does not answer must not take the whole budget from the others.
    let good = (0..queues.len()).map(at).find(|queue| Some(queue.broker) != last && !crowded(queue.broker));
    Choice::Queue(good.unwrap_or_else(|| at(0)))
}

fn named(cx: &Cx<'_>, wanted: &MessageQueue) -> Choice {
    let table = &cx.shared.table;
    let found = table.slot_of(&wanted.broker).and_then(|slot| {
        let queues = table.publish(&wanted.topic)?;
        queues.iter().find(|queue| queue.broker == slot && queue.id == wanted.id)
    });
    found.map_or(Choice::NotThere, |queue| Choice::Queue(*queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rou_03_a_hash_at_the_integer_limit_stays_in_range() {
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
        for queues in [1, 3, 4, 7, 16] {
            let expected = usize::try_from((i64::from(i32::MIN) % i64::try_from(queues).unwrap()).abs()).unwrap();
            assert_eq!(by_hash(i32::MIN, queues), expected);
            assert!(by_hash(i32::MIN, queues) < queues);
            assert!(by_hash(i32::MAX, queues) < queues);
        }
        assert_eq!(by_hash(-7, 4), 3);
    }
}
