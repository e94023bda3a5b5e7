//! Starting and stopping.

use std::time::Duration;

use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{Command, Consume, ConsumerConfig, Notice, OnUnreachable, OpErrorKind, Outcome, RejectReason};

use crate::world::{Act, MASTER, NAME_SERVER, World};

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", "*")
}

fn stop(world: &mut World, consumer: rocketry_core::ConsumerId, seconds: u64) -> rocketry_core::OpId {
    world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(seconds) }))
}

#[test]
fn the_first_message_arrives_in_a_few_round_trips() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(20);
    assert_eq!(world.succeed(), [0, 1, 2]);
    let order: Vec<RequestCode> = world.seen.iter().map(|seen| seen.code()).collect();
    let place = |code| order.iter().position(|seen| *seen == code);
    assert!(place(RequestCode::HEART_BEAT) < place(RequestCode::GET_CONSUMER_LIST_BY_GROUP));
    assert!(place(RequestCode::QUERY_CONSUMER_OFFSET) < place(RequestCode::PULL_MESSAGE));
    let pull = &world.requests_of(RequestCode::PULL_MESSAGE, "T")[0];
    assert_eq!(
        (pull.number("sysFlag"), pull.number("maxMsgNums"), pull.number("suspendTimeoutMillis")),
        (2, 32, 15_000)
    );
    assert_eq!(pull.text("expressionType"), "TAG");
}

#[test]
fn a_topic_without_route_is_tolerated_and_consumed_once_it_is_there() {
    let mut world = World::new();
    world.topics.clear();
    world.start(config());
    world.run(5_000);
    assert!(world.requests(RequestCode::PULL_MESSAGE).is_empty());
    world.topics.insert("T".into(), 2);
    world.store("T", 1, 2);
    world.run(31_000);
    assert_eq!(world.succeed(), [0, 1], "rou_09: what came before the route was known is news too");
}

#[test]
fn net_09_without_name_server_the_start_fails_and_leaves_nothing() {
    let mut world = World::new();
    world.down.insert(NAME_SERVER.into());
    let op = world.submit(Command::Consume(Consume::Start(Box::new(config()))));
    match world.outcome(op) {
        Outcome::Failed(error) => match error.kind {
            OpErrorKind::NoNameServer { tried } => assert_eq!(tried[0].0.to_string(), NAME_SERVER),
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
    world.down.clear();
    world.run(10_000);
    world.start(config());
}

#[test]
fn net_09_or_it_starts_and_connects_later() {
    let mut world = World::with(|config| config.on_unreachable = OnUnreachable::Wait);
    world.down.insert(NAME_SERVER.into());
    world.store("T", 0, 1);
    world.start(config().subscribe("T2", "*"));
    world.run(2_000);
    world.down.clear();
    world.run(40_000);
    assert!(!world.requests_of(RequestCode::PULL_MESSAGE, "T").is_empty());
}

#[test]
fn a_group_lives_once_in_a_client() {
    let mut world = World::new();
    let consumer = world.start(config());
    let rejected = world.client.submit(world.now(), Command::Consume(Consume::Start(Box::new(config()))));
    match rejected.expect_err("the group is taken").why {
        RejectReason::Invalid(error) => {
            assert!(error.reason.contains("has been created before"), "{error}");
            assert_eq!((error.setting, error.value.as_str()), ("group", "g"));
        }
        other => panic!("{other}"),
    }
    let op = stop(&mut world, consumer, 10);
    assert!(matches!(world.outcome(op), Outcome::Stopped(_)));
    world.start(config());
}

#[test]
fn shu_02_a_long_poll_does_not_delay_the_stop() {
    let mut world = World::new();
    let consumer = world.start(config());
    world.run(1_000);
    let before = world.at;
    let op = stop(&mut world, consumer, 10);
    assert!(matches!(world.outcome(op), Outcome::Stopped(report) if report == Default::default()));
    assert!(world.at.since(before) < Duration::from_millis(100));
    assert_eq!(world.requests(RequestCode::UNREGISTER_CLIENT).len(), 1);
    assert_eq!(world.requests(RequestCode::UNREGISTER_CLIENT)[0].text("consumerGroup"), "g");
    world.run(60_000);
    assert_eq!(world.requests_of(RequestCode::PULL_MESSAGE, "T").len(), 1, "nothing is pulled any more");
    let again = Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(1) });
    let why = world.client.submit(world.now(), again).expect_err("it is gone").why;
    assert_eq!(why, RejectReason::NotRunning { what: "consumer" });
}

#[test]
fn off_15_handlers_that_end_during_the_stop_count_and_are_saved_before_the_farewell() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(config());
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    assert_eq!(world.begin(delivery.ask, 2), Ok(2));
    let op = stop(&mut world, consumer, 10);
    world.run(3_000);
    assert!(world.begin(delivery.ask, 1).is_err(), "nothing starts any more");
    let mut offered = delivery.offered.into_iter();
    let verdicts = vec![offered.next().unwrap().ticket.succeed(), offered.next().unwrap().ticket.succeed()];
    assert_eq!(world.answer(verdicts), 0);
    assert!(matches!(world.outcome(op), Outcome::Stopped(report) if report == Default::default()));
    assert_eq!(world.offsets[&("T".into(), 0)], 2);
    let places = |code| world.seen.iter().position(|seen| seen.code() == code);
    assert!(places(RequestCode::UPDATE_CONSUMER_OFFSET) < places(RequestCode::UNREGISTER_CLIENT));
}

#[test]
fn a_handler_that_never_ends_does_not_outlive_the_deadline_of_the_stop() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(config());
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 3).expect("it is ours");
    let before = world.at;
    let op = stop(&mut world, consumer, 2);
    match world.outcome(op) {
        Outcome::Stopped(report) => assert_eq!(report.unfinished_handlers, 3),
        other => panic!("{other:?}"),
    }
    assert!(world.at.since(before) <= Duration::from_secs(2));
    let tickets = delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(tickets), 3, "all come too late");
}

#[test]
fn a_broker_that_is_gone_does_not_keep_the_stop_beyond_its_deadline() {
    let mut world = World::new();
    world.store("T", 0, 1);
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(config());
    world.run(100);
    assert_eq!(world.succeed(), [0]);
    world.bend(|seen| (seen.to == MASTER).then_some(Act::Nothing));
    let before = world.at;
    let op = stop(&mut world, consumer, 3);
    match world.outcome(op) {
        Outcome::Stopped(report) => assert_eq!(report.unsaved_queues, 1),
        other => panic!("{other:?}"),
    }
    assert!(world.at.since(before) <= Duration::from_secs(3));
}

#[test]
fn a_stop_ends_a_start() {
    let mut world = World::new();
    world.bend(|_| Some(Act::Nothing));
    let start = world.submit(Command::Consume(Consume::Start(Box::new(config()))));
    world.run(100);
    world.submit(Command::Control(rocketry_core::Control::Shutdown { within: Duration::from_secs(1) }));
    match world.outcome(start) {
        Outcome::Failed(error) => assert_eq!(error.kind, OpErrorKind::Stopping),
        other => panic!("{other:?}"),
    }
}

#[test]
fn suspending_stops_pulls_and_resuming_goes_on() {
    let mut world = World::new();
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(config());
    world.run(100);
    world.submit(Command::Consume(Consume::Suspend(consumer)));
    world.store("T", 0, 1);
    world.run(600_000);
    assert_eq!(world.succeed(), [0], "the pull that was on its way still counts");
    world.store("T", 0, 1);
    world.run(1_000);
    assert_eq!(world.requests_of(RequestCode::PULL_MESSAGE, "T").len(), 1);
    assert_eq!(world.requests(RequestCode::QUERY_CONSUMER_OFFSET).len(), 1, "reb_08: the queue is not rebuilt");
    world.submit(Command::Consume(Consume::Resume(consumer)));
    world.run(100);
    assert_eq!(world.succeed(), [1]);
}

#[test]
fn reb_07_unsubscribing_saves_and_tells_the_brokers_at_once() {
    let mut world = World::new();
    world.topics.insert("U".into(), 1);
    world.store("T", 0, 2);
    world.offsets.insert(("T".into(), 0), 0);
    world.offsets.insert(("U".into(), 0), 0);
    let consumer = world.start(config().subscribe("U", "a||b"));
    world.run(100);
    assert_eq!(world.succeed(), [0, 1]);
    let beats = world.requests(RequestCode::HEART_BEAT).len();
    world.submit(Command::Consume(Consume::Unsubscribe { consumer, topic: "T".into() }));
    world.run(10);
    assert_eq!(world.offsets[&("T".into(), 0)], 2);
    let later = world.requests(RequestCode::HEART_BEAT);
    let body = String::from_utf8(later[beats].frame.body().to_vec()).unwrap();
    assert!(
        !body.contains("\"topic\":\"T\"") && body.contains("\"topic\":\"U\"") && body.contains("%RETRY%g"),
        "{body}"
    );
    world.store("T", 0, 1);
    world.run(60_000);
    assert!(world.succeed().is_empty());
}

#[test]
fn subscribing_while_running_begins_to_consume() {
    let mut world = World::new();
    world.topics.insert("U".into(), 1);
    world.store("U", 0, 1);
    world.offsets.insert(("U".into(), 0), 0);
    let consumer = world.start(config());
    world.run(3_000);
    world.submit(Command::Consume(Consume::Subscribe { consumer, topic: "U".into(), filter: "*".into() }));
    world.run(2_000);
    assert_eq!(world.succeed(), [0]);
}

#[test]
fn net_17_versions_of_a_subscription_grow_when_the_wall_clock_steps_back() {
    let mut world = World::new();
    let consumer = world.start(config());
    world.run(1_000);
    let version =
        |world: &World| world.requests_of(RequestCode::PULL_MESSAGE, "T").last().unwrap().number("subVersion");
    let before = version(&world);
    world.wall -= 3_600_000;
    world.submit(Command::Consume(Consume::Subscribe { consumer, topic: "T".into(), filter: "a".into() }));
    world.run(20_000);
    assert!(version(&world) > before);
}

#[test]
fn trouble_with_one_thing_is_told_once() {
    let mut world = World::new();
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(100);
    world.bend(|seen| {
        let refuse = seen.code() == RequestCode::PULL_MESSAGE && seen.text("topic") == "T";
        refuse.then(|| Act::Say(ResponseCode::NO_PERMISSION, Vec::new(), Default::default()))
    });
    world.run(60_000);
    let told = world.notices.iter().filter(|notice| matches!(notice, Notice::Trouble { what: "pull", .. })).count();
    assert_eq!(told, 1);
}

#[test]
fn a_stop_waits_for_handlers_of_queues_that_moved_away_and_no_longer() {
    let mut world = World::new();
    world.topics.insert("T".into(), 2);
    world.store("T", 0, 2);
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(config());
    world.run(2_000);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 2).expect("it is ours");
    world.members.insert("10.0.0.0@other".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(100);
    let before = world.at;
    let op = stop(&mut world, consumer, 10);
    world.run(1_000);
    let verdicts = delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(verdicts), 2);
    assert!(matches!(world.outcome(op), Outcome::Stopped(report) if report == Default::default()));
    assert!(world.at.since(before) < Duration::from_millis(1_100));
}

#[test]
fn verdicts_for_several_consumers_travel_in_one_answer() {
    let mut world = World::new();
    world.topics.insert("U".into(), 1);
    let mut asks = Vec::new();
    for (group, topic) in [("g", "T"), ("h", "U")] {
        world.store(topic, 0, 200);
        world.offsets.insert((topic.into(), 0), 0);
        let mut config = ConsumerConfig::new(group).subscribe(topic, "*");
        config.concurrency = 1;
        world.start(config);
        world.run(1_000);
        asks.push(std::mem::take(&mut world.deliveries));
    }
    let mut verdicts = Vec::new();
    for delivery in asks.into_iter().flatten() {
        world.begin(delivery.ask, 32).expect("it is ours");
        verdicts.extend(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()));
    }
    world.deliveries.clear();
    assert_eq!(world.answer(verdicts), 0);
    world.run(6_000);
    assert_eq!((world.offsets[&("T".into(), 0)], world.offsets[&("U".into(), 0)]), (64, 64));
}
