//! Who waits for messages, and when they are woken (`spec/broker.md` 9.7).
//!
//! A pop or notification that finds nothing waits until its deadline. It is looked at again when a message arrives in its
//! topic (or in its retry topic of the second form: one of the first form wakes nobody), when an ordered queue opens, and
//! at its deadline. One timer serves deadlines, revivals and ordered queues that open by themselves.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::names::RETRY_PREFIX;
use rocketry_codec::reply::{NotificationReply, PollingInfoReply};
use rocketry_codec::request::{Notification, PeekMessage, PollingInfo, PopMessage};
use rocketry_machine::{ConnId, Moment};

use crate::matcher::Matcher;
use crate::shell::{Call, ReplyTo, Shell, Timer};
use crate::state::State;
use crate::topics::TopicId;

use super::admit::{self, Args};
use super::info::Taken;
use super::{revive, serve};

/// Most that wait for one group at one queue of a topic.
const PER_QUEUE: usize = 1_024;

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pop,
    Notification,
}

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    kind: Kind,
    args: Args,
}

/// Everyone who waits, by topic and then by deadline.
#[derive(Debug)]
pub(super) struct Polls {
    topics: BTreeMap<Arc<str>, BTreeMap<(Moment, u64), Waiting>>,
    sequence: u64,
    len: usize,
    limit: usize,
}

impl Polls {
    pub(super) const fn new(limit: usize) -> Self {
        Self { topics: BTreeMap::new(), sequence: 0, len: 0, limit }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn count(&self, topic: &str, group: &str, queue: i32) -> usize {
        let same = |waiting: &&Waiting| *waiting.args.group == *group && waiting.args.queue == queue;
        self.topics.get(topic).map_or(0, |waiting| waiting.values().filter(same).count())
    }

    fn has_room(&self, args: &Args) -> bool {
        self.len < self.limit && self.count(&args.topic, &args.group, args.queue) < PER_QUEUE
    }

    fn park(&mut self, deadline: Moment, waiting: Waiting) {
        self.sequence += 1;
        self.len += 1;
        let topic = Arc::from(&*waiting.args.topic);
        self.topics.entry(topic).or_default().insert((deadline, self.sequence), waiting);
    }

    fn take(&mut self, topic: &str, key: (Moment, u64)) -> Option<Waiting> {
        let list = self.topics.get_mut(topic)?;
        let waiting = list.remove(&key)?;
        self.len -= 1;
        if list.is_empty() {
            self.topics.remove(topic);
        }
        Some(waiting)
    }

    /// Who waits at a topic, earliest deadline first.
    fn at(&self, topic: &str) -> Vec<(Moment, u64)> {
        self.topics.get(topic).map_or_else(Vec::new, |list| list.keys().copied().collect())
    }

    fn next_deadline(&self) -> Option<Moment> {
        self.topics.values().filter_map(|list| list.keys().next()).map(|(at, _)| *at).min()
    }

    /// Takes those whose deadline has come.
    fn take_due(&mut self, now: Moment) -> Vec<Waiting> {
        let mut taken = Vec::new();
        self.topics.retain(|_, list| {
            while let Some(first) = list.first_entry()
                && first.key().0 <= now
            {
                taken.push(first.remove());
            }
            !list.is_empty()
        });
        self.len -= taken.len();
        taken
    }

    /// Drops those whose connection is gone.
    pub(super) fn close(&mut self, conn: ConnId) {
        self.topics.retain(|_, list| {
            list.retain(|_, waiting| waiting.args.to.conn != conn);
            !list.is_empty()
        });
        self.len = self.topics.values().map(BTreeMap::len).sum();
    }
}

/// POP_MESSAGE.
pub(super) fn pop(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<PopMessage<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let Ok(deadline) = admit::deadline(shell, request.born_time, request.poll_time) else {
        return shell.refuse(call.to, ResponseCode::POLLING_TIMEOUT, "the pop message is timeout too much");
    };
    let args = match admit::pop(state, shell.now.wall, call, &request) {
        Ok(args) => args,
        Err(refusal) => return shell.refuse(call.to, refusal.code, &refusal.remark),
    };
    let taken = serve::serve(state, shell, &args);
    match deadline.filter(|_| taken.is_empty() && !call.to.oneway) {
        None => answer_pop(shell, call.to, taken, ResponseCode::POLLING_TIMEOUT),
        Some(_) if !state.pop.polls.has_room(&args) => answer_pop(shell, call.to, taken, ResponseCode::POLLING_FULL),
        Some(deadline) => {
            state.pop.polls.park(deadline, Waiting { kind: Kind::Pop, args });
            arm(state, shell);
        }
    }
}

/// PEEK_MESSAGE.
pub(super) fn peek(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<PeekMessage<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let pop = PopMessage {
        consumer_group: request.consumer_group,
        topic: request.topic,
        queue_id: request.queue_id,
        max_msg_nums: request.max_msg_nums,
        ..PopMessage::default()
    };
    match admit::pop(state, shell.now.wall, call, &pop) {
        Err(refusal) => shell.refuse(call.to, refusal.code, &refusal.remark),
        Ok(args) => {
            let taken = serve::serve(state, shell, &Args { peek: true, ..args });
            answer_pop(shell, call.to, taken, ResponseCode::PULL_NOT_FOUND);
        }
    }
}

/// NOTIFICATION.
pub(super) fn notify(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<Notification<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let checked = admit::place(state, shell.now.wall, call, &request.consumer_group, &request.topic, request.queue_id);
    if let Err(refusal) = checked {
        return shell.refuse(call.to, refusal.code, &refusal.remark);
    }
    let args = Args {
        to: call.to,
        group: (&*request.consumer_group).into(),
        topic: (&*request.topic).into(),
        queue: request.queue_id,
        messages: 1,
        invisible: Duration::ZERO,
        from_end: false,
        order: request.order == Some(true),
        attempt: request.attempt_id.as_deref().map(Into::into),
        matcher: Matcher::All,
        peek: true,
    };
    let there = serve::anything(state, shell, &args);
    let deadline = admit::deadline(shell, request.born_time, request.poll_time).unwrap_or(None);
    match deadline.filter(|_| !there && !call.to.oneway) {
        None => answer_notification(shell, call.to, there, false),
        Some(_) if !state.pop.polls.has_room(&args) => answer_notification(shell, call.to, false, true),
        Some(deadline) => {
            state.pop.polls.park(deadline, Waiting { kind: Kind::Notification, args });
            arm(state, shell);
        }
    }
}

/// POLLING_INFO.
pub(super) fn info(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<PollingInfo<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let count = state.pop.polls.count(&request.topic, &request.consumer_group, request.queue_id);
    let reply = PollingInfoReply { polling_num: i32::try_from(count).unwrap_or(i32::MAX) };
    shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
}

/// Messages arrived in a topic.
pub(crate) fn on_news(state: &mut State, shell: &mut Shell, topic: TopicId) {
    let Some(name) = state.store.topics.get(topic).map(|topic| topic.name.clone()) else { return };
    // A retry topic of the second form names the topic that it belongs to.
    let asked = name.strip_prefix(RETRY_PREFIX).and_then(|rest| rest.split_once('+')).map(|(_, topic)| topic);
    wake_topic(state, shell, asked.unwrap_or(&name));
}

/// Looks again at everyone who waits at a topic.
pub(super) fn wake_topic(state: &mut State, shell: &mut Shell, topic: &str) {
    for key in state.pop.polls.at(topic) {
        if let Some(waiting) = state.pop.polls.take(topic, key)
            && let Some(waiting) = settle(state, shell, waiting)
        {
            state.pop.polls.park(key.0, waiting);
        }
    }
    arm(state, shell);
}

/// The timer fired: revivals, deadlines, and ordered queues that have opened.
pub(crate) fn on_timer(state: &mut State, shell: &mut Shell) {
    revive::all(state, shell);
    for waiting in state.pop.polls.take_due(shell.now.at) {
        if let Some(waiting) = settle(state, shell, waiting) {
            match waiting.kind {
                Kind::Pop => {
                    let taken = Taken::new(shell.now.wall.get(), 0, 0, 0);
                    answer_pop(shell, waiting.args.to, taken, ResponseCode::POLLING_TIMEOUT);
                }
                Kind::Notification => answer_notification(shell, waiting.args.to, false, false),
            }
        }
    }
    let ordered = |list: &BTreeMap<(Moment, u64), Waiting>| list.values().any(|waiting| waiting.args.order);
    let topics: Vec<String> = state
        .pop
        .polls
        .topics
        .iter()
        .filter(|(_, list)| ordered(list))
        .map(|(topic, _)| String::from(&**topic))
        .collect();
    for topic in topics {
        wake_topic(state, shell, &topic);
    }
    arm(state, shell);
}

/// Answers one who waits if there is something now, and gives it back otherwise.
fn settle(state: &mut State, shell: &mut Shell, waiting: Waiting) -> Option<Waiting> {
    match waiting.kind {
        Kind::Pop => {
            let taken = serve::serve(state, shell, &waiting.args);
            if taken.is_empty() {
                return Some(waiting);
            }
            answer_pop(shell, waiting.args.to, taken, ResponseCode::POLLING_TIMEOUT);
        }
        Kind::Notification => {
            if !serve::anything(state, shell, &waiting.args) {
                return Some(waiting);
            }
            answer_notification(shell, waiting.args.to, true, false);
        }
    }
    None
}

/// Arms the timer for whatever comes next.
pub(super) fn arm(state: &State, shell: &mut Shell) {
    let now = shell.now.at;
    let waits_in_order = || state.pop.somebody_waits().then(|| state.pop.orders.next_open(now)).flatten();
    let next = [state.pop.invisible.next_due(), state.pop.polls.next_deadline(), waits_in_order()];
    if let Some(at) = next.into_iter().flatten().min() {
        shell.timers.set(now, Timer::Pop, at);
    }
}

fn answer_pop(shell: &mut Shell, to: ReplyTo, mut taken: Taken, nothing: ResponseCode) {
    let (code, remark) =
        if taken.is_empty() { (nothing, "NO_MESSAGE_IN_QUEUE") } else { (ResponseCode::SUCCESS, "FOUND") };
    let body = taken.body();
    shell.respond(to, code, Some(remark), &taken.reply(), body);
}

fn answer_notification(shell: &mut Shell, to: ReplyTo, has_msg: bool, polling_full: bool) {
    let reply = NotificationReply { has_msg, polling_full };
    shell.respond(to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
}
