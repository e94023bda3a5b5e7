//! Requests about how far groups have come: statistics, and moving them elsewhere.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::offset::{ConsumeStats, QueueProgress, ResetOffsets};
use rocketry_codec::body::queue::QueueName;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::request::{GetConsumeStats, ResetOffset};

use crate::send::Refusal;
use crate::shell::{Call, FAQ, Shell};
use crate::state::State;
use crate::store::Boundary;

/// GET_CONSUME_STATS: for each queue of the group's topics its end, the group's position and the time of the last
/// message that it has consumed.
pub(super) fn stats(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetConsumeStats<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let group = &*request.consumer_group;
    let only = request.topic.as_deref().filter(|topic| !topic.is_empty());
    let online = state.clients.consumer(group);
    let mut queues = BTreeMap::new();
    for (topic, _) in state.offsets.of_group(group) {
        let wanted = match only {
            Some(only) => **topic == *only,
            // A topic that the group has given up is left out.
            None => online.is_none_or(|online| online.subscriptions.contains_key(topic)),
        };
        if wanted {
            topic_progress(state, group, topic, &mut queues);
        }
    }
    shell.respond_body(call.to, ConsumeStats { consume_tps: 0.0, queues }.encode());
}

fn topic_progress(state: &State, group: &str, topic: &str, out: &mut BTreeMap<QueueName, QueueProgress>) {
    let Some(config) = state.store.topics.named(topic).map(|topic| &topic.config) else { return };
    for queue in 0..i32::try_from(config.read_queues).unwrap_or(0) {
        let position = state.offsets.get(group, topic, queue).copied().unwrap_or_default();
        let broker_offset = state.store.range(topic, queue).1;
        let consumer_offset = position.committed.unwrap_or(0).max(0);
        let progress = QueueProgress {
            broker_offset,
            consumer_offset,
            last_timestamp_ms: state.store.time_at(topic, queue, consumer_offset - 1).unwrap_or(0),
            pull_offset: position.pulled.unwrap_or(0).max(0),
        };
        out.insert(queue_name(state, topic, queue), progress);
    }
}

/// INVOKE_BROKER_TO_RESET_OFFSET: the next pull of each queue starts elsewhere (`spec/broker.md` 5.4). Nobody is told;
/// the pull is.
pub(super) fn reset(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<ResetOffset<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match reset_queues(state, &request) {
        Ok(offsets) => shell.respond_body(call.to, ResetOffsets { offsets }.encode()),
        Err(refusal) => shell.refuse(call.to, refusal.code, &refusal.remark),
    }
}

fn reset_queues(state: &mut State, request: &ResetOffset<'_>) -> Result<BTreeMap<QueueName, i64>, Refusal> {
    let (group, topic) = (&*request.group, &*request.topic);
    let Some(config) = state.store.topics.named(topic).map(|topic| &topic.config) else {
        let remark = format!("Topic {topic} does not exist{FAQ}");
        return Err(Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark));
    };
    if state.groups.get(group).is_none() {
        let remark = format!("Group {group} does not exist{FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark));
    }
    let queues = i32::try_from(config.read_queues).unwrap_or(0);
    let wanted = if request.queue_id >= 0 { request.queue_id..request.queue_id.saturating_add(1) } else { 0..queues };
    let mut offsets = BTreeMap::new();
    for queue in wanted {
        let (min, max) = state.store.range(topic, queue);
        let offset = match request.offset.filter(|offset| *offset != -1) {
            Some(offset) if offset < min || offset > max + 1 => {
                let remark = format!("Target offset {offset} not in consume queue range [{min}-{max}]");
                return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark));
            }
            Some(offset) => offset,
            None if request.timestamp < 0 => max,
            None => state.store.search(topic, queue, request.timestamp, Boundary::Lower),
        };
        offsets.insert(queue, offset);
    }
    let done = offsets.into_iter().map(|(queue, offset)| {
        state.offsets.reset(group, topic, queue, offset);
        (queue_name(state, topic, queue), offset)
    });
    Ok(done.collect())
}

fn queue_name(state: &State, topic: &str, queue_id: i32) -> QueueName {
    QueueName { topic: topic.into(), broker_name: String::from(&*state.config.name), queue_id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{START, World, pull};
    use core::time::Duration;
    use rocketry_codec::request::{PullMessage, QueryConsumerOffset, UpdateConsumerOffset};
    use rocketry_machine::ConnId;
    use std::prelude::v1::*;

    /// Three messages in queue 0 of `T`, 10 ms apart, and a group that has consumed two of them.
    fn world() -> (World, ConnId) {
        let mut world = World::with(|config| config.topics.push(crate::config::TopicSpec::new("T", 2)));
        let client = world.connect();
        for _ in 0..3 {
            world.send(client, "T", 0, "", "x");
            world.pass(Duration::from_millis(10));
        }
        world.ask(client, &PullMessage { sys_flag: 5, commit_offset: 2, ..pull("g", "T", 0, 1) }, "");
        (world, client)
    }

    fn to(offset: Option<i64>, timestamp: i64) -> ResetOffset<'static> {
        ResetOffset {
            group: "g".into(),
            topic: "T".into(),
            queue_id: -1,
            offset,
            timestamp,
            is_force: true,
            ..ResetOffset::default()
        }
    }

    fn position(world: &mut World, client: ConnId) -> Option<String> {
        let query =
            QueryConsumerOffset { consumer_group: "g".into(), topic: "T".into(), ..QueryConsumerOffset::default() };
        world.ask(client, &query, "").field("offset").map(|offset| offset.into_owned())
    }

    #[test]
    fn statistics_of_a_group() {
        let (mut world, client) = world();
        let stats = GetConsumeStats { consumer_group: "g".into(), ..GetConsumeStats::default() };
        let frame = world.ask(client, &stats, "");
        let stats = ConsumeStats::decode(frame.body()).expect("a table");
        let queue = stats.queues.iter().next().expect("a queue").1;
        let expected =
            QueueProgress { broker_offset: 3, consumer_offset: 2, last_timestamp_ms: START + 10, pull_offset: 3 };
        assert_eq!((queue, stats.queues.len()), (&expected, 2));
    }

    #[test]
    fn a_reset_is_told_by_the_next_pull() {
        let (mut world, client) = world();
        let frame = world.ask(client, &to(Some(2), -1), "");
        assert_eq!(frame.code(), 1, "queue 1 ends before 2: nothing is moved");
        assert_eq!(position(&mut world, client).as_deref(), Some("2"));
        let only = ResetOffset { queue_id: 0, ..to(Some(1), -1) };
        let moved = ResetOffsets::decode(world.ask(client, &only, "").body()).expect("a table");
        assert_eq!(moved.offsets.into_values().collect::<Vec<_>>(), [1]);
        assert_eq!(position(&mut world, client).as_deref(), Some("1"));
        let commit = UpdateConsumerOffset {
            consumer_group: "g".into(),
            topic: "T".into(),
            commit_offset: 3,
            ..UpdateConsumerOffset::default()
        };
        let frame = world.ask(client, &commit, "");
        assert_eq!((frame.code(), frame.remark().as_deref()), (0, Some("Offset has been previously reset")));
        assert_eq!(position(&mut world, client).as_deref(), Some("1"));
        let frame = world.ask(client, &pull("g", "T", 0, 3), "");
        assert_eq!((frame.code(), frame.remark().as_deref()), (21, Some("OFFSET_RESET")));
        assert_eq!(frame.field("nextBeginOffset").as_deref(), Some("1"));
        assert_eq!(world.ask(client, &pull("g", "T", 0, 1), "").code(), 0);
        world.ask(client, &commit, "");
        assert_eq!(position(&mut world, client).as_deref(), Some("3"));
    }

    #[test]
    fn resets_by_time_and_to_the_end() {
        let (mut world, client) = world();
        for (timestamp, expected) in [(-1, 3), (START + 10, 1), (START - 5, 0), (START + 500, 3)] {
            let moved = ResetOffsets::decode(world.ask(client, &to(None, timestamp), "").body()).expect("a table");
            assert_eq!(moved.offsets.into_values().collect::<Vec<_>>(), [expected, 0], "{timestamp}");
        }
        assert_eq!(world.ask(client, &ResetOffset { topic: "?".into(), ..to(None, -1) }, "").code(), 17);
        assert_eq!(world.ask(client, &ResetOffset { group: "?".into(), ..to(None, -1) }, "").code(), 26);
    }
}
