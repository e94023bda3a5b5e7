//! What a lite consumer does once: asking for offsets, single pulls, sending back.

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::machine::UnixMillis;
use rocketry_core::{
    Certainty, ConsumerId, Lite, LiteConfig, LiteOutcome, MessageQueue, OffsetOf, OpErrorKind, Outcome, PullOnce,
    PullStatus, Pulled, Received, RejectReason,
};

use crate::lite::queue;
use crate::world::{Act, World};

/// A consumer without topics and queues, whose client knows the route of `T`.
fn idle() -> (World, ConsumerId) {
    let mut world = World::new();
    let consumer = world.start_lite(LiteConfig::new("g"));
    let route = world.submit(rocketry_core::Command::Control(rocketry_core::Control::Route("T".into())));
    assert!(matches!(world.outcome(route), Outcome::Routed(_)));
    (world, consumer)
}

fn ask(world: &mut World, consumer: ConsumerId, what: OffsetOf) -> Outcome {
    let op = world.lite(Lite::Ask { consumer, queue: queue(0), what });
    world.outcome(op)
}

fn offset(outcome: &Outcome) -> Option<i64> {
    match outcome {
        Outcome::Lite(LiteOutcome::Offset(offset)) => *offset,
        other => panic!("it ended with {other:?}"),
    }
}

fn pull(world: &mut World, consumer: ConsumerId, pull: PullOnce) -> Outcome {
    let op = world.lite(Lite::Pull { consumer, pull });
    world.outcome(op)
}

fn pulled(outcome: Outcome) -> Pulled {
    match outcome {
        Outcome::Lite(LiteOutcome::Pulled(pulled)) => pulled,
        other => panic!("it ended with {other:?}"),
    }
}

fn offsets(messages: &[Received]) -> Vec<i64> {
    messages.iter().map(|message| message.stored.queue_offset()).collect()
}

#[test]
fn offsets_of_any_queue_can_be_asked_for_and_stored() {
    let (mut world, consumer) = idle();
    world.queues.entry(("T".into(), 0)).or_default().min = 4;
    world.store("T", 0, 6);
    assert_eq!(offset(&ask(&mut world, consumer, OffsetOf::Min)), Some(4));
    assert_eq!(offset(&ask(&mut world, consumer, OffsetOf::Max)), Some(10));
    assert_eq!(offset(&ask(&mut world, consumer, OffsetOf::Time(UnixMillis::new(1)))), Some(3));
    assert_eq!(offset(&ask(&mut world, consumer, OffsetOf::Committed)), None, "none is not zero");
    let save = world.lite(Lite::Save { consumer, queue: queue(0), offset: 7 });
    assert!(matches!(world.outcome(save), Outcome::Changed));
    assert_eq!(offset(&ask(&mut world, consumer, OffsetOf::Committed)), Some(7));
}

#[test]
fn off_02_a_failure_is_never_no_offset() {
    let error = || Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new());
    let negative = || Act::Say(ResponseCode::SUCCESS, vec![("offset", "-1".into())], Bytes::new());
    for act in [error(), negative(), Act::Say(ResponseCode::SUCCESS, Vec::new(), Bytes::new()), Act::Nothing, Act::Hang]
    {
        let (mut world, consumer) = idle();
        world.script(RequestCode::QUERY_CONSUMER_OFFSET, [act]);
        let ended = ask(&mut world, consumer, OffsetOf::Committed);
        assert!(matches!(&ended, Outcome::Failed(_)), "{ended:?}");
    }
}

#[test]
fn a_queue_of_an_unknown_broker_cannot_be_asked_about() {
    let (mut world, consumer) = idle();
    let foreign = MessageQueue::new("T", "nowhere", 0);
    let op = world.lite(Lite::Ask { consumer, queue: foreign, what: OffsetOf::Min });
    let Outcome::Failed(error) = world.outcome(op) else { panic!("nobody can answer") };
    assert_eq!(error.certainty, Certainty::NotSent);
}

#[test]
fn single_pulls_have_the_statuses_of_brokers() {
    let (mut world, consumer) = idle();
    world.store("T", 0, 5);
    let found = pulled(pull(&mut world, consumer, PullOnce::new(queue(0), 2, 2)));
    assert_eq!((found.status, found.next, found.min, found.max), (PullStatus::Found, 4, 0, 5));
    assert_eq!(offsets(&found.messages), [2, 3]);
    let request = world.requests(RequestCode::PULL_MESSAGE).pop().expect("a pull");
    assert_eq!((request.number("sysFlag"), request.number("suspendTimeoutMillis")), (4, 0));
    let illegal = pulled(pull(&mut world, consumer, PullOnce::new(queue(0), 9, 2)));
    assert_eq!((illegal.status, illegal.next), (PullStatus::OffsetIllegal, 5));
    let waiting = PullOnce::new(queue(0), 5, 2).waiting(Duration::from_secs(20));
    let op = world.lite(Lite::Pull { consumer, pull: waiting });
    world.run(5_000);
    world.store("T", 0, 1);
    assert_eq!(offsets(&pulled(world.outcome(op)).messages), [5], "it waited for news");
    assert_eq!(world.requests(RequestCode::PULL_MESSAGE).pop().expect("a pull").number("sysFlag"), 6);
    for (code, status) in [
        (ResponseCode::PULL_NOT_FOUND, PullStatus::NoNew),
        (ResponseCode::PULL_RETRY_IMMEDIATELY, PullStatus::NoMatched),
    ] {
        let fields = crate::world::heading(6, 0, 6);
        world.script(RequestCode::PULL_MESSAGE, [Act::Say(code, fields, Bytes::new())]);
        assert_eq!(pulled(pull(&mut world, consumer, PullOnce::new(queue(0), 6, 2))).status, status);
    }
}

#[test]
fn single_pulls_take_only_what_has_the_tag_and_name_what_is_broken() {
    let (mut world, consumer) = idle();
    for tag in ["a", "b", "a"] {
        world.store_one("T", 0, |message| message.tag = Some(tag.into()));
    }
    world.store_one("T", 0, |message| message.broken = true);
    let found = pulled(pull(&mut world, consumer, PullOnce::new(queue(0), 0, 32).tags("a")));
    assert_eq!(offsets(&found.messages), [0, 2]);
    assert_eq!((found.next, found.undecodable.len()), (4, 1), "it is told, not passed over in silence");
    let bad = [
        PullOnce::new(queue(0), -1, 1),
        PullOnce::new(queue(0), 0, 0),
        PullOnce::new(queue(0), 0, 1_025),
        PullOnce::new(queue(0), 0, 1).tags("||"),
        PullOnce::new(queue(0), 0, 1).waiting(Duration::from_secs(61)),
    ];
    for pull in bad {
        assert!(matches!(world.refused(Lite::Pull { consumer, pull }), RejectReason::Invalid(_)));
    }
}

#[test]
fn off_06_a_single_pull_that_leads_back_is_an_error() {
    let (mut world, consumer) = idle();
    world.script(
        RequestCode::PULL_MESSAGE,
        [Act::Say(ResponseCode::SUCCESS, crate::world::heading(1, 0, 5), Bytes::new())],
    );
    let Outcome::Failed(error) = pull(&mut world, consumer, PullOnce::new(queue(0), 3, 1)) else {
        panic!("it leads back")
    };
    assert!(matches!(error.kind, OpErrorKind::Protocol(_)), "{error}");
}

fn one(world: &mut World, consumer: ConsumerId) -> Box<Received> {
    world.store("T", 0, 1);
    let mut found = pulled(pull(world, consumer, PullOnce::new(queue(0), 0, 1)));
    Box::new(found.messages.remove(0))
}

#[test]
fn a_message_goes_back_to_the_broker_that_holds_it() {
    let (mut world, consumer) = idle();
    let message = one(&mut world, consumer);
    let op = world.lite(Lite::SendBack { consumer, message, delay_level: 3 });
    assert!(matches!(world.outcome(op), Outcome::Changed));
    let back = world.requests(RequestCode::CONSUMER_SEND_MSG_BACK).pop().expect("a request");
    assert_eq!((back.text("group"), back.number("delayLevel"), back.number("offset")), ("g".into(), 3, 1_000));
    let message = one(&mut world, consumer);
    let refused = world.refused(Lite::SendBack { consumer, message, delay_level: 19 });
    assert!(matches!(refused, RejectReason::Invalid(_)));
}

#[test]
fn a_message_that_its_broker_does_not_take_back_is_copied() {
    let (mut world, consumer) = idle();
    world.topics.insert("%RETRY%g".into(), 1);
    let route = world.submit(rocketry_core::Command::Control(rocketry_core::Control::Route("%RETRY%g".into())));
    world.outcome(route);
    let message = one(&mut world, consumer);
    world.script(RequestCode::CONSUMER_SEND_MSG_BACK, [Act::Say(ResponseCode::SYSTEM_ERROR, vec![], Bytes::new())]);
    let op = world.lite(Lite::SendBack { consumer, message, delay_level: 0 });
    assert!(matches!(world.outcome(op), Outcome::Changed));
    let copy = world.requests(RequestCode::SEND_MESSAGE_V2).pop().expect("a copy");
    assert_eq!(copy.text("b"), "%RETRY%g");
    let properties = copy.text("i");
    assert!(properties.contains("ORIGIN_MESSAGE_ID"), "the message's first id is kept: {properties:?}");
    // Nobody takes it: the operation says so.
    let mut left = 2;
    world.bend(move |seen| {
        let fails = matches!(seen.code(), RequestCode::CONSUMER_SEND_MSG_BACK | RequestCode::SEND_MESSAGE_V2);
        left -= i32::from(fails);
        (fails && left >= 0).then(|| Act::Say(ResponseCode::SYSTEM_ERROR, vec![], Bytes::new()))
    });
    let message = one(&mut world, consumer);
    let op = world.lite(Lite::SendBack { consumer, message, delay_level: 0 });
    assert!(matches!(world.outcome(op), Outcome::Failed(_)));
}
