//! Failed messages: sent back, copied, retried here, timed out.

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{Command, Consume, ConsumerConfig, Notice, Outcome};

use crate::world::{Act, MASTER, World};

const BACK: RequestCode = RequestCode::CONSUMER_SEND_MSG_BACK;
const COPY: RequestCode = RequestCode::SEND_MESSAGE_V2;

fn world_with(messages: usize) -> World {
    let mut world = World::new();
    world.topics.insert("%RETRY%g".into(), 1);
    world.store("T", 0, messages);
    world.offsets.insert(("T".into(), 0), 0);
    world
}

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", "*")
}

fn refuse(code: ResponseCode) -> Act {
    Act::Say(code, Vec::new(), Bytes::new())
}

fn position(world: &World) -> i64 {
    world.offsets[&("T".to_owned(), 0)]
}

#[test]
fn ret_02_a_failed_message_goes_back_to_the_master_of_its_broker() {
    let mut world = world_with(2);
    world.start(config());
    world.run(100);
    world.handle(|offered| match offered.message.stored.queue_offset() {
        0 => offered.ticket.retry(),
        _ => offered.ticket.succeed(),
    });
    world.run(10);
    let back = world.requests(BACK);
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].to, MASTER, "not the host in the record");
    assert_eq!((back[0].number("offset"), back[0].number("delayLevel")), (1_000, 0));
    assert_eq!((back[0].text("group"), back[0].text("originTopic")), ("g".into(), "T".into()));
    assert_eq!((back[0].text("originMsgId"), back[0].number("maxReconsumeTimes")), ("ID00000000".into(), 16));
    world.run(6_000);
    assert_eq!(position(&world), 2);
    assert_eq!(world.client.counters().sent_back, 1);
}

#[test]
fn ret_04_delay_levels() {
    for (asked, sent) in [(-7, -1), (-1, -1), (0, 0), (5, 5), (18, 18), (19, 18)] {
        let mut world = world_with(1);
        world.start(config());
        world.run(100);
        world.handle(|offered| offered.ticket.retry_at(asked));
        assert_eq!(world.requests(BACK)[0].number("delayLevel"), sent);
    }
}

#[test]
fn a_redelivered_message_has_its_own_topic_and_ids() {
    let mut world = world_with(0);
    world.store_one("%RETRY%g", 0, |message| {
        message.properties = vec![("RETRY_TOPIC", "T".into()), ("ORIGIN_MESSAGE_ID", "first".into())];
        message.reconsume_times = 1;
    });
    world.start(config());
    world.run(100);
    world.handle(|offered| {
        let message = &offered.message;
        assert_eq!((message.topic.as_str(), message.queue.topic.as_str()), ("T", "%RETRY%g"));
        assert_eq!(message.stored.reconsume_times(), 1);
        assert_eq!(message.stored.unique_key(), Some("ID00000000"));
        offered.ticket.retry()
    });
    assert_eq!(world.requests(BACK)[0].text("originTopic"), "T");
}

#[test]
fn what_the_master_refuses_goes_as_a_copy_to_the_retry_topic() {
    let mut world = world_with(1);
    world.start(config());
    world.run(100);
    world.script(BACK, [refuse(ResponseCode::SYSTEM_ERROR)]);
    world.handle(|offered| offered.ticket.retry_at(4));
    world.run(10);
    let copies = world.requests(COPY);
    assert_eq!(copies.len(), 1);
    let copy = &copies[0];
    assert_eq!((copy.text("a"), copy.text("b")), ("CLIENT_INNER_PRODUCER".into(), "%RETRY%g".into()));
    assert_eq!((copy.number("j"), copy.number("l")), (1, 16));
    let properties = copy.text("i");
    for part in ["RETRY_TOPIC\u{1}T\u{2}", "ORIGIN_MESSAGE_ID\u{1}ID00000000\u{2}", "DELAY\u{1}4\u{2}"] {
        assert!(properties.contains(part), "{properties:?}");
    }
    assert_eq!(copy.frame.body().as_ref(), b"body 0");
    world.run(6_000);
    assert_eq!(position(&world), 1);
}

#[test]
fn a_copy_for_the_dead_letters_says_that_it_was_delivered_too_often() {
    let mut world = world_with(1);
    let mut config = config();
    config.max_redeliveries = 2;
    world.start(config);
    world.run(100);
    world.script(BACK, [refuse(ResponseCode::SYSTEM_ERROR)]);
    world.handle(|offered| offered.ticket.retry_at(-1));
    world.run(10);
    let copy = &world.requests(COPY)[0];
    assert_eq!((copy.number("j"), copy.number("l")), (3, 2));
}

#[test]
fn ret_06_what_no_broker_takes_comes_again_here() {
    let mut world = world_with(1);
    world.start(config());
    world.run(100);
    world.bend(|seen| match seen.code() {
        BACK | COPY => Some(refuse(ResponseCode::MESSAGE_ILLEGAL)),
        _ => None,
    });
    world.handle(|offered| offered.ticket.retry());
    world.run(4_900);
    assert!(world.deliveries.is_empty());
    let told = world.notices.iter().any(
        |notice| matches!(notice, Notice::Trouble { what: "send back", error, .. } if error.to_string().contains("13")),
    );
    assert!(told, "the event says why");
    world.run(200);
    assert_eq!(world.succeed(), [0]);
    world.run(6_000);
    assert_eq!(position(&world), 1);
}

#[test]
fn a_failed_message_holds_the_position_until_a_broker_has_it() {
    let mut world = world_with(3);
    world.start(config());
    world.run(100);
    world.script(BACK, [Act::Nothing]);
    world.handle(|offered| match offered.message.stored.queue_offset() {
        1 => offered.ticket.retry(),
        _ => offered.ticket.succeed(),
    });
    world.run(4_950);
    assert_eq!(position(&world), 1);
    world.run(11_000);
    assert_eq!(position(&world), 3, "the copy took its place");
}

#[test]
fn ret_03_a_handler_that_takes_too_long_is_sent_back_and_its_verdict_is_late() {
    let mut world = world_with(40);
    let mut config = config();
    config.consume_timeout = Duration::from_secs(60);
    world.start(config);
    world.run(100);
    let slow = world.deliveries.pop_front().expect("an offer");
    world.begin(slow.ask, 2).expect("it is ours");
    world.run(59_000);
    assert!(world.requests(BACK).is_empty());
    world.run(2_000);
    let back = world.requests(BACK);
    assert_eq!(back.len(), 2, "only what was started can be late");
    assert_eq!(back[0].number("delayLevel"), 3);
    assert!(world.notices.iter().any(|notice| matches!(notice, Notice::Trouble { what: "handler", .. })));
    let late = slow.offered.into_iter().take(2).map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(late), 2);
    world.run(6_000);
    assert_eq!(position(&world), 2);
    assert_eq!(world.client.counters().consumed, 0);
}

#[test]
fn ret_07_a_handler_that_runs_for_long_and_one_that_fails_are_told_of_once() {
    let mut world = world_with(3);
    let mut config = config();
    config.slow_after = Duration::from_secs(60);
    world.start(config);
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 1).expect("it is ours");
    world.run(30_000);
    world.begin(delivery.ask, 2).expect("it is ours");
    world.run(29_000);
    let slow = |world: &World| {
        let told = world.notices.iter().filter_map(|notice| match notice {
            Notice::SlowHandler { queue, queue_offset, running } => {
                Some((queue.topic.as_str().to_owned(), queue.id, *queue_offset, running.as_secs()))
            }
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(slow(&world), []);
    world.run(2_000);
    assert_eq!(slow(&world), [("T".into(), 0, 0, 60)]);
    world.run(200_000);
    assert_eq!(slow(&world).len(), 3, "the others follow, and none is told of twice");
    let verdicts =
        delivery.offered.into_iter().map(|offered| offered.ticket.retry().because("no space left")).collect();
    world.answer(verdicts);
    let failed = world.notices.iter().filter_map(|notice| match notice {
        Notice::HandlerFailed { queue_offset, redeliveries, reason, .. } => {
            Some((*queue_offset, *redeliveries, reason.as_str()))
        }
        _ => None,
    });
    assert_eq!(
        failed.collect::<Vec<_>>(),
        [(0, 0, "no space left"), (1, 0, "no space left"), (2, 0, "no space left")],
        "what the handler said is told for that attempt"
    );
}

#[test]
fn net_17_the_wall_clock_makes_nothing_late() {
    let mut world = world_with(1);
    world.start(config());
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 1).expect("it is ours");
    world.wall += 86_400_000;
    world.run(60_000);
    assert!(world.requests(BACK).is_empty());
    world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
    world.run(6_000);
    assert_eq!(position(&world), 1);
}

#[test]
fn a_stop_waits_for_send_backs() {
    let mut world = world_with(2);
    let consumer = world.start(config());
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 2).expect("it is ours");
    let op = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(10) }));
    world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.retry()).collect());
    assert!(matches!(world.outcome(op), Outcome::Stopped(_)));
    assert_eq!(world.requests(BACK).len(), 2);
    assert_eq!(position(&world), 2);
}

#[test]
fn the_retry_topic_is_looked_for_once_the_broker_has_made_it() {
    let mut world = world_with(1);
    world.topics.remove("%RETRY%g");
    world.start(config());
    world.run(100);
    world.topics.insert("%RETRY%g".into(), 1);
    world.handle(|offered| offered.ticket.retry());
    world.run(2_000);
    assert_eq!(world.requests_of(RequestCode::PULL_MESSAGE, "%RETRY%g").len(), 1);
}
