//! PULL_MESSAGE and LITE_PULL_MESSAGE (`spec/broker.md` 4): checks in Apache's order, the read, and waiting for news.
//!
//! A pull is evaluated when it arrives. If nothing is new and the client allows it, it is parked (see [`crate::hold`]);
//! when it is woken it is evaluated once more from the start, and answered whatever comes out. News wakes parked pulls
//! after the whole batch of inputs that brought it, through a timer that is due at once: one answer then carries it all.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::net::SocketAddr;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::reply::PullMessageReply;
use rocketry_codec::request::PullMessage;
use rocketry_codec::tags;
use rocketry_machine::UnixMillis;

use crate::config::perm;
use crate::hold::Held;
use crate::matcher::{self, Matcher, matcher_of};
use crate::shell::{Call, FAQ, ReplyTo, Shell, Timer};
use crate::state::State;
use crate::store::{Read, ReadStatus, Want};
use crate::topics::TopicId;

/// How long a pull waits when long polling is switched off, and how often waiting pulls are looked over then.
const SHORT_POLLING: Duration = Duration::from_secs(1);

/// Bits of a pull's `sysFlag`.
mod flag {
    pub(super) const COMMIT: i32 = 1;
    pub(super) const SUSPEND: i32 = 2;
    pub(super) const SUBSCRIPTION: i32 = 4;
}

/// A pull as both a frame and a parked pull give it.
#[derive(Clone, Copy, Debug)]
struct Args<'a> {
    to: ReplyTo,
    remote: SocketAddr,
    group: &'a str,
    topic: &'a str,
    queue: i32,
    offset: i64,
    max_messages: i32,
    sys_flag: i32,
    subscription: Option<&'a str>,
    expression_type: Option<&'a str>,
    version: i64,
}

/// A pull that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    to: ReplyTo,
    remote: SocketAddr,
    group: Box<str>,
    topic: Box<str>,
    queue: i32,
    max_messages: i32,
    sys_flag: i32,
    subscription: Option<Box<str>>,
    expression_type: Option<Box<str>>,
    version: i64,
    matcher: Matcher,
}

/// Why a pull is refused.
pub(crate) struct Refusal {
    pub(crate) code: ResponseCode,
    forbidden: Option<i32>,
    pub(crate) remark: Cow<'static, str>,
}

/// What a pull that passed all checks reads, and what its answer says beside the read.
struct Admitted {
    topic: TopicId,
    queue: u32,
    topic_flag: i32,
    group_flag: i32,
    matcher: Matcher,
}

/// Answers or parks a pull.
pub(crate) fn handle(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<PullMessage<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    if shell.congested(call.to.conn) {
        return shell.refuse(
            call.to,
            ResponseCode::SYSTEM_BUSY,
            "[OVERLOAD]system busy, start flow control for a while",
        );
    }
    let args = Args {
        to: call.to,
        remote: call.remote,
        group: &request.consumer_group,
        topic: &request.topic,
        queue: request.queue_id,
        offset: request.queue_offset,
        max_messages: request.max_msg_nums,
        sys_flag: request.sys_flag,
        subscription: request.subscription.as_deref(),
        expression_type: request.expression_type.as_deref(),
        version: request.sub_version,
    };
    let admitted = match check(state, shell.now.wall, &args) {
        Ok(admitted) => admitted,
        Err(refusal) => return refuse(shell, args.to, &refusal),
    };
    let read = read(state, &args, &admitted);
    if args.sys_flag & flag::COMMIT != 0 {
        state.offsets.commit_with_pull(args.group, args.topic, args.queue, request.commit_offset);
    }
    let may_wait = args.sys_flag & flag::SUSPEND != 0 && !args.to.oneway && state.hold.has_room();
    if may_wait && code_of(read.status, args.offset) == ResponseCode::PULL_NOT_FOUND {
        let wait = Duration::from_millis(request.suspend_timeout_millis.max(0).unsigned_abs());
        park(state, shell, &args, admitted, if state.config.long_polling { wait } else { SHORT_POLLING });
    } else {
        answer(shell, &args, &admitted, read);
    }
}

/// The checks of `spec/broker.md` 4.2, in order.
fn check(state: &mut State, wall: UnixMillis, args: &Args<'_>) -> Result<Admitted, Refusal> {
    if state.config.permission & perm::READ == 0 {
        let ip = state.config.address.ip();
        return Err(Refusal::forbidden(1, format!("the broker[{ip}] pulling message is forbidden")));
    }
    let Some(group) = state.groups.find_or_create(wall, args.group) else {
        let remark = format!("subscription group [{}] does not exist, {FAQ}", args.group);
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark));
    };
    if !group.consume_enable {
        return Err(Refusal::forbidden(2, format!("subscription group no permission, {}", args.group)));
    }
    let (group_flag, broadcast_enable) = (group.sys_flag, group.broadcast_enable);
    let Some((id, topic)) = state.store.topics.find(args.topic).and_then(|id| Some((id, state.store.topics.get(id)?)))
    else {
        let remark = format!("topic[{}] not exist, apply first please!{FAQ}", args.topic);
        return Err(Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark));
    };
    if !topic.config.readable() {
        return Err(Refusal::forbidden(3, format!("the topic[{}] pulling message is forbidden", args.topic)));
    }
    let queues = topic.config.read_queues;
    let Some(queue) = u32::try_from(args.queue).ok().filter(|queue| *queue < queues) else {
        let remark = format!(
            "queueId[{}] is illegal, topic:[{}] topicConfig.readQueueNums:[{queues}] consumer:[{}]",
            args.queue, args.topic, args.remote
        );
        return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, remark));
    };
    let topic_flag = topic.config.sys_flag;
    let matcher = if args.sys_flag & flag::SUBSCRIPTION != 0 {
        matcher_of(args.subscription.unwrap_or_default(), args.expression_type, state.config.property_filter)?
    } else {
        matcher_of_heartbeat(state, args, broadcast_enable)?
    };
    Ok(Admitted { topic: id, queue, topic_flag, group_flag, matcher })
}

/// What a pull wants whose subscription is known from heartbeats.
fn matcher_of_heartbeat(state: &State, args: &Args<'_>, broadcast_enable: bool) -> Result<Matcher, Refusal> {
    let Some(group) = state.clients.consumer(args.group) else {
        let remark = format!("the consumer's group info not exist{FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_NOT_EXIST, remark));
    };
    if group.kind.broadcasting && !broadcast_enable {
        let remark = format!("the consumer group[{}] can not consume by broadcast way", args.group);
        return Err(Refusal::forbidden(4, remark));
    }
    let Some(subscription) = group.subscriptions.get(args.topic) else {
        let remark = format!("the consumer's subscription not exist{FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_NOT_EXIST, remark));
    };
    if subscription.version < args.version {
        let remark = "the consumer's subscription not latest";
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_NOT_LATEST, remark));
    }
    if !subscription.by_tag {
        return matcher::of_compiled(subscription.sql.as_ref(), args.expression_type, state.config.property_filter);
    }
    if &*subscription.expression == tags::ALL {
        return Ok(Matcher::All);
    }
    // The codes are taken as sent, as Apache does.
    Ok(Matcher::Codes(subscription.codes.clone()))
}

/// Reads what the pull asks for; a pending reset goes first.
fn read(state: &mut State, args: &Args<'_>, admitted: &Admitted) -> Read {
    let limits = &state.config.limits;
    let messages = usize::try_from(args.max_messages).unwrap_or(0).min(limits.pull_messages);
    let want = Want { messages, bytes: limits.pull_bytes };
    let mut read = match state.offsets.take_reset(args.group, args.topic, args.queue) {
        Some(reset) => {
            let (min, max) = state.store.range(args.topic, args.queue);
            Read { status: ReadStatus::OffsetReset, next: reset, min, max, body: Bytes::new() }
        }
        None => state.store.read(admitted.topic, admitted.queue, args.offset, want, admitted.matcher.filter()),
    };
    state.offsets.record_pull(args.group, args.topic, args.queue, read.next);
    if read.status != ReadStatus::Found {
        read.body = Bytes::new();
    }
    read
}

/// The code of an answer with this status (`spec/broker.md` 4.3).
fn code_of(status: ReadStatus, asked: i64) -> ResponseCode {
    match status {
        ReadStatus::Found => ResponseCode::SUCCESS,
        ReadStatus::NoMatchedMessage => ResponseCode::PULL_RETRY_IMMEDIATELY,
        ReadStatus::NoMessageInQueue if asked == 0 => ResponseCode::PULL_NOT_FOUND,
        ReadStatus::OffsetOverflowOne => ResponseCode::PULL_NOT_FOUND,
        ReadStatus::NoMessageInQueue
        | ReadStatus::OffsetTooSmall
        | ReadStatus::OffsetOverflowBadly
        | ReadStatus::OffsetReset => ResponseCode::PULL_OFFSET_MOVED,
    }
}

fn answer(shell: &mut Shell, args: &Args<'_>, admitted: &Admitted, read: Read) {
    let reply = PullMessageReply {
        suggest_which_broker_id: 0,
        next_begin_offset: read.next,
        min_offset: read.min,
        max_offset: read.max,
        topic_sys_flag: Some(admitted.topic_flag),
        group_sys_flag: Some(admitted.group_flag),
        offset_delta: None,
        forbidden_type: None,
    };
    let code = code_of(read.status, args.offset);
    shell.respond(args.to, code, Some(read.status.remark()), &reply, read.body);
}

fn refuse(shell: &mut Shell, to: ReplyTo, refusal: &Refusal) {
    let Some(forbidden) = refusal.forbidden else {
        return shell.refuse(to, refusal.code, &refusal.remark);
    };
    let kind = format!("{forbidden}");
    let fields: &[(&str, &str)] = &[("forbiddenType", &kind)];
    shell.respond(to, refusal.code, Some(&refusal.remark), fields, Bytes::new());
}

fn park(state: &mut State, shell: &mut Shell, args: &Args<'_>, admitted: Admitted, wait: Duration) {
    let pull = Parked {
        to: args.to,
        remote: args.remote,
        group: args.group.into(),
        topic: args.topic.into(),
        queue: args.queue,
        max_messages: args.max_messages,
        sys_flag: args.sys_flag,
        subscription: args.subscription.map(Box::from),
        expression_type: args.expression_type.map(Box::from),
        version: args.version,
        matcher: admitted.matcher,
    };
    let held = Held { conn: args.to.conn, offset: args.offset, deadline: shell.now.at + wait, pull };
    state.hold.park(admitted.topic, admitted.queue, held);
    if shell.timers.armed(Timer::Hold).is_none() {
        shell.set_on_grid(Timer::Hold, scan_period(state));
    }
}

fn scan_period(state: &State) -> Duration {
    if state.config.long_polling { state.config.hold_scan } else { SHORT_POLLING.min(state.config.hold_scan) }
}

/// A queue has grown: the pulls that wait there for one of the new messages, or whose time is up, are answered.
pub(crate) fn on_news(state: &mut State, shell: &mut Shell, topic: TopicId, queue: u32) {
    let (store, now) = (&state.store, shell.now.at);
    let woken = state.hold.take(topic, queue, |held| {
        held.deadline <= now || store.has_match(topic, queue, held.offset, held.pull.matcher.filter())
    });
    for held in woken {
        wake(state, shell, held);
    }
}

/// The regular look at all waiting pulls: those whose queue has grown at all, or whose time is up, are answered.
pub(crate) fn on_scan(state: &mut State, shell: &mut Shell) {
    for (topic, queue) in state.hold.queues() {
        let max = state.store.max(topic, queue);
        let now = shell.now.at;
        for held in state.hold.take(topic, queue, |held| held.deadline <= now || held.offset < max) {
            wake(state, shell, held);
        }
    }
    if !state.hold.is_empty() {
        shell.set_on_grid(Timer::Hold, scan_period(state));
    }
}

/// Evaluates a parked pull again, for the last time.
fn wake(state: &mut State, shell: &mut Shell, held: Held<Parked>) {
    let args = held.pull.args(held.offset);
    match check(state, shell.now.wall, &args) {
        Ok(admitted) => {
            let read = read(state, &args, &admitted);
            answer(shell, &args, &admitted, read);
        }
        Err(refusal) => refuse(shell, args.to, &refusal),
    }
}

impl Parked {
    fn args(&self, offset: i64) -> Args<'_> {
        Args {
            to: self.to,
            remote: self.remote,
            group: &self.group,
            topic: &self.topic,
            queue: self.queue,
            offset,
            max_messages: self.max_messages,
            sys_flag: self.sys_flag,
            subscription: self.subscription.as_deref(),
            expression_type: self.expression_type.as_deref(),
            version: self.version,
        }
    }
}

impl Refusal {
    pub(crate) fn new(code: ResponseCode, remark: impl Into<Cow<'static, str>>) -> Self {
        Self { code, forbidden: None, remark: remark.into() }
    }

    fn forbidden(kind: i32, remark: String) -> Self {
        Self { code: ResponseCode::NO_PERMISSION, forbidden: Some(kind), remark: remark.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, bodies, long_pull, properties, pull};
    use rocketry_codec::frame::Frame;
    use std::prelude::v1::*;

    fn status(frame: &Frame) -> (i32, String, Option<i64>) {
        let next = frame.field("nextBeginOffset").and_then(|next| next.parse().ok());
        (frame.code(), frame.remark().unwrap_or_default().into_owned(), next)
    }

    fn world() -> (World, rocketry_machine::ConnId) {
        let mut world = World::with(|config| config.topics.push(crate::config::TopicSpec::new("T", 4)));
        let client = world.connect();
        (world, client)
    }

    #[test]
    fn statuses_and_offsets() {
        let (mut world, client) = world();
        let ask = |world: &mut World, offset| status(&world.ask(client, &pull("g", "T", 0, offset), ""));
        assert_eq!(ask(&mut world, 0), (19, "NO_MESSAGE_IN_QUEUE".into(), Some(0)));
        assert_eq!(ask(&mut world, 5), (21, "NO_MESSAGE_IN_QUEUE".into(), Some(0)));
        world.send(client, "T", 0, "", "a");
        world.send(client, "T", 0, "", "b");
        assert_eq!(ask(&mut world, 0), (0, "FOUND".into(), Some(2)));
        assert_eq!(ask(&mut world, -1), (21, "OFFSET_TOO_SMALL".into(), Some(0)));
        assert_eq!(ask(&mut world, 2), (19, "OFFSET_OVERFLOW_ONE".into(), Some(2)));
        assert_eq!(ask(&mut world, 9), (21, "OFFSET_OVERFLOW_BADLY".into(), Some(2)));
        let frame = world.ask(client, &pull("g", "T", 0, 0), "");
        let names: Vec<String> = frame.fields().map(|field| field.name.into_owned()).collect();
        for name in ["suggestWhichBrokerId", "minOffset", "maxOffset", "topicSysFlag", "groupSysFlag"] {
            assert!(names.iter().any(|n| n == name), "{name}");
        }
        assert_eq!(bodies(&frame), ["a", "b"]);
    }

    #[test]
    fn checks_in_their_order() {
        let (mut world, client) = world();
        let mut code = |request: PullMessage<'_>| {
            let frame = world.ask(client, &request, "");
            (frame.code(), frame.field("forbiddenType").map(|kind| kind.into_owned()))
        };
        assert_eq!(code(pull("bad group", "nowhere", 9, 0)), (26, None));
        assert_eq!(code(pull("g", "nowhere", 9, 0)), (17, None));
        assert_eq!(code(pull("g", "T", 4, 0)), (29, None));
        assert_eq!(code(pull("g", "T", -1, 0)), (29, None));
        assert_eq!(code(PullMessage { sys_flag: 0, ..pull("g", "T", 0, 0) }), (24, None));
        assert_eq!(code(PullMessage { subscription: Some("||".into()), ..pull("g", "T", 0, 0) }), (23, None));
        let sql = PullMessage { expression_type: Some("SQL92".into()), ..pull("g", "T", 0, 0) };
        assert_eq!(code(PullMessage { subscription: Some("a > 1".into()), ..sql.clone() }), (19, None));
        assert_eq!(code(PullMessage { subscription: Some("a >".into()), ..sql.clone() }), (23, None));
        assert_eq!(code(PullMessage { subscription: None, ..sql.clone() }), (23, None));
        let mut world = World::with(|config| {
            config.property_filter = false;
            config.topics.push(crate::config::TopicSpec::new("T", 4));
        });
        let client = world.connect();
        let frame = world.ask(client, &PullMessage { subscription: Some("a > 1".into()), ..sql }, "");
        let remark = "The broker does not support consumer to filter message by SQL92";
        assert_eq!((frame.code(), frame.remark().as_deref()), (1, Some(remark)));
    }

    #[test]
    fn permissions() {
        let mut world = World::with(|config| {
            config.topics.push(crate::config::TopicSpec { perm: perm::WRITE, ..crate::config::TopicSpec::new("W", 1) });
        });
        let client = world.connect();
        let frame = world.ask(client, &pull("g", "W", 0, 0), "");
        assert_eq!((frame.code(), frame.field("forbiddenType").as_deref()), (16, Some("3")));
        let mut world = World::with(|config| config.permission = perm::WRITE);
        let client = world.connect();
        let frame = world.ask(client, &pull("g", "W", 0, 0), "");
        assert_eq!((frame.code(), frame.field("forbiddenType").as_deref()), (16, Some("1")));
    }

    #[test]
    fn tags_filter_by_hash_and_a_mismatch_is_answered_at_once() {
        let (mut world, client) = world();
        for tag in ["Aa", "BB", "C"] {
            world.send(client, "T", 0, &properties(&[("TAGS", tag)]), tag);
        }
        world.send(client, "T", 0, "", "none");
        let with = |expression: &'static str| PullMessage {
            subscription: Some(expression.into()),
            ..long_pull("g", "T", 0, 0)
        };
        assert_eq!(bodies(&world.ask(client, &with("Aa"), "")), ["Aa", "BB"], "equal hashes pass");
        assert_eq!(bodies(&world.ask(client, &with("C || X"), "")), ["C"]);
        assert_eq!(bodies(&world.ask(client, &with("*"), "")), ["Aa", "BB", "C", "none"]);
        assert_eq!(status(&world.ask(client, &with("X"), "")), (20, "NO_MATCHED_MESSAGE".into(), Some(4)));
        assert_eq!(status(&world.ask(client, &with(" || "), "")), (20, "NO_MATCHED_MESSAGE".into(), Some(4)));
    }

    #[test]
    fn sql_filters_by_properties_and_wakes_for_what_it_admits() {
        let (mut world, client) = world();
        for price in ["4", "6", "x", "7"] {
            world.send(client, "T", 0, &properties(&[("price", price)]), price);
        }
        let with = |expression: &'static str, offset| PullMessage {
            subscription: Some(expression.into()),
            expression_type: Some("SQL92".into()),
            ..long_pull("g", "T", 0, offset)
        };
        assert_eq!(bodies(&world.ask(client, &with("price > 5", 0), "")), ["6", "7"]);
        assert_eq!(bodies(&world.ask(client, &with("price IN ('x', '4')", 0), "")), ["4", "x"]);
        let none = status(&world.ask(client, &with("colour IS NOT NULL", 0), ""));
        assert_eq!(none, (20, "NO_MATCHED_MESSAGE".into(), Some(4)));
        assert!(world.call(client, &with("price = 9", 4), "").is_none());
        let producer = world.connect();
        world.send(producer, "T", 0, &properties(&[("price", "8")]), "8");
        assert!(world.take(client).is_empty());
        world.send(producer, "T", 0, &properties(&[("price", "9")]), "9");
        assert_eq!(bodies(&world.take(client)[0]), ["9"]);
    }

    #[test]
    fn news_answers_a_waiting_pull_with_everything_that_came_together() {
        let (mut world, client) = world();
        let producer = world.connect();
        assert!(world.call(client, &long_pull("g", "T", 0, 0), "").is_none());
        world.pass(Duration::from_secs(3));
        world.send(producer, "T", 1, "", "another queue");
        assert!(world.take(client).is_empty());
        world.send(producer, "T", 0, "", "news");
        let frames = world.take(client);
        assert_eq!(frames.len(), 1);
        assert_eq!(bodies(&frames[0]), ["news"]);
        world.send(producer, "T", 0, "", "more");
        assert!(world.take(client).is_empty(), "an answered pull is gone");
    }

    #[test]
    fn a_waiting_pull_ends_at_the_scan_after_its_time() {
        let (mut world, client) = world();
        let request = PullMessage { suspend_timeout_millis: 6_000, ..long_pull("g", "T", 0, 0) };
        assert!(world.call(client, &request, "").is_none());
        world.pass(Duration::from_millis(9_999));
        assert!(world.take(client).is_empty());
        world.pass(Duration::from_millis(1));
        let frames = world.take(client);
        assert_eq!(status(&frames[0]), (19, "NO_MESSAGE_IN_QUEUE".into(), Some(0)));
    }

    #[test]
    fn a_message_that_the_filter_keeps_out_ends_the_wait_at_the_scan() {
        let (mut world, client) = world();
        world.send(client, "T", 0, "", "old");
        let request = PullMessage { subscription: Some("x".into()), ..long_pull("g", "T", 0, 1) };
        assert!(world.call(client, &request, "").is_none());
        world.send(client, "T", 0, &properties(&[("TAGS", "y")]), "other");
        assert!(world.take(client).is_empty());
        world.pass(Duration::from_secs(5));
        assert_eq!(status(&world.take(client)[0]), (20, "NO_MATCHED_MESSAGE".into(), Some(2)));
    }

    #[test]
    fn a_closed_connection_takes_its_waiting_pulls_along() {
        let (mut world, client) = world();
        assert!(world.call(client, &long_pull("g", "T", 0, 0), "").is_none());
        world.close(client);
        let producer = world.connect();
        world.send(producer, "T", 0, "", "x");
        assert!(world.take(client).is_empty());
    }

    #[test]
    fn the_commit_bit_stores_the_offset() {
        let (mut world, client) = world();
        world.send(client, "T", 0, "", "x");
        let request = PullMessage { sys_flag: 5, commit_offset: 77, ..pull("g", "T", 0, 0) };
        world.ask(client, &request, "");
        let query = rocketry_codec::request::QueryConsumerOffset {
            consumer_group: "g".into(),
            topic: "T".into(),
            ..Default::default()
        };
        assert_eq!(world.ask(client, &query, "").field("offset").as_deref(), Some("77"));
    }

    #[test]
    fn a_peer_that_takes_nothing_is_told_to_slow_down() {
        let mut world = World::with(|config| config.limits.unflushed_bytes = 2_000);
        let client = world.connect();
        world.send(client, "T", 0, "", &"b".repeat(3_000));
        world.stall(client);
        assert_eq!(world.ask(client, &pull("g", "T", 0, 0), "").code(), 0);
        assert_eq!(world.ask(client, &pull("g", "T", 0, 0), "").code(), 2);
        world.unstall(client);
        assert_eq!(world.ask(client, &pull("g", "T", 0, 0), "").code(), 0);
    }

    #[test]
    fn a_peer_that_lets_answers_pile_up_is_cut_off() {
        let mut world = World::with(|config| config.limits.unflushed_bytes = 2_000);
        let client = world.connect();
        world.stall(client);
        let answered = (0..100).take_while(|_| world.call(client, &pull("g", "?", 0, 0), "").is_some()).count();
        assert!((10..40).contains(&answered), "{answered} answers of about 250 bytes in twice 2,000");
        assert_eq!(world.closed, [client]);
    }
}
