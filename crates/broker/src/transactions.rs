//! Transactions: half messages, their ends, and asking producers that say nothing (`spec/broker.md` 8).
//!
//! A half message waits in a topic of its own, with its real place among its properties. Its producer ends it: committed,
//! it is stored again where it belongs; rolled back, it is forgotten. Of a half that nobody ended a member of its producer
//! group is asked, after the half was stored once more: the question is about the new place. After so many questions it
//! is put aside for people.
//!
//! States of a half: *open* -> *asked* (under another offset) ... -> committed, rolled back, or put aside.
//! Timers: `Timer::Transactions`, the next look for halves that are old enough, while there are any.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::header::Scope;
use rocketry_codec::message::{RecordVersion, StoredMessage, StoredRecord, SysFlag, property_names as name};
use rocketry_codec::request::{CheckTransactionState, EndTransaction};
use rocketry_machine::ConnId;

use crate::append::{self, Message, Unstored};
use crate::config::perm;
use crate::properties;
use crate::send::Refusal;
use crate::shell::{Call, Shell, Timer};
use crate::state::State;
use crate::store::Place;
use crate::topics::{TopicConfig, TopicId};

/// Where half messages wait.
pub(crate) const HALF: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
/// Where halves go that nobody ends.
const ABANDONED: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
const COMMIT: i32 = 8;
const ROLLBACK: i32 = 12;

/// Halves that are open.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    /// By offset in the half queue: how often it was asked about.
    open: BTreeMap<u64, u32>,
    /// Whose turn it is to be asked.
    turn: usize,
}

/// Stores a half message; the answer names the real queue and the half's place.
pub(crate) fn store_half(
    state: &mut State,
    shell: &mut Shell,
    mut message: Message<'_>,
    unique: &str,
) -> Result<Place, Unstored> {
    let real = state.store.topics.get(message.topic).map(|topic| topic.name.clone()).ok_or(Unstored::NoTopic)?;
    properties::push(message.properties, name::REAL_TOPIC, &real);
    properties::push(message.properties, name::REAL_QUEUE_ID, &format!("{}", message.queue));
    properties::push(message.properties, name::TRANSACTION_ID, unique);
    message.topic = state.half_topic;
    message.queue = 0;
    message.sys_flag &= !SysFlag::TRANSACTION;
    message.tags = None;
    let place = append::append(state, shell, message)?;
    state.transactions.open.insert(place.queue_offset, 0);
    watch(state, shell);
    Ok(place)
}

/// Sees to it that open halves are looked at.
fn watch(state: &State, shell: &mut Shell) {
    if !state.transactions.open.is_empty() {
        let at = shell.now.at + state.config.transaction_check_interval;
        shell.timers.set_no_later(shell.now.at, Timer::Transactions, at);
    }
}

/// END_TRANSACTION.
pub(crate) fn end(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<EndTransaction<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    // Unknown is no answer, and is not answered.
    if ![COMMIT, ROLLBACK].contains(&request.commit_or_rollback) {
        return;
    }
    match end_half(state, shell, &request) {
        Ok(()) => shell.respond_ok(call.to),
        Err(refusal) => shell.refuse(call.to, refusal.code, &refusal.remark),
    }
}

fn end_half(state: &mut State, shell: &mut Shell, request: &EndTransaction<'_>) -> Result<(), Refusal> {
    let wrong = |text: &'static str| Refusal::new(ResponseCode::SYSTEM_ERROR, text);
    let half = state.store.message_at(request.commit_log_offset);
    let half = half.ok_or_else(|| wrong("Find prepared transaction message failed"))?;
    if half.properties().get(name::PRODUCER_GROUP) != Some(&*request.producer_group) {
        return Err(wrong("The producer group wrong"));
    }
    if half.queue_offset() != request.tran_state_table_offset {
        return Err(wrong("The transaction state table offset wrong"));
    }
    if half.commit_log_offset() != request.commit_log_offset {
        return Err(wrong("The commit log offset wrong"));
    }
    if request.commit_or_rollback == COMMIT {
        deliver(state, shell, &half).map_err(|error| crate::send::refuse(state, error))?;
    }
    state.transactions.open.remove(&half.queue_offset().cast_unsigned());
    Ok(())
}

/// Stores a committed message where it belongs.
fn deliver(state: &mut State, shell: &mut Shell, half: &StoredMessage) -> Result<(), Unstored> {
    let real = half.properties().get(name::REAL_TOPIC).and_then(|topic| state.store.topics.find(topic));
    let queue = half.properties().get_number::<u32>(name::REAL_QUEUE_ID);
    let (Some(topic), Some(queue)) = (real, queue) else { return Err(Unstored::NoTopic) };
    let mut text = state.take_scratch();
    text.push_str(core::str::from_utf8(half.properties().as_bytes()).unwrap_or_default());
    let message = Message {
        queue,
        sys_flag: half.sys_flag().0 | COMMIT,
        prepared_offset: half.commit_log_offset(),
        tags: half.properties().tags(),
        ..as_it_is(half, topic, &mut text)
    };
    let place = append::append(state, shell, message);
    state.put_scratch(text);
    place.map(drop)
}

/// A stored message to be stored once more.
fn as_it_is<'a>(half: &'a StoredMessage, topic: TopicId, properties: &'a mut String) -> Message<'a> {
    Message {
        topic,
        queue: 0,
        flag: half.flag(),
        sys_flag: half.sys_flag().0,
        born_time: half.born_timestamp(),
        born_host: half.born_host(),
        reconsume_times: half.reconsume_times(),
        prepared_offset: 0,
        tags: None,
        body: half.body_bytes(),
        properties,
        delay: None,
    }
}

/// It is time to look at open halves.
pub(crate) fn on_check(state: &mut State, shell: &mut Shell) {
    let open: Vec<(u64, u32)> = state.transactions.open.iter().map(|(offset, asked)| (*offset, *asked)).collect();
    for (offset, asked) in open {
        let Some(half) = state.store.message_of_queue(state.half_topic, 0, offset) else {
            state.transactions.open.remove(&offset);
            continue;
        };
        if !is_old_enough(state, shell, &half) {
            continue;
        }
        let done = if asked >= state.config.transaction_checks {
            put_aside(state, shell, &half)
        } else {
            ask(state, shell, &half, asked)
        };
        // Without room it stays as it is, and is looked at again.
        if done.is_ok() {
            state.transactions.open.remove(&offset);
        }
    }
    watch(state, shell);
}

/// The age counts from when it was born, which is a time of the producer's clock.
fn is_old_enough(state: &State, shell: &Shell, half: &StoredMessage) -> bool {
    let seconds = half.properties().get_number::<u64>(name::CHECK_IMMUNITY_SECONDS);
    let least = seconds.map_or(state.config.transaction_timeout, Duration::from_secs);
    let age = shell.now.wall.get().saturating_sub(half.born_timestamp());
    age < 0 || u128::try_from(age).unwrap_or(0) >= least.as_millis()
}

/// Stores the half once more and asks a member of its group about the new one.
fn ask(state: &mut State, shell: &mut Shell, half: &StoredMessage, asked: u32) -> Result<(), Unstored> {
    let mut text = String::new();
    properties::copy_without(&mut text, half.properties().as_bytes(), &[name::TRANSACTION_CHECK_TIMES]);
    properties::push(&mut text, name::TRANSACTION_CHECK_TIMES, &format!("{}", asked + 1));
    let message = as_it_is(half, state.half_topic, &mut text);
    let place = append::append(state, shell, message)?;
    state.transactions.open.insert(place.queue_offset, asked + 1);
    let group = half.properties().get(name::PRODUCER_GROUP).unwrap_or_default();
    let Some(conn) = next_member(state, group) else { return Ok(()) };
    let unique = half.unique_key().unwrap_or_default();
    let name = state.config.name.clone();
    let request = CheckTransactionState {
        topic: Some(HALF.into()),
        tran_state_table_offset: place.queue_offset.cast_signed(),
        commit_log_offset: place.log_offset.cast_signed(),
        msg_id: Some(unique.into()),
        transaction_id: Some(unique.into()),
        offset_msg_id: Some(format!("{}", state.offset_id(place.log_offset)).into()),
        scope: Scope::broker(&*name),
    };
    if let Some(record) = question(state, half, place) {
        shell.push(conn, &request, record);
    }
    Ok(())
}

/// The half as its producer knows it, at its new place.
fn question(state: &State, half: &StoredMessage, place: Place) -> Option<Bytes> {
    let record = StoredRecord {
        version: RecordVersion::V1,
        queue_id: half.properties().get_number(name::REAL_QUEUE_ID)?,
        flag: half.flag(),
        queue_offset: place.queue_offset.cast_signed(),
        commit_log_offset: place.log_offset.cast_signed(),
        sys_flag: half.sys_flag(),
        born_timestamp: half.born_timestamp(),
        born_host: half.born_host(),
        store_timestamp: place.store_time,
        store_host: state.config.address,
        reconsume_times: half.reconsume_times(),
        prepared_transaction_offset: 0,
        body: half.body_bytes(),
        topic: half.properties().get(name::REAL_TOPIC)?,
        properties: half.properties().as_bytes(),
    };
    let mut out = Vec::new();
    record.encode(&mut out).ok()?;
    Some(out.into())
}

/// The members of a producer group are asked in turn.
fn next_member(state: &mut State, group: &str) -> Option<ConnId> {
    let members: Vec<ConnId> = state.clients.producer(group)?.keys().copied().collect();
    state.transactions.turn = state.transactions.turn.wrapping_add(1);
    members.get(state.transactions.turn.checked_rem(members.len())?).copied()
}

fn put_aside(state: &mut State, shell: &mut Shell, half: &StoredMessage) -> Result<(), Unstored> {
    let config = TopicConfig::new(1, perm::READ_WRITE);
    let topic = state.create_topic(shell, ABANDONED, config).ok_or(Unstored::NoTopic)?;
    let mut text = String::from(core::str::from_utf8(half.properties().as_bytes()).unwrap_or_default());
    let message = Message { tags: half.properties().tags(), ..as_it_is(half, topic, &mut text) };
    append::append(state, shell, message).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, bodies, messages, properties as text, pull};
    use rocketry_codec::body::JsonBody;
    use rocketry_codec::body::heartbeat::{HeartbeatData, ProducerData};
    use rocketry_codec::frame::Frame;
    use rocketry_codec::request::Heartbeat;
    use std::prelude::v1::*;
    use std::vec;

    fn world() -> World {
        World::with(|config| {
            config.topics.push(crate::config::TopicSpec::new("T", 2));
            config.transaction_check_interval = Duration::from_secs(4);
            config.transaction_checks = 2;
        })
    }

    /// Sends a half message to queue 1; its place in the half queue and in the log.
    fn half(world: &mut World, conn: ConnId, body: &str) -> (i64, i64) {
        let pairs = [("TRAN_MSG", "true"), ("PGROUP", "p"), ("UNIQ_KEY", "U"), ("TAGS", "a")];
        let sent = world.send(conn, "T", 1, &text(&pairs), body);
        assert_eq!(sent.queue, 1, "the real queue");
        (sent.offset, sent.id.parse::<rocketry_codec::ids::OffsetId>().expect("an id").offset)
    }

    fn produce(world: &mut World, conn: ConnId) {
        let data = HeartbeatData {
            client_id: "c".into(),
            producers: vec![ProducerData { group: "p".into() }],
            ..HeartbeatData::default()
        };
        world.ask(conn, &Heartbeat::default(), data.encode());
    }

    fn end_request(place: (i64, i64), how: i32) -> EndTransaction<'static> {
        EndTransaction {
            producer_group: "p".into(),
            tran_state_table_offset: place.0,
            commit_log_offset: place.1,
            commit_or_rollback: how,
            msg_id: "U".into(),
            ..EndTransaction::default()
        }
    }

    fn pulled(world: &mut World, conn: ConnId, topic: &str, queue: i32) -> Vec<String> {
        let frame = world.ask(conn, &pull("g", topic, queue, 0), "");
        if frame.response_code() == ResponseCode::SUCCESS { bodies(&frame) } else { Vec::new() }
    }

    fn checks(world: &mut World, conn: ConnId) -> Vec<Frame> {
        world.take(conn).into_iter().filter(|frame| frame.code() == 39).collect()
    }

    #[test]
    fn a_half_is_seen_once_it_is_committed_and_never_after_a_rollback() {
        for (how, seen) in [(COMMIT, vec!["x"]), (ROLLBACK, vec![])] {
            let mut world = world();
            let client = world.connect();
            let place = half(&mut world, client, "x");
            assert!(pulled(&mut world, client, "T", 1).is_empty());
            let frame = world.ask(client, &end_request(place, how), "");
            assert_eq!(frame.response_code(), ResponseCode::SUCCESS);
            assert_eq!(pulled(&mut world, client, "T", 1), seen);
            world.pass(Duration::from_secs(100));
            assert!(checks(&mut world, client).is_empty(), "it is ended");
        }
        let mut world = world();
        let client = world.connect();
        let place = half(&mut world, client, "x");
        world.ask(client, &end_request(place, COMMIT), "");
        let copy = messages(&world.ask(client, &pull("g", "T", 1, 0), "")).remove(0);
        assert_eq!((copy.sys_flag().0 & 0xC, copy.prepared_transaction_offset()), (COMMIT, place.1));
        for (name, value) in [("TRAN_MSG", "true"), ("REAL_TOPIC", "T"), ("REAL_QID", "1"), ("__transactionId__", "U")]
        {
            assert_eq!(copy.properties().get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn ends_that_do_not_fit_are_refused_in_apaches_words() {
        let mut world = world();
        let client = world.connect();
        let place = half(&mut world, client, "x");
        let other = EndTransaction { producer_group: "q".into(), ..end_request(place, COMMIT) };
        for (request, text) in [
            (end_request((0, 1 << 40), COMMIT), "Find prepared transaction message failed"),
            (other, "The producer group wrong"),
            (end_request((place.0 + 1, place.1), COMMIT), "The transaction state table offset wrong"),
        ] {
            let frame = world.ask(client, &request, "");
            assert_eq!((frame.code(), frame.remark().as_deref()), (1, Some(text)));
        }
        assert!(world.call(client, &end_request(place, 0), "").is_none(), "unknown is not answered");
        assert!(pulled(&mut world, client, "T", 1).is_empty());
    }

    #[test]
    fn producers_are_asked_about_the_new_place_and_the_half_is_put_aside_in_the_end() {
        let mut world = world();
        let client = world.connect();
        produce(&mut world, client);
        let before = half(&mut world, client, "x");
        world.pass(Duration::from_millis(5_900));
        assert!(checks(&mut world, client).is_empty(), "not before 6 s");
        world.pass(Duration::from_secs(3));
        let check = checks(&mut world, client).remove(0);
        let number = |name: &str| check.field(name).and_then(|text| text.parse::<i64>().ok()).expect(name);
        let place = (number("tranStateTableOffset"), number("commitLogOffset"));
        assert!(place.0 > before.0 && place.1 > before.1);
        let asked = messages(&check).remove(0);
        assert_eq!((asked.topic(), asked.queue_id(), asked.queue_offset()), ("T", 1, place.0));
        let old = world.ask(client, &end_request(before, COMMIT), "");
        assert_eq!(old.code(), 0, "Apache's brokers do not mind the old place either");
        let mut world = self::world();
        let client = world.connect();
        produce(&mut world, client);
        half(&mut world, client, "y");
        world.pass(Duration::from_secs(60));
        assert_eq!(checks(&mut world, client).len(), 2);
        assert_eq!(pulled(&mut world, client, ABANDONED, 0), ["y"]);
        assert!(pulled(&mut world, client, "T", 1).is_empty());
    }
}
