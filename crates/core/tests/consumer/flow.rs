//! Pulling and offering: bounds, pauses, fairness.

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{ConsumerConfig, Offered};

use crate::world::{Act, World, heading};

const PULL: RequestCode = RequestCode::PULL_MESSAGE;

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", "*")
}

fn world_with(queues: i32, messages: usize) -> World {
    let mut world = World::new();
    world.topics.insert("T".into(), queues);
    for queue in 0..queues {
        world.store("T", queue, messages);
        world.offsets.insert(("T".into(), queue), 0);
    }
    world
}

#[test]
fn i1_at_most_one_pull_of_a_queue_is_on_its_way() {
    let mut world = world_with(4, 500);
    world.start(config());
    let mut handled = 0;
    for _ in 0..200 {
        world.run(1);
        handled += world.succeed().len();
        for queue in 0..4 {
            let pulls = world.requests_of(PULL, "T").into_iter();
            let sent = pulls.filter(|seen| seen.number("queueId") == i64::from(queue)).count();
            let answered = world.answered.get(&("T".into(), queue)).copied().unwrap_or(0);
            assert!(sent - answered <= 1, "queue {queue}: {sent} sent, {answered} answered");
        }
    }
    assert_eq!(handled, 2_000);
}

#[test]
fn the_cache_never_holds_more_than_allowed_and_goes_on_at_once() {
    let mut world = world_with(1, 1_000);
    let mut config = config();
    config.max_cached_messages = 100;
    world.start(config);
    world.run(1_000);
    let pulls = world.requests_of(PULL, "T").len();
    assert_eq!(pulls, 3, "a fourth batch of 32 would pass 100");
    let before = world.at;
    let mut handled = world.succeed();
    assert_eq!(handled.len(), 96);
    let next = world.requests_of(PULL, "T").last().cloned().unwrap();
    assert!(next.at.since(before) < Duration::from_millis(5), "flo_04: no fixed pause");
    for _ in 0..100 {
        world.run(10);
        handled.extend(world.succeed());
    }
    assert_eq!(handled, (0..1_000).collect::<Vec<i64>>());
}

#[test]
fn bytes_and_span_pause_pulling_too() {
    let mut world = world_with(1, 0);
    for at in 0..200 {
        world.store_one("T", 0, |message| message.body = vec![at; 100_000]);
    }
    let mut bytes = config();
    bytes.max_cached_bytes = 1 << 20;
    bytes.pull_batch = 1;
    world.start(bytes);
    world.run(1_000);
    let pulls = world.requests_of(PULL, "T").len();
    assert!((9..=11).contains(&pulls), "{pulls} pulls of 100 kB for 1 MiB");

    let mut world = world_with(1, 0);
    for at in 0..400 {
        world.store_one("T", 0, |message| message.offset = at * 100);
    }
    let mut span = config();
    span.max_span = 5_000;
    world.start(span);
    world.run(1_000);
    assert_eq!(world.requests_of(PULL, "T").len(), 2, "64 messages span 6300");
}

#[test]
fn flo_08_a_broker_cannot_make_the_client_spin() {
    for code in [ResponseCode::PULL_RETRY_IMMEDIATELY, ResponseCode::PULL_NOT_FOUND, ResponseCode::SUCCESS] {
        let mut world = world_with(1, 0);
        world.bend(move |seen| {
            (seen.code() == PULL).then(|| Act::Say(code, heading(seen.number("queueOffset"), 0, 100), Bytes::new()))
        });
        world.start(config());
        world.run(10_000);
        let pulls = world.requests_of(PULL, "T").len();
        assert!(pulls <= 201, "{pulls} pulls in 10 s");
        assert!(pulls > 100, "but it goes on: {pulls}");
    }
}

#[test]
fn flo_08_corrections_without_end_do_not_spin() {
    let mut world = world_with(1, 0);
    world.bend(move |seen| {
        let min = seen.number("queueOffset") + 1;
        (seen.code() == PULL)
            .then(|| Act::Say(ResponseCode::PULL_OFFSET_MOVED, heading(min, min, min + 1), Bytes::new()))
    });
    world.start(config());
    world.run(10_000);
    let pulls = world.requests_of(PULL, "T").len();
    assert!((100..=202).contains(&pulls), "{pulls} pulls in 10 s");
}

#[test]
fn flo_04_flow_control_waits_from_20_ms_on() {
    let mut world = world_with(1, 1);
    world.script(PULL, vec![Act::Say(ResponseCode::FLOW_CONTROL, Vec::new(), Bytes::new()); 3]);
    world.start(config());
    world.run(1_000);
    let at: Vec<u128> = {
        let pulls = world.requests_of(PULL, "T");
        pulls.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_millis()).collect()
    };
    assert_eq!(at[..3], [21, 41, 81]);
    assert_eq!(world.succeed(), [0]);
}

#[test]
fn other_refusals_wait_a_second() {
    for act in [
        Act::Say(ResponseCode::SYSTEM_BUSY, Vec::new(), Bytes::new()),
        Act::Say(ResponseCode::SUCCESS, Vec::new(), Bytes::new()),
        Act::Hang,
    ] {
        let mut world = world_with(1, 1);
        world.script(PULL, [act]);
        world.start(config());
        world.run(3_000);
        let pulls = world.requests_of(PULL, "T");
        let waited = pulls[1].at.since(pulls[0].at);
        assert!((1_000..1_200).contains(&waited.as_millis()), "{waited:?}");
        assert_eq!(world.succeed(), [0]);
    }
}

#[test]
fn a_pull_that_is_never_answered_is_given_up() {
    let mut world = world_with(1, 1);
    world.script(PULL, [Act::Nothing]);
    world.start(config());
    world.run(30_000);
    assert!(world.succeed().is_empty());
    world.run(3_000);
    assert_eq!(world.succeed(), [0]);
}

#[test]
fn a_broker_that_has_not_heard_of_us_hears_again() {
    let mut world = world_with(1, 1);
    world.script(PULL, [Act::Say(ResponseCode::SUBSCRIPTION_NOT_EXIST, Vec::new(), Bytes::new())]);
    world.start(config());
    world.run(100);
    let beats = world.requests(RequestCode::HEART_BEAT).len();
    assert!(beats >= 2);
    world.run(1_000);
    assert_eq!(world.succeed(), [0]);
}

#[test]
fn a_pull_interval_is_kept() {
    let mut world = world_with(1, 96);
    let mut config = config();
    config.pull_interval = Duration::from_millis(300);
    world.start(config);
    world.run(100);
    assert_eq!(world.succeed().len(), 32);
    world.run(300);
    assert_eq!(world.succeed().len(), 32);
}

#[test]
fn offers_are_bounded_and_queues_take_turns() {
    let mut world = world_with(4, 200);
    let mut config = config();
    config.concurrency = 2;
    world.start(config);
    world.run(1_000);
    let offered: Vec<(i32, usize)> =
        world.deliveries.iter().map(|delivery| (delivery.queue.id, delivery.offered.len())).collect();
    assert_eq!(offered.iter().map(|(_, count)| count).sum::<usize>(), 2 * 2 * 32);
    let mut queues: Vec<i32> = offered.iter().map(|(queue, _)| *queue).collect();
    queues.sort_unstable();
    assert_eq!(queues, [0, 1, 2, 3]);
    let mut counts = [0; 4];
    for _ in 0..1_000 {
        while let Some(delivery) = world.deliveries.pop_front() {
            world.begin(delivery.ask, 32).expect("it is ours");
            counts[usize::try_from(delivery.queue.id).unwrap()] += delivery.offered.len();
            world.answer(delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect());
        }
        world.run(1);
    }
    assert_eq!(counts, [200; 4]);
}

#[test]
fn beginning_makes_room_for_further_offers() {
    let mut world = world_with(1, 300);
    let mut config = config();
    config.concurrency = 1;
    world.start(config);
    world.run(1_000);
    assert_eq!(world.deliveries.len(), 2);
    let ask = world.deliveries[0].ask;
    assert_eq!(world.begin(ask, 8), Ok(8));
    assert_eq!(world.deliveries.len(), 2, "not before a whole batch fits");
    assert_eq!(world.begin(ask, 100), Ok(24));
    assert_eq!(world.begin(ask, 1), Ok(0));
    assert_eq!(world.deliveries.len(), 3);
}

#[test]
fn released_messages_come_again_at_once_and_in_order() {
    let mut world = world_with(1, 5);
    world.start(config());
    world.run(100);
    let first = world.deliveries.pop_front().expect("an offer");
    assert_eq!(first.offered.len(), 5);
    world.answer(first.offered.into_iter().map(|offered| offered.ticket.release()).collect());
    assert_eq!(world.deliveries.front().map(|delivery| delivery.offered.len()), Some(5));
    assert_eq!(world.succeed(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_body_that_cannot_be_inflated_is_told_and_passed_later() {
    let mut world = world_with(1, 2);
    world.start(config());
    world.run(100);
    world.handle(|offered| match offered.message.stored.queue_offset() {
        0 => offered.ticket.undecodable("not zlib"),
        _ => offered.ticket.succeed(),
    });
    world.run(10_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 0);
    world.run(30_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 2);
}

#[test]
fn statistics_tell_rates_times_and_the_lag() {
    let mut world = World::new();
    world.store("T", 0, 10);
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(ConsumerConfig::new("g").subscribe("T", "*"));
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 4).expect("it is ours");
    world.run(2_000);
    let verdict =
        |(at, offered): (usize, Offered)| if at < 3 { offered.ticket.succeed() } else { offered.ticket.retry() };
    world.answer(delivery.offered.into_iter().take(4).enumerate().map(verdict).collect());
    world.run(1_000);
    let stats = world.client.consumer_stats(world.now(), consumer).expect("it runs");
    let topic = stats.topics.iter().find(|stats| stats.topic.as_str() == "T").expect("a subscription");
    assert_eq!((topic.consumed.last_minute, topic.failed.last_minute, topic.pulled.last_minute), (3, 1, 10));
    assert_eq!(topic.handling_time, Duration::from_secs(2));
    assert_eq!(topic.pull_time, Duration::from_millis(1));
    let queue = stats.queues.iter().find(|stats| stats.queue.topic.as_str() == "T").expect("a queue");
    assert_eq!((queue.position, queue.end, queue.cached_messages, queue.lag()), (Some(4), Some(10), 6, 6));
    assert_eq!(stats.lag(), 6);
    assert_eq!(stats.running_handlers, 0);
    world.run(120_000);
    let later = world.client.consumer_stats(world.now(), consumer).expect("it runs");
    let topic = later.topics.iter().find(|stats| stats.topic.as_str() == "T").expect("a subscription");
    assert_eq!((topic.consumed.last_minute, topic.consumed.last_hour), (0, 3));
}
