//! When positions of lite consumers are saved, and which.

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::{
    Command, Commit, CommitUntil, Consume, ConsumerId, Lite, LiteConfig, OpErrorKind, Outcome, RejectReason, SeekTo,
};

use crate::lite::{config, queue};
use crate::world::{Act, World};

const SAVE: RequestCode = RequestCode::UPDATE_CONSUMER_OFFSET;

fn by_hand() -> LiteConfig {
    let mut config = config();
    config.auto_commit = None;
    config
}

fn commit(world: &mut World, consumer: ConsumerId, what: Commit) -> Outcome {
    let op = world.lite(Lite::Commit { consumer, what, until: CommitUntil::Stored });
    world.outcome(op)
}

#[test]
fn off_12_only_what_was_polled_past_is_committed_by_itself() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(config());
    world.run(100);
    assert_eq!(world.poll(consumer, 10).len(), 10);
    world.run(20_000);
    assert_eq!(world.stored_position(), Some(0), "the application may still be at it");
    assert_eq!(world.poll(consumer, 10).len(), 10);
    world.run(5_000);
    assert_eq!(world.stored_position(), Some(10), "the first ten are done, the next are not");
}

#[test]
fn off_12_a_queue_that_moves_is_saved_where_it_was_polled_past() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(config());
    world.run(100);
    world.poll(consumer, 10);
    world.poll(consumer, 10);
    world.members.insert("0@first".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    world.run(100);
    assert_eq!(world.client.assignment(consumer), []);
    assert_eq!(world.stored_position(), Some(10), "the new owner reads the rest again");
    let saves = world.requests(SAVE).len();
    world.poll(consumer, 10);
    world.run(20_000);
    assert_eq!(world.requests(SAVE).len(), saves, "what was handled too late moves nothing");
    assert_eq!(world.stored_position(), Some(10));
}

#[test]
fn off_12_a_stop_does_not_commit_the_last_poll() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(config());
    world.run(100);
    world.poll(consumer, 10);
    world.poll(consumer, 10);
    let stop = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(3) }));
    let Outcome::Stopped(report) = world.outcome(stop) else { panic!("a stop") };
    assert_eq!(report.unsaved_queues, 0);
    assert_eq!(world.stored_position(), Some(10));
    let parting = world.seen.iter().position(|seen| seen.code() == RequestCode::UNREGISTER_CLIENT).expect("a farewell");
    let saved = world.seen.iter().rposition(|seen| seen.code() == SAVE).expect("a save");
    assert!(saved < parting, "positions go out before the farewell");
}

#[test]
fn a_commit_by_hand_counts_what_was_handed_over() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    world.poll(consumer, 10);
    world.poll(consumer, 10);
    world.run(20_000);
    assert_eq!(world.stored_position(), None, "nothing is saved unasked");
    assert!(matches!(commit(&mut world, consumer, Commit::All), Outcome::Changed));
    assert_eq!(world.stored_position(), Some(20));
    let saves = world.requests(SAVE).len();
    assert!(matches!(commit(&mut world, consumer, Commit::All), Outcome::Changed));
    assert_eq!(world.requests(SAVE).len(), saves, "what is stored already is not sent again");
    world.poll(consumer, 10);
    let stop = world.submit(Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(3) }));
    world.outcome(stop);
    assert_eq!(world.stored_position(), Some(20), "not at the stop either");
}

#[test]
fn offsets_are_committed_as_they_are_given() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    world.poll(consumer, 10);
    for offset in [25, 3] {
        let what = Commit::Offsets(vec![(queue(0), offset)]);
        assert!(matches!(commit(&mut world, consumer, what), Outcome::Changed));
        assert_eq!(world.stored_position(), Some(offset));
    }
    let refused = |world: &mut World, what| world.refused(Lite::Commit { consumer, what, until: CommitUntil::Stored });
    assert_eq!(refused(&mut world, Commit::Offsets(vec![(queue(5), 1)])), RejectReason::NotAssigned(queue(5)));
    assert_eq!(refused(&mut world, Commit::Queues(vec![queue(5)])), RejectReason::NotAssigned(queue(5)));
    let negative = refused(&mut world, Commit::Offsets(vec![(queue(0), -1)]));
    assert!(matches!(negative, RejectReason::Invalid(_)));
    assert_eq!(world.client.broken(), None);
}

#[test]
fn off_07_a_commit_of_one_queue_forgets_no_other() {
    let mut world = World::new();
    world.topics.insert("T".into(), 3);
    for id in 0..3 {
        world.store("T", id, 10);
    }
    let consumer = world.start_lite(by_hand());
    world.run(100);
    assert_eq!(world.poll(consumer, 30).len(), 30);
    assert!(matches!(commit(&mut world, consumer, Commit::Queues(vec![queue(1)])), Outcome::Changed));
    assert_eq!(world.offsets.get(&("T".into(), 1)), Some(&10));
    assert_eq!(world.offsets.len(), 1);
    assert!(matches!(commit(&mut world, consumer, Commit::All), Outcome::Changed));
    assert_eq!(world.offsets.values().copied().collect::<Vec<_>>(), [10, 10, 10]);
}

#[test]
fn a_commit_says_what_the_broker_did_not_take_and_sends_it_again() {
    let mut world = World::new();
    world.store("T", 0, 10);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    world.poll(consumer, 10);
    world.script(SAVE, [Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new())]);
    let Outcome::Failed(error) = commit(&mut world, consumer, Commit::All) else { panic!("it was refused") };
    assert!(matches!(error.kind, OpErrorKind::Broker { code: ResponseCode::SYSTEM_ERROR, .. }), "{error}");
    world.run(6_000);
    assert_eq!(world.stored_position(), Some(10), "what is wanted is sent again");
}

#[test]
fn a_commit_that_need_not_be_stored_ends_at_once() {
    let mut world = World::new();
    world.store("T", 0, 10);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    world.poll(consumer, 10);
    let op = world.lite(Lite::Commit { consumer, what: Commit::All, until: CommitUntil::Accepted });
    assert!(world.done.iter().any(|(done, _)| *done == op));
    world.run(10);
    assert_eq!(world.stored_position(), Some(10));
}

#[test]
fn commits_of_one_queue_go_one_after_the_other() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    let commits: Vec<_> = [5, 9, 7]
        .into_iter()
        .map(|offset| {
            let what = Commit::Offsets(vec![(queue(0), offset)]);
            world.lite(Lite::Commit { consumer, what, until: CommitUntil::Stored })
        })
        .collect();
    assert_eq!(world.requests(SAVE).len(), 1, "one is on its way");
    assert!(matches!(world.outcome(commits[0]), Outcome::Changed));
    assert!(matches!(world.outcome(commits[2]), Outcome::Changed));
    assert_eq!(world.stored_position(), Some(7));
    assert!(matches!(world.outcome(commits[1]), Outcome::Changed), "the later word counts for it too");
    let sent: Vec<i64> = world.requests(SAVE).iter().map(|seen| seen.number("commitOffset")).collect();
    assert_eq!(sent, [5, 7]);
}

#[test]
fn a_commit_follows_its_queue_through_a_seek_and_ends_when_the_queue_moves_away() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    world.script(SAVE, [Act::Nothing]);
    let what = Commit::Offsets(vec![(queue(0), 5)]);
    let op = world.lite(Lite::Commit { consumer, what, until: CommitUntil::Stored });
    let seek = world.lite(Lite::Seek { consumer, queue: queue(0), to: SeekTo::Begin });
    world.outcome(seek);
    assert!(matches!(world.outcome(op), Outcome::Changed), "the queue's new key sends it again");
    assert_eq!(world.stored_position(), Some(5));
    world.script(SAVE, [Act::Nothing]);
    let what = Commit::Offsets(vec![(queue(0), 6)]);
    let op = world.lite(Lite::Commit { consumer, what, until: CommitUntil::Stored });
    world.members.insert("0@first".into());
    world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
    let Outcome::Failed(error) = world.outcome(op) else { panic!("the queue is gone") };
    assert_eq!(error.kind, OpErrorKind::NotAssigned(queue(0)));
}

#[test]
fn a_seek_is_committed_only_once_it_was_read_from() {
    let mut world = World::new();
    world.store("T", 0, 30);
    let consumer = world.start_lite(by_hand());
    world.run(100);
    assert!(matches!(world.seek(consumer, SeekTo::Offset(20)), Outcome::Lite(_)));
    world.run(20_000);
    assert_eq!(world.stored_position(), None);
    assert_eq!(world.poll(consumer, 5), [20, 21, 22, 23, 24]);
    assert!(matches!(commit(&mut world, consumer, Commit::All), Outcome::Changed));
    assert_eq!(world.stored_position(), Some(25));
}

#[test]
fn first_positions_of_a_topic_reach_a_broker_one_at_a_time() {
    let mut world = World::new();
    world.topics.insert("T".into(), 4);
    for id in 0..4 {
        world.store("T", id, 10);
    }
    let consumer = world.start_lite(by_hand());
    world.run(100);
    assert_eq!(world.poll(consumer, 40).len(), 40);
    // The first is refused, the next one is lost; a broker that takes none never has two of them.
    let error = Act::Say(ResponseCode::SYSTEM_ERROR, Vec::new(), Bytes::new());
    world.script(SAVE, [error, Act::Hang]);
    let op = world.lite(Lite::Commit { consumer, what: Commit::All, until: CommitUntil::Stored });
    assert_eq!(world.requests(SAVE).len(), 1);
    assert!(matches!(world.outcome(op), Outcome::Failed(_)), "two of four were not stored");
    let saves = world.requests(SAVE);
    let apart = saves.windows(2).take(2).all(|pair| pair[1].at > pair[0].at);
    assert!(apart, "each waited for the one before");
    world.run(10_000);
    assert_eq!(world.offsets.values().copied().collect::<Vec<_>>(), [10; 4], "all are stored in the end");
    // From now on they may go together.
    world.store("T", 0, 1);
    world.store("T", 1, 1);
    world.run(100);
    world.poll(consumer, 40);
    let before = world.requests(SAVE).len();
    world.lite(Lite::Commit { consumer, what: Commit::All, until: CommitUntil::Stored });
    assert_eq!(world.requests(SAVE).len(), before + 2);
}
