//! Failed messages come again through the retry topic, and in the end go to the dead letters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rocketry_broker::DelayLevels;
use rocketry_core::{ConsumerConfig, StartAt};

use crate::net::{Net, Verdictive, numbered};

fn config() -> ConsumerConfig {
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    config
}

#[test]
fn a_handler_that_fails_once_sees_each_message_again_with_its_topic_and_ids() {
    let mut net = Net::with_topic("T", 2);
    let member = net.member("1@a");
    let mut failed = BTreeSet::new();
    net.members[member].handler = Box::new(move |message| {
        let first = failed.insert(message.stored.unique_key().unwrap_or_default().to_owned());
        if first { Verdictive::Retry(0) } else { Verdictive::Succeed }
    });
    net.consume(member, config());
    let producer = net.producer(member, "p");
    let receipts = net.send(member, producer, numbered("T", 0..100));
    net.run(60_000);
    let mut times: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for handled in &net.handled {
        assert_eq!(handled.topic, "T");
        assert_eq!(handled.from == "%RETRY%g", handled.reconsumed > 0);
        times.entry(&handled.id).or_default().push(handled.reconsumed);
    }
    assert_eq!(times.len(), receipts.len());
    assert!(times.values().all(|times| *times == [0, 1]), "{times:?}");
    assert_eq!(net.members[member].client.counters().sent_back, 100);
}

#[test]
fn the_delay_of_a_retry_is_the_one_that_was_asked_for() {
    let mut net = Net::with_topic("T", 1);
    let member = net.member("1@a");
    net.members[member].handler = Box::new(|message| match message.stored.reconsume_times() {
        0 => Verdictive::Retry(2),
        _ => Verdictive::Succeed,
    });
    net.consume(member, config());
    let producer = net.producer(member, "p");
    // The retry topic is known once the first message has gone that way.
    net.send(member, producer, numbered("T", 0..1));
    net.run(20_000);
    net.send(member, producer, numbered("T", 1..2));
    net.run(20_000);
    let waited = net.handled[3].at.since(net.handled[2].at);
    assert!(waited >= Duration::from_secs(5) && waited < Duration::from_millis(5_500), "{waited:?}");
}

#[test]
fn a_message_that_always_fails_ends_among_the_dead_letters() {
    let mut net = Net::with(|mut config| {
        config.delay_levels = DelayLevels::new(vec![Duration::from_secs(1); 18]);
        config.with_topic("T", 1)
    });
    let member = net.member("1@a");
    net.members[member].handler = Box::new(|_| Verdictive::Retry(0));
    let mut config = config();
    config.max_redeliveries = 2;
    net.consume(member, config);
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..1));
    net.run(60_000);
    let times: Vec<i32> = net.handled.iter().map(|handled| handled.reconsumed).collect();
    assert_eq!(times, [0, 1, 2]);
    let mut dead = ConsumerConfig::new("undertaker").subscribe("%DLQ%g", "*");
    dead.start_at = StartAt::First;
    let reader = net.member("1@reader");
    net.consume(reader, dead);
    net.run(5_000);
    assert_eq!(net.handled.len(), 4);
    assert_eq!(net.handled[3].body, b"0");
}

#[test]
fn minus_one_goes_to_the_dead_letters_at_once() {
    let mut net = Net::with_topic("T", 1);
    let member = net.member("1@a");
    net.members[member].handler = Box::new(|_| Verdictive::Retry(-1));
    net.consume(member, config());
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..3));
    net.run(60_000);
    assert_eq!(net.handled.len(), 3, "none comes again");
}
