//! Dividing queues among members.

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{ConsumerConfig, Notice};

use crate::world::{Act, MASTER, ME, World};

const PULL: RequestCode = RequestCode::PULL_MESSAGE;
const CHANGED: RequestCode = RequestCode::NOTIFY_CONSUMER_IDS_CHANGED;

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", "*")
}

fn world_with(queues: i32) -> World {
    let mut world = World::new();
    world.topics.insert("T".into(), queues);
    for queue in 0..queues {
        world.offsets.insert(("T".into(), queue), 0);
    }
    world
}

/// The queues of the last notice.
fn assigned(world: &World) -> Vec<i32> {
    let last = world.notices.iter().rev().find_map(|notice| match notice {
        Notice::Assigned { topic, queues, .. } if topic.as_str() == "T" => Some(queues),
        _ => None,
    });
    last.expect("an assignment").iter().map(|queue| queue.id).collect()
}

#[test]
fn a_member_that_comes_takes_its_share_and_one_that_leaves_gives_it_back() {
    let mut world = world_with(4);
    world.start(config());
    world.run(2_000);
    assert_eq!(assigned(&world), [0, 1, 2, 3]);
    world.members.insert("10.0.0.0@other".into());
    world.tell(CHANGED, &[("consumerGroup", "g")]);
    world.run(50);
    assert_eq!(assigned(&world), [2, 3], "the other one sorts first");
    world.members.remove("10.0.0.0@other");
    world.run(21_000);
    assert_eq!(assigned(&world), [0, 1, 2, 3], "also without a notification");
}

#[test]
fn reb_10_a_queue_that_moves_away_starts_nothing_and_saves_before() {
    let mut world = world_with(2);
    world.store("T", 0, 100);
    world.start(config());
    world.run(2_000);
    let first = world.deliveries.pop_front().expect("an offer");
    world.begin(first.ask, 32).expect("it is ours");
    let mut offered = first.offered.into_iter();
    let done = offered.by_ref().take(10).map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(done), 0);
    world.members.insert("10.0.0.0@other".into());
    world.tell(CHANGED, &[("consumerGroup", "g")]);
    world.run(50);
    assert_eq!(assigned(&world), [1]);
    assert_eq!(world.offsets[&("T".into(), 0)], 10, "saved at the drop");
    for delivery in std::mem::take(&mut world.deliveries) {
        assert!(world.begin(delivery.ask, 1).is_err(), "no handler starts after the drop");
    }
    let late: Vec<_> = offered.map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(late), 22);
    world.run(20_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 10, "what ended later does not move the position");
}

#[test]
fn reb_03_a_member_without_queue_is_idle_and_takes_over() {
    let mut world = world_with(1);
    world.members.insert("10.0.0.0@other".into());
    world.start(config());
    world.run(61_000);
    assert!(world.requests_of(PULL, "T").is_empty());
    let asked = world.requests(RequestCode::GET_CONSUMER_LIST_BY_GROUP).len();
    assert!(asked <= 4, "{asked} divisions in 61 s");
    world.members.remove("10.0.0.0@other");
    world.run(20_000);
    assert_eq!(assigned(&world), [0]);
}

#[test]
fn a_burst_of_notifications_is_answered_at_once_and_not_each() {
    let mut world = world_with(4);
    world.start(config());
    world.run(2_000);
    let before = world.requests(RequestCode::GET_CONSUMER_LIST_BY_GROUP).len();
    for _ in 0..100 {
        world.tell(CHANGED, &[("consumerGroup", "g")]);
        world.run(10);
    }
    world.run(1_000);
    let asked = world.requests(RequestCode::GET_CONSUMER_LIST_BY_GROUP).len() - before;
    assert!((10..=21).contains(&asked), "{asked} divisions for 100 notifications in a second");
    world.tell(CHANGED, &[("consumerGroup", "another")]);
    world.run(100);
    assert_eq!(world.requests(RequestCode::GET_CONSUMER_LIST_BY_GROUP).len() - before, asked);
}

#[test]
fn an_unknown_list_of_members_changes_nothing() {
    for act in [
        Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new()),
        Act::Say(ResponseCode::SUCCESS, Vec::new(), Bytes::from_static(b"{\"consumerIdList\":")),
        Act::Nothing,
    ] {
        let mut world = world_with(2);
        world.start(config());
        world.run(2_000);
        world.bend(move |seen| (seen.code() == RequestCode::GET_CONSUMER_LIST_BY_GROUP).then(|| act.clone()));
        world.run(30_000);
        assert_eq!(assigned(&world), [0, 1]);
        assert!(world.notices.iter().any(|notice| matches!(notice, Notice::Trouble { what: "rebalance", .. })));
    }
}

#[test]
fn a_list_without_us_counts_the_second_time() {
    let mut world = world_with(2);
    world.start(config());
    world.run(2_000);
    let list = "{\"consumerIdList\":[\"other\"]}";
    let say = Act::Say(ResponseCode::SUCCESS, Vec::new(), list.into());
    let beats = world.requests(RequestCode::HEART_BEAT).len();
    world.script(RequestCode::GET_CONSUMER_LIST_BY_GROUP, [say.clone()]);
    world.tell(CHANGED, &[("consumerGroup", "g")]);
    world.run(3_000);
    assert_eq!(assigned(&world), [0, 1]);
    assert!(world.requests(RequestCode::HEART_BEAT).len() > beats, "the broker hears again");
    world.script(RequestCode::GET_CONSUMER_LIST_BY_GROUP, [say.clone(), say]);
    world.tell(CHANGED, &[("consumerGroup", "g")]);
    world.run(3_000);
    assert!(world.notices.iter().any(|notice| matches!(notice, Notice::Assigned { queues, .. } if queues.is_empty())));
}

#[test]
fn rou_01_queues_that_come_and_go_with_the_route() {
    let mut world = world_with(4);
    world.start(config());
    world.run(2_000);
    world.topics.insert("T".into(), 8);
    world.run(32_000);
    assert_eq!(assigned(&world), (0..8).collect::<Vec<_>>());
    world.topics.insert("T".into(), 3);
    world.run(32_000);
    assert_eq!(assigned(&world), [0, 1, 2]);
}

#[test]
fn net_03_a_broker_that_comes_back_elsewhere_is_found() {
    let mut world = world_with(1);
    world.start(config());
    world.run(2_000);
    world.take_down(MASTER);
    world.run(5_000);
    world.addresses = [(0, "b2:10911".to_owned())].into();
    world.store("T", 0, 1);
    world.run(50_000);
    assert_eq!(world.succeed(), [0]);
    let from = world.seen.iter().position(|seen| seen.to == "b2:10911").expect("the new address is used");
    assert!(world.seen[from..].iter().all(|seen| seen.to != MASTER), "nothing goes to the old address any more");
}

#[test]
fn a_broker_that_restarts_is_pulled_again() {
    let mut world = world_with(1);
    world.start(config());
    world.run(2_000);
    world.take_down(MASTER);
    world.run(20_000);
    world.down.clear();
    world.store("T", 0, 1);
    world.run(15_000);
    assert_eq!(world.succeed(), [0]);
    assert!(world.members.contains(ME));
}

#[test]
fn ret_08_a_retry_topic_that_grows_is_read_whole() {
    let mut world = world_with(1);
    world.topics.insert("%RETRY%g".into(), 1);
    world.start(config());
    world.run(2_000);
    world.topics.insert("%RETRY%g".into(), 2);
    world.store("%RETRY%g", 1, 1);
    world.run(32_000);
    assert_eq!(world.succeed(), [0]);
}
