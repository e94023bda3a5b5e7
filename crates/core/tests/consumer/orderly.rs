//! Orderly consumption: locks, one handler at a time, refused messages (consumer.md 7).

use std::time::Duration;

use rocketry_core::codec::body::JsonBody;
use rocketry_core::codec::body::lock::LockRequest;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{Command, Consume, ConsumerConfig, Delivery, Outcome};

use crate::world::{Act, World};

const LOCK: RequestCode = RequestCode::LOCK_BATCH_MQ;
const UNLOCK: RequestCode = RequestCode::UNLOCK_BATCH_MQ;
const BACK: RequestCode = RequestCode::CONSUMER_SEND_MSG_BACK;

fn config() -> ConsumerConfig {
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.orderly = true;
    config
}

/// A world with so many messages in the one queue of T, and a position before them.
fn world_with(messages: usize) -> World {
    let mut world = World::new();
    world.store("T", 0, messages);
    world.offsets.insert(("T".into(), 0), 0);
    world
}

/// Takes the one delivery that is there; its message's offset.
fn take(world: &mut World) -> (i64, Delivery) {
    let delivery = world.deliveries.pop_front().expect("an offer");
    assert_eq!(delivery.offered.len(), 1, "one at a time");
    (delivery.offered[0].message.stored.queue_offset(), delivery)
}

fn position(world: &World) -> i64 {
    world.offsets[&("T".into(), 0)]
}

#[test]
fn a_queue_is_locked_before_its_position_is_asked_for() {
    let mut world = world_with(3);
    world.start(config());
    world.run(100);
    let of_t = |seen: &crate::world::Seen| {
        let body = LockRequest::decode(seen.frame.body()).expect("a request for locks");
        assert_eq!((body.client_id.as_str(), body.consumer_group.as_str()), (crate::world::ME, "g"));
        body.queues.iter().any(|queue| queue.topic == "T")
    };
    let locked = world.seen.iter().position(|seen| seen.code() == LOCK && of_t(seen)).expect("a lock is asked for");
    let asked = world
        .seen
        .iter()
        .position(|seen| seen.code() == RequestCode::QUERY_CONSUMER_OFFSET && seen.text("topic") == "T");
    assert!(asked.is_some_and(|asked| asked > locked));
    assert_eq!(world.succeed(), [0, 1, 2]);
}

#[test]
fn messages_are_offered_one_at_a_time_and_in_order() {
    let mut world = world_with(4);
    world.start(config());
    world.run(100);
    for offset in 0..4 {
        let (found, delivery) = take(&mut world);
        assert_eq!(found, offset);
        assert!(world.deliveries.is_empty(), "nothing beside it");
        world.begin(delivery.ask, 1).expect("it is ours");
        world.run(1_000);
        assert!(world.deliveries.is_empty(), "nothing while its handler runs");
        world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    }
    world.run(6_000);
    assert_eq!(position(&world), 4);
}

#[test]
fn ord_04_ord_08_a_refused_message_rests_and_comes_again_before_those_behind_it() {
    for (asked, rests) in [(5, 10), (1_000, 1_000), (40_000, 30_000)] {
        let mut world = world_with(2);
        let mut config = config();
        config.suspend_time = Duration::from_millis(asked);
        world.start(config);
        world.run(100);
        for _ in 0..100 {
            let (offset, delivery) = take(&mut world);
            assert_eq!(offset, 0);
            world.begin(delivery.ask, 1).expect("it is ours");
            world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.retry()).collect());
            world.run(rests - 1);
            assert!(world.deliveries.is_empty(), "it rests {rests} ms");
            world.run(1);
        }
        assert_eq!(world.succeed(), [0, 1]);
        assert!(world.requests(BACK).is_empty(), "-1 means for ever");
        assert_eq!(world.client.broken(), None);
    }
}

#[test]
fn ord_05_what_was_refused_too_often_is_buried_and_the_queue_moves_on() {
    let mut world = world_with(2);
    let mut config = config();
    config.max_redeliveries = 3;
    world.start(config);
    world.run(100);
    let mut refused = 0;
    for _ in 0..4 {
        world.handle(|offered| {
            if offered.message.stored.queue_offset() > 0 {
                return offered.ticket.succeed();
            }
            refused += 1;
            offered.ticket.retry()
        });
        world.run(1_100);
    }
    assert_eq!(refused, 4);
    let back = world.requests(BACK);
    assert_eq!(back.len(), 1, "the fourth failure");
    assert_eq!(back[0].number("delayLevel"), -1);
    world.succeed();
    world.run(6_000);
    assert_eq!(position(&world), 2);
}

#[test]
fn ord_05_until_a_broker_has_it_the_queue_stays() {
    let mut world = world_with(2);
    let mut config = config();
    config.max_redeliveries = 0;
    world.bend(|seen| {
        let copies = [BACK, RequestCode::SEND_MESSAGE_V2].contains(&seen.code());
        copies.then(|| Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), bytes::Bytes::new()))
    });
    world.start(config);
    world.run(100);
    for _ in 0..3 {
        let (offset, delivery) = take(&mut world);
        assert_eq!(offset, 0, "nothing overtakes it");
        world.begin(delivery.ask, 1).expect("it is ours");
        world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.retry()).collect());
        world.run(10_000);
    }
    assert_eq!(position(&world), 0);
}

#[test]
fn ord_01_a_lock_that_was_not_renewed_starts_nothing_and_order_goes_on_after_it() {
    let mut world = world_with(2);
    world.start(config());
    world.run(100);
    let (_, delivery) = take(&mut world);
    world.begin(delivery.ask, 1).expect("it is ours");
    world.bend(|seen| (seen.code() == LOCK).then_some(Act::Nothing));
    world.run(31_000);
    world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    world.run(5_000);
    assert!(world.deliveries.is_empty(), "no handler may start");
    world.bend(|_| None);
    world.run(3_000);
    assert_eq!(world.succeed(), [1], "order goes on from the first unfinished message");
    assert_eq!(world.requests_of(RequestCode::QUERY_CONSUMER_OFFSET, "T").len(), 1, "nobody else had it");
}

#[test]
fn ord_01_what_was_offered_is_not_begun_without_a_lock() {
    let mut world = world_with(1);
    world.start(config());
    world.run(100);
    let (_, delivery) = take(&mut world);
    world.bend(|seen| (seen.code() == LOCK).then_some(Act::Nothing));
    world.run(31_000);
    assert!(world.begin(delivery.ask, 1).is_err());
    world.bend(|_| None);
    world.run(3_000);
    assert_eq!(world.succeed(), [0]);
    assert_eq!(world.client.broken(), None);
}

#[test]
fn a_queue_whose_lock_another_member_took_begins_anew_from_the_saved_position() {
    let mut world = world_with(5);
    world.start(config());
    world.run(100);
    let (_, delivery) = take(&mut world);
    world.begin(delivery.ask, 1).expect("it is ours");
    world.locked.insert(("T".into(), 0));
    world.run(21_000);
    assert_eq!(world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect()), 1);
    world.run(2_000);
    assert!(world.deliveries.is_empty());
    world.offsets.insert(("T".into(), 0), 3);
    world.locked.clear();
    world.run(1_000);
    assert_eq!(world.succeed(), [3, 4], "where the other one stopped");
}

#[test]
fn ord_03_a_clean_stop_saves_and_then_unlocks() {
    let mut world = world_with(2);
    let consumer = world.start(config());
    world.run(100);
    world.succeed();
    let op = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(5) }));
    assert!(matches!(world.outcome(op), Outcome::Stopped(_)));
    world.run(100);
    let at = |code: RequestCode, topic: &str| {
        world.seen.iter().rposition(|seen| {
            seen.code() == code
                && (seen.text("topic") == topic || String::from_utf8_lossy(seen.frame.body()).contains("\"T\""))
        })
    };
    let (saved, unlocked) = (at(RequestCode::UPDATE_CONSUMER_OFFSET, "T"), at(UNLOCK, ""));
    let parted = world.seen.iter().position(|seen| seen.code() == RequestCode::UNREGISTER_CLIENT);
    assert!(saved.is_some() && saved < unlocked && unlocked < parted, "{saved:?} {unlocked:?} {parted:?}");
    assert_eq!(position(&world), 2);
}

#[test]
fn ord_09_a_queue_that_moves_away_is_unlocked_when_its_handler_has_ended() {
    let mut world = World::new();
    world.topics.insert("T".into(), 2);
    for queue in 0..2 {
        world.store("T", queue, 2);
        world.offsets.insert(("T".into(), queue), 0);
    }
    world.start(config());
    world.run(100);
    let deliveries: Vec<Delivery> = world.deliveries.drain(..).collect();
    for delivery in &deliveries {
        world.begin(delivery.ask, 1).expect("it is ours");
    }
    world.members.insert("10.0.0.0@first".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(5_000);
    let unlocked = |world: &World| {
        let bodies =
            world.requests(UNLOCK).into_iter().map(|seen| LockRequest::decode(seen.frame.body()).expect("a body"));
        bodies.flat_map(|body| body.queues).filter(|queue| queue.topic == "T").count()
    };
    assert_eq!(unlocked(&world), 0, "its handler still runs");
    for delivery in deliveries {
        world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    }
    world.run(100);
    assert_eq!(unlocked(&world), 1);
}

#[test]
fn ord_09_a_queue_that_comes_back_waits_for_the_handler_of_before() {
    let mut world = world_with(2);
    world.start(config());
    world.run(100);
    let (_, delivery) = take(&mut world);
    world.begin(delivery.ask, 1).expect("it is ours");
    for comes in [true, false] {
        let other = "10.0.0.0@first".to_owned();
        if comes {
            world.members.insert(other)
        } else {
            world.members.remove(&other)
        };
        world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
        world.run(2_000);
    }
    assert!(world.deliveries.is_empty(), "its old handler still runs");
    world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    world.run(100);
    assert_eq!(world.succeed(), [0, 1], "the verdict came too late to count");
    assert!(world.requests(UNLOCK).iter().all(|seen| !String::from_utf8_lossy(seen.frame.body()).contains("\"T\"")));
}

#[test]
fn ord_09_the_lock_is_renewed_while_a_handler_of_a_queue_that_moved_away_runs() {
    let mut world = world_with(2);
    world.start(config());
    world.run(100);
    let (_, delivery) = take(&mut world);
    world.begin(delivery.ask, 1).expect("it is ours");
    world.members.insert("10.0.0.0@first".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(1_000);
    assert_renewed(&mut world);
    world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    world.run(100);
    let unlocked = world.requests(UNLOCK);
    assert!(unlocked.iter().any(names_t), "its handler has ended");
}

#[test]
fn ord_09_the_lock_is_renewed_while_a_stopping_consumer_waits_for_its_handler() {
    let mut world = world_with(2);
    let consumer = world.start(config());
    world.run(100);
    let (_, delivery) = take(&mut world);
    world.begin(delivery.ask, 1).expect("it is ours");
    let op = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(300) }));
    assert_renewed(&mut world);
    world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    assert!(matches!(world.outcome(op), Outcome::Stopped(report) if report.unfinished_handlers == 0));
    assert_eq!(position(&world), 1);
}

#[test]
fn ord_01_the_renewal_is_not_put_off_by_queues_that_come() {
    let mut world = world_with(2);
    world.start(config());
    world.run(19_000);
    world.topics.insert("T".into(), 2);
    world.store("T", 1, 1);
    world.offsets.insert(("T".into(), 1), 0);
    world.run(26_000);
    let asked = world.requests(LOCK).into_iter().filter(names_t).count();
    assert_eq!(asked, 3, "at the start and every 20 seconds, though the second queue came at 30");
}

/// For two minutes the lock of a queue of T is asked for at least every 21 seconds.
fn assert_renewed(world: &mut World) {
    for _ in 0..6 {
        let before = world.requests(LOCK).into_iter().filter(names_t).count();
        world.run(21_000);
        let after = world.requests(LOCK).into_iter().filter(names_t).count();
        assert!(after > before, "the lock is renewed");
    }
}

/// Whether a request for locks is about queue 0 of T.
fn names_t(seen: &crate::world::Seen) -> bool {
    let body = LockRequest::decode(seen.frame.body()).expect("a request for locks");
    body.queues.iter().any(|queue| queue.topic == "T" && queue.queue_id == 0)
}
