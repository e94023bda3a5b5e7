use crate::config::{BrokerConfig, TopicSpec};
use crate::testing::{World, messages, properties as text};
use alloc::collections::BTreeMap;
use core::time::Duration;
use rocketry_codec::base64::{self, Alphabet};
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::{
    AssignmentReply, BatchAck, BatchAckItem, QueryAssignment as Query, SetRequestMode,
};
use rocketry_codec::body::heartbeat::{ConsumerData, HeartbeatData};
use rocketry_codec::frame::Frame;
use rocketry_codec::pop::{RetryMark, parse_message_offsets, parse_start_offsets};
use rocketry_codec::reply::{ChangeInvisibleTimeReply, NotificationReply, PollingInfoReply, PopMessageReply};
use rocketry_codec::request::{
    AckMessage, BatchAckMessage, ChangeInvisibleTime, DeleteTopic, Heartbeat, Notification, PeekMessage, PollingInfo,
    PopMessage, QueryAssignment, SetMessageRequestMode,
};
use rocketry_machine::{ConnId, Prng, Seed};
use std::prelude::v1::*;
use std::{format, vec};

const SECOND: Duration = Duration::from_secs(1);

fn world_with(change: impl FnOnce(&mut BrokerConfig)) -> (World, ConnId) {
    let mut world = World::with(|config| {
        config.topics.push(TopicSpec::new("T", 1));
        config.topics.push(TopicSpec::new("Q", 4));
        change(config);
    });
    let client = world.connect();
    (world, client)
}

fn world() -> (World, ConnId) {
    world_with(|_| {})
}

/// A pop of five seconds that does not wait.
fn pop(topic: &'static str) -> PopMessage<'static> {
    PopMessage {
        consumer_group: "g".into(),
        topic: topic.into(),
        queue_id: -1,
        max_msg_nums: 32,
        invisible_time: 5_000,
        ..PopMessage::default()
    }
}

/// A popped message with what acknowledges it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Popped {
    body: String,
    topic: String,
    queue: i32,
    offset: i64,
    handle: String,
    tries: i32,
}

/// What an answer gives, with the handles that a client computes.
fn popped(frame: &Frame, topic: &str) -> Vec<Popped> {
    let reply: PopMessageReply<'_> = frame.read().expect("a pop answer");
    let starts = parse_start_offsets(reply.start_offset_info.as_deref().unwrap_or_default()).expect("starts");
    let offsets = parse_message_offsets(reply.msg_offset_info.as_deref().unwrap_or_default()).expect("offsets");
    let places: Vec<(RetryMark, i32, i64)> =
        offsets.iter().flat_map(|entry| entry.offsets.iter().map(|at| (entry.retry, entry.queue_id, *at))).collect();
    let found = messages(frame);
    assert_eq!(found.len(), places.len(), "one offset for each message");
    let one = |(message, (mark, queue, offset)): (rocketry_codec::message::StoredMessage, (RetryMark, i32, i64))| {
        let start = starts.iter().find(|start| (start.retry, start.queue_id) == (mark, queue)).expect("a start");
        let (time, hidden, revive) = (reply.pop_time, reply.invisible_time, reply.revive_queue_id);
        let handle = format!("{} {time} {hidden} {revive} {} broker-a {queue} {offset}", start.offset, mark.as_str());
        assert_eq!((message.topic(), message.queue_offset()), (topic, offset));
        if let Some(written) = message.properties().get("POP_CK") {
            assert_eq!(written, handle);
        }
        Popped {
            body: String::from_utf8_lossy(message.body_bytes()).into_owned(),
            topic: mark.real_topic("g", topic),
            queue,
            offset,
            handle,
            tries: message.reconsume_times(),
        }
    };
    found.into_iter().zip(places).map(one).collect()
}

fn take(world: &mut World, client: ConnId, topic: &'static str) -> Vec<Popped> {
    let frame = world.ask(client, &pop(topic), "");
    assert!(matches!(frame.code(), 0 | 210), "{frame:?}");
    popped(&frame, topic)
}

fn ack_of(message: &Popped) -> AckMessage<'_> {
    AckMessage {
        consumer_group: "g".into(),
        topic: (&*message.topic).into(),
        queue_id: message.queue,
        extra_info: (&*message.handle).into(),
        offset: message.offset,
        ..AckMessage::default()
    }
}

fn ack(world: &mut World, client: ConnId, message: &Popped) -> i32 {
    world.ask(client, &ack_of(message), "").code()
}

fn fill(world: &mut World, client: ConnId, topic: &str, count: i32) {
    for n in 0..count {
        world.send(client, topic, n % 4 * i32::from(topic == "Q"), "", &format!("{n}"));
    }
}

fn bodies_of(popped: &[Popped]) -> Vec<&str> {
    popped.iter().map(|message| &*message.body).collect()
}

#[test]
fn what_is_popped_is_invisible_and_comes_back_as_a_retry_until_acknowledged() {
    for v2 in [false, true] {
        let (mut world, client) = world_with(|config| config.pop_retry_v2 = v2);
        fill(&mut world, client, "T", 3);
        let first = take(&mut world, client, "T");
        assert_eq!(bodies_of(&first), ["0", "1", "2"]);
        assert_eq!(take(&mut world, client, "T"), []);
        assert_eq!(ack(&mut world, client, &first[1]), 0);
        world.pass(5 * SECOND);
        assert_eq!(take(&mut world, client, "T"), [], "late acknowledgements still count");
        assert_eq!(ack(&mut world, client, &first[2]), 0);
        world.pass(SECOND);
        for tries in 1..4 {
            let again = take(&mut world, client, "T");
            assert_eq!(bodies_of(&again), ["0"]);
            assert_eq!((&*again[0].topic, again[0].tries), (if v2 { "%RETRY%g+T" } else { "%RETRY%g_T" }, tries));
            assert_eq!(ack(&mut world, client, &first[0]), 0, "a void handle is no error");
            if tries == 3 {
                assert_eq!(ack(&mut world, client, &again[0]), 0);
            }
            world.pass(7 * SECOND);
        }
        assert_eq!(take(&mut world, client, "T"), []);
    }
}

#[test]
fn a_retried_message_says_when_it_was_popped_first() {
    let (mut world, client) = world();
    let sent = text(&[("TAGS", "a"), ("KEYS", "k")]);
    world.send(client, "T", 0, &sent, "x");
    let frame = world.ask(client, &pop("T"), "");
    let first: PopMessageReply<'_> = frame.read().expect("an answer");
    assert_eq!(frame.remark().as_deref(), Some("FOUND"));
    let mut asked = pop("T");
    asked.expression = Some("a||b".into());
    for _ in 0..2 {
        world.pass(7 * SECOND);
        let frame = world.ask(client, &asked, "");
        let again = messages(&frame).remove(0);
        for (name, value) in [("1ST_POP_TIME", &*first.pop_time.to_string()), ("TAGS", "a"), ("KEYS", "k")] {
            assert_eq!(again.properties().get(name), Some(value), "{name}");
        }
    }
}

#[test]
fn a_pop_goes_over_all_queues_and_says_what_remains() {
    let (mut world, client) = world();
    fill(&mut world, client, "Q", 16);
    let mut some = pop("Q");
    some.max_msg_nums = 6;
    let frame = world.ask(client, &some, "");
    let reply: PopMessageReply<'_> = frame.read().expect("an answer");
    let mut all = popped(&frame, "Q");
    assert_eq!((all.len(), reply.rest_num), (6, 10));
    all.extend(take(&mut world, client, "Q"));
    let mut bodies: Vec<i32> = all.iter().filter_map(|message| message.body.parse().ok()).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (0..16).collect::<Vec<i32>>());
    let one = PopMessage { consumer_group: "h".into(), queue_id: 2, ..pop("Q") };
    assert_eq!(bodies_of(&popped(&world.ask(client, &one, ""), "Q")), ["2", "6", "10", "14"]);
}

#[test]
fn checks_of_a_pop() {
    let (mut world, client) = world();
    let mut code = |change: fn(&mut PopMessage<'_>)| {
        let mut request = pop("T");
        change(&mut request);
        world.ask(client, &request, "").code()
    };
    assert_eq!(code(|pop| pop.max_msg_nums = 33), 29);
    assert_eq!(code(|pop| pop.topic = "nowhere".into()), 17);
    assert_eq!(code(|pop| pop.queue_id = 1), 29);
    assert_eq!(code(|pop| pop.consumer_group = "bad group".into()), 26);
    assert_eq!(code(|pop| pop.expression = Some("||".into())), 23);
    assert_eq!(code(|pop| pop.born_time = crate::testing::START - 501), 210);
    assert_eq!(code(|_| {}), 210);
}

#[test]
fn checks_of_an_acknowledgement() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 2);
    let popped = take(&mut world, client, "T");
    let mut code = |change: fn(&mut Popped)| {
        let mut message = popped[0].clone();
        change(&mut message);
        ack(&mut world, client, &message)
    };
    assert_eq!(code(|message| message.topic = "nowhere".into()), 17);
    assert_eq!(code(|message| message.queue = 1), 13);
    assert_eq!(code(|message| message.queue = -1), 13);
    assert_eq!(code(|message| message.offset = 3), 208);
    assert_eq!(code(|message| message.offset = -1), 208);
    assert_eq!(code(|message| message.handle = "1 2 3".into()), 1);
    assert_eq!(code(|message| message.offset = 2), 0, "the end of the queue is let through");
    assert_eq!((code(|_| {}), code(|_| {})), (0, 0));
}

#[test]
fn many_are_acknowledged_at_once() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 12);
    let frame = world.ask(client, &pop("T"), "");
    let reply: PopMessageReply<'_> = frame.read().expect("an answer");
    let item = BatchAckItem {
        bits: base64::encode(Alphabet::Standard, &[0b1111_1110, 0b1111_0111]),
        consumer_group: "g".into(),
        invisible_time_ms: reply.invisible_time,
        pop_time_ms: reply.pop_time,
        queue_id: 0,
        retry: "0".into(),
        revive_queue_id: reply.revive_queue_id,
        start_offset: 0,
        topic: "T".into(),
    };
    let batch = |acks| BatchAck { acks, broker_name: "broker-a".into() }.encode();
    assert_eq!(world.ask(client, &BatchAckMessage::default(), batch(vec![item])).code(), 0);
    assert_eq!(world.ask(client, &BatchAckMessage::default(), batch(Vec::new())).code(), 208);
    world.pass(6 * SECOND);
    assert_eq!(bodies_of(&take(&mut world, client, "T")), ["0", "11"]);
}

fn change<'a>(message: &'a Popped, invisible: i64) -> ChangeInvisibleTime<'a> {
    ChangeInvisibleTime {
        consumer_group: "g".into(),
        topic: (&*message.topic).into(),
        queue_id: message.queue,
        extra_info: (&*message.handle).into(),
        offset: message.offset,
        invisible_time: invisible,
        ..ChangeInvisibleTime::default()
    }
}

#[test]
fn a_changed_time_makes_a_new_handle_and_voids_the_old_one() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 2);
    let first = take(&mut world, client, "T");
    let frame = world.ask(client, &change(&first[0], 20_000), "");
    let reply: ChangeInvisibleTimeReply = frame.read().expect("an answer");
    assert_eq!(world.ask(client, &change(&first[1], 1_000), "").code(), 0);
    assert_eq!(ack(&mut world, client, &first[0]), 0, "the old handle is void");
    world.pass(2 * SECOND);
    assert_eq!(bodies_of(&take(&mut world, client, "T")), ["1"], "shortened");
    world.pass(6 * SECOND);
    let again = take(&mut world, client, "T");
    assert_eq!((bodies_of(&again), again[0].tries), (vec!["1"], 2), "extended: the other is still hidden");
    ack(&mut world, client, &again[0]);
    world.pass(14 * SECOND);
    assert_eq!(bodies_of(&take(&mut world, client, "T")), ["0"]);
    let handle = format!("0 {} 20000 {} 0 broker-a 0 0", reply.pop_time, reply.revive_queue_id);
    let late = Popped { handle, ..first[0].clone() };
    assert_eq!(ack(&mut world, client, &late), 0);
    assert_eq!(world.ask(client, &change(&Popped { offset: 2, ..late }, 1), "").code(), 208);
}

#[test]
fn a_new_handle_acknowledges() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 1);
    let first = take(&mut world, client, "T").remove(0);
    let mut message = first;
    for _ in 0..3 {
        let frame = world.ask(client, &change(&message, 9_000), "");
        let reply: ChangeInvisibleTimeReply = frame.read().expect("an answer");
        message.handle = format!("0 {} 9000 {} 0 broker-a 0 0", reply.pop_time, reply.revive_queue_id);
    }
    assert_eq!(ack(&mut world, client, &message), 0);
    world.pass(30 * SECOND);
    assert_eq!(take(&mut world, client, "T"), []);
}

#[test]
fn a_pop_waits_for_news_or_its_deadline() {
    let (mut world, client) = world();
    let waiting = PopMessage { poll_time: 10_000, expression: Some("a".into()), ..pop("Q") };
    assert!(world.call(client, &waiting, "").is_none());
    world.send(client, "Q", 3, &text(&[("TAGS", "b")]), "other");
    world.pass(SECOND);
    assert!(world.take(client).is_empty());
    world.send(client, "Q", 2, &text(&[("TAGS", "a")]), "news");
    let frames = world.take(client);
    let news = popped(&frames[0], "Q");
    assert_eq!(bodies_of(&news), ["news"]);
    ack(&mut world, client, &news[0]);
    assert!(world.call(client, &waiting, "").is_none());
    world.pass(Duration::from_millis(9_999));
    assert!(world.take(client).is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(world.take(client)[0].code(), 210);
}

#[test]
fn a_retry_topic_of_the_second_form_wakes_and_of_the_first_is_found_at_the_deadline() {
    for (v2, at) in [(true, 6_000), (false, 10_000)] {
        let (mut world, client) = world_with(|config| config.pop_retry_v2 = v2);
        fill(&mut world, client, "T", 1);
        take(&mut world, client, "T");
        assert!(world.call(client, &PopMessage { poll_time: 10_000, ..pop("T") }, "").is_none());
        world.pass(Duration::from_millis(at - 1));
        assert!(world.take(client).is_empty());
        world.pass(Duration::from_millis(1));
        assert_eq!(bodies_of(&popped(&world.take(client)[0], "T")), ["0"]);
    }
}

#[test]
fn waiting_is_bounded_counted_and_ends_with_the_connection() {
    let (mut world, client) = world_with(|config| config.limits.held_pops = 2);
    let waiting = PopMessage { poll_time: 10_000, ..pop("T") };
    let polls = |world: &mut World| {
        let info =
            PollingInfo { consumer_group: "g".into(), topic: "T".into(), queue_id: -1, ..PollingInfo::default() };
        let asking = world.connect();
        world.ask(asking, &info, "").read::<PollingInfoReply>().expect("an answer").polling_num
    };
    let leaving = world.connect();
    assert!(world.call(client, &waiting, "").is_none());
    assert!(world.call(leaving, &waiting, "").is_none());
    assert_eq!(world.ask(client, &waiting, "").code(), 209);
    assert_eq!(polls(&mut world), 2);
    world.close(leaving);
    assert_eq!(polls(&mut world), 1);
    assert!(world.call(client, &waiting, "").is_none());
}

#[test]
fn a_notification_tells_of_messages_and_takes_none() {
    let (mut world, client) = world();
    let ask = Notification {
        consumer_group: "g".into(),
        topic: "T".into(),
        queue_id: -1,
        poll_time: 3_000,
        ..Notification::default()
    };
    let told = |frame: &Frame| frame.read::<NotificationReply>().map(|reply| (reply.has_msg, reply.polling_full));
    assert!(world.call(client, &ask, "").is_none());
    world.pass(3 * SECOND);
    assert_eq!(told(&world.take(client)[0]), Ok((false, false)));
    assert!(world.call(client, &ask, "").is_none());
    fill(&mut world, client, "T", 1);
    assert_eq!(told(&world.take(client)[0]), Ok((true, false)));
    let peek = PeekMessage {
        consumer_group: "g".into(),
        topic: "T".into(),
        queue_id: 0,
        max_msg_nums: 4,
        ..PeekMessage::default()
    };
    assert_eq!(bodies_of(&popped(&world.ask(client, &peek, ""), "T")), ["0"]);
    assert_eq!(bodies_of(&take(&mut world, client, "T")), ["0"]);
    assert_eq!(world.ask(client, &peek, "").code(), 19);
}

fn ordered(attempt: &'static str) -> PopMessage<'static> {
    let attempt_id = (!attempt.is_empty()).then(|| attempt.into());
    PopMessage { order: Some(true), attempt_id, max_msg_nums: 2, ..pop("T") }
}

#[test]
fn an_ordered_queue_is_blocked_by_its_last_batch() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 4);
    let first = world.ask(client, &ordered("a"), "");
    let batch = popped(&first, "T");
    assert_eq!((bodies_of(&batch), first.field("reviveQid").as_deref()), (vec!["0", "1"], Some("999")));
    assert_eq!(world.ask(client, &ordered("b"), "").code(), 210);
    assert_eq!(bodies_of(&popped(&world.ask(client, &ordered("a"), ""), "T")), ["0", "1"], "the same attempt");
    assert_eq!(ack(&mut world, client, &Popped { offset: 3, ..batch[0].clone() }), 13);
    assert_eq!(ack(&mut world, client, &batch[0]), 0);
    assert_eq!(world.ask(client, &ordered("b"), "").code(), 210, "half of it");
    assert!(world.call(client, &PopMessage { poll_time: 2_000, ..ordered("b") }, "").is_none());
    assert_eq!(ack(&mut world, client, &batch[1]), 0);
    assert_eq!(bodies_of(&popped(&world.take(client)[0], "T")), ["2", "3"], "an acknowledgement wakes");
}

#[test]
fn an_ordered_batch_comes_again_in_place_and_counted() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 3);
    let batch = popped(&world.ask(client, &ordered(""), ""), "T");
    assert_eq!(ack(&mut world, client, &batch[0]), 0);
    let frame = world.ask(client, &change(&batch[1], 8_000), "");
    let reply: ChangeInvisibleTimeReply = frame.read().expect("an answer");
    assert_eq!((reply.invisible_time, reply.revive_queue_id), (8_000, 999));
    assert!(world.call(client, &PopMessage { poll_time: 9_000, ..ordered("") }, "").is_none());
    world.pass(Duration::from_millis(7_999));
    assert!(world.take(client).is_empty());
    world.pass(Duration::from_millis(1));
    let frame = world.take(client).remove(0);
    assert_eq!(bodies_of(&popped(&frame, "T")), ["1", "2"]);
    assert_eq!(frame.field("orderCountInfo").as_deref(), Some("0 qo0%1 1;0 0 0"));
}

#[test]
fn a_full_store_postpones_revival_until_there_is_room() {
    let (mut world, client) = world_with(|config| {
        config.limits.store_bytes = 40_000;
        config.retention = 8 * SECOND;
    });
    let filler = "f".repeat(1_000);
    world.pass(5 * SECOND);
    while world.ask(client, &crate::testing::message("T", 0, ""), filler.clone()).code() == 0 {}
    let count = take(&mut world, client, "T").len();
    assert!(count > 20);
    world.pass(7 * SECOND);
    assert_eq!(take(&mut world, client, "T"), [], "nothing could be stored again");
    let frame = world.ask(client, &crate::testing::pull("other", "T", 0, 0), "");
    assert_eq!(messages(&frame).len(), count, "and nothing is lost");
    world.pass(10 * SECOND);
    let again = take(&mut world, client, "T");
    assert!(!again.is_empty() && again.iter().all(|message| message.tries == 1), "what retention left is revived");
}

#[test]
fn a_topic_that_comes_back_starts_anew() {
    let (mut world, client) = world();
    fill(&mut world, client, "T", 3);
    assert_eq!(take(&mut world, client, "T").len(), 3);
    world.ask(client, &DeleteTopic { topic: "T".into(), ..DeleteTopic::default() }, "");
    fill(&mut world, client, "T", 2);
    assert_eq!(bodies_of(&take(&mut world, client, "T")), ["0", "1"]);
}

#[test]
fn assignments_follow_the_mode() {
    let (mut world, client) = world();
    let join = |world: &mut World, id: &str| {
        let conn = world.connect();
        let data = HeartbeatData {
            client_id: id.into(),
            consumers: vec![ConsumerData { group: "g".into(), ..ConsumerData::default() }],
            ..HeartbeatData::default()
        };
        world.ask(conn, &Heartbeat::default(), data.encode());
    };
    let query = |world: &mut World, id: &str, strategy: &str| {
        let query = Query {
            client_id: id.into(),
            consumer_group: "g".into(),
            message_model: "CLUSTERING".into(),
            strategy_name: strategy.into(),
            topic: "Q".into(),
        };
        let frame = world.ask(client, &QueryAssignment::default(), query.encode());
        let reply = AssignmentReply::decode(frame.body()).expect("a list");
        reply.assignments.map(|list| {
            let queue = |one: rocketry_codec::body::assignment::Assignment| {
                (one.queue.map_or(-9, |queue| queue.queue_id), one.mode)
            };
            list.into_iter().map(queue).collect::<Vec<_>>()
        })
    };
    let (pull, pop) = (|queue| (queue, "PULL".to_string()), |queue| (queue, "POP".to_string()));
    assert_eq!(query(&mut world, "a", "AVG"), None, "no member is known");
    for id in ["a", "b", "c", "d"] {
        join(&mut world, id);
    }
    assert_eq!(query(&mut world, "b", "AVG"), Some(vec![pull(1)]));
    assert_eq!(query(&mut world, "b", "MACHINE_ROOM"), None);
    let set = |world: &mut World, topic: &str, share| {
        let mode = SetRequestMode {
            consumer_group: "g".into(),
            mode: "POP".into(),
            pop_share_queue_num: share,
            topic: topic.into(),
        };
        world.ask(client, &SetMessageRequestMode::default(), mode.encode()).code()
    };
    assert_eq!((set(&mut world, "%RETRY%g", 0), set(&mut world, "none", 0), set(&mut world, "Q", 0)), (16, 17, 0));
    assert_eq!(query(&mut world, "b", "AVG"), Some(vec![pop(-1)]));
    assert_eq!(set(&mut world, "Q", 1), 0);
    assert_eq!(query(&mut world, "d", "AVG_BY_CIRCLE"), Some(vec![pop(0), pop(3)]));
}

#[test]
fn random_runs_lose_nothing() {
    for seed in 0..40 {
        let (mut world, client) = world_with(|config| config.pop_retry_v2 = seed % 2 == 0);
        let mut rng: Prng = Seed::from(seed).stream("test");
        let (mut sent, mut held) = (0, Vec::<Popped>::new());
        let mut acked = BTreeMap::<String, u32>::new();
        for _ in 0..200 {
            match rng.below(10) {
                0..3 => {
                    world.send(client, "Q", i32::try_from(rng.below(4)).unwrap_or(0), "", &format!("{sent}"));
                    sent += 1;
                }
                3..5 => {
                    let some = PopMessage {
                        max_msg_nums: 1 + i32::try_from(rng.below(9)).unwrap_or(0),
                        invisible_time: 1 + rng.below(4_000).cast_signed(),
                        ..pop("Q")
                    };
                    held.extend(popped(&world.ask(client, &some, ""), "Q"));
                }
                5..7 if !held.is_empty() => {
                    let at = usize::try_from(rng.below(held.len() as u64)).unwrap_or(0);
                    let message = held.swap_remove(at);
                    assert_eq!(ack(&mut world, client, &message), 0);
                    *acked.entry(message.body).or_default() += 1;
                }
                7 if !held.is_empty() => {
                    let at = usize::try_from(rng.below(held.len() as u64)).unwrap_or(0);
                    let message = held.swap_remove(at);
                    let time = rng.below(5_000).cast_signed();
                    assert_eq!(world.ask(client, &change(&message, time), "").code(), 0);
                }
                _ => world.pass(Duration::from_millis(rng.below(2_000))),
            }
        }
        for _ in 0..50 {
            world.pass(6 * SECOND);
            for message in take(&mut world, client, "Q") {
                assert_eq!(ack(&mut world, client, &message), 0);
                *acked.entry(message.body).or_default() += 1;
            }
        }
        assert_eq!(acked.len(), sent, "seed {seed}");
        world.pass(60 * SECOND);
        assert_eq!(take(&mut world, client, "Q"), [], "seed {seed}: what was acknowledged stays away");
    }
}
