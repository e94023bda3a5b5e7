//! Requests about positions: consumer offsets, queue bounds, searches by time (`spec/broker.md` 5).

use alloc::format;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::reply::{GetEarliestMsgStoretimeReply, GetMaxOffsetReply};
use rocketry_codec::request::{
    GetEarliestMsgStoretime, GetMaxOffset, GetMinOffset, QueryConsumerOffset, SearchOffset, UpdateConsumerOffset,
};

use crate::offsets::Commit;
use crate::shell::{Call, NO_FIELDS, ReplyTo, Shell};
use crate::state::State;
use crate::store::Boundary;

/// QUERY_CONSUMER_OFFSET: the stored position; 0 for a group without one on a queue that still has its first message.
pub(crate) fn query(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<QueryConsumerOffset<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let (group, topic, queue) = (&*request.consumer_group, &*request.topic, request.queue_id);
    if let Some(offset) = state.offsets.query(group, topic, queue) {
        return answer(shell, call.to, offset);
    }
    if request.set_zero_if_not_found == Some(false) {
        let remark = "Not found, do not set to zero, maybe this group boot first";
        return shell.refuse(call.to, ResponseCode::QUERY_NOT_FOUND, remark);
    }
    let (min, max) = state.store.range(topic, queue);
    if min == 0 && max > 0 {
        return answer(shell, call.to, 0);
    }
    let remark = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first";
    shell.refuse(call.to, ResponseCode::QUERY_NOT_FOUND, remark);
}

/// UPDATE_CONSUMER_OFFSET: stored without a look at the queue's range.
pub(crate) fn update(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<UpdateConsumerOffset<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let (group, topic) = (&*request.consumer_group, &*request.topic);
    if state.groups.get(group).is_none() {
        let remark = format!("Group {group} not exist!");
        return shell.refuse(call.to, ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, &remark);
    }
    if state.store.topics.find(topic).is_none() {
        return shell.refuse(call.to, ResponseCode::TOPIC_NOT_EXIST, &format!("Topic {topic} not exist!"));
    }
    match state.offsets.update(group, topic, request.queue_id, request.commit_offset) {
        Commit::Stored => shell.respond_ok(call.to),
        Commit::ResetPending => {
            let remark = Some("Offset has been previously reset");
            shell.respond(call.to, ResponseCode::SUCCESS, remark, NO_FIELDS, Bytes::new());
        }
        Commit::Full => shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "too many consumer positions"),
    }
}

/// GET_MAX_OFFSET.
pub(crate) fn max(state: &State, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<GetMaxOffset<'_>>() {
        Ok(request) => answer(shell, call.to, state.store.range(&request.topic, request.queue_id).1),
        Err(error) => shell.malformed(call.to, error),
    }
}

/// GET_MIN_OFFSET.
pub(crate) fn min(state: &State, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<GetMinOffset<'_>>() {
        Ok(request) => answer(shell, call.to, state.store.range(&request.topic, request.queue_id).0),
        Err(error) => shell.malformed(call.to, error),
    }
}

/// SEARCH_OFFSET_BY_TIMESTAMP.
pub(crate) fn search(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<SearchOffset<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let upper = request.boundary_type.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case("upper"));
    let boundary = if upper { Boundary::Upper } else { Boundary::Lower };
    answer(shell, call.to, state.store.search(&request.topic, request.queue_id, request.timestamp, boundary));
}

/// GET_EARLIEST_MSG_STORETIME: -1 for an empty queue.
pub(crate) fn earliest(state: &State, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<GetEarliestMsgStoretime<'_>>() {
        Ok(request) => {
            let timestamp = state.store.earliest_time(&request.topic, request.queue_id).unwrap_or(-1);
            let reply = GetEarliestMsgStoretimeReply { timestamp };
            shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

/// All answers that name an offset have the same one field.
fn answer(shell: &mut Shell, to: ReplyTo, offset: i64) {
    shell.respond(to, ResponseCode::SUCCESS, None, &GetMaxOffsetReply { offset }, Bytes::new());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{START, World, pull};
    use core::time::Duration;
    use rocketry_codec::header::Request;
    use rocketry_machine::ConnId;
    use std::prelude::v1::*;

    fn ask<R: Request>(world: &mut World, client: ConnId, request: &R) -> (i32, Option<i64>) {
        let frame = world.ask(client, request, "");
        let field = frame.field("offset").or_else(|| frame.field("timestamp"));
        (frame.code(), field.and_then(|value| value.parse().ok()))
    }

    fn query<'a>(topic: &'a str, zero: Option<bool>) -> QueryConsumerOffset<'a> {
        QueryConsumerOffset {
            consumer_group: "g".into(),
            topic: topic.into(),
            set_zero_if_not_found: zero,
            ..QueryConsumerOffset::default()
        }
    }

    fn update<'a>(group: &'a str, topic: &'a str, queue_id: i32, commit_offset: i64) -> UpdateConsumerOffset<'a> {
        UpdateConsumerOffset {
            consumer_group: group.into(),
            topic: topic.into(),
            queue_id,
            commit_offset,
            ..UpdateConsumerOffset::default()
        }
    }

    #[test]
    fn a_new_group_on_a_young_topic_starts_at_0() {
        let mut world = World::new();
        let client = world.connect();
        assert_eq!(ask(&mut world, client, &query("T", None)), (22, None), "an unknown topic");
        world.send(client, "T", 1, "", "x");
        assert_eq!(ask(&mut world, client, &query("T", None)), (22, None), "an empty queue");
        world.send(client, "T", 0, "", "x");
        assert_eq!(ask(&mut world, client, &query("T", None)), (0, Some(0)));
        assert_eq!(ask(&mut world, client, &query("T", Some(true))), (0, Some(0)));
        assert_eq!(ask(&mut world, client, &query("T", Some(false))), (22, None));
    }

    #[test]
    fn commits_are_checked_for_group_and_topic_only() {
        let mut world = World::new();
        let client = world.connect();
        world.send(client, "T", 0, "", "x");
        assert_eq!(ask(&mut world, client, &update("g", "T", 0, 5)).0, 26);
        world.ask(client, &pull("g", "T", 0, 0), "");
        assert_eq!(ask(&mut world, client, &update("g", "?", 0, 5)).0, 17);
        for offset in [5, 3, -1, 1 << 40] {
            assert_eq!(ask(&mut world, client, &update("g", "T", 0, offset)).0, 0);
            assert_eq!(ask(&mut world, client, &query("T", Some(false))), (0, Some(offset)));
        }
        assert_eq!(ask(&mut world, client, &update("g", "T", 99, 1)).0, 0);
    }

    #[test]
    fn bounds_and_times() {
        let mut world = World::new();
        let client = world.connect();
        for _ in 0..3 {
            world.send(client, "T", 0, "", "x");
            world.pass(Duration::from_millis(10));
        }
        let max = GetMaxOffset { topic: "T".into(), ..GetMaxOffset::default() };
        let min = GetMinOffset { topic: "T".into(), ..GetMinOffset::default() };
        let earliest = GetEarliestMsgStoretime { topic: "T".into(), ..GetEarliestMsgStoretime::default() };
        assert_eq!(ask(&mut world, client, &max), (0, Some(3)));
        assert_eq!(ask(&mut world, client, &min), (0, Some(0)));
        assert_eq!(ask(&mut world, client, &earliest), (0, Some(START)));
        assert_eq!(ask(&mut world, client, &GetMaxOffset { topic: "?".into(), ..max }), (0, Some(0)));
        assert_eq!(ask(&mut world, client, &GetEarliestMsgStoretime { queue_id: 3, ..earliest }), (0, Some(-1)));
        let search = |time, boundary: Option<&'static str>| SearchOffset {
            topic: "T".into(),
            timestamp: time,
            boundary_type: boundary.map(Into::into),
            ..SearchOffset::default()
        };
        assert_eq!(ask(&mut world, client, &search(START + 5, None)), (0, Some(1)));
        assert_eq!(ask(&mut world, client, &search(START + 5, Some("upper"))), (0, Some(0)));
        assert_eq!(ask(&mut world, client, &search(START + 99, Some("LOWER"))), (0, Some(3)));
    }
}
