//! The checks that a send passes before anything is stored, and where it goes.

use alloc::format;

use rocketry_codec::codes::{ResponseCode, Version};
use rocketry_codec::names::{self, NameError, RETRY_PREFIX};
use rocketry_codec::request::SendMessage;

use super::Refusal;
use crate::config::perm;
use crate::event::Event;
use crate::retry;
use crate::shell::{Call, FAQ, Shell};
use crate::state::State;
use crate::topics::{TopicConfig, TopicId};

/// The longest name of a retry or dead-letter topic.
const MAX_RETRY_TOPIC: usize = 255;

/// Where a message goes that passed all checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) topic: TopicId,
    /// The queue of the real topic, which the answer names.
    pub(super) queue: u32,
    /// The group has given up on the message: it is buried, without delay.
    pub(super) buried: bool,
}

/// The checks of `spec/broker.md` 3.1, in order; creates the topic where that is allowed.
pub(super) fn admit(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    request: &SendMessage<'_>,
) -> Result<Target, Refusal> {
    let topic_name = &*request.topic;
    let ordered = || state.store.topics.named(topic_name).is_some_and(|topic| topic.config.order);
    if state.config.permission & perm::WRITE == 0 && ordered() {
        let ip = state.config.address.ip();
        return Err(Refusal::new(
            ResponseCode::NO_PERMISSION,
            format!("the broker[{ip}] sending message is forbidden"),
        ));
    }
    // A topic that exists has passed this check.
    if state.store.topics.find(topic_name).is_none() {
        check_topic(topic_name).map_err(|error| Refusal::new(ResponseCode::INVALID_PARAMETER, format!("{error}")))?;
    }
    names::check_sendable(topic_name).map_err(|error| Refusal::new(ResponseCode::NO_PERMISSION, format!("{error}")))?;
    let Some(id) = find_or_create(state, shell, request) else {
        let remark = format!("topic[{topic_name}] not exist, apply first please!{FAQ}");
        return Err(Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark));
    };
    let queue = choose_queue(state, call, id, request.queue_id)?;
    let target = Target { topic: id, queue, buried: false };
    // A batch to a retry topic is refused later, whatever the group.
    match topic_name.strip_prefix(RETRY_PREFIX).filter(|_| request.batch != Some(true)) {
        Some(group) => retry_target(state, shell, call, request, target, group),
        None => Ok(target),
    }
}

/// The name rule of brokers, which lets retry and dead-letter topics be longer than others.
fn check_topic(topic: &str) -> Result<(), NameError> {
    match names::check_topic(topic) {
        Err(NameError::TopicTooLong)
            if (names::is_retry_topic(topic) || names::is_dlq_topic(topic)) && topic.len() <= MAX_RETRY_TOPIC =>
        {
            Ok(())
        }
        checked => checked,
    }
}

fn find_or_create(state: &mut State, shell: &mut Shell, request: &SendMessage<'_>) -> Option<TopicId> {
    if let Some(id) = state.store.topics.find(&request.topic) {
        return Some(id);
    }
    let template = state.store.topics.named(&request.default_topic).map(|topic| &topic.config);
    let config = template.filter(|template| template.perm & perm::INHERIT != 0).map(|template| {
        let queues = u32::try_from(request.default_topic_queue_nums).unwrap_or(0).min(template.write_queues);
        TopicConfig { multi_tag: template.multi_tag, ..TopicConfig::new(queues, template.perm & !perm::INHERIT) }
    });
    match config {
        Some(config) => state.create_topic(shell, &request.topic, config),
        None if names::is_retry_topic(&request.topic) => {
            state.create_topic(shell, &request.topic, TopicConfig::new(1, perm::READ_WRITE))
        }
        None => None,
    }
}

/// The queue of the request, or any writable one when it names none.
fn choose_queue(state: &mut State, call: &Call<'_>, id: TopicId, asked: i32) -> Result<u32, Refusal> {
    let Some(topic) = state.store.topics.get(id) else {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "the topic is gone"));
    };
    let writable = topic.config.write_queues;
    match u32::try_from(asked) {
        Ok(queue) if queue < writable.max(topic.config.read_queues) => Ok(queue),
        Ok(queue) => {
            let remark = format!("request queueId[{queue}] is illegal, {} Producer: {}", topic.describe(), call.remote);
            Err(Refusal::new(ResponseCode::INVALID_PARAMETER, remark))
        }
        Err(_) if writable == 0 => Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "the topic has no writable queue")),
        Err(_) => Ok(u32::try_from(state.rng.below(writable.into())).unwrap_or(0)),
    }
}

/// What becomes of an ordinary send to a retry topic (`spec/broker.md` 3.6 B).
fn retry_target(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    request: &SendMessage<'_>,
    target: Target,
    group: &str,
) -> Result<Target, Refusal> {
    let Some(config) = state.groups.get(group) else {
        let remark = format!("subscription group not exist, {group} {FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark));
    };
    let counted = call.frame.version() >= Version::V3_4_9;
    let max = request.max_reconsume_times.filter(|_| counted).unwrap_or(config.retry_max);
    let times = request.reconsume_times.unwrap_or(0);
    if times <= max && !state.locks.holds_any(shell.now.at, group) {
        return Ok(target);
    }
    let Some(topic) = retry::dead_letter_topic(state, shell, group) else {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "too many topics"));
    };
    shell.event(Event::DeadLetter { group: group.into() });
    Ok(Target { topic, queue: 0, buried: true })
}
