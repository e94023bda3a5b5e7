//! Which pops are refused (`spec/broker.md` 9.1).

use alloc::boxed::Box;
use alloc::format;
use core::time::Duration;

use rocketry_codec::codes::ResponseCode;
use rocketry_codec::request::PopMessage;
use rocketry_machine::{Moment, UnixMillis};

use crate::config::perm;
use crate::matcher::{Matcher, matcher_of};
use crate::pull::Refusal;
use crate::shell::{Call, FAQ, ReplyTo, Shell};
use crate::state::State;

/// How much later than agreed a pop may arrive, in milliseconds.
const TOO_LATE_MS: i64 = 500;
/// Most messages that a pop may ask for.
const MOST: i32 = 32;

/// A pop that may be served, now or later.
#[derive(Debug)]
pub(super) struct Args {
    pub(super) to: ReplyTo,
    pub(super) group: Box<str>,
    pub(super) topic: Box<str>,
    /// -1 for any.
    pub(super) queue: i32,
    pub(super) messages: usize,
    pub(super) invisible: Duration,
    pub(super) from_end: bool,
    pub(super) order: bool,
    pub(super) attempt: Option<Box<str>>,
    pub(super) matcher: Matcher,
    /// Messages are looked at, not taken.
    pub(super) peek: bool,
}

/// Until when a request may wait; `None` when it may not, `Err` when its time is over by far.
pub(super) fn deadline(shell: &Shell, born: i64, poll: i64) -> Result<Option<Moment>, ()> {
    let wall = shell.now.wall.get();
    let born = if born == 0 { wall } else { born };
    let end = born.saturating_add(poll);
    if wall.saturating_sub(end) > TOO_LATE_MS {
        return Err(());
    }
    let wait = Duration::from_millis(end.saturating_sub(wall).max(0).unsigned_abs());
    Ok((poll > 0).then(|| shell.now.at + wait))
}

/// The checks of a pop, in order.
pub(super) fn pop(state: &mut State, wall: UnixMillis, call: &Call<'_>, pop: &PopMessage<'_>) -> Result<Args, Refusal> {
    if pop.max_msg_nums > MOST {
        let ip = state.config.address.ip();
        let remark = format!("the broker[{ip}] pop message's num is greater than 32");
        return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, remark));
    }
    place(state, wall, call, &pop.consumer_group, &pop.topic, pop.queue_id)?;
    let expression = pop.expression.as_deref().filter(|expression| !expression.is_empty());
    let matcher = expression.map_or(Ok(Matcher::All), |text| {
        matcher_of(text, pop.expression_type.as_deref(), state.config.property_filter)
    })?;
    Ok(Args {
        to: call.to,
        group: (&*pop.consumer_group).into(),
        topic: (&*pop.topic).into(),
        queue: pop.queue_id,
        messages: usize::try_from(pop.max_msg_nums).unwrap_or(0).max(1),
        invisible: Duration::from_millis(pop.invisible_time.max(0).unsigned_abs()),
        from_end: pop.init_mode == 1,
        order: pop.order == Some(true),
        attempt: pop.attempt_id.as_deref().map(Box::from),
        matcher,
        peek: false,
    })
}

/// The checks of a group and a queue, which -1 may stand for all of.
pub(super) fn place(
    state: &mut State,
    wall: UnixMillis,
    call: &Call<'_>,
    group: &str,
    topic: &str,
    queue: i32,
) -> Result<(), Refusal> {
    if state.config.permission & perm::READ == 0 {
        let ip = state.config.address.ip();
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, format!("the broker[{ip}] pop message is forbidden")));
    }
    let Some(known) = state.store.topics.named(topic) else {
        let remark = format!("topic[{topic}] not exist, apply first please! {FAQ}");
        return Err(Refusal::new(ResponseCode::TOPIC_NOT_EXIST, remark));
    };
    if !known.config.readable() {
        let remark = format!("the topic[{topic}] peeking message is forbidden");
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, remark));
    }
    let queues = known.config.read_queues;
    if i64::from(queue) >= i64::from(queues) {
        let remark = format!(
            "queueId[{queue}] is illegal, topic:[{topic}] topicConfig.readQueueNums:[{queues}] consumer:[{}]",
            call.remote
        );
        return Err(Refusal::new(ResponseCode::INVALID_PARAMETER, remark));
    }
    let Some(config) = state.groups.find_or_create(wall, group) else {
        let remark = format!("subscription group [{group}] does not exist, {FAQ}");
        return Err(Refusal::new(ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, remark));
    };
    if !config.consume_enable {
        let remark = format!("subscription group no permission, {group}");
        return Err(Refusal::new(ResponseCode::NO_PERMISSION, remark));
    }
    Ok(())
}
