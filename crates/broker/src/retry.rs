//! CONSUMER_SEND_MSG_BACK, retry topics and dead letters (`spec/broker.md` 3.6).

use alloc::format;
use alloc::string::String;

use rocketry_codec::codes::{ResponseCode, Version};
use rocketry_codec::message::{StoredMessage, property_names as name};
use rocketry_codec::names;
use rocketry_codec::request::ConsumerSendMsgBack;

use crate::append::{self, Message, Unstored};
use crate::config::perm;
use crate::event::Event;
use crate::properties;
use crate::send::Refusal;
use crate::shell::{Call, FAQ, Shell};
use crate::state::State;
use crate::topics::{TopicConfig, TopicId};

/// The delay level of a first retry, when the consumer leaves it to the broker: 10 s.
const FIRST_RETRY_LEVEL: i32 = 3;

/// Stores a message that could not be consumed for another attempt, or buries it.
pub(crate) fn send_back(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<ConsumerSendMsgBack<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let counted = call.frame.version() >= Version::V3_4_9;
    let asked = request.max_reconsume_times.filter(|_| counted);
    match take_back(state, shell, &request, asked) {
        Ok(()) => shell.respond_ok(call.to),
        Err(refusal) => shell.refuse(call.to, refusal.code, &refusal.remark),
    }
}

fn take_back(
    state: &mut State,
    shell: &mut Shell,
    request: &ConsumerSendMsgBack<'_>,
    asked_max: Option<i32>,
) -> Result<(), Refusal> {
    let group = &*request.group;
    let Some(config) = state.groups.find_or_create(shell.now.wall, group) else {
        let remark = format!("subscription group not exist, {group} {FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark));
    };
    let (retry_queues, max) = (config.retry_queues, asked_max.unwrap_or(config.retry_max));
    if state.config.permission & perm::WRITE == 0 {
        let ip = state.config.address.ip();
        return Err(Refusal::new(
            ResponseCode::NO_PERMISSION,
            format!("the broker[{ip}] sending message is forbidden"),
        ));
    }
    let Ok(retry_queues @ 1..) = u32::try_from(retry_queues) else {
        return Ok(());
    };
    let Some(retry_topic) = retry_topic(state, shell, group, retry_queues) else {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, format!("topic[%RETRY%{group}] not exist")));
    };
    if !state.store.topics.get(retry_topic).is_some_and(|topic| topic.config.writable()) {
        let remark = format!("the topic[%RETRY%{group}] sending message is forbidden");
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, remark));
    }
    let Some(stored) = state.store.message_at(request.offset) else {
        let remark = format!("look message by offset failed, {}", request.offset);
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark));
    };
    let buried = stored.reconsume_times() >= max || request.delay_level < 0;
    let again = if buried {
        shell.event(Event::DeadLetter { group: group.into() });
        let topic = dead_letter_topic(state, shell, group);
        topic.map(|topic| Again { topic, queue: 0, level: None })
    } else {
        let level = if request.delay_level == 0 {
            FIRST_RETRY_LEVEL.saturating_add(stored.reconsume_times())
        } else {
            request.delay_level
        };
        let queue = u32::try_from(state.rng.below(retry_queues.into())).unwrap_or(0);
        Some(Again { topic: retry_topic, queue, level: state.config.delay_levels.clamp(level.into()) })
    };
    let again = again.ok_or_else(|| Refusal::new(ResponseCode::SYSTEM_ERROR, "too many topics"))?;
    store_again(state, shell, &stored, &again, request.offset).map_err(|error| {
        let status = if error == Unstored::Full { "SERVICE_NOT_AVAILABLE" } else { "MESSAGE_ILLEGAL" };
        Refusal::new(ResponseCode::SYSTEM_ERROR, status)
    })
}

/// Where the copy of a message goes.
struct Again {
    topic: TopicId,
    queue: u32,
    level: Option<u8>,
}

/// Stores a copy that has been tried once more than `stored`.
fn store_again(
    state: &mut State,
    shell: &mut Shell,
    stored: &StoredMessage,
    again: &Again,
    log_offset: i64,
) -> Result<(), Unstored> {
    let mut text = state.take_scratch();
    let known = |name: &str| stored.properties().get(name);
    let mut replaced = alloc::vec![name::DELAY_LEVEL, name::WAIT_STORE];
    // A message that has waited in a level's queue before carries its place of then.
    replaced.extend(again.level.map(|_| [name::REAL_TOPIC, name::REAL_QUEUE_ID]).into_iter().flatten());
    properties::copy_without(&mut text, stored.properties().as_bytes(), &replaced);
    if known(name::RETRY_TOPIC).is_none() {
        properties::push(&mut text, name::RETRY_TOPIC, stored.topic());
    }
    if known(name::ORIGIN_MESSAGE_ID).is_none() {
        let id = format!("{}", state.offset_id(log_offset.unsigned_abs()));
        properties::push(&mut text, name::ORIGIN_MESSAGE_ID, &id);
    }
    let level = again.level.map_or_else(|| String::from("0"), |level| format!("{level}"));
    properties::push(&mut text, name::DELAY_LEVEL, &level);
    properties::push(&mut text, name::WAIT_STORE, "false");
    let message = Message {
        topic: again.topic,
        queue: again.queue,
        flag: stored.flag(),
        sys_flag: stored.sys_flag().0,
        born_time: stored.born_timestamp(),
        born_host: stored.born_host(),
        reconsume_times: stored.reconsume_times().saturating_add(1),
        prepared_offset: 0,
        tags: stored.properties().tags(),
        body: stored.body_bytes(),
        properties: &mut text,
        delay: again.level,
    };
    let place = append::append(state, shell, message);
    state.put_scratch(text);
    place.map(drop)
}

/// The retry topic of a group, created if it does not exist.
pub(crate) fn retry_topic(state: &mut State, shell: &mut Shell, group: &str, queues: u32) -> Option<TopicId> {
    let config = TopicConfig::new(queues, perm::READ_WRITE);
    state.create_topic(shell, &names::retry_topic(group), config)
}

/// The dead-letter topic of a group: one queue, which anybody may read.
pub(crate) fn dead_letter_topic(state: &mut State, shell: &mut Shell, group: &str) -> Option<TopicId> {
    let config = TopicConfig::new(1, perm::READ_WRITE);
    state.create_topic(shell, &names::dlq_topic(group), config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BrokerConfig, TopicSpec};
    use crate::testing::{World, message, messages, properties as text, pull};
    use core::time::Duration;
    use rocketry_codec::body::JsonBody;
    use rocketry_codec::body::lock::LockRequest;
    use rocketry_codec::body::queue::QueueName;
    use rocketry_codec::request::{LockBatchMq, SendMessageV2};
    use rocketry_machine::ConnId;
    use std::prelude::v1::*;

    fn world() -> (World, ConnId) {
        let mut world = World::with(|config: &mut BrokerConfig| config.topics.push(TopicSpec::new("T", 1)));
        let client = world.connect();
        (world, client)
    }

    /// Puts a message into `T` and returns its log offset.
    fn put(world: &mut World, client: ConnId, tag: &str) -> (String, i64) {
        let sent = world.send(client, "T", 0, &text(&[("TAGS", tag), ("UNIQ_KEY", "U"), ("WAIT", "true")]), "body");
        let at = world.ask(client, &pull("g", "T", 0, sent.offset), "");
        (sent.id, messages(&at)[0].commit_log_offset())
    }

    fn back(offset: i64, level: i32) -> ConsumerSendMsgBack<'static> {
        ConsumerSendMsgBack {
            offset,
            group: "g".into(),
            delay_level: level,
            max_reconsume_times: Some(2),
            ..ConsumerSendMsgBack::default()
        }
    }

    fn stored(world: &mut World, client: ConnId, topic: &str, offset: i64) -> Vec<StoredMessage> {
        messages(&world.ask(client, &pull("other", topic, 0, offset), ""))
    }

    #[test]
    fn a_message_comes_again_until_it_is_buried() {
        let (mut world, client) = world();
        let (id, offset) = put(&mut world, client, "a");
        assert_eq!(world.ask(client, &back(offset, 0), "").code(), 0);
        assert!(stored(&mut world, client, "%RETRY%g", 0).is_empty());
        world.pass(Duration::from_millis(9_900));
        assert!(stored(&mut world, client, "%RETRY%g", 0).is_empty(), "level 3 is 10 s");
        world.pass(Duration::from_millis(200));
        let first = stored(&mut world, client, "%RETRY%g", 0).remove(0);
        assert_eq!((first.reconsume_times(), first.body_bytes()), (1, &b"body"[..]));
        let get = |message: &StoredMessage, name| message.properties().get(name).map(String::from);
        for (name, value) in [
            ("RETRY_TOPIC", "T"),
            ("ORIGIN_MESSAGE_ID", &*id),
            ("DELAY", "3"),
            ("WAIT", "false"),
            ("REAL_TOPIC", "%RETRY%g"),
            ("REAL_QID", "0"),
            ("TAGS", "a"),
            ("UNIQ_KEY", "U"),
        ] {
            assert_eq!(get(&first, name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(first.born_timestamp(), crate::testing::START);
        assert_eq!(first.store_timestamp(), crate::testing::START + 10_000);

        assert_eq!(world.ask(client, &back(first.commit_log_offset(), 0), "").code(), 0);
        world.pass(Duration::from_secs(31));
        let second = stored(&mut world, client, "%RETRY%g", 1).remove(0);
        assert_eq!((second.reconsume_times(), get(&second, "DELAY").as_deref()), (2, Some("4")));
        assert_eq!(get(&second, "RETRY_TOPIC").as_deref(), Some("T"), "the first topic stays");
        assert_eq!(get(&second, "ORIGIN_MESSAGE_ID"), Some(id));
        let real: Vec<_> = second.properties().iter().filter(|(name, _)| *name == "REAL_TOPIC").collect();
        assert_eq!(real.len(), 1);

        assert_eq!(world.ask(client, &back(second.commit_log_offset(), 0), "").code(), 0);
        let buried = stored(&mut world, client, "%DLQ%g", 0).remove(0);
        assert_eq!((buried.reconsume_times(), get(&buried, "RETRY_TOPIC").as_deref()), (3, Some("T")));
        assert!(world.events.contains(&Event::DeadLetter { group: "g".into() }));
    }

    #[test]
    fn a_level_of_the_consumer_counts_and_a_negative_one_buries() {
        let (mut world, client) = world();
        let (_, offset) = put(&mut world, client, "a");
        world.ask(client, &back(offset, 1), "");
        world.ask(client, &back(offset, 99), "");
        world.pass(Duration::from_millis(1_100));
        assert_eq!(stored(&mut world, client, "%RETRY%g", 0).len(), 1);
        world.pass(Duration::from_secs(7_199));
        let client = world.connect();
        assert_eq!(stored(&mut world, client, "%RETRY%g", 0).len(), 2, "the highest level is 2 h");
        world.ask(client, &back(offset, -1), "");
        assert_eq!(stored(&mut world, client, "%DLQ%g", 0).len(), 1);
    }

    #[test]
    fn what_cannot_be_taken_back() {
        let (mut world, client) = world();
        let (_, offset) = put(&mut world, client, "a");
        let frame = world.ask(client, &back(offset + 1, 0), "");
        let remark = format!("look message by offset failed, {}", offset + 1);
        assert_eq!((frame.code(), frame.remark().as_deref()), (1, Some(&*remark)));
        let strange = ConsumerSendMsgBack { group: "no group".into(), ..back(offset, 0) };
        assert_eq!(world.ask(client, &strange, "").code(), 26);
        world.with_group("g", |config| config.retry_queues = 0);
        assert_eq!(world.ask(client, &back(offset, 1), "").code(), 0, "taken and dropped");
        world.pass(Duration::from_secs(2));
        assert!(stored(&mut world, client, "%RETRY%g", 0).is_empty());
    }

    fn resend<'a>(times: i32, properties: &'a str) -> SendMessageV2<'a> {
        SendMessageV2 {
            reconsume_times: Some(times),
            max_reconsume_times: Some(3),
            ..message("%RETRY%g", 0, properties)
        }
    }

    #[test]
    fn an_ordinary_send_to_a_retry_topic() {
        let (mut world, client) = world();
        let frame = world.ask(client, &resend(1, ""), "x");
        assert_eq!(frame.code(), 26, "the group is unknown");
        put(&mut world, client, "a");
        let delayed = text(&[("DELAY", "1")]);
        assert_eq!(world.ask(client, &resend(3, &delayed), "again").code(), 0);
        world.pass(Duration::from_millis(1_100));
        assert_eq!(stored(&mut world, client, "%RETRY%g", 0).len(), 1, "equal to the maximum is still a retry");
        let frame = world.ask(client, &resend(4, &delayed), "late");
        assert_eq!(frame.code(), 0);
        let buried = stored(&mut world, client, "%DLQ%g", 0);
        assert_eq!((buried[0].body_bytes(), buried[0].properties().get("DELAY")), (&b"late"[..], Some("-1")));
    }

    #[test]
    fn a_queue_lock_sends_retries_to_the_dead_letters() {
        let (mut world, client) = world();
        put(&mut world, client, "a");
        let lock = LockRequest {
            client_id: "c".into(),
            consumer_group: "g".into(),
            queues: [QueueName { topic: "T".into(), broker_name: "broker-a".into(), queue_id: 0 }].into(),
            only_this_broker: false,
        };
        world.ask(client, &LockBatchMq::default(), lock.encode());
        world.ask(client, &resend(0, ""), "locked");
        assert_eq!(stored(&mut world, client, "%DLQ%g", 0).len(), 1);
        world.pass(Duration::from_millis(60_001));
        world.ask(client, &resend(0, ""), "expired");
        assert_eq!(stored(&mut world, client, "%DLQ%g", 0).len(), 1);
        assert_eq!(stored(&mut world, client, "%RETRY%g", 0).len(), 1);
    }
}
