//! SEND_MESSAGE, its short form and batches (`spec/broker.md` 3): checks in Apache's order, then the store.

mod admit;
mod batch;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::header::{FieldSink, WriteFields};
use rocketry_codec::message::property_names as name;
use rocketry_codec::reply::SendMessageReply;
use rocketry_codec::request::{SendMessage, SendMessageV2};

use crate::append::{self, Message, Unstored};
use crate::properties::{self, Sent};
use crate::shell::{Call, Shell};
use crate::state::State;
use crate::store::Place;
use crate::transactions;
use admit::{Target, admit};

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
        if request.batch == Some(true) {
            batch::store(state, shell, call, &request, target)
        } else {
            store(state, shell, call, &request, target)
        }
    });
    let region = state.config.region.clone();
    let (region_id, trace_on) = (Some(Cow::Borrowed(&*region)), Some(state.config.trace_on));
    let receipt = match stored {
        Ok(receipt) => receipt,
        Err(refusal) => {
            let reply = Refused { region_id, trace_on };
            return shell.respond(call.to, refusal.code, Some(&refusal.remark), &reply, Bytes::new());
        }
    };
    let reply = SendMessageReply {
        msg_id: receipt.message_id.into(),
        queue_id: i32::try_from(receipt.queue).unwrap_or(i32::MAX),
        queue_offset: receipt.place.queue_offset.cast_signed(),
        transaction_id: receipt.unique.map(Cow::Owned),
        batch_uniq_id: None,
        recall_handle: None,
        region_id,
        trace_on,
    };
    if state.store.topics.has_changed() {
        // The route of a new topic stands before its first message is acknowledged.
        let frame = shell.response(call.to, None, &reply);
        state.after_announcement(shell, call.to, frame);
    } else {
        shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
    }
}

/// The header of a refusal: what every answer to a send says.
struct Refused<'a> {
    region_id: Option<Cow<'a, str>>,
    trace_on: Option<bool>,
}

impl WriteFields for Refused<'_> {
    fn write_fields<S: FieldSink>(&self, sink: &mut S) {
        sink.text(name::MSG_REGION, self.region_id.as_deref().unwrap_or_default());
        sink.boolean(name::TRACE_ON, self.trace_on.unwrap_or_default());
    }
}

/// The request under its long field names.
fn long_form(short: SendMessageV2<'_>) -> SendMessage<'_> {
    SendMessage {
        producer_group: short.producer_group,
        topic: short.topic,
        default_topic: short.default_topic,
        default_topic_queue_nums: short.default_topic_queue_nums,
        queue_id: short.queue_id,
        sys_flag: short.sys_flag,
        born_timestamp: short.born_timestamp,
        flag: short.flag,
        properties: short.properties,
        reconsume_times: short.reconsume_times,
        unit_mode: short.unit_mode,
        batch: short.batch,
        max_reconsume_times: short.max_reconsume_times,
        scope: short.scope,
    }
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
    sent.write(&mut stored, displaced(level.is_some(), sent.timer && delay.is_some()));
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
    let place = if sent.transaction {
        transactions::store_half(state, shell, message, &unique)
    } else {
        append::append(state, shell, message)
    };
    state.put_scratch(stored);
    let place = place.map_err(|error| refuse(state, error))?;
    let message_id = format!("{}", state.offset_id(place.log_offset));
    Ok(Receipt { message_id, queue: target.queue, place, unique: Some(unique) })
}

/// The properties that are not stored as they were sent.
const fn displaced(level: bool, timer: bool) -> &'static [&'static str] {
    const ALL: &[&str] = &[name::DELAY_LEVEL, name::TIMER_DELAY_SEC, name::TIMER_DELAY_MS, name::TIMER_DELIVER_MS];
    match (level, timer) {
        (true, true) => ALL,
        (true, false) => ALL.split_at(1).0,
        (false, true) => ALL.split_at(1).1,
        (false, false) => &[],
    }
}

/// Kinds of messages that this broker does not store.
fn check_kind(state: &State, sent: &Sent<'_>) -> Result<(), Refusal> {
    if sent.transaction && state.config.reject_transactions {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TopicSpec;
    use crate::event::Event;
    use crate::testing::{World, message, messages, properties as text, pull};
    use rocketry_codec::frame::Frame;
    use rocketry_codec::header::Request;
    use rocketry_codec::request::{GetMaxOffset, UpdateBrokerConfig};
    use std::prelude::v1::*;

    fn refused(frame: &Frame) -> (ResponseCode, String) {
        (frame.response_code(), frame.remark().unwrap_or_default().into_owned())
    }

    #[test]
    fn a_send_creates_its_topic_from_the_template() {
        let mut world = World::new();
        let client = world.connect();
        for (topic, asked, made) in [("four", 4, 4), ("many", 16, 8), ("none", -3, 0)] {
            let request = SendMessageV2 { default_topic_queue_nums: asked, queue_id: 0, ..message(topic, 0, "") };
            let frame = world.ask(client, &request, "x");
            let highest = SendMessageV2 { queue_id: made, ..request.clone() };
            let beyond = world.ask(client, &highest, "x");
            assert_eq!(beyond.response_code(), ResponseCode::INVALID_PARAMETER, "{topic}");
            let remark = refused(&beyond).1;
            assert!(
                remark.starts_with(&format!("request queueId[{made}] is illegal, TopicConfig [topicName={topic}")),
                "{remark}"
            );
            assert_eq!(frame.response_code() == ResponseCode::SUCCESS, made > 0);
        }
        let other = SendMessageV2 { default_topic: "four".into(), ..message("five", 0, "") };
        let frame = world.ask(client, &other, "x");
        assert_eq!(refused(&frame).0, ResponseCode::TOPIC_NOT_EXIST, "a topic without the inherit bit is no template");
        assert!(refused(&frame).1.starts_with("topic[five] not exist, apply first please!\nSee https://"));
        assert_eq!(frame.field("MSG_REGION").as_deref(), Some("DefaultRegion"));
        assert_eq!(frame.field("TRACE_ON").as_deref(), Some("true"));
    }

    #[test]
    fn without_template_a_send_creates_nothing() {
        let mut world = World::with(|config| config.auto_create_topics = false);
        let client = world.connect();
        let frame = world.ask(client, &message("T", 0, ""), "x");
        assert_eq!(frame.response_code(), ResponseCode::TOPIC_NOT_EXIST);
    }

    #[test]
    fn names_and_reserved_topics_are_refused() {
        let mut world = World::new();
        let client = world.connect();
        for (topic, code) in [
            ("", ResponseCode::INVALID_PARAMETER),
            ("a b", ResponseCode::INVALID_PARAMETER),
            (&*"t".repeat(128), ResponseCode::INVALID_PARAMETER),
            ("SCHEDULE_TOPIC_XXXX", ResponseCode::NO_PERMISSION),
            ("SELF_TEST_TOPIC", ResponseCode::NO_PERMISSION),
        ] {
            assert_eq!(world.ask(client, &message(topic, 0, ""), "x").response_code(), code, "{topic}");
        }
        let frame = world.ask(client, &message("OFFSET_MOVED_EVENT", 0, ""), "x");
        assert_eq!(refused(&frame).1, "Sending message to topic[OFFSET_MOVED_EVENT] is forbidden.");
        world.send(client, &"t".repeat(127), 0, "", "x");
    }

    #[test]
    fn a_negative_queue_means_any_writable_one() {
        let mut world =
            World::with(|config| config.topics.push(TopicSpec { read_queues: 8, ..TopicSpec::new("T", 4) }));
        let client = world.connect();
        let chosen: std::collections::BTreeSet<i32> =
            (0..100).map(|_| world.send(client, "T", -1, "", "x").queue).collect();
        assert_eq!(chosen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
        world.send(client, "T", 7, "", "a queue below the number of read queues may be named");
    }

    #[test]
    fn the_answer_names_the_place_and_the_store_the_additions() {
        let mut world = World::new();
        let client = world.connect();
        let first = world.send(client, "T", 1, &text(&[("TAGS", "a"), ("UNIQ_KEY", "U"), ("k", "v")]), "one");
        assert_eq!(first.id, "7F00000100002A9F0000000000000000");
        assert_eq!((first.queue, first.offset, first.unique.as_deref()), (1, 0, Some("U")));
        let second = world.send(client, "T", 1, "", "two");
        assert_eq!(second.offset, 1);
        let unique = second.unique.expect("the broker invents one");
        assert_eq!(unique.len(), 32);
        let stored = messages(&world.ask(client, &pull("g", "T", 1, 0), ""));
        assert_eq!(second.id, stored[1].offset_id().to_string());
        let get = |at: usize, name| stored[at].properties().get(name).map(String::from);
        for at in [0, 1] {
            assert_eq!(get(at, "MSG_REGION").as_deref(), Some("DefaultRegion"));
            assert_eq!(get(at, "TRACE_ON").as_deref(), Some("true"));
            assert_eq!(get(at, "CLUSTER").as_deref(), Some("DefaultCluster"));
        }
        assert_eq!(get(0, "k").as_deref(), Some("v"));
        assert_eq!(get(1, "UNIQ_KEY"), Some(unique));
        assert_eq!(stored[0].born_host().to_string(), "127.0.0.1:40001");
        assert_eq!(stored[0].store_host().to_string(), "127.0.0.1:10911");
        assert_eq!(stored[1].queue_offset(), 1);
        assert_eq!(stored[0].store_timestamp(), crate::testing::START);
    }

    #[test]
    fn limits_of_body_and_properties() {
        let mut world = World::with(|config| config.limits.message_bytes = 1_000);
        let client = world.connect();
        world.send(client, "T", 0, "", &"b".repeat(1_000));
        let frame = world.ask(client, &message("T", 0, ""), "b".repeat(1_001));
        assert_eq!(refused(&frame).0, ResponseCode::MESSAGE_ILLEGAL);
        assert!(refused(&frame).1.contains("1000B, msg properties length limit 32KB"));
        let own = "MSG_REGION.DefaultRegion.TRACE_ON.true.CLUSTER.DefaultCluster.".len();
        let fill = |len: usize| text(&[("UNIQ_KEY", "U"), ("k", &"v".repeat(len - own - "UNIQ_KEY.U.k..".len()))]);
        world.send(client, "T", 0, &fill(32_767), "x");
        let frame = world.ask(client, &message("T", 0, &fill(32_768)), "x");
        assert_eq!(frame.response_code(), ResponseCode::MESSAGE_ILLEGAL);
        assert_eq!(world.ask(client, &message("T", 0, ""), "").response_code(), ResponseCode::SYSTEM_ERROR);
    }

    #[test]
    fn a_full_store_refuses_with_14() {
        let mut world = World::with(|config| config.limits.store_bytes = 10_000);
        let client = world.connect();
        let refusal = (0..100).map(|_| world.ask(client, &message("T", 0, ""), "b".repeat(1_000)));
        let refusal = refusal.filter(|frame| frame.response_code() != ResponseCode::SUCCESS).collect::<Vec<_>>();
        assert!(refusal.len() > 90);
        assert_eq!(refused(&refusal[0]).0, ResponseCode::SERVICE_NOT_AVAILABLE);
        assert!(refused(&refusal[0]).1.starts_with("service not available now"), "{}", refused(&refusal[0]).1);
        let full = world.events.iter().filter(|event| **event == Event::StoreFull).count();
        assert_eq!(full, 1, "said once, not for every message");
    }

    #[test]
    fn one_way_sends_are_stored_and_never_answered() {
        let mut world = World::new();
        let client = world.connect();
        world.oneway(client, &message("T", 0, ""), "x");
        world.oneway(client, &message("bad name", 0, ""), "x");
        assert!(world.take(client).is_empty());
        let max = GetMaxOffset { topic: "T".into(), ..GetMaxOffset::default() };
        assert_eq!(world.ask(client, &max, "").field("offset").as_deref(), Some("1"));
    }

    #[test]
    fn kinds_that_need_other_services_are_refused() {
        let mut world = World::with(|config| config.reject_transactions = true);
        let client = world.connect();
        let frame = world.ask(client, &message("T", 0, &text(&[("TRAN_MSG", "true")])), "x");
        assert_eq!(frame.response_code(), ResponseCode::NO_PERMISSION);
        let frame = world.ask(client, &message("T", 0, &text(&[("TIMER_DELAY_MS", "5")])), "x");
        assert_eq!(frame.response_code(), ResponseCode::SYSTEM_ERROR);
        let frame = world.ask(client, &message("T", 0, &text(&[("DELAY", "soon")])), "x");
        assert_eq!(frame.response_code(), ResponseCode::SYSTEM_ERROR);
    }

    #[test]
    fn unknown_codes_get_the_standard_text() {
        let mut world = World::new();
        let client = world.connect();
        let frame = world.call_as(RequestCode(9_999), client, &UpdateBrokerConfig::default(), "").expect("answered");
        let text = (ResponseCode::REQUEST_CODE_NOT_SUPPORTED, " request type 9999 not supported".into());
        assert_eq!(refused(&frame), text);
        assert_ne!(UpdateBrokerConfig::CODE, RequestCode(9_999));
        assert_eq!((frame.version().0, frame.language().name()), (479, Some("JAVA")));
    }
}
