//! Messages out and back; members that come, leave and are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rocketry_broker::BrokerConfig;
use rocketry_codec::codes::RequestCode;
use rocketry_core::{Command, Consume, ConsumerConfig, Message, Produce, StartAt};

use crate::net::{Net, numbered};

fn config() -> ConsumerConfig {
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    config
}

fn bodies(net: &Net) -> BTreeMap<Vec<u8>, usize> {
    let mut bodies = BTreeMap::new();
    for handled in &net.handled {
        *bodies.entry(handled.body.clone()).or_default() += 1;
    }
    bodies
}

fn expect_all(net: &Net, count: usize) {
    let bodies = bodies(net);
    let missing: Vec<usize> = (0..count).filter(|number| !bodies.contains_key(number.to_string().as_bytes())).collect();
    assert!(missing.is_empty(), "{} of {count} are missing: {missing:?}", missing.len());
}

#[test]
fn two_thousand_messages_out_and_back_with_equal_ids_and_bodies() {
    let mut net = Net::with_topic("T", 4);
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    let receipts = net.send(member, producer, numbered("T", 0..2_000));
    net.consume(member, config());
    net.run(2_000);
    assert_eq!(net.handled.len(), 2_000);
    let sent: BTreeSet<_> = receipts.iter().map(|receipt| (receipt.message_id.clone(), receipt.queue_offset)).collect();
    let seen: BTreeSet<_> = net.handled.iter().map(|handled| (handled.id.clone(), handled.offset)).collect();
    assert_eq!(sent, seen);
    expect_all(&net, 2_000);
    for queue in 0..4 {
        let offsets: Vec<i64> =
            net.handled.iter().filter(|handled| handled.queue == queue).map(|handled| handled.offset).collect();
        assert!(offsets.is_sorted(), "a queue is offered in its order");
    }
}

#[test]
fn a_waiting_pull_brings_a_message_at_once() {
    let mut net = Net::with_topic("T", 1);
    let member = net.member("1@a");
    net.consume(member, config());
    let producer = net.producer(member, "p");
    net.run(3_000);
    let before = net.at;
    net.send(member, producer, numbered("T", 0..1));
    net.run(20);
    assert_eq!(net.handled.len(), 1);
    assert!(net.handled[0].at.since(before) < Duration::from_millis(10));
}

#[test]
fn rou_09_a_topic_that_a_send_creates_is_consumed_from_its_first_message() {
    let mut net = Net::with(|config| config);
    let member = net.member("1@a");
    net.consume(member, ConsumerConfig::new("g").subscribe("T", "*"));
    net.run(1_000);
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..10));
    net.run(31_000);
    expect_all(&net, 10);
}

#[test]
fn brokers_filter_by_tag() {
    let mut net = Net::with_topic("T", 2);
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    let tagged = (0..40).map(|number| {
        let tag = ["red", "green", "blue", "grey"][number % 4];
        Message::builder("T").body(number.to_string().into_bytes()).tag(tag).build().expect("a message")
    });
    net.send(member, producer, tagged.collect());
    let mut config = ConsumerConfig::new("g").subscribe("T", "red || blue");
    config.start_at = StartAt::First;
    net.consume(member, config);
    net.run(2_000);
    let numbers: BTreeSet<usize> =
        net.handled.iter().map(|handled| String::from_utf8_lossy(&handled.body).parse().unwrap()).collect();
    assert_eq!(numbers, (0..40).step_by(2).collect());
}

#[test]
fn two_members_share_and_one_leaves_is_killed_and_comes_back() {
    let mut net = Net::with_topic("T", 4);
    let writer = net.member("1@writer");
    let producer = net.producer(writer, "p");
    let (first, second) = (net.member("1@a"), net.member("1@b"));
    net.consume(first, config());
    let consumer = net.consume(second, config());
    net.run(3_000);
    assert_eq!((net.owned(first, "T").len(), net.owned(second, "T").len()), (2, 2));
    let mut sent = 0;
    let mut send = |net: &mut Net, count: usize| {
        net.send(writer, producer, numbered("T", sent..sent + count));
        sent += count;
    };
    send(&mut net, 200);
    net.run(500);
    let by = |net: &Net, member| net.handled.iter().filter(|handled| handled.member == member).count();
    assert_eq!((by(&net, first), by(&net, second)), (100, 100));
    assert_eq!(net.leave(second, consumer), Default::default());
    send(&mut net, 100);
    net.run(3_000);
    assert_eq!(net.owned(first, "T").len(), 4, "the other hears of it from the broker");
    let again = net.consume(second, config());
    net.run(3_000);
    send(&mut net, 100);
    net.run(500);
    let _ = again;
    assert_eq!(net.handled.len(), 400, "nobody was killed: nothing comes twice");
    net.kill_member(second);
    send(&mut net, 100);
    net.run(45_000);
    send(&mut net, 100);
    net.run(1_000);
    assert_eq!(net.owned(first, "T").len(), 4);
    expect_all(&net, 600);
}

#[test]
fn reb_11_one_to_four_and_back_loses_nothing() {
    let mut net = Net::with_topic("T", 16);
    let writer = net.member("1@writer");
    let producer = net.producer(writer, "p");
    net.member("1@m0");
    net.consume(1, config());
    net.run(2_000);
    let mut sent = 0;
    let mut consumers = Vec::new();
    for step in 0..6_usize {
        if step < 3 {
            let member = net.member(&format!("1@m{}", step + 1));
            consumers.push((member, net.consume(member, config())));
        } else {
            let (member, consumer) = consumers.pop().expect("three came");
            net.leave(member, consumer);
        }
        for _ in 0..4 {
            net.send(writer, producer, numbered("T", sent..sent + 400));
            sent += 400;
            net.run(600);
        }
        let mut owners: Vec<_> = [1].into_iter().chain(consumers.iter().map(|(member, _)| *member)).collect();
        let mut all: Vec<_> = owners.drain(..).flat_map(|member| net.owned(member, "T")).collect();
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!((all.len(), count), (16, 16), "owners are disjoint and cover all after step {step}");
    }
    net.run(5_000);
    expect_all(&net, sent);
    let twice = bodies(&net).values().filter(|count| **count > 1).count();
    assert!(twice < 1_000, "{twice} of {sent} came twice");
}

#[test]
fn reb_03_more_members_than_queues() {
    let mut net = Net::with_topic("T", 1);
    let mut members = Vec::new();
    for name in ["1@a", "1@b", "1@c"] {
        let member = net.member(name);
        members.push((member, net.consume(member, config())));
    }
    net.run(5_000);
    let owns = |net: &Net| [0, 1, 2].map(|member| net.owned(member, "T").len());
    assert_eq!(owns(&net), [1, 0, 0]);
    let pulls =
        |net: &Net, member: usize| net.members[member].sent.get(&RequestCode::PULL_MESSAGE.0).copied().unwrap_or(0);
    let lists = |net: &Net| net.members[1].sent[&RequestCode::GET_CONSUMER_LIST_BY_GROUP.0];
    let (before, asked) = (pulls(&net, 1), lists(&net));
    net.run(60_000);
    assert_eq!(pulls(&net, 1), before, "an idle member pulls nothing");
    assert!(lists(&net) - asked <= 2 * 4, "and divides once in 20 s for each topic");
    net.leave(members[0].0, members[0].1);
    net.run(3_000);
    assert_eq!(owns(&net)[1..], [1, 0], "and takes over when the owner leaves");
}

fn broker(number: u32) -> BrokerConfig {
    let address = format!("10.0.0.{number}:10911").parse().expect("an address");
    let mut config = BrokerConfig::new(address).with_topic("T", 4);
    config.name = format!("broker-{number}").into();
    config
}

#[test]
fn two_brokers_are_read_and_one_that_comes_back_is_found_again() {
    let mut net = Net::cluster([broker(1), broker(2)]);
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..100));
    net.consume(member, config());
    net.run(3_000);
    expect_all(&net, 100);
    assert_eq!(net.owned(member, "T").len(), 8);
    net.kill_host("10.0.0.2:10911");
    net.run(10_000);
    let ops: Vec<_> = numbered("T", 100..150)
        .into_iter()
        .map(|message| net.submit(member, Command::Produce(Produce::new(producer, message))))
        .collect();
    for op in ops {
        let outcome = net.outcome(member, op);
        assert!(matches!(outcome, rocketry_core::Outcome::Sent(_)), "the other broker takes it: {outcome:?}");
    }
    net.run(1_000);
    expect_all(&net, 150);
    // Its store was memory: it is empty now, and the position of the group is beyond its end.
    net.start_broker(broker(2));
    net.run(60_000);
    net.send(member, producer, numbered("T", 150..250));
    net.run(2_000);
    expect_all(&net, 250);
}

#[test]
fn a_client_restarts_where_it_stopped() {
    let mut net = Net::with_topic("T", 2);
    let writer = net.member("1@writer");
    let producer = net.producer(writer, "p");
    for round in 0..3 {
        let member = net.member("1@a");
        let consumer = net.consume(member, config());
        net.send(writer, producer, numbered("T", round * 50..(round + 1) * 50));
        net.run(1_500);
        assert_eq!(net.leave(member, consumer), Default::default());
        let shutdown = rocketry_core::Control::Shutdown { within: Duration::from_secs(1) };
        let op = net.submit(member, Command::Control(shutdown));
        net.outcome(member, op);
        net.kill_member(member);
    }
    assert_eq!(net.handled.len(), 150);
    expect_all(&net, 150);
}

#[test]
fn sixty_four_members_settle() {
    let mut net = Net::with_topic("T", 1_024);
    for number in 0..64 {
        let member = net.member(&format!("10.0.0.{number}@m"));
        net.submit(member, Command::Consume(Consume::Start(Box::new(config()))));
        net.run(15);
    }
    net.run(40_000);
    let mut all: Vec<_> = (0..64).flat_map(|member| net.owned(member, "T")).collect();
    assert!((0..64).all(|member| net.owned(member, "T").len() == 16));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 1_024);
}
