//! Lite consumers against the embedded broker: seeks that race with pulls, members that come and go, restarts.

use std::collections::BTreeSet;
use std::time::Duration;

use rocketry_codec::encoder::RawRequest;
use rocketry_codec::request::CreateTopic;
use rocketry_core::{
    Call, Command, Commit, CommitUntil, Consume, ConsumerId, Lite, LiteConfig, LiteOutcome, MessageQueue, OffsetOf,
    Outcome, Peer, SeekTo, StartAt,
};

use crate::net::{NAMES, Net, endpoint, numbered};

fn config() -> LiteConfig {
    let mut config = LiteConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    config
}

fn lite(net: &mut Net, member: usize, lite: Lite) -> Outcome {
    let op = net.submit(member, Command::Consume(Consume::Lite(lite)));
    net.outcome(member, op)
}

fn start(net: &mut Net, member: usize, config: LiteConfig) -> ConsumerId {
    match lite(net, member, Lite::Start(Box::new(config))) {
        Outcome::ConsumerStarted(id) => id,
        other => panic!("{other:?}"),
    }
}

/// Polls: queue ids and offsets.
fn poll(net: &mut Net, member: usize, consumer: ConsumerId, max: u32) -> Vec<(i32, i64)> {
    match lite(net, member, Lite::Poll { consumer, max, timeout: Duration::from_secs(1) }) {
        Outcome::Lite(LiteOutcome::Polled(polled)) => {
            polled.messages.iter().map(|message| (message.queue.id, message.stored.queue_offset())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn offset(net: &mut Net, member: usize, command: Lite) -> Option<i64> {
    match lite(net, member, command) {
        Outcome::Lite(LiteOutcome::Offset(offset)) => offset,
        other => panic!("{other:?}"),
    }
}

fn queue(net: &Net, member: usize, consumer: ConsumerId) -> MessageQueue {
    net.members[member].client.assignment(consumer).first().cloned().expect("a queue")
}

/// Gives a topic so many queues.
fn grow(net: &mut Net, member: usize, topic: &str, queues: i32) {
    let request = CreateTopic {
        topic: topic.into(),
        default_topic: "TBW102".into(),
        read_queue_nums: queues,
        write_queue_nums: queues,
        perm: 6,
        topic_filter_type: "SINGLE_TAG".into(),
        ..CreateTopic::default()
    };
    let request = RawRequest::new(&request, bytes::Bytes::new());
    let op = net.submit(member, Command::Call(Call::new(Peer::Address(endpoint(NAMES)), request)));
    let answer = net.outcome(member, op);
    assert!(matches!(&answer, Outcome::Reply(frame) if frame.code() == 0), "{answer:?}");
}

#[test]
fn off_11_a_seek_wins_against_pulls_at_whatever_moment_it_comes() {
    // Messages come every millisecond, a frame takes one each way: the seek meets a pull in every state.
    for delay in 0..12 {
        let mut net = Net::with_topic("T", 1);
        let member = net.member("1@a");
        let producer = net.producer(member, "p");
        net.send(member, producer, numbered("T", 0..50));
        let consumer = start(&mut net, member, config());
        net.run(100);
        while !poll(&mut net, member, consumer, 32).is_empty() {}
        let queue = queue(&net, member, consumer);
        for number in 50..50 + delay {
            let message = numbered("T", [number]).remove(0);
            let produce = rocketry_core::Produce::new(producer, message);
            net.submit(member, Command::Produce(produce));
            net.run(1);
        }
        let command = Lite::Seek { consumer, queue: queue.clone(), to: SeekTo::Offset(20) };
        let seek = net.submit(member, Command::Consume(Consume::Lite(command)));
        for number in 80..85 {
            let produce = rocketry_core::Produce::new(producer, numbered("T", [number]).remove(0));
            net.submit(member, Command::Produce(produce));
            net.run(1);
        }
        let landed = net.outcome(member, seek);
        assert!(matches!(landed, Outcome::Lite(LiteOutcome::Offset(Some(20)))), "{landed:?}");
        let mut seen = Vec::new();
        loop {
            let polled = poll(&mut net, member, consumer, 7);
            if polled.is_empty() {
                break;
            }
            seen.extend(polled.into_iter().map(|(_, offset)| offset));
        }
        let end = i64::try_from(50 + delay + 5).expect("small");
        assert_eq!(seen, (20..end).collect::<Vec<_>>(), "with a delay of {delay} ms");
        assert_eq!(net.members[member].client.broken(), None);
    }
}

#[test]
fn off_12_what_was_not_polled_past_comes_to_the_new_owner() {
    let mut net = Net::with_topic("T", 4);
    let writer = net.member("1@writer");
    let producer = net.producer(writer, "p");
    net.send(writer, producer, numbered("T", 0..400));
    let one = net.member("1@a");
    let first = start(&mut net, one, config());
    net.run(500);
    let mut done: BTreeSet<(i32, i64)> = BTreeSet::new();
    let mut last = Vec::new();
    for _ in 0..10 {
        // What a poll brought is done once the next one comes.
        done.extend(last);
        last = poll(&mut net, one, first, 16);
    }
    let two = net.member("1@b");
    let second = start(&mut net, two, config());
    net.run(2_000);
    let moved: BTreeSet<i32> = net.members[two].client.assignment(second).iter().map(|queue| queue.id).collect();
    assert_eq!((moved.len(), net.members[one].client.assignment(first).len()), (2, 2));
    let mut again: BTreeSet<(i32, i64)> = BTreeSet::new();
    loop {
        let polled = poll(&mut net, two, second, 32);
        if polled.is_empty() {
            break;
        }
        assert!(polled.iter().all(|message| again.insert(*message)), "twice by one owner");
    }
    for id in moved {
        let (had, got) = (
            done.iter().filter(|(queue, _)| *queue == id).count(),
            again.iter().filter(|(queue, _)| *queue == id).count(),
        );
        assert_eq!(had + got, 100, "queue {id}: {had} were done by the first owner, {got} came to the second");
    }
    // The first member's last poll ends too late to move what is not its own any more.
    poll(&mut net, one, first, 16);
    net.run(6_000);
    for queue in net.members[two].client.assignment(second) {
        let committed = Lite::Ask { consumer: second, queue, what: OffsetOf::Committed };
        assert_eq!(offset(&mut net, two, committed), Some(100));
    }
}

#[test]
fn a_successor_begins_where_was_committed() {
    let mut net = Net::with_topic("T", 1);
    let one = net.member("1@a");
    let producer = net.producer(one, "p");
    net.send(one, producer, numbered("T", 0..50));
    let mut by_hand = config();
    by_hand.auto_commit = None;
    let consumer = start(&mut net, one, by_hand.clone());
    net.run(100);
    assert_eq!(poll(&mut net, one, consumer, 10).len(), 10);
    let commit = Lite::Commit { consumer, what: Commit::All, until: CommitUntil::Stored };
    assert!(matches!(lite(&mut net, one, commit), Outcome::Changed));
    assert_eq!(poll(&mut net, one, consumer, 10).len(), 10);
    net.run(20_000);
    net.kill_member(one);
    let two = net.member("1@b");
    let again = start(&mut net, two, by_hand);
    net.run(500);
    assert_eq!(poll(&mut net, two, again, 5), (10..15).map(|offset| (0, offset)).collect::<Vec<_>>());
    // By itself, it commits what is polled past, and no more, at the stop too.
    net.leave(two, again);
    let third = start(&mut net, two, config());
    net.run(500);
    assert_eq!(poll(&mut net, two, third, 5)[0], (0, 10), "nothing was committed by hand");
    assert_eq!(poll(&mut net, two, third, 5)[0], (0, 15));
    net.leave(two, third);
    let fourth = start(&mut net, two, config());
    net.run(500);
    assert_eq!(poll(&mut net, two, fourth, 1), [(0, 15)]);
}

#[test]
fn queues_of_a_topic_that_grows_are_seen_and_read_from_their_beginning() {
    let mut net = Net::with_topic("T", 1);
    let member = net.member_with("1@a", |config| config.route_interval = Duration::from_secs(1));
    let mut config = config();
    config.start_at = StartAt::Last;
    let consumer = start(&mut net, member, config);
    net.run(500);
    assert_eq!(net.members[member].client.readable_queues(&"T".into()).len(), 1);
    grow(&mut net, member, "T", 3);
    net.run(3_000);
    assert_eq!(net.members[member].client.readable_queues(&"T".into()).len(), 3);
    assert_eq!(net.members[member].client.assignment(consumer).len(), 3);
    let changed = |notice: &rocketry_core::Notice| matches!(notice, rocketry_core::Notice::RouteChanged(topic) if topic.as_str() == "T");
    assert!(net.members[member].notices.iter().any(changed));
}
