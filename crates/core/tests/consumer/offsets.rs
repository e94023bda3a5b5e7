//! Where a queue begins, how its position is corrected, when it is saved.

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::machine::UnixMillis;
use rocketry_core::{Command, Consume, ConsumerConfig, Notice, Offered, StartAt};

use crate::world::{Act, MASTER, SLAVE, Seen, World, heading};

const PULL: RequestCode = RequestCode::PULL_MESSAGE;

fn config() -> ConsumerConfig {
    ConsumerConfig::new("g").subscribe("T", "*")
}

fn begins_at(world: &World, topic: &str) -> i64 {
    world.requests_of(PULL, topic).first().expect("a pull").number("queueOffset")
}

/// Starts against a topic with 5 messages and a retry topic with 5, and says where both begin.
fn start_at(start_at: StartAt, stored: Option<i64>) -> (i64, i64) {
    let mut world = World::new();
    world.topics.insert("%RETRY%g".into(), 1);
    world.store("T", 0, 5);
    world.store("%RETRY%g", 0, 5);
    for topic in ["T", "%RETRY%g"] {
        if let Some(stored) = stored {
            world.offsets.insert((topic.into(), 0), stored);
        }
    }
    let mut config = config();
    config.start_at = start_at;
    world.start(config);
    world.run(100);
    (begins_at(&world, "T"), begins_at(&world, "%RETRY%g"))
}

#[test]
fn off_02_off_03_where_no_position_begins() {
    let time = StartAt::Time(UnixMillis::new(5));
    assert_eq!(start_at(StartAt::Last, None), (5, 0));
    assert_eq!(start_at(StartAt::First, None), (0, 0));
    assert_eq!(start_at(time, None), (3, 5));
    for start in [StartAt::Last, StartAt::First, time] {
        assert_eq!(start_at(start, Some(2)), (2, 2), "a stored position wins");
        assert_eq!(start_at(start, Some(0)), (0, 0), "zero is a position");
    }
}

#[test]
fn off_02_exact_start_tells_no_position_from_zero() {
    for exact in [false, true] {
        let mut world = World::new();
        let mut config = config();
        config.exact_start = exact;
        world.start(config);
        world.run(100);
        let asked = world.requests(RequestCode::QUERY_CONSUMER_OFFSET);
        assert_eq!(asked[0].text("setZeroIfNotFound"), if exact { "false" } else { "" });
    }
}

#[test]
fn an_error_is_never_no_position() {
    for act in [
        Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new()),
        Act::Say(ResponseCode::SUCCESS, vec![("offset", "-1".into())], Bytes::new()),
        Act::Say(ResponseCode::SUCCESS, Vec::new(), Bytes::new()),
        Act::Nothing,
        Act::Hang,
    ] {
        let mut world = World::new();
        world.store("T", 0, 5);
        world.offsets.insert(("T".into(), 0), 2);
        world.script(RequestCode::QUERY_CONSUMER_OFFSET, [act.clone(), act]);
        world.start(config());
        world.run(20_000);
        assert_eq!(begins_at(&world, "T"), 2);
    }
}

#[test]
fn off_14_offsets_are_64_bits_wide() {
    for offset in [2_147_483_648, i64::MAX - 1] {
        let mut world = World::new();
        world.queues.entry(("T".into(), 0)).or_default().min = offset;
        world.offsets.insert(("T".into(), 0), offset);
        world.start(config());
        world.run(100);
        assert_eq!(begins_at(&world, "T"), offset);
    }
}

fn moved(next: i64, min: i64, max: i64) -> Act {
    Act::Say(ResponseCode::PULL_OFFSET_MOVED, heading(next, min, max), Bytes::new())
}

fn correction(world: &World) -> Option<(i64, i64)> {
    world.notices.iter().find_map(|notice| match notice {
        Notice::OffsetCorrected { from, to, .. } => Some((*from, *to)),
        _ => None,
    })
}

#[test]
fn off_04_one_beyond_the_end_goes_to_the_end_and_not_to_zero() {
    let mut world = World::new();
    world.store("T", 0, 5);
    world.offsets.insert(("T".into(), 0), 6);
    world.script(PULL, [moved(0, 0, 5)]);
    world.start(config());
    world.run(10);
    let asked: Vec<i64> = world.requests_of(PULL, "T").iter().map(|seen| seen.number("queueOffset")).collect();
    assert_eq!(asked, [6, 5], "and without a pause");
    assert_eq!(correction(&world), Some((6, 5)));
    assert_eq!(world.offsets[&("T".into(), 0)], 5, "the correction is saved");
    assert_eq!(world.client.counters().offsets_corrected, 1);
}

#[test]
fn off_04_before_the_beginning_goes_to_the_beginning_and_keeps_what_is_cached() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 3).expect("it is ours");
    world.script(PULL, [moved(10, 10, 12)]);
    world.queues.get_mut(&("T".into(), 0)).unwrap().min = 10;
    world.store_one("T", 0, |message| message.offset = 9);
    world.run(20_000);
    assert_eq!(correction(&world), Some((3, 10)));
    let verdicts = delivery.offered.into_iter().map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(verdicts), 0, "its handlers still count");
    world.run(5_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 10);
}

#[test]
fn off_10_a_reset_by_the_broker_ends_what_was_cached() {
    let mut world = World::new();
    world.store("T", 0, 1_032);
    world.offsets.insert(("T".into(), 0), 1_000);
    world.start(config());
    world.run(100);
    let delivery = world.deliveries.pop_front().expect("an offer");
    world.begin(delivery.ask, 10).expect("it is ours");
    world.script(PULL, [moved(500, 0, 1_032)]);
    world.run(16_000);
    assert_eq!(correction(&world), Some((1_032, 500)));
    assert_eq!(world.requests_of(PULL, "T").iter().filter(|seen| seen.number("queueOffset") == 500).count(), 1);
    assert!(world.begin(delivery.ask, 1).is_err());
    let verdicts: Vec<_> = delivery.offered.into_iter().take(10).map(|offered| offered.ticket.succeed()).collect();
    assert_eq!(world.answer(verdicts), 10, "late verdicts do not count");
    world.run(6_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 500);
    assert_eq!(world.succeed()[0], 500);
}

#[test]
fn off_06_off_14_an_answer_that_leads_back_is_no_answer() {
    for (next, min, code) in [
        (1, 0, ResponseCode::SUCCESS),
        (-1, 0, ResponseCode::SUCCESS),
        (-1, 0, ResponseCode::PULL_OFFSET_MOVED),
        (3, 9, ResponseCode::PULL_OFFSET_MOVED),
    ] {
        let mut world = World::new();
        world.store("T", 0, 4);
        world.offsets.insert(("T".into(), 0), 2);
        world.script(PULL, [Act::Say(code, heading(next, min, 4), Bytes::new())]);
        world.start(config());
        world.run(500);
        assert!(world.succeed().is_empty());
        assert!(world.notices.iter().any(|notice| matches!(notice, Notice::Trouble { what: "pull", .. })));
        world.run(1_000);
        assert_eq!(world.succeed(), [2, 3], "it is pulled again from the same place");
    }
}

#[test]
fn rou_05_a_slave_does_not_move_the_position_back() {
    let mut world = World::new();
    world.addresses = [(1, SLAVE.to_owned())].into();
    world.offsets.insert(("T".into(), 0), 15_619);
    world.store("T", 0, 10);
    world.start(config());
    world.run(10_000);
    assert_eq!(correction(&world), None);
    assert!(world.requests_of(PULL, "T").iter().all(|seen| seen.number("queueOffset") == 15_619));
    assert_eq!(world.offsets[&("T".into(), 0)], 15_619);
}

#[test]
fn rou_06_a_slave_serves_while_the_master_is_away_and_the_master_hears_later() {
    let mut world = World::new();
    world.store("T", 0, 4);
    world.offsets.insert(("T".into(), 0), 1);
    world.addresses = [(1, SLAVE.to_owned())].into();
    world.start(config());
    world.run(100);
    assert_eq!(world.succeed(), [1, 2, 3]);
    world.run(6_000);
    let saved = |world: &World, to: &str| -> Vec<i64> {
        let all = world.requests_of(RequestCode::UPDATE_CONSUMER_OFFSET, "T");
        all.iter().filter(|seen| seen.to == to).map(|seen| seen.number("commitOffset")).collect()
    };
    assert!(saved(&world, SLAVE).contains(&4));
    world.addresses = [(0, MASTER.to_owned()), (1, SLAVE.to_owned())].into();
    world.run(40_000);
    assert!(saved(&world, MASTER).contains(&4), "the returning master is not a step back");
    assert!(saved(&world, MASTER).iter().all(|position| *position >= 4));
}

#[test]
fn rou_07_an_unknown_suggested_broker_is_no_error() {
    let mut world = World::new();
    world.store("T", 0, 2);
    world.offsets.insert(("T".into(), 0), 2);
    let mut fields = heading(2, 0, 2);
    fields[0].1 = "5".into();
    world.script(PULL, [Act::Say(ResponseCode::PULL_NOT_FOUND, fields, Bytes::new())]);
    world.start(config());
    world.run(1_000);
    world.store("T", 0, 1);
    world.run(10);
    assert_eq!(world.succeed(), [2]);
}

#[test]
fn rou_06_an_unreachable_master_turns_pulls_to_the_slave_before_the_route_changes() {
    let mut world = World::new();
    world.addresses = [(0, MASTER.to_owned()), (1, SLAVE.to_owned())].into();
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(3_000);
    world.take_down(MASTER);
    world.store("T", 0, 3);
    world.run(3_000);
    assert_eq!(world.succeed(), [0, 1, 2]);
    assert_eq!(world.requests_of(PULL, "T").last().unwrap().to, SLAVE);
    world.down.clear();
    world.run(20_000);
    assert_eq!(world.requests_of(PULL, "T").last().unwrap().to, MASTER, "the slave's answer leads back");
}

#[test]
fn rou_06_a_slave_is_asked_for_positions_and_not_believed_that_there_is_none() {
    for known in [true, false] {
        let mut world = World::new();
        world.addresses = [(0, MASTER.to_owned()), (1, SLAVE.to_owned())].into();
        world.store("T", 0, 5);
        world.offsets.insert(("T".into(), 0), 2);
        world.bend(move |seen| {
            let asks = seen.code() == RequestCode::QUERY_CONSUMER_OFFSET;
            match seen.to.as_str() {
                MASTER if asks => Some(Act::Hang),
                SLAVE if asks && !known => Some(Act::Say(ResponseCode::QUERY_NOT_FOUND, Vec::new(), Bytes::new())),
                _ => None,
            }
        });
        world.start(config());
        world.run(10_000);
        assert_eq!(world.requests_of(PULL, "T").is_empty(), !known);
        world.bend(|_| None);
        world.run(5_000);
        assert_eq!(begins_at(&world, "T"), 2);
    }
}

#[test]
fn positions_are_saved_when_they_changed_and_only_then() {
    let mut world = World::new();
    world.store("T", 0, 40);
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(100);
    for delivery in std::mem::take(&mut world.deliveries) {
        world.begin(delivery.ask, u32::MAX).expect("it is ours");
        let verdict = |offered: Offered| match offered.message.stored.queue_offset() {
            5 => offered.ticket.release(),
            _ => offered.ticket.succeed(),
        };
        world.answer(delivery.offered.into_iter().map(verdict).collect());
    }
    world.run(20_000);
    let saved = |world: &World| -> Vec<i64> {
        let all = world.requests_of(RequestCode::UPDATE_CONSUMER_OFFSET, "T");
        all.iter().map(|seen| seen.number("commitOffset")).collect()
    };
    assert_eq!(saved(&world), [0, 5], "where it began; off_08: never above the lowest unfinished message");
    assert_eq!(world.succeed(), [5]);
    world.run(20_000);
    assert_eq!(saved(&world), [0, 5, 40]);
}

#[test]
fn a_position_that_was_not_saved_is_saved_again() {
    let mut world = World::new();
    world.store("T", 0, 1);
    world.offsets.insert(("T".into(), 0), 0);
    let refuse = Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new());
    world.script(RequestCode::UPDATE_CONSUMER_OFFSET, [refuse, Act::Nothing]);
    world.start(config());
    world.run(100);
    world.succeed();
    world.run(12_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 0);
    world.run(12_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 1);
}

#[test]
fn a_pull_commits_at_the_master_what_is_done() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.offsets.insert(("T".into(), 0), 0);
    world.start(config());
    world.run(100);
    world.succeed();
    world.store("T", 0, 1);
    world.run(100);
    let pull = world.requests_of(PULL, "T").last().cloned().unwrap();
    assert_eq!((pull.number("sysFlag"), pull.number("commitOffset")), (3, 3));
}

#[test]
fn a_new_queue_of_a_known_topic_is_read_from_its_beginning() {
    let mut world = World::new();
    world.store("T", 0, 3);
    world.start(config());
    world.run(100);
    assert_eq!(begins_at(&world, "T"), 3, "what was there before the group is not for it");
    world.topics.insert("T".into(), 2);
    world.store("T", 1, 3);
    world.run(32_000);
    assert_eq!(world.succeed(), [0, 1, 2], "what came into a new queue before it was known is");
}

#[test]
fn filtered_messages_move_the_position_too() {
    let mut world = World::new();
    for at in 0..4 {
        world.store_one("T", 0, |message| message.tag = Some(if at == 1 { "a" } else { "b" }.into()));
    }
    world.offsets.insert(("T".into(), 0), 0);
    world.start(ConsumerConfig::new("g").subscribe("T", "a || c"));
    world.run(100);
    assert_eq!(world.succeed(), [1], "brokers compare hashes only");
    world.run(6_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 4);
}

#[test]
fn after_a_record_without_end_the_rest_is_asked_for_again() {
    let mut world = World::new();
    world.store("T", 0, 5);
    world.offsets.insert(("T".into(), 0), 0);
    let mut first = true;
    let message =
        |at: usize, world: &World| crate::stored::record("T", 0, &world.queues[&("T".to_owned(), 0)].messages[at]);
    let mut body = message(0, &world);
    let mut broken = message(1, &world);
    broken[..4].copy_from_slice(&i32::MAX.to_be_bytes());
    body.extend(broken);
    world.bend(move |seen: &Seen| {
        let is_first = seen.code() == PULL && seen.text("topic") == "T" && std::mem::take(&mut first);
        is_first.then(|| Act::Say(ResponseCode::SUCCESS, heading(5, 0, 5), body.clone().into()))
    });
    world.start(config());
    world.run(100);
    assert_eq!(world.succeed(), [0, 2, 3, 4]);
    world.run(40_000);
    assert_eq!(world.offsets[&("T".into(), 0)], 5);
}

#[test]
fn off_08_a_crash_skips_nothing_whatever_was_finished() {
    for unfinished in 0..8_usize {
        let mut world = World::new();
        world.store("T", 0, 8);
        world.offsets.insert(("T".into(), 0), 0);
        world.start(config());
        world.run(100);
        let delivery = world.deliveries.pop_front().expect("an offer");
        world.begin(delivery.ask, 8).expect("it is ours");
        let rest = delivery.offered.into_iter().enumerate().filter(|(at, _)| *at != unfinished);
        let verdicts = rest.map(|(_, offered)| offered.ticket.succeed()).collect();
        assert_eq!(world.answer(verdicts), 0);
        world.run(6_000);
        assert_eq!(world.offsets[&("T".into(), 0)], unfinished as i64);
    }
}

#[test]
fn a_long_poll_shorter_than_the_default_is_asked_for() {
    let mut world = World::new();
    let mut config = config();
    config.long_poll = Duration::from_secs(5);
    let consumer = world.start(config);
    world.run(5_500);
    let pulls = world.requests_of(PULL, "T");
    assert_eq!(pulls.len(), 2);
    assert_eq!(pulls[0].number("suspendTimeoutMillis"), 5_000);
    world.submit(Command::Consume(Consume::Suspend(consumer)));
}

#[test]
fn first_positions_of_queues_that_are_given_up_at_once_go_one_at_a_time() {
    let mut world = World::new();
    world.topics.insert("T".into(), 4);
    for queue in 0..4 {
        world.store("T", queue, 10);
    }
    let mut config = config();
    config.start_at = StartAt::First;
    world.script(RequestCode::UPDATE_CONSUMER_OFFSET, [Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new())]);
    world.start(config);
    world.run(100);
    world.succeed();
    let begun = world.requests_of(RequestCode::UPDATE_CONSUMER_OFFSET, "T");
    assert_eq!(
        begun.iter().map(|save| save.number("commitOffset")).collect::<Vec<_>>(),
        [0],
        "where one began; refused"
    );
    // Three members come before the first round of saving, and three queues go at once.
    world.members.extend(["99@a".to_owned(), "99@b".to_owned(), "99@c".to_owned()]);
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(10);
    let saves = world.requests_of(RequestCode::UPDATE_CONSUMER_OFFSET, "T");
    assert_eq!(saves.len(), 1 + 3);
    assert!(saves[2].at > saves[1].at, "one goes ahead, the others follow its answer");
    world.run(6_000);
    let stored: Vec<i64> = (0..4).map(|queue| world.offsets[&("T".into(), queue)]).collect();
    assert_eq!(stored, [10; 4]);
}
