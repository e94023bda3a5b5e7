//! Records that cannot be decoded: set aside, stopped at, or read again (consumer.md 13.3).

use rocketry_core::codec::codes::RequestCode;
use rocketry_core::{Answer, ConsumerConfig, Notice, Quarantine};

use crate::world::World;

/// Five messages, the third of them broken, for a consumer with this policy.
fn world(policy: Quarantine) -> World {
    let mut world = World::new();
    for at in 0..5 {
        world.store_one("T", 0, |message| message.broken = at == 2);
    }
    world.offsets.insert(("T".into(), 0), 0);
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.quarantine = policy;
    world.start(config);
    world.run(100);
    assert_eq!(world.succeed(), [0, 1, 3, 4], "its neighbours survive");
    let told = world.notices.iter().filter(|notice| {
        matches!(notice, Notice::Undecodable { queue, queue_offset: Some(2), .. } if queue.topic.as_str() == "T")
    });
    assert_eq!(told.count(), 1);
    assert_eq!(world.client.counters().undecodable, 1);
    world
}

fn position(world: &World) -> i64 {
    world.offsets[&("T".into(), 0)]
}

#[test]
fn what_is_set_aside_holds_the_position_for_a_while() {
    let mut world = world(Quarantine::SetAside);
    world.run(29_000);
    assert_eq!(position(&world), 2, "the position does not pass it unseen");
    world.run(10_000);
    assert_eq!(position(&world), 5);
    let aside = world.asides.pop().expect("it was set aside");
    assert!(world.client.answer(world.now(), Answer::Passed(aside.aside)).is_err(), "it was passed already");
}

#[test]
fn an_answer_lets_the_position_pass_what_was_set_aside() {
    let mut world = world(Quarantine::SetAside);
    let record = world.asides.pop().expect("it was set aside");
    assert_eq!((record.queue.topic.as_str(), record.queue_offset), ("T", Some(2)));
    assert!(record.record.len() > 84, "the record as it came");
    assert!(!record.reason.is_empty());
    world.run(6_000);
    assert_eq!(position(&world), 2);
    assert_eq!(world.client.answer(world.now(), Answer::Passed(record.aside)), Ok(()));
    world.run(6_000);
    assert_eq!(position(&world), 5);
}

#[test]
fn stop_means_that_the_group_stands_there() {
    let mut world = world(Quarantine::Stop);
    world.run(600_000);
    assert_eq!(position(&world), 2);
    assert!(world.asides.is_empty());
}

#[test]
fn retry_reads_the_record_again_until_it_is_whole() {
    let mut world = world(Quarantine::Retry);
    let reads = |world: &World| {
        let pulls = world.requests_of(RequestCode::PULL_MESSAGE, "T");
        pulls.iter().filter(|pull| pull.number("maxMsgNums") == 1 && pull.number("queueOffset") == 2).count()
    };
    world.run(31_000);
    assert_eq!((reads(&world), position(&world)), (1, 2));
    world.run(31_000);
    assert_eq!((reads(&world), position(&world)), (2, 2));
    for stored in world.queues.values_mut().flat_map(|queue| &mut queue.messages) {
        stored.broken = false;
    }
    world.run(31_000);
    assert_eq!(world.succeed(), [2], "now it can be delivered");
    world.run(6_000);
    assert_eq!(position(&world), 5);
}
