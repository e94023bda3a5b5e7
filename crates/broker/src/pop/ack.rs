//! ACK_MESSAGE, BATCH_ACK_MESSAGE and CHANGE_MESSAGE_INVISIBLETIME (`spec/broker.md` 9.4, 9.5, 9.8).
//!
//! An acknowledgement that comes too late, twice, or for what was never popped is answered as any other: the message
//! was, or will be, delivered again.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::base64::{self, Alphabet};
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::{BatchAck, BatchAckItem};
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::pop::{ORDERED_REVIVE_QUEUE, ReceiptHandle, RetryMark};
use rocketry_codec::reply::ChangeInvisibleTimeReply;
use rocketry_codec::request::{AckMessage, ChangeInvisibleTime};
use rocketry_machine::Moment;

use crate::pull::Refusal;
use crate::shell::{Call, FAQ, Shell};
use crate::state::State;

use super::invisible::CheckpointId;
use super::order::Acked;
use super::{Place, polling};

/// ACK_MESSAGE.
pub(super) fn one(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<AckMessage<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let place = Place::new(&request.consumer_group, &request.topic, request.queue_id);
    let checked = check(state, call, &place, request.offset, true).and_then(|()| handle(&request.extra_info));
    let code = match checked {
        Err(refusal) => return shell.refuse(call.to, refusal.code, &refusal.remark),
        Ok(handle) => apply(state, shell, place, &handle, request.offset),
    };
    match code {
        ResponseCode::SUCCESS => shell.respond_ok(call.to),
        code => shell.refuse(call.to, code, "offset is illegal"),
    }
}

/// BATCH_ACK_MESSAGE.
pub(super) fn batch(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let acks = match BatchAck::decode(call.frame.body()) {
        Ok(request) => request.acks,
        Err(error) => return shell.malformed(call.to, error),
    };
    if acks.is_empty() {
        return shell.refuse(call.to, ResponseCode::NO_MESSAGE, "");
    }
    for item in &acks {
        apply_item(state, shell, item);
    }
    shell.respond_ok(call.to);
}

fn apply_item(state: &mut State, shell: &mut Shell, item: &BatchAckItem) {
    let Some(retry) = RetryMark::from_text(&item.retry) else { return };
    let Some(bits) = base64::decode(Alphabet::Standard, &item.bits) else { return };
    let topic = retry.real_topic(&item.consumer_group, &item.topic);
    let (min, max) = state.store.range(&topic, item.queue_id);
    let handle = ReceiptHandle {
        check_point_offset: item.start_offset,
        pop_time: item.pop_time_ms,
        invisible_time: item.invisible_time_ms,
        revive_queue_id: item.revive_queue_id,
        retry,
        broker_name: state.config.name.as_ref().into(),
        queue_id: item.queue_id,
        queue_offset: 0,
    };
    let set = bits.iter().zip(0i64..).flat_map(|(byte, at)| {
        (0i64..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at.saturating_mul(8).saturating_add(bit))
    });
    let offsets: Vec<i64> = set.map(|bit| item.start_offset.saturating_add(bit)).collect();
    for offset in offsets.into_iter().filter(|offset| (min..=max).contains(offset)) {
        apply(state, shell, Place::new(&item.consumer_group, &topic, item.queue_id), &handle, offset);
    }
}

/// Acknowledges a message of a queue that exists.
fn apply(state: &mut State, shell: &mut Shell, place: Place, handle: &ReceiptHandle, offset: i64) -> ResponseCode {
    if handle.revive_queue_id != ORDERED_REVIVE_QUEUE {
        let (start, pop_time) = (handle.check_point_offset, handle.pop_time);
        state.pop.invisible.ack(&CheckpointId { place, start, pop_time }, offset);
        return ResponseCode::SUCCESS;
    }
    match state.pop.orders.ack(&place, handle.pop_time, offset) {
        Acked::Stale => ResponseCode::SUCCESS,
        Acked::NotInBatch => ResponseCode::MESSAGE_ILLEGAL,
        Acked::Next(next) => {
            // A reset that waits to be seen by the next pop goes first.
            state.offsets.update(&place.group, &place.topic, place.queue, next);
            polling::wake_topic(state, shell, &place.topic);
            ResponseCode::SUCCESS
        }
    }
}

/// CHANGE_MESSAGE_INVISIBLETIME.
pub(super) fn change(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<ChangeInvisibleTime<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let place = Place::new(&request.consumer_group, &request.topic, request.queue_id);
    let checked = check(state, call, &place, request.offset, false).and_then(|()| handle(&request.extra_info));
    let handle = match checked {
        Err(refusal) => return shell.refuse(call.to, refusal.code, &refusal.remark),
        Ok(handle) => handle,
    };
    let invisible = request.invisible_time.max(0);
    let visible = shell.now.at + Duration::from_millis(invisible.unsigned_abs());
    let now = shell.now.wall.get();
    let reply = if handle.revive_queue_id == ORDERED_REVIVE_QUEUE {
        state.pop.orders.change(&place, handle.pop_time, request.offset, visible);
        ChangeInvisibleTimeReply {
            pop_time: handle.pop_time,
            invisible_time: now.saturating_add(invisible).saturating_sub(handle.pop_time),
            revive_queue_id: ORDERED_REVIVE_QUEUE,
        }
    } else {
        move_checkpoint(state, place, &handle, request.offset, invisible, (now, visible))
    };
    polling::arm(state, shell);
    shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
}

/// Hides the message under a new handle; then the old one is void.
fn move_checkpoint(
    state: &mut State,
    place: Place,
    handle: &ReceiptHandle,
    offset: i64,
    invisible: i64,
    (now, visible): (i64, Moment),
) -> ChangeInvisibleTimeReply {
    let old = CheckpointId { place: place.clone(), start: handle.check_point_offset, pop_time: handle.pop_time };
    let mut new = CheckpointId { place, start: offset, pop_time: now };
    // Two handles of one message never have the same name.
    while state.pop.invisible.contains(&new) || new == old {
        new.pop_time = new.pop_time.saturating_add(1);
    }
    let pop_time = new.pop_time;
    state.pop.invisible.add(new, &[offset], visible);
    state.pop.invisible.ack(&old, offset);
    ChangeInvisibleTimeReply { pop_time, invisible_time: invisible, revive_queue_id: state.pop.next_revive_queue() }
}

/// The checks that both requests share; only an acknowledgement may name the end of the queue.
fn check(state: &State, call: &Call<'_>, place: &Place, offset: i64, end: bool) -> Result<(), Refusal> {
    let Place { topic, queue, .. } = place;
    let Some(known) = state.store.topics.named(topic) else {
        let remark = format!("topic[{topic}] not exist, apply first please! {FAQ}");
        return Err(Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark));
    };
    let queues = known.config.read_queues;
    if !u32::try_from(*queue).is_ok_and(|queue| queue < queues) {
        let remark = format!(
            "queueId[{queue}] is illegal, topic:[{topic}] topicConfig.readQueueNums:[{queues}] consumer:[{}]",
            call.remote
        );
        return Err(Refusal::new(ResponseCode::MESSAGE_ILLEGAL, remark));
    }
    let (min, max) = state.store.range(topic, *queue);
    if offset < min || offset > max || offset == max && !end {
        let remark = format!("offset is illegal, key:{topic}@{queue}, commit:{offset}, store:{min}~{max}");
        return Err(Refusal::new(ResponseCode::NO_MESSAGE, remark));
    }
    Ok(())
}

fn handle(text: &str) -> Result<ReceiptHandle, Refusal> {
    text.parse().map_err(|error| Refusal::new(ResponseCode::SYSTEM_ERROR, format!("{error}")))
}
