//! SEND_MESSAGE, its short form and batches (`spec/broker.md` 3): checks in Apache's order, then the store.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode, Version};
use rocketry_codec::message::{SysFlag, property_names as name};
use rocketry_codec::names;
use rocketry_codec::reply::SendMessageReply;
use rocketry_codec::request::{SendMessage, SendMessageV2};

use crate::append::{self, Message, Unstored};
use crate::config::perm;
use crate::state::State;
use crate::event::Event;
use crate::properties::{self, Sent};
use crate::retry;
use crate::shell::{Call, FAQ, Shell};
use crate::store::Place;
use crate::topics::{TopicConfig, TopicId};

/// A topic longer than this does not fit into a stored message of the first layout.
const MAX_TOPIC: usize = 127;
const MAX_RETRY_TOPIC: usize = 255;

/// Why a message is refused.
pub(crate) struct Refusal {
    pub(crate) code: ResponseCode,
    pub(crate) remark: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(code: ResponseCode, remark: impl Into<Cow<'static, str>>) -> Self {
        Self { code, remark: remark.into() }
    }
}

/// Where a message goes that passed all checks.
#[derive(Clone, Copy, Debug)]
struct Target {
    topic: TopicId,
    /// The queue of the real topic, which the answer names.
    queue: u32,
    /// The group has given up on the message: it is buried, without delay.
    buried: bool,
}

/// What was stored.
struct Receipt {
    message_id: String,
    queue: u32,
    place: Place,
    unique: Option<String>,
}

/// Stores what a send request brings and answers it.
pub(crate) fn handle(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = if call.frame.request_code() == RequestCode::SEND_MESSAGE {
        call.frame.read::<SendMessage<'_>>()
    } else {
        call.frame.read::<SendMessageV2<'_>>().map(long_form)
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    if call.frame.body().is_empty() {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "the message has no body");
    }
    let stored = admit(state, shell, call, &request).and_then(|target| {
        let batch = request.batch == Some(true);
        if batch { store_batch(state, shell, call, &request, target) } else { store(state, shell, call, &request, target) }
    });
    let trace = if state.config.trace_on { "true" } else { "false" };
    let region = state.config.region.clone();
    let (code, remark, reply) = match stored {
        Ok(receipt) => {
            let reply = SendReply {
                msg_id: Some(receipt.message_id.into()),
                queue_id: i32::try_from(receipt.queue).ok(),
                queue_offset: i64::try_from(receipt.place.queue_offset).ok(),
                transaction_id: receipt.unique.map(Cow::Owned),
                ..SendReply::default()
            };
            (ResponseCode::SUCCESS, None, reply)
        }
        Err(refusal) => (refusal.code, Some(refusal.remark), SendReply::default()),
    };
    let reply = SendReply { msg_region: Some((&*region).into()), trace_on: Some(trace.into()), ..reply };
    if state.store.topics.has_changed() {
        // The route of a new topic stands before its first message is acknowledged.
        if let Some(frame) = shell.response(call.to, code, remark.as_deref(), &reply, Bytes::new()) {
            state.after_announcement(shell, call.to.conn, frame);
        }
    } else {
        shell.respond(call.to, code, remark.as_deref(), &reply, Bytes::new());
    }
}

/// The checks of `spec/broker.md` 3.1, in order; creates the topic where that is allowed.
fn admit(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    request: &SendMessage<'_>,
) -> Result<Target, Refusal> {
    let topic_name = &*request.topic;
    let ordered = state.store.topics.named(topic_name).is_some_and(|topic| topic.config.order);
    if state.config.permission & perm::WRITE == 0 && ordered {
        let ip = state.config.address.ip();
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, format!("the broker[{ip}] sending message is forbidden")));
    }
    if let Err(error) = names::check_topic(topic_name) {
        return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, format!("{error}")));
    }
    if names::is_send_forbidden(topic_name) {
        let remark = format!("Sending message to topic[{topic_name}] is forbidden.");
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, remark));
    }
    let Some(id) = find_or_create(state, shell, request) else {
        let remark = format!("topic[{topic_name}] not exist, apply first please!{FAQ}");
        return Err(Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark));
    };
    let queue = choose_queue(state, call, id, request.queue_id)?;
    let Some(group) = names::group_of_retry_topic(topic_name) else {
        return Ok(Target { topic: id, queue, buried: false });
    };
    retry_target(state, shell, call, request, Target { topic: id, queue, buried: false }, group)
}

fn find_or_create(state: &mut State, shell: &Shell, request: &SendMessage<'_>) -> Option<TopicId> {
    let wall = shell.now.wall;
    if let Some(id) = state.store.topics.find(&request.topic) {
        return Some(id);
    }
    let template = state.store.topics.named(&request.default_topic).map(|topic| &topic.config);
    let config = template.filter(|template| template.perm & perm::INHERIT != 0).map(|template| {
        let queues = u32::try_from(request.default_topic_queue_nums).unwrap_or(0).min(template.write_queues);
        TopicConfig { multi_tag: template.multi_tag, ..TopicConfig::new(queues, template.perm & !perm::INHERIT) }
    });
    match config {
        Some(config) => state.create_topic(wall, &request.topic, config),
        None if names::group_of_retry_topic(&request.topic).is_some() => {
            state.create_topic(wall, &request.topic, TopicConfig::new(1, perm::READ_WRITE))
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
            let remark =
                format!("request queueId[{queue}] is illegal, {} Producer: {}", topic.describe(), call.remote);
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

/// Stores one message.
fn store(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    request: &SendMessage<'_>,
    target: Target,
) -> Result<Receipt, Refusal> {
    let text = request.properties.as_deref().unwrap_or_default();
    let sent = Sent::read(text);
    check_kind(state, &sent)?;
    let delay = if target.buried { None } else { delay_level(state, sent.delay)? };
    let mut stored = state.take_scratch();
    // The level that is stored is the one that counts: -1 in a dead-letter topic, the highest for one above it.
    let level = delay.map(i16::from).or(if target.buried { Some(-1) } else { None });
    let level = level.map(|level| format!("{level}")).filter(|level| sent.delay != Some(level));
    sent.write(&mut stored, if level.is_some() { &[name::DELAY_LEVEL] } else { &[] });
    if let Some(level) = level {
        properties::push(&mut stored, name::DELAY_LEVEL, &level);
    }
    let unique = sent.unique.map_or_else(|| state.unique_id(shell.now), String::from);
    if sent.unique.is_none() {
        properties::push(&mut stored, name::UNIQUE_KEY, &unique);
    }
    state.push_own_properties(&mut stored);
    let message = Message {
        topic: target.topic,
        queue: target.queue,
        flag: request.flag,
        sys_flag: request.sys_flag,
        born_time: request.born_timestamp,
        born_host: call.remote,
        reconsume_times: request.reconsume_times.unwrap_or(0),
        prepared_offset: 0,
        tags: sent.tags,
        body: call.frame.body(),
        properties: &mut stored,
        delay,
    };
    let place = append::append(state, shell, message);
    state.put_scratch(stored);
    let place = place.map_err(|error| refuse(state, error))?;
    Ok(Receipt { message_id: state.offset_id(place.log_offset), queue: target.queue, place, unique: Some(unique) })
}

/// Kinds of messages that this broker does not store.
fn check_kind(state: &State, sent: &Sent<'_>) -> Result<(), Refusal> {
    if sent.transaction {
        let ip = state.config.address.ip();
        let remark = format!("the broker[{ip}] sending transaction message is forbidden");
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, remark));
    }
    if sent.timer && sent.delay.is_none() {
        let remark = "accurate timer message is not enabled, timerWheelEnable is false";
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, remark));
    }
    Ok(())
}

fn delay_level(state: &State, property: Option<&str>) -> Result<Option<u8>, Refusal> {
    let Some(text) = property else { return Ok(None) };
    let Ok(level) = text.parse::<i32>() else {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, format!("the delay level \"{text}\" is not a number")));
    };
    Ok(state.config.delay_levels.clamp(level.into()))
}

/// Stores the messages of a batch, all or none.
fn store_batch(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    request: &SendMessage<'_>,
    target: Target,
) -> Result<Receipt, Refusal> {
    let illegal = |remark: String| Refusal::new(ResponseCode::MESSAGE_ILLEGAL, remark);
    if request.topic.len() > MAX_TOPIC {
        return Err(illegal(format!("message topic length too long {}", request.topic.len())));
    }
    if names::group_of_retry_topic(&request.topic).is_some() {
        return Err(illegal(format!("batch request does not support retry group {}", request.topic)));
    }
    let sent = Sent::read(request.properties.as_deref().unwrap_or_default());
    if request.sys_flag & SysFlag::TRANSACTION != 0 || delay_level(state, sent.delay)?.is_some() {
        return Err(refuse(state, Unstored::Illegal));
    }
    if call.frame.body().len() > state.config.limits.message_bytes {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "message size exceeded"));
    }
    // The outer properties stand in every message of the batch, as up to Apache 5.3.3.
    let mut outer = String::new();
    sent.write(&mut outer, &[]);
    state.push_own_properties(&mut outer);
    let plan = plan_batch(state, shell, call, target, &outer)?;
    let mut ids = String::with_capacity(plan.count * 33);
    let mut first = None;
    let mut stored = state.take_scratch();
    for inner in batch_messages(call.frame.body()).flatten() {
        stored.clear();
        inner_properties(&mut stored, inner.properties, &outer);
        let view = rocketry_codec::message::PropertiesView::new(inner.properties);
        let message = Message {
            topic: target.topic,
            queue: target.queue,
            flag: inner.flag,
            sys_flag: request.sys_flag,
            born_time: request.born_timestamp,
            born_host: call.remote,
            reconsume_times: request.reconsume_times.unwrap_or(0),
            prepared_offset: 0,
            tags: view.tags(),
            body: inner.body,
            properties: &mut stored,
            delay: None,
        };
        let place = append::append(state, shell, message).map_err(|error| refuse(state, error))?;
        let separator = if first.is_some() { "," } else { "" };
        let _ = write!(ids, "{separator}{}", state.offset_id(place.log_offset));
        first.get_or_insert(place);
    }
    state.put_scratch(stored);
    let place = first.ok_or_else(|| refuse(state, Unstored::Illegal))?;
    Ok(Receipt { message_id: ids, queue: target.queue, place, unique: sent.unique.map(String::from) })
}

/// Apache's answer for a message that could not be stored.
pub(crate) fn refuse(state: &State, error: Unstored) -> Refusal {
    match error {
        Unstored::Illegal => {
            let remark = format!(
                "the message is illegal, maybe msg body or properties length not matched. \
                 msg body length limit {}B, msg properties length limit 32KB.",
                state.config.limits.message_bytes
            );
            Refusal::new(ResponseCode::MESSAGE_ILLEGAL, remark)
        }
        Unstored::Full => {
            let remark = format!(
                "service not available now. It may be caused by one of the following reasons: the broker's disk is full \
                 [{} of {} bytes in memory], messages are put to the slave, message store has been shut down, etc.",
                state.store.bytes(),
                state.config.limits.store_bytes
            );
            Refusal::new(ResponseCode::SERVICE_NOT_AVAILABLE, remark)
        }
        Unstored::NoTopic => Refusal::new(ResponseCode::SYSTEM_ERROR, "UNKNOWN_ERROR"),
    }
}
