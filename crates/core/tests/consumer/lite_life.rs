//! Starting and stopping lite consumers, and what they tell brokers and the trace.

use std::time::Duration;

use rocketry_core::codec::codes::RequestCode;
use rocketry_core::machine::Moment;
use rocketry_core::{
    Command, Commit, CommitUntil, Config, Consume, ConsumerId, Lite, LiteConfig, MessageTrace, OffsetOf, OnUnreachable,
    OpErrorKind, OpId, Outcome, RejectReason, SeekTo,
};

use crate::lite::{PULL, config, queue};
use crate::world::{Act, NAME_SERVER, World};

fn stop(world: &mut World, consumer: ConsumerId) -> OpId {
    world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(10) }))
}

fn failed(outcome: &Outcome, kind: &OpErrorKind) -> bool {
    matches!(outcome, Outcome::Failed(error) if error.kind == *kind)
}

#[test]
fn shu_02_a_long_poll_of_a_lite_consumer_does_not_delay_its_stop() {
    let mut world = World::new();
    let consumer = world.start_lite(config());
    world.run(1_000);
    let before = world.at;
    let op = stop(&mut world, consumer);
    assert!(matches!(world.outcome(op), Outcome::Stopped(report) if report == Default::default()));
    assert!(world.at.since(before) < Duration::from_millis(100));
    world.run(60_000);
    assert_eq!(world.requests(PULL).len(), 1, "nothing is pulled any more");
}

#[test]
fn shu_03_whatever_waits_ends_with_the_consumer_and_nothing_follows() {
    let mut world = World::new();
    world.store("T", 0, 5);
    let consumer = world.start_lite(config());
    world.run(100);
    let silent = [
        RequestCode::GET_MIN_OFFSET,
        RequestCode::GET_MAX_OFFSET,
        RequestCode::UPDATE_CONSUMER_OFFSET,
        RequestCode::PULL_MESSAGE,
    ];
    world.bend(move |seen| silent.contains(&seen.code()).then_some(Act::Nothing));
    let poll = world.poll(consumer, 10);
    assert_eq!(poll, [0, 1, 2, 3, 4]);
    let waiting = world.lite(Lite::Poll { consumer, max: 1, timeout: Duration::from_secs(60) });
    let seek = world.lite(Lite::Seek { consumer, queue: queue(0), to: SeekTo::Begin });
    let ask = world.lite(Lite::Ask { consumer, queue: queue(0), what: OffsetOf::Max });
    let commit = world.lite(Lite::Commit { consumer, what: Commit::All, until: CommitUntil::Stored });
    let op = stop(&mut world, consumer);
    for waits in [waiting, seek, ask] {
        assert!(failed(&world.outcome(waits), &OpErrorKind::Stopping));
    }
    let Outcome::Stopped(report) = world.outcome(op) else { panic!("it stops") };
    assert_eq!(report.unsaved_queues, 1, "the broker says nothing about the position");
    assert!(matches!(world.outcome(commit), Outcome::Failed(_)));
    assert!(world.done.is_empty(), "each ends once");
    for late in [
        Lite::Poll { consumer, max: 1, timeout: Duration::ZERO },
        Lite::Ask { consumer, queue: queue(0), what: OffsetOf::Max },
        Lite::Commit { consumer, what: Commit::All, until: CommitUntil::Accepted },
        Lite::Pause { consumer, queues: vec![queue(0)] },
    ] {
        assert_eq!(world.refused(late), RejectReason::NotRunning { what: "lite consumer" });
    }
    assert_eq!(world.client.assignment(consumer), []);
}

#[test]
fn shu_04_a_failed_start_leaves_nothing_behind_and_may_be_tried_again() {
    let mut world = World::with(|config: &mut Config| config.on_unreachable = OnUnreachable::Fail);
    world.take_down(NAME_SERVER);
    let op = world.lite(Lite::Start(Box::new(config())));
    let ended = world.outcome(op);
    assert!(
        matches!(&ended, Outcome::Failed(error) if matches!(error.kind, OpErrorKind::NoNameServer { .. })),
        "{ended:?}"
    );
    world.down.clear();
    world.run(2_000);
    let consumer = world.start_lite(config());
    world.store("T", 0, 1);
    assert_eq!(world.poll(consumer, 1), [0]);
    let twice = Lite::Start(Box::new(config()));
    assert!(matches!(world.refused(twice), RejectReason::Invalid(_)), "one consumer of a group in a client");
}

#[test]
fn settings_are_checked_before_anything_happens() {
    let mut world = World::new();
    type Change = fn(&mut LiteConfig);
    let broken: [Change; 7] = [
        |config| config.group = "a b".into(),
        |config| config.pull_batch = 0,
        |config| config.max_cached_total = 0,
        |config| config.auto_commit = Some(Duration::ZERO),
        |config| config.long_poll = Duration::from_secs(61),
        |config| drop(config.subscriptions.insert("T".into(), "||".into())),
        |config| drop(config.filters.insert("T".into(), "||".into())),
    ];
    for change in broken {
        let mut config = config();
        change(&mut config);
        assert!(matches!(world.refused(Lite::Start(Box::new(config))), RejectReason::Invalid(_)));
    }
    assert!(world.seen.is_empty());
    assert_eq!(world.at, Moment::ZERO);
}

#[test]
fn polls_are_counted_and_traced_as_handlers_are() {
    let mut world = World::new();
    world.topics.insert("RMQ_SYS_TRACE_TOPIC".into(), 1);
    world.store_one("T", 0, |message| message.properties.push(("MSG_REGION", "here".into())));
    world.store_one("T", 0, |message| message.properties.push(("MSG_REGION", "here".into())));
    let mut config = config();
    config.trace = Some(MessageTrace::default());
    let consumer = world.start_lite(config);
    world.run(10);
    assert_eq!(world.poll(consumer, 1), [0]);
    world.run(2_000);
    assert_eq!(world.poll(consumer, 1), [1]);
    world.run(10_000);
    assert_eq!(world.client.counters().consumed, 1, "the first is handled, the second is not yet");
    let traced: String = world
        .requests(RequestCode::SEND_MESSAGE_V2)
        .iter()
        .filter(|seen| seen.text("b") == "RMQ_SYS_TRACE_TOPIC")
        .map(|seen| String::from_utf8_lossy(seen.frame.body()).into_owned())
        .collect();
    let (begun, ended) = (traced.matches("SubBefore").count(), traced.matches("SubAfter").count());
    assert_eq!((begun, ended), (2, 1), "{traced}");
}
