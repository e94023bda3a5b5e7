//! Orderly groups between our machines: who has a queue has it alone, and its messages come in order.

use std::collections::BTreeMap;

use rocketry_core::{ConsumerConfig, StartAt};

use crate::net::{Net, Verdictive, numbered};

fn config() -> ConsumerConfig {
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    config.orderly = true;
    config
}

/// Within one ownership offsets rise by one, but for a message that was refused; a new owner begins at or below the next.
fn check_order(net: &Net) {
    let mut last: BTreeMap<i32, (usize, i64)> = BTreeMap::new();
    for handled in net.handled.iter().filter(|handled| handled.from == "T") {
        if let Some((member, offset)) = last.insert(handled.queue, (handled.member, handled.offset)) {
            let (next, queue) = (handled.offset, handled.queue);
            if member == handled.member {
                assert!(next == offset || next == offset + 1, "queue {queue}: {offset}, then {next}");
            } else {
                assert!(next <= offset + 1, "queue {queue}: {offset}, then {next} at the next owner");
            }
        }
    }
}

fn distinct(net: &Net) -> usize {
    net.handled.iter().map(|handled| handled.id.as_str()).collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn ord_09_members_that_come_leave_and_die_keep_the_order() {
    let mut net = Net::with_topic("T", 5);
    let first = net.member("1@a");
    let producer = net.producer(first, "p");
    net.consume(first, config());
    net.send(first, producer, numbered("T", 0..200));
    let second = net.member("2@b");
    let mut refusals = 0;
    net.members[second].handler = Box::new(move |_| {
        refusals += 1;
        if refusals % 5 == 0 { Verdictive::Retry(0) } else { Verdictive::Succeed }
    });
    let leaver = net.consume(second, config());
    net.send(first, producer, numbered("T", 200..400));
    net.run(5_000);
    let at = net.at;
    net.leave(second, leaver);
    net.send(first, producer, numbered("T", 400..600));
    net.run(30_000);
    assert_eq!(distinct(&net), 600);
    let taken = net.handled.iter().find(|handled| handled.at > at && handled.member == first && handled.offset > 70);
    assert!(taken.is_some_and(|taken| taken.at.since(at).as_millis() < 1_000), "ord_03: at once");
    let third = net.member("3@c");
    net.consume(third, config());
    net.run(5_000);
    net.kill_member(third);
    net.send(first, producer, numbered("T", 600..800));
    net.run(90_000);
    assert_eq!(distinct(&net), 800, "the locks of the dead end by themselves");
    check_order(&net);
}

#[test]
fn ord_05_a_message_that_always_fails_holds_its_queue_until_it_is_buried() {
    let mut net = Net::with_topic("T", 1);
    let member = net.member("1@a");
    net.members[member].handler =
        Box::new(
            |message| {
                if message.stored.body_bytes() == b"2" { Verdictive::Retry(0) } else { Verdictive::Succeed }
            },
        );
    let mut config = config();
    config.max_redeliveries = 3;
    net.consume(member, config);
    let producer = net.producer(member, "p");
    net.send(member, producer, numbered("T", 0..5));
    net.run(20_000);
    let offsets: Vec<i64> = net.handled.iter().map(|handled| handled.offset).collect();
    assert_eq!(offsets, [0, 1, 2, 2, 2, 2, 3, 4]);
    let mut dead = ConsumerConfig::new("undertakers").subscribe("%DLQ%g", "*");
    dead.start_at = StartAt::First;
    let reader = net.member("2@b");
    net.consume(reader, dead);
    net.run(40_000);
    assert_eq!(net.handled.iter().filter(|handled| handled.member == reader).count(), 1);
}
