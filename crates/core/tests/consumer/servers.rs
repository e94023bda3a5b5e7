//! Name servers that disagree or restart, brokers that vanish: what one of them does must not reach the others.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::body::JsonBody;
use rocketry_core::codec::body::heartbeat::HeartbeatData;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{Command, Consume, ConsumerConfig, MessageQueue, Outcome, ProducerConfig, Target};

use crate::world::{Act, MASTER, SLAVE, Seen, World, endpoint};

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", "*")
}

fn missing() -> Act {
    Act::Say(ResponseCode::TOPIC_NOT_EXIST, Vec::new(), Bytes::new())
}

/// Sends to one queue and waits; how long it took.
fn send_to(world: &mut World, producer: rocketry_core::ProducerId, broker: &str) -> Duration {
    let before = world.at;
    let op = world.send(producer, "T", Target::Queue(MessageQueue::new("T", broker, 0)));
    let outcome = world.outcome(op);
    assert!(matches!(outcome, Outcome::Sent(_)), "{outcome:?}");
    world.at.since(before)
}

#[test]
fn net_01_an_address_that_never_answers_slows_nobody_else() {
    let latencies = |is_sick: bool| {
        let mut world = World::new();
        world.others.insert("sick".into(), "x:10911".into());
        if is_sick {
            world.silent.insert("x:10911".into());
        }
        let producer = world.producer(ProducerConfig::new("p"));
        send_to(&mut world, producer, "b");
        let dialling = world.send(producer, "T", Target::Queue(MessageQueue::new("T", "sick", 0)));
        let healthy: Vec<Duration> = (0..1_000).map(|_| send_to(&mut world, producer, "b")).collect();
        if is_sick {
            assert!(matches!(world.outcome(dialling), Outcome::Failed(_)));
        }
        healthy
    };
    assert_eq!(latencies(true), latencies(false));
}

#[test]
fn net_02_a_vanished_broker_delays_no_route_poll() {
    let mut world = World::new();
    world.topics.insert("T".into(), 64);
    world.start(config());
    world.run(10_000);
    world.take_down(MASTER);
    world.down.clear();
    world.silent.insert(MASTER.into());
    let from = world.at;
    world.run(10 * 30_000);
    let polls: Vec<_> = world
        .requests_of(RequestCode::GET_ROUTEINFO_BY_TOPIC, "T")
        .iter()
        .filter(|seen| seen.at >= from)
        .map(|seen| seen.at)
        .collect();
    assert!(polls.len() >= 10, "{} polls in 300 s", polls.len());
    for pair in polls.windows(2) {
        assert!(pair[1].since(pair[0]) <= Duration::from_secs(31), "{pair:?}");
    }
}

#[test]
fn net_10_a_name_server_without_the_topic_is_passed_over_in_the_same_look_up() {
    let mut world = World::with(|config| config.name_servers.push(endpoint("ns2:9876")));
    // Whichever is asked first has just restarted and knows nothing.
    let empty: Rc<RefCell<Option<String>>> = Rc::default();
    world.bend(move |seen| {
        let is_route = seen.code() == RequestCode::GET_ROUTEINFO_BY_TOPIC;
        let mut empty = empty.borrow_mut();
        (is_route && *empty.get_or_insert_with(|| seen.to.clone()) == seen.to).then(missing)
    });
    world.store("T", 0, 1);
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(50);
    assert_eq!(world.succeed(), [0], "50 ms after the start");
    let asked: BTreeSet<String> =
        world.requests_of(RequestCode::GET_ROUTEINFO_BY_TOPIC, "T").into_iter().map(|seen| seen.to).collect();
    assert_eq!(asked.len(), 2);
}

#[test]
fn net_11_a_known_route_outlives_name_servers_that_have_forgotten_it() {
    let mut world = World::new();
    let producer = world.producer(ProducerConfig::new("p"));
    send_to(&mut world, producer, "b");
    world.start(config());
    world.run(1_000);
    let is_route = |seen: &Seen| seen.code() == RequestCode::GET_ROUTEINFO_BY_TOPIC;
    world.bend(move |seen| is_route(seen).then(missing));
    for _ in 0..9 {
        world.run(10_000);
        send_to(&mut world, producer, "b");
        let next = world.queues.get(&("T".into(), 0)).map_or(0, |queue| queue.max());
        world.store("T", 0, 1);
        world.run(100);
        assert_eq!(world.succeed(), [next]);
    }
}

#[test]
fn net_14_a_peer_that_takes_nothing_is_not_fed_without_bound() {
    let mut world = World::with(|config| config.limits.link_bytes = 64 << 10);
    let producer = world.producer(ProducerConfig::new("p"));
    send_to(&mut world, producer, "b");
    world.stuck.insert(MASTER.into());
    let before = world.seen.len();
    let ops: Vec<_> = (0..10_000).map(|_| world.send(producer, "T", Target::Any)).collect();
    let emitted: usize = world.seen[before..].iter().map(|seen| seen.frame.wire_len()).sum();
    assert!(emitted <= (64 << 10) + 1_024, "{emitted} bytes were emitted");
    for op in ops {
        assert!(matches!(world.outcome(op), Outcome::Failed(_)), "each ends with its own deadline");
    }
}

#[test]
fn net_18_a_slave_hears_of_us_while_its_master_is_away() {
    let mut world = World::new();
    world.addresses.insert(1, SLAVE.into());
    world.start(config());
    world.run(5_000);
    world.take_down(MASTER);
    let from = world.at;
    world.run(95_000);
    let beats = world.requests(RequestCode::HEART_BEAT);
    let to_slave = beats.iter().filter(|seen| seen.to == SLAVE && seen.at >= from).count();
    assert!((3..=6).contains(&to_slave), "one every 30 s, not {to_slave} in 95 s");
}

#[test]
fn rou_02_queues_are_in_javas_order_whatever_the_route_says() {
    let mut world = World::new();
    world.topics.insert("T".into(), 2);
    world.others = [("z".into(), "z:1".into()), ("a".into(), "a:1".into())].into();
    let producer = world.producer(ProducerConfig::new("p"));
    send_to(&mut world, producer, "b");
    let order: Vec<(String, i32)> = world
        .client
        .queues(&"T".into())
        .into_iter()
        .map(|queue| (queue.broker.as_str().to_owned(), queue.id))
        .collect();
    let expected = [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("z", 0), ("z", 1)];
    assert_eq!(order, expected.map(|(broker, id)| (broker.to_owned(), id)));
}

#[test]
fn rou_10_two_clusters_with_equal_names_do_not_meet() {
    let mut worlds = [World::new(), World::new()];
    worlds[0].topics.insert("T".into(), 1);
    worlds[1].topics.insert("T".into(), 3);
    for world in &mut worlds {
        world.offsets.insert(("T".into(), 0), 0);
        let producer = world.producer(ProducerConfig::new("p"));
        send_to(world, producer, "b");
        world.start(config());
        world.run(100);
    }
    worlds[0].store("T", 0, 2);
    for world in &mut worlds {
        world.run(1_000);
    }
    assert_eq!(worlds[0].succeed(), [0, 1]);
    assert!(worlds[1].succeed().is_empty());
    assert_eq!((worlds[0].client.queues(&"T".into()).len(), worlds[1].client.queues(&"T".into()).len()), (1, 3));
}

#[test]
fn rou_11_the_default_topic_stands_in_with_the_settings_of_the_options() {
    for (queues_of_default, wanted, queues) in [(8, 4, 4), (2, 4, 2), (8, 6, 6)] {
        let mut world = World::with(|config| config.default_topic_queues = wanted);
        world.topics = [("TBW102".into(), queues_of_default)].into();
        let producer = world.producer(ProducerConfig::new("p"));
        let ops: Vec<_> = (0..16).map(|_| world.send(producer, "New", Target::Any)).collect();
        for op in ops {
            assert!(matches!(world.outcome(op), Outcome::Sent(_)));
        }
        let sends = world.requests(RequestCode::SEND_MESSAGE_V2);
        let used: BTreeSet<i64> = sends.iter().map(|seen| seen.number("e")).collect();
        assert_eq!(used, (0..queues).collect());
        assert!(sends.iter().all(|seen| seen.text("c") == "TBW102" && seen.number("d") == i64::from(wanted)));
    }
}

#[test]
fn reb_08_a_queue_that_is_not_pulled_for_long_is_not_taken_for_dead() {
    let mut world = World::new();
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(config());
    world.run(1_000);
    let suspend = Consume::Suspend(consumer);
    world.submit(Command::Consume(suspend));
    world.store("T", 0, 2);
    world.run(600_000);
    world.succeed();
    world.submit(Command::Consume(Consume::Resume(consumer)));
    world.run(20_000);
    // Flow control for as long: a handler that does not answer while the cache is full.
    world.store("T", 0, 2_000);
    world.run(600_000);
    world.succeed();
    world.run(1_000);
    world.succeed();
    let asked = world.requests_of(RequestCode::QUERY_CONSUMER_OFFSET, "T").len();
    assert_eq!(asked, 1, "the queue was never built anew");
}

/// How each heartbeat to the master was written: whether with subscriptions, and its fingerprint.
fn heartbeats(world: &World) -> Vec<(bool, i32)> {
    let sent = world.requests(RequestCode::HEART_BEAT).into_iter().filter(|seen| seen.to == MASTER);
    let read = sent.map(|seen| HeartbeatData::decode(seen.frame.body()).expect("a heartbeat"));
    read.map(|data| (data.consumers.iter().any(|group| !group.subscriptions.is_empty()), data.fingerprint)).collect()
}

/// A broker of 5.1 or later: it remembers the last fingerprint, and forgets it when the flag is set.
fn remembers(forgets: &Rc<RefCell<bool>>) -> impl FnMut(&Seen) -> Option<Act> + use<> {
    let (mut last, forgets) = (None, Rc::clone(forgets));
    move |seen| {
        if seen.code() != RequestCode::HEART_BEAT || seen.to != MASTER {
            return None;
        }
        if forgets.replace(false) {
            last = Some(0);
        }
        let told = HeartbeatData::decode(seen.frame.body()).ok()?.fingerprint;
        let changed = last.is_some_and(|known| known != told);
        last = Some(told);
        let fields = [("IS_SUPPORT_HEART_BEAT_V2", "true".into()), ("IS_SUB_CHANGE", changed.to_string())];
        Some(Act::Say(ResponseCode::SUCCESS, fields.into(), Bytes::new()))
    }
}

#[test]
fn net_19_a_broker_that_knows_the_fingerprint_hears_no_more_than_that() {
    let mut world = World::with(|config| config.heartbeat_v2 = true);
    world.topics.insert("U".into(), 1);
    let forgets = Rc::default();
    world.bend(remembers(&forgets));
    let consumer = world.start(config());
    world.run(95_000);
    let first = heartbeats(&world);
    let fingerprint = first[0].1;
    assert_ne!(fingerprint, 0, "brokers take 0 for the first form");
    assert_eq!(first[0], (true, fingerprint));
    assert!(first.len() >= 4 && first[2..].iter().all(|beat| *beat == (false, fingerprint)), "{first:?}");
    let (topic, filter) = ("U".into(), "*".into());
    world.submit(Command::Consume(Consume::Subscribe { consumer, topic, filter }));
    world.run(1_000);
    let second = heartbeats(&world);
    let last = *second.last().expect("one was sent at once");
    assert!(last.0 && last.1 != fingerprint, "a new subscription is told in full: {second:?}");
    world.run(61_000);
    forgets.replace(true);
    let before = heartbeats(&world).len();
    world.run(31_000);
    let third = &heartbeats(&world)[before..];
    assert_eq!(third, [(false, last.1), (true, last.1)], "a broker that has forgotten is told everything at once");
}

#[test]
fn net_19_an_old_broker_hears_everything_always() {
    let mut world = World::with(|config| config.heartbeat_v2 = true);
    world.start(config());
    world.run(95_000);
    assert!(heartbeats(&world).iter().all(|(full, _)| *full));
}
