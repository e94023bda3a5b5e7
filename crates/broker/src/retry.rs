//! CONSUMER_SEND_MSG_BACK, retry topics and dead letters (`spec/broker.md` 3.6).

use alloc::format;
use alloc::string::String;

use rocketry_codec::codes::{ResponseCode, Version};
use rocketry_codec::message::{StoredMessage, property_names as name};
use rocketry_codec::names;
use rocketry_codec::request::ConsumerSendMsgBack;

use crate::append::{self, Message, Unstored};
use crate::config::perm;
use crate::state::State;
use crate::event::Event;
use crate::properties;
use crate::send::Refusal;
use crate::shell::{Call, FAQ, Shell};
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
    let Some(config) = state.groups.find_or_create(group) else {
        let remark = format!("subscription group not exist, {group} {FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark));
    };
    let (retry_queues, max) = (config.retry_queues, asked_max.unwrap_or(config.retry_max));
    if state.config.permission & perm::WRITE == 0 {
        let ip = state.config.address.ip();
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, format!("the broker[{ip}] sending message is forbidden")));
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
