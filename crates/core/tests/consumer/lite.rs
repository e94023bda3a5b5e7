//! Lite consumers: polls, seeks, queues by hand, pausing, bounds.

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode, Version};
use rocketry_core::machine::UnixMillis;
use rocketry_core::{
    Command, Consume, ConsumerId, GivenBack, Lite, LiteConfig, LiteOutcome, MessageQueue, Notice, OpErrorKind, OpId,
    Outcome, RejectReason, SeekTo, StartAt,
};

use crate::world::{Act, MASTER, ME, World};

pub const PULL: RequestCode = RequestCode::LITE_PULL_MESSAGE;

pub fn config() -> LiteConfig {
    let mut config = LiteConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    config
}

pub fn queue(id: i32) -> MessageQueue {
    MessageQueue::new("T", "b", id)
}

impl World {
    /// Starts a lite consumer and waits until it runs.
    pub fn start_lite(&mut self, config: LiteConfig) -> ConsumerId {
        let op = self.lite(Lite::Start(Box::new(config)));
        match self.outcome(op) {
            Outcome::ConsumerStarted(id) => id,
            other => panic!("the start ended with {other:?}"),
        }
    }

    pub fn lite(&mut self, lite: Lite) -> OpId {
        self.submit(Command::Consume(Consume::Lite(lite)))
    }

    /// Why a command is not taken.
    pub fn refused(&mut self, lite: Lite) -> RejectReason {
        let now = self.now();
        self.client.submit(now, Command::Consume(Consume::Lite(lite))).expect_err("it cannot be taken").why
    }

    /// Polls with a timeout of a second: the poll and the offsets that it brought.
    pub fn poll_op(&mut self, consumer: ConsumerId, max: u32) -> (OpId, Vec<i64>) {
        let op = self.lite(Lite::Poll { consumer, max, timeout: Duration::from_secs(1) });
        match self.outcome(op) {
            Outcome::Lite(LiteOutcome::Polled(polled)) => {
                assert_eq!(polled.poll, op);
                (op, polled.messages.iter().map(|message| message.stored.queue_offset()).collect())
            }
            other => panic!("the poll ended with {other:?}"),
        }
    }

    pub fn poll(&mut self, consumer: ConsumerId, max: u32) -> Vec<i64> {
        self.poll_op(consumer, max).1
    }

    pub fn seek(&mut self, consumer: ConsumerId, to: SeekTo) -> Outcome {
        let op = self.lite(Lite::Seek { consumer, queue: queue(0), to });
        self.outcome(op)
    }

    /// What is stored at the broker of queue 0.
    pub fn stored_position(&self) -> Option<i64> {
        self.offsets.get(&("T".to_owned(), 0)).copied()
    }
}

fn landed(outcome: &Outcome) -> Option<i64> {
    match outcome {
        Outcome::Lite(LiteOutcome::Offset(offset)) => *offset,
        other => panic!("it ended with {other:?}"),
    }
}

#[test]
fn polls_bring_messages_in_order_and_end_empty_when_their_time_is_over() {
    let mut world = World::new();
    world.store("T", 0, 25);
    let consumer = world.start_lite(config());
    assert_eq!(world.poll(consumer, 10), (0..10).collect::<Vec<_>>());
    world.run(100);
    assert_eq!(world.poll(consumer, 20), (10..25).collect::<Vec<_>>());
    let before = world.at;
    assert_eq!(world.poll(consumer, 20), Vec::<i64>::new());
    assert_eq!(world.at.since(before), Duration::from_secs(1), "in virtual time this is exact");
    let now = world.lite(Lite::Poll { consumer, max: 1, timeout: Duration::ZERO });
    assert!(world.done.iter().any(|(op, _)| *op == now), "a poll that may not wait ends at once");
    let waiting = world.lite(Lite::Poll { consumer, max: 5, timeout: Duration::from_secs(5) });
    world.run(10);
    world.store("T", 0, 1);
    let Outcome::Lite(LiteOutcome::Polled(polled)) = world.outcome(waiting) else { panic!("a poll") };
    assert_eq!(polled.messages[0].stored.queue_offset(), 25, "news wakes a waiting poll");
    assert_eq!(polled.messages[0].topic.as_str(), "T");
}

#[test]
fn one_poll_waits_at_a_time_and_can_be_given_up() {
    let mut world = World::new();
    let consumer = world.start_lite(config());
    let first = world.lite(Lite::Poll { consumer, max: 5, timeout: Duration::from_secs(60) });
    let second = Lite::Poll { consumer, max: 5, timeout: Duration::ZERO };
    assert_eq!(world.refused(second), RejectReason::PollPending);
    assert!(matches!(
        world.refused(Lite::Poll { consumer, max: 0, timeout: Duration::ZERO }),
        RejectReason::Invalid(_)
    ));
    let now = world.now();
    world.client.cancel(now, first);
    let ended = world.outcome(first);
    assert!(matches!(&ended, Outcome::Failed(error) if error.kind == OpErrorKind::Cancelled), "{ended:?}");
    world.store("T", 0, 3);
    world.run(10);
    assert_eq!(world.poll(consumer, 5), [0, 1, 2], "the poll that was given up took nothing with it");
    let last = world.lite(Lite::Poll { consumer, max: 5, timeout: Duration::from_secs(60) });
    let stop = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(1) }));
    let ended = world.outcome(last);
    assert!(matches!(&ended, Outcome::Failed(error) if error.kind == OpErrorKind::Stopping), "{ended:?}");
    assert!(matches!(world.outcome(stop), Outcome::Stopped(_)));
    let gone = world.refused(Lite::Poll { consumer, max: 5, timeout: Duration::ZERO });
    assert_eq!(gone, RejectReason::NotRunning { what: "lite consumer" });
}

#[test]
fn what_nobody_took_of_a_poll_comes_again() {
    let mut world = World::new();
    world.store("T", 0, 6);
    let consumer = world.start_lite(config());
    world.run(10);
    let (poll, offsets) = world.poll_op(consumer, 4);
    assert_eq!(offsets, [0, 1, 2, 3]);
    let untaken = vec![(2, GivenBack::Untaken), (3, GivenBack::Untaken)];
    world.lite(Lite::GiveBack { consumer, poll, messages: untaken.clone() });
    assert_eq!(world.poll(consumer, 10), [2, 3, 4, 5]);
    world.lite(Lite::GiveBack { consumer, poll, messages: untaken });
    assert_eq!(world.poll(consumer, 10), Vec::<i64>::new(), "an earlier poll has nothing to give back any more");
    world.run(6_000);
    assert_eq!(world.stored_position(), Some(6));
}

#[test]
fn an_unreadable_body_is_set_aside_and_holds_the_position() {
    let mut world = World::new();
    world.store("T", 0, 3);
    let consumer = world.start_lite(config());
    world.run(10);
    let (poll, _) = world.poll_op(consumer, 3);
    let messages = vec![(1, GivenBack::Undecodable("it is not zlib"))];
    world.lite(Lite::GiveBack { consumer, poll, messages });
    assert_eq!(world.poll(consumer, 3), Vec::<i64>::new());
    let told = |notice: &Notice| matches!(notice, Notice::Undecodable { queue_offset: Some(1), .. });
    assert!(world.notices.iter().any(told));
    world.run(6_000);
    assert_eq!(world.stored_position(), Some(1), "the position does not pass it unseen");
}

#[test]
fn off_11_an_answer_from_before_a_seek_is_discarded() {
    let mut world = World::new();
    world.store("T", 0, 900);
    world.offsets.insert(("T".into(), 0), 900);
    let consumer = world.start_lite(config());
    world.run(100);
    assert_eq!(world.requests(PULL).last().map(|pull| pull.number("queueOffset")), Some(900), "it waits at the end");
    let seek = world.lite(Lite::Seek { consumer, queue: queue(0), to: SeekTo::Offset(100) });
    // The pull from 900 is answered while the seek asks for the ends of the queue.
    world.store("T", 0, 1);
    assert_eq!(landed(&world.outcome(seek)), Some(100));
    assert_eq!(world.client.position(consumer, &queue(0)), Some(100));
    let mut next = 100;
    while next < 901 {
        let offsets = world.poll(consumer, 50);
        assert!(!offsets.is_empty(), "all come again");
        for offset in offsets {
            assert_eq!(offset, next);
            next += 1;
        }
    }
}

#[test]
fn off_11_an_answer_from_after_a_seek_to_an_older_pull_is_stale() {
    let mut world = World::new();
    world.store("T", 0, 900);
    world.offsets.insert(("T".into(), 0), 900);
    let consumer = world.start_lite(config());
    world.run(100);
    assert_eq!(landed(&world.seek(consumer, SeekTo::Offset(890))), Some(890));
    world.run(100);
    // Two pulls wait at 900: that from before the seek is answered too.
    world.store("T", 0, 1);
    world.run(100);
    assert_eq!(world.poll(consumer, 50), (890..901).collect::<Vec<_>>(), "each once, in order");
    assert_eq!(world.client.broken(), None);
}

#[test]
fn off_11_seeks_lead_to_both_ends_and_to_a_time_and_nowhere_else() {
    let mut world = World::new();
    world.queues.entry(("T".into(), 0)).or_default().min = 20;
    world.store("T", 0, 30);
    let consumer = world.start_lite(config());
    world.run(100);
    assert_eq!(landed(&world.seek(consumer, SeekTo::End)), Some(50));
    assert_eq!(world.poll(consumer, 10), Vec::<i64>::new());
    assert_eq!(landed(&world.seek(consumer, SeekTo::Begin)), Some(20));
    assert_eq!(world.poll(consumer, 10), (20..30).collect::<Vec<_>>());
    assert_eq!(landed(&world.seek(consumer, SeekTo::Offset(50))), Some(50), "the end is legal");
    assert_eq!(landed(&world.seek(consumer, SeekTo::Time(UnixMillis::new(7)))), Some(3));
    for offset in [19, 51] {
        let Outcome::Failed(error) = world.seek(consumer, SeekTo::Offset(offset)) else {
            panic!("{offset} is illegal")
        };
        assert_eq!(error.kind, OpErrorKind::OffsetOutOfRange { offset, min: 20, max: 50 });
    }
    let foreign = Lite::Seek { consumer, queue: queue(7), to: SeekTo::Begin };
    assert_eq!(world.refused(foreign), RejectReason::NotAssigned(queue(7)));
    let negative = Lite::Seek { consumer, queue: queue(0), to: SeekTo::Offset(-1) };
    assert!(matches!(world.refused(negative), RejectReason::Invalid(_)));
}

#[test]
fn off_11_a_seek_survives_a_failing_pull() {
    let mut world = World::new();
    world.store("T", 0, 50);
    world.offsets.insert(("T".into(), 0), 50);
    let consumer = world.start_lite(config());
    world.run(100);
    let mut failures = 3;
    world.bend(move |seen| {
        let fails = seen.code() == PULL && failures > 0;
        failures -= i32::from(fails);
        fails.then(|| Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new()))
    });
    assert_eq!(landed(&world.seek(consumer, SeekTo::Offset(10))), Some(10));
    assert_eq!(world.poll(consumer, 5), Vec::<i64>::new(), "pulls fail");
    world.run(5_000);
    assert_eq!(world.poll(consumer, 5), [10, 11, 12, 13, 14], "and go on at the target");
}

#[test]
fn off_11_a_seek_ends_when_its_queue_moves_away_or_a_later_one_comes() {
    let mut world = World::new();
    world.store("T", 0, 50);
    let consumer = world.start_lite(config());
    world.run(100);
    let first = world.lite(Lite::Seek { consumer, queue: queue(0), to: SeekTo::Offset(10) });
    let second = world.lite(Lite::Seek { consumer, queue: queue(0), to: SeekTo::Offset(20) });
    assert!(matches!(world.outcome(first), Outcome::Failed(error) if matches!(error.kind, OpErrorKind::Refused(_))));
    assert_eq!(landed(&world.outcome(second)), Some(20));
    // A member comes that takes the only queue, while the next seek waits for an answer.
    world.script(RequestCode::GET_MIN_OFFSET, [Act::Nothing]);
    let third = world.lite(Lite::Seek { consumer, queue: queue(0), to: SeekTo::Offset(30) });
    world.members.insert("0@first".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(1_000);
    assert_eq!(world.client.assignment(consumer), []);
    let Outcome::Failed(error) = world.outcome(third) else { panic!("nobody answers") };
    assert!(matches!(error.kind, OpErrorKind::TimedOut { .. }), "{error}");
    let late = Lite::Seek { consumer, queue: queue(0), to: SeekTo::Begin };
    assert_eq!(world.refused(late), RejectReason::NotAssigned(queue(0)));
}

#[test]
fn subscribe_and_assign_exclude_each_other() {
    let mut world = World::new();
    let subscribed = world.start_lite(config());
    let assign = Lite::Assign { consumer: subscribed, queues: vec![queue(0)] };
    assert_eq!(world.refused(assign), RejectReason::Exclusive);
    let unsubscribe = Consume::Unsubscribe { consumer: subscribed, topic: "T".into() };
    world.submit(Command::Consume(unsubscribe));
    let assign = Lite::Assign { consumer: subscribed, queues: vec![queue(0)] };
    assert_eq!(world.refused(assign), RejectReason::Exclusive, "that is for the whole life");
    let assigned = world.start_lite(LiteConfig::new("h"));
    assert!(matches!(world.refused(Lite::Assign { consumer: assigned, queues: vec![] }), RejectReason::Invalid(_)));
    world.lite(Lite::Assign { consumer: assigned, queues: vec![queue(0)] });
    let subscribe = Consume::Subscribe { consumer: assigned, topic: "T".into(), filter: "*".into() };
    let now = world.now();
    let refused = world.client.submit(now, Command::Consume(subscribe)).expect_err("it is assigned").why;
    assert_eq!(refused, RejectReason::Exclusive);
    let both = LiteConfig::new("i").subscribe("T", "*").assign([queue(0)]);
    assert!(matches!(world.refused(Lite::Start(Box::new(both))), RejectReason::Invalid(_)));
}

#[test]
fn assigned_queues_are_read_without_telling_brokers_of_topics() {
    let mut world = World::new();
    world.topics.insert("T".into(), 3);
    for id in 0..3 {
        world.store("T", id, 5);
    }
    let mut config = LiteConfig::new("g").assign([queue(0), queue(2)]);
    config.start_at = StartAt::First;
    let consumer = world.start_lite(config);
    world.run(100);
    assert_eq!(world.client.assignment(consumer), [queue(0), queue(2)]);
    assert_eq!(world.poll(consumer, 20).len(), 10);
    assert!(world.requests(RequestCode::GET_CONSUMER_LIST_BY_GROUP).is_empty(), "nothing is divided");
    let heartbeat = world.requests(RequestCode::HEART_BEAT).pop().expect("a heartbeat");
    let text = String::from_utf8_lossy(heartbeat.frame.body()).into_owned();
    assert!(text.contains("\"CONSUME_ACTIVELY\"") && text.contains("\"subscriptionDataSet\":[]"), "{text}");
    let pull = world.requests(PULL).pop().expect("a pull");
    assert_eq!((pull.number("sysFlag"), pull.number("subVersion"), pull.number("commitOffset")), (22, 0, 0));
    assert_eq!(pull.text("subscription"), "*");
    // Another assignment: what stays goes on, what goes is saved, what comes is read.
    world.lite(Lite::Assign { consumer, queues: vec![queue(1), queue(2)] });
    let polled = world.poll(consumer, 20);
    assert_eq!(polled, [0, 1, 2, 3, 4], "queue 2 does not begin again");
    world.run(6_000);
    assert_eq!(world.client.assignment(consumer), [queue(1), queue(2)]);
    assert_eq!(world.offsets.get(&("T".into(), 2)), Some(&5));
}

#[test]
fn a_queue_of_an_unknown_topic_waits_for_its_route() {
    let mut world = World::new();
    let consumer = world.start_lite(LiteConfig::new("g"));
    let later = MessageQueue::new("later", "b", 0);
    world.lite(Lite::Assign { consumer, queues: vec![later.clone()] });
    world.run(1_000);
    assert_eq!(world.client.position(consumer, &later), None);
    world.topics.insert("later".into(), 1);
    world.run(40_000);
    assert_eq!(world.client.position(consumer, &later), Some(0));
}

#[test]
fn a_broker_that_does_not_know_lite_pulls_is_pulled_plainly() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.bend(|seen| {
        (seen.code() == PULL).then(|| Act::Say(ResponseCode::REQUEST_CODE_NOT_SUPPORTED, Vec::new(), Bytes::new()))
    });
    let consumer = world.start_lite(config());
    assert_eq!(world.poll(consumer, 5), [0, 1, 2]);
    world.run(10_000);
    assert_eq!(world.requests(PULL).len(), 1, "it is asked once");
}

#[test]
fn brokers_before_5_0_are_pulled_plainly_from_the_start() {
    let mut world = World::speaking(Version::release(4, 2, 0));
    world.store("T", 0, 3);
    let consumer = world.start_lite(config());
    assert_eq!(world.poll(consumer, 5), [0, 1, 2]);
    assert!(world.requests(PULL).is_empty(), "such a broker would not even answer");
    let pull = world.requests(RequestCode::PULL_MESSAGE).pop().expect("a pull");
    assert_eq!((pull.number("sysFlag"), pull.text("subscription")), (22, "*".into()));
}

#[test]
fn a_paused_queue_is_not_pulled_and_what_it_has_is_handed_over() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(config());
    world.run(100);
    world.lite(Lite::Pause { consumer, queues: vec![queue(0), queue(9)] });
    assert_eq!(world.poll(consumer, 100), (0..30).collect::<Vec<_>>());
    world.store("T", 0, 5);
    world.run(100);
    let pulls = world.requests(PULL).len();
    assert_eq!(world.poll(consumer, 100), [30, 31, 32, 33, 34], "the pull that was on its way");
    world.store("T", 0, 5);
    world.run(60_000);
    assert_eq!(world.requests(PULL).len(), pulls);
    world.seek(consumer, SeekTo::Offset(38));
    assert_eq!(world.poll(consumer, 100), Vec::<i64>::new(), "a seek does not end a pause");
    world.lite(Lite::Unpause { consumer, queues: vec![queue(0)] });
    assert_eq!(world.poll(consumer, 100), [38, 39]);
}

#[test]
fn flo_02_what_is_kept_of_all_queues_is_bounded() {
    let mut world = World::new();
    world.topics.insert("T".into(), 4);
    for id in 0..4 {
        world.store("T", id, 100);
    }
    let mut config = config();
    (config.pull_batch, config.max_cached_total) = (10, 30);
    let consumer = world.start_lite(config);
    world.run(1_000);
    let pulled = world.client.counters().pulled;
    assert!((30..=60).contains(&pulled), "{pulled} messages are kept");
    let mut polled = 0;
    for _ in 0..100 {
        polled += world.poll(consumer, 7).len();
        if polled == 400 {
            break;
        }
    }
    assert_eq!(polled, 400, "room is used again");
}

#[test]
fn an_error_is_never_no_position_for_a_lite_consumer() {
    let mut world = World::new();
    world.store("T", 0, 5);
    world.offsets.insert(("T".into(), 0), 2);
    let error = Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new());
    world.script(RequestCode::QUERY_CONSUMER_OFFSET, [error.clone(), error]);
    let consumer = world.start_lite(config());
    world.run(3_000);
    assert_eq!(world.poll(consumer, 10), [2, 3, 4]);
}

#[test]
fn reb_10_a_queue_that_moves_away_takes_its_messages_along() {
    let mut world = World::new();
    world.store("T", 0, 100);
    let consumer = world.start_lite(config());
    world.run(100);
    assert_eq!(world.poll(consumer, 5), [0, 1, 2, 3, 4]);
    world.members.insert("0@first".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(100);
    assert_eq!(world.poll(consumer, 5), Vec::<i64>::new(), "nothing of it is handed over any more");
    world.members.remove("0@first");
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(100);
    assert_eq!(world.poll(consumer, 5), [0, 1, 2, 3, 4], "and all of it comes again");
    assert!(world.members.contains(ME) && world.requests(PULL).iter().all(|seen| seen.to == MASTER));
}
