//! Filters by properties (consumer.md 1.6, 1.9).

use bytes::Bytes;
use rocketry_core::codec::body::JsonBody;
use rocketry_core::codec::body::heartbeat::HeartbeatData;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{Command, Consume, ConsumerConfig, FilterExpression, OpErrorKind, Outcome, RejectReason};

use crate::world::{Act, World};

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", FilterExpression::sql("a > 5"))
}

#[test]
fn fil_02_heartbeat_and_pull_say_the_kind_and_the_version() {
    let mut world = World::new();
    world.store("T", 0, 1);
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(100);
    assert_eq!(world.succeed(), [0], "the broker has looked at the properties");
    let beat = HeartbeatData::decode(world.requests(RequestCode::HEART_BEAT)[0].frame.body()).expect("a heartbeat");
    let told = beat.consumers[0].subscriptions.iter().find(|told| told.topic == "T").expect("a subscription");
    assert_eq!((told.expression_type.as_str(), told.expression.as_str()), ("SQL92", "a > 5"));
    assert!(told.tags.is_empty() && told.tag_codes.is_empty());
    let pull = &world.requests_of(RequestCode::PULL_MESSAGE, "T")[0];
    assert_eq!((pull.text("expressionType").as_str(), pull.number("subVersion")), ("SQL92", told.version_ms));
    let retry = world.requests_of(RequestCode::PULL_MESSAGE, "%RETRY%g");
    assert!(retry.iter().all(|pull| pull.text("expressionType") == "TAG"));
}

#[test]
fn fil_02_a_broker_that_has_not_heard_of_it_hears_and_is_asked_again() {
    for code in [23, 24, 25] {
        let mut world = World::new();
        world.store("T", 0, 1);
        world.offsets.insert(("T".into(), 0), 0);
        let refused = Act::Say(ResponseCode(code), Vec::new(), Bytes::new());
        let mut left = vec![refused];
        world.bend(move |seen| {
            let is_pull = seen.code() == RequestCode::PULL_MESSAGE && seen.text("topic") == "T";
            if is_pull { left.pop() } else { None }
        });
        world.start(config());
        let before = world.requests(RequestCode::HEART_BEAT).len();
        world.run(3_000);
        assert_eq!(world.succeed(), [0], "{code}");
        assert!(code == 23 || world.requests(RequestCode::HEART_BEAT).len() > before, "{code}");
    }
}

#[test]
fn fil_03_a_broker_without_it_fails_the_start_with_its_words() {
    let mut world = World::new();
    let refused = Act::Say(ResponseCode(1), Vec::new(), Bytes::new());
    world.script(RequestCode::CHECK_CLIENT_CONFIG, [refused]);
    let op = world.submit(Command::Consume(Consume::Start(Box::new(config()))));
    match world.outcome(op) {
        Outcome::Failed(error) => {
            assert!(
                matches!(error.kind, OpErrorKind::Broker { code: ResponseCode(1), ref remark } if remark == "as told")
            );
        }
        other => panic!("{other:?}"),
    }
    world.run(60_000);
    assert!(world.members.is_empty(), "nothing stays behind");
    world.start(ConsumerConfig::new("g").subscribe("T", "*"));
}

#[test]
fn a_broker_that_says_nothing_about_filters_is_no_reason_not_to_start() {
    let mut world = World::new();
    world.script(RequestCode::CHECK_CLIENT_CONFIG, [Act::Nothing]);
    world.start(config());
}

#[test]
fn a_condition_that_cannot_be_read_is_refused_with_its_place() {
    let mut world = World::new();
    let config = ConsumerConfig::new("g").subscribe("T", FilterExpression::sql("a > 5 AND"));
    let start = Command::Consume(Consume::Start(Box::new(config)));
    let rejected = world.client.submit(world.now(), start).expect_err("it is no condition");
    let RejectReason::Invalid(error) = rejected.why else { panic!("{:?}", rejected.why) };
    assert_eq!((error.setting, error.value.as_str()), ("subscriptions", "a > 5 AND"));
    assert!(error.reason.contains('9'), "{}", error.reason);
}
