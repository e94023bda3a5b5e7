//! Where groups begin at a broker that answers as Apache's does, and what happens when its queue is shorter than thought.

use rocketry_core::{ConsumerConfig, Notice, StartAt};

use crate::net::{Net, numbered};

fn consume_old_topic(start_at: StartAt, exact: bool) -> usize {
    let mut net = Net::with_topic("T", 1);
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..10));
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = start_at;
    config.exact_start = exact;
    net.consume(member, config);
    net.run(2_000);
    let old = net.handled.len();
    net.send(member, producer, numbered("T", 10..15));
    net.run(1_000);
    assert_eq!(net.handled.len(), old + 5);
    old
}

#[test]
fn off_02_last_means_first_on_a_young_topic_unless_it_is_exact() {
    assert_eq!(consume_old_topic(StartAt::Last, false), 10, "the broker says 0, as to Java's client");
    assert_eq!(consume_old_topic(StartAt::Last, true), 0);
    assert_eq!(consume_old_topic(StartAt::First, true), 10);
    assert_eq!(consume_old_topic(StartAt::First, false), 10);
}

#[test]
fn first_of_a_trimmed_queue_begins_at_its_oldest_message() {
    let mut net = Net::with_topic("T", 1);
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..10));
    net.trim("T", 0, 6);
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    net.consume(member, config);
    net.run(2_000);
    assert_eq!(net.handled.iter().map(|handled| handled.offset).collect::<Vec<_>>(), [6, 7, 8, 9]);
    let corrected = net.members[member].notices.iter().find_map(|notice| match notice {
        Notice::OffsetCorrected { from, to, .. } => Some((*from, *to)),
        _ => None,
    });
    assert_eq!(corrected, Some((0, 6)));
}

#[test]
fn positions_survive_the_client() {
    let mut net = Net::with_topic("T", 1);
    let writer = net.member("1@writer");
    let producer = net.producer(writer, "p");
    net.send(writer, producer, numbered("T", 0..10));
    let killed = net.member("1@a");
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    net.consume(killed, config.clone());
    net.run(6_000);
    net.send(writer, producer, numbered("T", 10..20));
    net.run(6_000);
    net.kill_member(killed);
    let again = net.member("1@b");
    net.consume(again, config);
    net.run(25_000);
    assert_eq!(net.handled.len(), 20, "all was saved before the kill");
    net.send(writer, producer, numbered("T", 20..21));
    net.run(1_000);
    assert_eq!(net.handled.len(), 21);
}
