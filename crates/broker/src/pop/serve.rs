//! What a pop gets (`spec/broker.md` 9.2).
//!
//! The retry topic is tried first in one of five pops and last in the others, so that neither can starve the other. The
//! queues of the topic are tried from a random one on. What is given becomes invisible before the answer leaves.

use alloc::string::String;
use alloc::vec::Vec;

use rocketry_codec::message::{Messages, StoredMessage};
use rocketry_codec::pop::{ORDERED_REVIVE_QUEUE, RetryMark};

use crate::shell::Shell;
use crate::state::State;
use crate::store::{Read, ReadStatus, Want};
use crate::topics::TopicId;

use super::admit::Args;
use super::info::Taken;
use super::invisible::CheckpointId;
use super::{Place, polling, start};

/// A queue that a pop looks at.
struct Source {
    mark: RetryMark,
    id: TopicId,
    place: Place,
    queue: u32,
}

/// Takes messages for a pop; empty-handed if there are none.
pub(super) fn serve(state: &mut State, shell: &mut Shell, args: &Args) -> Taken {
    let revive_queue = if args.order { ORDERED_REVIVE_QUEUE } else { state.pop.next_revive_queue() };
    let invisible = i64::try_from(args.invisible.as_millis()).unwrap_or(i64::MAX);
    let messages = args.messages.min(state.config.limits.pull_messages);
    let mut taken = Taken::new(shell.now.wall.get(), invisible, revive_queue, messages);
    let retry_first = state.rng.below(100) < u64::from(state.config.pop_from_retry_percent);
    for source in sources(state, args, retry_first) {
        from_queue(state, shell, args, &source, &mut taken);
    }
    polling::arm(state, shell);
    taken
}

/// Whether a pop would get anything.
pub(super) fn anything(state: &mut State, shell: &Shell, args: &Args) -> bool {
    let sources = sources(state, args, false);
    sources.iter().any(|source| {
        let start = start::of(state, args, &source.place).offset;
        let blocked = args.order && state.pop.orders.blocks(&source.place, args.attempt.as_deref(), shell.now.at);
        !blocked && state.store.has_match(source.id, source.queue, start, args.matcher.filter())
    })
}

/// The queues that a pop looks at, in this order.
fn sources(state: &mut State, args: &Args, retry_first: bool) -> Vec<Source> {
    let mut normal = Vec::new();
    if let Some(id) = state.store.topics.find(&args.topic) {
        let queues = state.store.topics.get(id).map_or(0, |topic| topic.config.read_queues);
        let source = |queue: u32| {
            let place = Place::new(&args.group, &args.topic, i32::try_from(queue).unwrap_or(i32::MAX));
            Source { mark: RetryMark::Normal, id, place, queue }
        };
        match u32::try_from(args.queue) {
            Ok(queue) => normal.extend((queue < queues).then(|| source(queue))),
            Err(_) => {
                let first = u32::try_from(state.rng.below(u64::from(queues.max(1)))).unwrap_or(0);
                normal.extend((0..queues).map(|n| source((first + n) % queues)));
            }
        }
    }
    let mut retry = Vec::new();
    for mark in [RetryMark::RetryV1, RetryMark::RetryV2].into_iter().filter(|_| !args.order) {
        let name = mark.real_topic(&args.group, &args.topic);
        if let Some(id) = state.store.topics.find(&name) {
            let queues = state.store.topics.get(id).map_or(0, |topic| topic.config.read_queues);
            retry.extend((0..queues).map(|queue| {
                let place = Place::new(&args.group, &name, i32::try_from(queue).unwrap_or(i32::MAX));
                Source { mark, id, place, queue }
            }));
        }
    }
    if retry_first {
        retry.extend(normal);
        retry
    } else {
        normal.extend(retry);
        normal
    }
}

fn from_queue(state: &mut State, shell: &Shell, args: &Args, source: &Source, taken: &mut Taken) {
    let begin = start::of(state, args, &source.place);
    let (_, max) = state.store.range(&source.place.topic, source.place.queue);
    let blocked = args.order
        && !args.peek
        && !begin.fresh
        && state.pop.orders.blocks(&source.place, args.attempt.as_deref(), shell.now.at);
    let room = taken.left.min(if args.order || args.peek { usize::MAX } else { state.pop.invisible.room() });
    if blocked || room == 0 {
        taken.rest += max.saturating_sub(begin.offset).max(0);
        return;
    }
    let (begin, read) = read(state, args, source, begin, room, taken.body.len());
    taken.rest += read.max.saturating_sub(read.next).max(0);
    let found: Vec<StoredMessage> = Messages::new(read.body.clone()).filter_map(Result::ok).collect();
    if read.status != ReadStatus::Found || found.is_empty() {
        // Messages that the filter does not admit are passed for good.
        if !args.peek && (begin.fresh || read.next != begin.offset) {
            start::store(state, &source.place, read.next);
        }
        return;
    }
    let offsets: Vec<i64> = found.iter().map(StoredMessage::queue_offset).collect();
    write(state, args, source, begin.offset, &read, &found, taken);
    taken.note(source.mark, source.place.queue, begin.offset, &offsets);
    if !args.peek {
        hide(state, shell, args, source, begin, &read, &offsets, taken);
    }
}

/// Reads from where the group stands, or from where the queue begins or ends if it stands outside.
fn read(
    state: &State,
    args: &Args,
    source: &Source,
    begin: start::Start,
    messages: usize,
    written: usize,
) -> (start::Start, Read) {
    let bytes = state.config.limits.pull_bytes.saturating_sub(written);
    let want = Want { messages, bytes };
    let read = |offset| state.store.read(source.id, source.queue, offset, want, args.matcher.filter());
    let first = read(begin.offset);
    match first.status {
        ReadStatus::OffsetTooSmall | ReadStatus::OffsetOverflowBadly if first.next != begin.offset => {
            (start::Start { offset: first.next, fresh: true }, read(first.next))
        }
        _ => (begin, first),
    }
}

/// Makes what was read invisible, or blocks its queue.
#[expect(clippy::too_many_arguments, reason = "the one place where a pop takes effect")]
fn hide(
    state: &mut State,
    shell: &Shell,
    args: &Args,
    source: &Source,
    begin: start::Start,
    read: &Read,
    offsets: &[i64],
    taken: &mut Taken,
) {
    let visible = shell.now.at + args.invisible;
    if args.order {
        if begin.fresh {
            start::store(state, &source.place, begin.offset);
        }
        let attempt = args.attempt.as_deref();
        let counts = state.pop.orders.give(source.place.clone(), taken.pop_time, attempt, offsets, visible);
        taken.count(source.mark, source.place.queue, offsets, &counts);
        return;
    }
    let id = CheckpointId { place: source.place.clone(), start: begin.offset, pop_time: taken.pop_time };
    state.pop.invisible.add(id, offsets, visible);
    start::store(state, &source.place, read.next);
}

/// Writes what was read into the answer. Retried messages come under the name of their topic, with their handles.
fn write(
    state: &State,
    args: &Args,
    source: &Source,
    begin: i64,
    read: &Read,
    found: &[StoredMessage],
    taken: &mut Taken,
) {
    if source.mark == RetryMark::Normal {
        taken.body.extend_from_slice(&read.body);
        return;
    }
    for message in found {
        let handle: String = taken.handle(source.mark, &state.config.name, begin, message);
        if !taken.push_renamed(message, &args.topic, &handle) {
            // Too long under its other name: it goes as it is stored.
            taken.body.extend_from_slice(message.record());
        }
    }
}
