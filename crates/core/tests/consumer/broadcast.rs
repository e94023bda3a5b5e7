//! Broadcasting: every member gets every message, positions stay with the owner (consumer.md 8.3).

use std::time::Duration;

use rocketry_core::codec::body::JsonBody;
use rocketry_core::codec::body::heartbeat::HeartbeatData;
use rocketry_core::codec::codes::RequestCode;
use rocketry_core::{Command, Consume, ConsumerConfig, MessageQueue, Notice, Outcome, StartAt};

use crate::world::World;

fn config() -> ConsumerConfig {
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.broadcasting = true;
    config.start_at = StartAt::First;
    config
}

fn queue(id: i32) -> MessageQueue {
    MessageQueue::new("T", "b", id)
}

#[test]
fn every_queue_is_ours_and_no_broker_keeps_a_position() {
    let mut world = World::new();
    world.topics.insert("T".into(), 3);
    world.members.insert("10.0.0.0@first".into());
    for id in 0..3 {
        world.store("T", id, 2);
    }
    let consumer = world.start(config());
    world.run(100);
    assert_eq!(world.succeed().len(), 6);
    world.run(30_000);
    let op = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(5) }));
    assert!(matches!(world.outcome(op), Outcome::Stopped(report) if report == Default::default()));
    for code in [
        RequestCode::GET_CONSUMER_LIST_BY_GROUP,
        RequestCode::QUERY_CONSUMER_OFFSET,
        RequestCode::UPDATE_CONSUMER_OFFSET,
        RequestCode::LOCK_BATCH_MQ,
    ] {
        assert!(world.requests(code).is_empty(), "{code}");
    }
    assert!(world.requests_of(RequestCode::PULL_MESSAGE, "%RETRY%g").is_empty());
    assert!(world.requests(RequestCode::PULL_MESSAGE).iter().all(|pull| pull.number("sysFlag") & 1 == 0));
    assert_eq!(world.kept, (0..3).map(|id| (queue(id), 2)).collect());
    let beat = &world.requests(RequestCode::HEART_BEAT)[0];
    let data = HeartbeatData::decode(beat.frame.body()).expect("a heartbeat");
    assert_eq!(data.consumers[0].message_model, "BROADCASTING");
}

#[test]
fn a_member_goes_on_where_its_owner_kept_it() {
    let mut world = World::new();
    world.store("T", 0, 5);
    world.kept.insert(queue(0), 3);
    world.start(config());
    world.run(100);
    assert_eq!(world.succeed(), [3, 4]);
    world.run(6_000);
    assert_eq!(world.kept[&queue(0)], 5);
}

#[test]
fn off_07_what_is_not_read_now_stays_known() {
    let mut world = World::new();
    world.store("T", 0, 1);
    world.kept = (0..4).map(|id| (queue(id), 10 + i64::from(id))).collect();
    world.kept.insert(queue(0), 0);
    world.start(config());
    world.run(100);
    world.succeed();
    world.run(6_000);
    assert_eq!(world.kept, [(queue(0), 1), (queue(1), 11), (queue(2), 12), (queue(3), 13)].into());
}

#[test]
fn a_store_that_fails_is_told_and_is_never_no_position() {
    let mut world = World::new();
    world.store("T", 0, 5);
    world.kept.insert(queue(0), 3);
    world.store_fails = true;
    world.start(config());
    world.run(5_000);
    assert!(world.deliveries.is_empty());
    let told = |world: &World| {
        world.notices.iter().filter(|notice| matches!(notice, Notice::Trouble { what: "offsets", .. })).count()
    };
    assert!(told(&world) >= 1);
    world.store_fails = false;
    world.run(2_000);
    assert_eq!(world.succeed(), [3, 4]);
    world.store_fails = true;
    world.run(6_000);
    assert_eq!(world.kept[&queue(0)], 3);
    world.store_fails = false;
    world.run(6_000);
    assert_eq!(world.kept[&queue(0)], 5, "it is kept as soon as that works");
}

#[test]
fn a_refused_message_is_dropped_and_told_of() {
    let mut world = World::new();
    world.store("T", 0, 2);
    world.start(config());
    world.run(100);
    world.handle(|offered| offered.ticket.retry());
    world.run(20_000);
    let dropped = world.notices.iter().filter(|notice| matches!(notice, Notice::Dropped { .. })).count();
    assert_eq!(dropped, 2);
    assert!(world.requests(RequestCode::CONSUMER_SEND_MSG_BACK).is_empty());
    assert_eq!(world.kept[&queue(0)], 2);
}

#[test]
fn ord_07_in_order_too_and_without_locks() {
    let mut world = World::new();
    world.store("T", 0, 3);
    let mut config = config();
    config.orderly = true;
    world.start(config);
    world.run(100);
    assert_eq!(world.deliveries.len(), 1);
    assert_eq!(world.succeed(), [0, 1, 2]);
    assert!(world.requests(RequestCode::LOCK_BATCH_MQ).is_empty());
}

#[test]
fn off_04_a_position_outside_of_the_queue_is_repaired_here_too() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.kept.insert(queue(0), 4);
    world.start(config());
    world.run(1_000);
    world.store("T", 0, 1);
    world.run(6_000);
    assert_eq!(world.succeed(), [3], "one beyond the end goes to the end");
    world.run(6_000);
    assert_eq!(world.kept[&queue(0)], 4);
}
