//! One send, from acceptance to its outcome.
//!
//! | step | leaves when | to |
//! |---|---|---|
//! | route | the route is known, or surely missing | attempt, or failed |
//! | backoff | the address may be tried again | attempt |
//! | room | the link's unsent bytes shrink | attempt |
//! | reply | the broker answers, is late, or its link is lost | done, attempt, or failed |
//! | flush | a one-way frame is with the kernel, or its link is lost | done, or failed |
//!
//! Every step ends at the latest at the deadline of the send: the waiting ones by `TimerKey::Send`, the reply by the
//! call's own deadline.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::header::Scope;
use rocketry_codec::request::SendMessageV2;
use rocketry_machine::{ConnId, Moment};

use super::choose::{Choice, choose};
use super::{Producers, State};
use crate::api::{
    Attempt, Certainty, ConfigError, Message, OpError, OpErrorKind, OpId, Outcome, Produce, ProducerId, RejectReason,
    SendMode, Target, Topic,
};
use crate::cx::{Cx, NotSent, Outgoing, RouteFailure, Want};
use crate::links::{LinkState, NoLink};
use crate::ops::OpOwner;
use crate::routes::{BrokerSlot, PublishQueue};
use crate::timer::TimerKey;
use crate::waiter::Waiter;

/// An accepted send.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) producer: ProducerId,
    pub(super) message: Message,
    pub(super) target: Target,
    pub(super) mode: SendMode,
    /// Its place among all accepted sends.
    pub(super) number: u64,
    pub(super) timeout: Duration,
    pub(super) deadline: Moment,
    /// What it holds of the byte budget.
    pub(super) bytes: u64,
    pub(super) step: Step,
    /// Attempts that left.
    pub(super) tries: u32,
    pub(super) last: Option<BrokerSlot>,
    pub(super) attempts: Vec<Attempt>,
}

/// Where a send stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Route,
    Backoff,
    Room(ConnId),
    Reply { queue: PublishQueue, sent_at: Moment },
    Flush { queue: PublishQueue },
}

/// The bit of the system flag that marks a half message.
const PREPARED: i32 = 4;
/// The record of attempts that an error carries stays short, however long a send waits.
const RECORDED: usize = 32;

impl Producers {
    /// Accepts a send, or says why not; the command comes back in that case.
    pub(crate) fn submit(&mut self, cx: &mut Cx<'_>, produce: Produce) -> Result<OpId, (RejectReason, Produce)> {
        let running = |producer: &super::Producer| matches!(producer.state, State::Running);
        let Some(producer) = self.list.get_mut(produce.producer).filter(|producer| running(producer)) else {
            return Err((RejectReason::NotRunning { what: "producer" }, produce));
        };
        let (size, limit) = (produce.message.body().len(), producer.config.max_message_size);
        if size > limit {
            let why = RejectReason::TooLarge { what: "body", size, limit, setting: "max_message_size" };
            return Err((why, produce));
        }
        let bytes = (size + produce.message.properties().len()) as u64;
        if cx.shared.ops.len() >= cx.shared.config.limits.operations || !self.lane.admit(bytes) {
            return Err((RejectReason::Busy, produce));
        }
        if produce.mode == SendMode::Half && produce.message.is_delayed() {
            let reason = "a half message cannot be delayed: brokers drop it when its time comes";
            return Err((RejectReason::Invalid(ConfigError::new("delay", produce.message.topic(), reason)), produce));
        }
        producer.in_flight += 1;
        let op = cx.shared.ops.insert(OpOwner::Send);
        let Produce { producer: id, mut message, to, mode, timeout } = produce;
        if mode == SendMode::Half {
            message.set_half(producer.config.group.as_str());
        }
        message.set_unique_key(|| self.ids.next_id(cx.now.wall.get()).to_string());
        let timeout = timeout.unwrap_or(producer.config.send_timeout);
        self.accepted += 1;
        let send = Send {
            producer: id,
            message,
            target: to,
            mode,
            number: self.accepted,
            timeout,
            deadline: cx.now.at + timeout,
            bytes,
            step: Step::Route,
            tries: 0,
            last: None,
            attempts: Vec::new(),
        };
        self.lane.insert(op, send);
        self.attempt(cx, op);
        Ok(op)
    }

    /// Makes the next attempt, or waits for what it lacks.
    pub(super) fn attempt(&mut self, cx: &mut Cx<'_>, op: OpId) {
        // Brokers that cannot be reached now are passed over; after one round of them the send waits.
        let mut soonest: Option<NoLink> = None;
        for _ in 0..=MOST_BROKERS_PER_ROUND {
            let Some(send) = self.lane.get_mut(op) else { return };
            if cx.now.at >= send.deadline {
                let kind = OpErrorKind::TimedOut { after: send.timeout };
                return self.fail(cx, op, kind, Certainty::NotSent);
            }
            let spread = &mut self.spread;
            let first_turn = || u32::try_from(spread.next_u64() >> 33).unwrap_or(0);
            let queue = match choose(cx, send.message.topic(), &send.target, send.last, first_turn) {
                Choice::Queue(queue) => queue,
                lacking @ (Choice::NoRoute | Choice::NotWritable | Choice::NotThere) => {
                    return self.no_queue(cx, op, lacking);
                }
            };
            match link_to(cx, queue.broker) {
                Ok(conn) => return self.send_on(cx, op, conn, queue),
                Err(no) => {
                    let seen_before = send.last == Some(queue.broker);
                    send.last = Some(queue.broker);
                    if soonest.as_ref().is_none_or(|best| no.retry_at < best.retry_at) {
                        soonest = Some(no);
                    }
                    if seen_before || send.target != Target::Any {
                        break;
                    }
                }
            }
        }
        if let Some(no) = soonest {
            self.back_off(cx, op, &no);
        }
    }

    fn no_queue(&mut self, cx: &mut Cx<'_>, op: OpId, choice: Choice) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let topic = send.message.topic().clone();
        let reason = match choice {
            Choice::NoRoute => {
                send.step = Step::Route;
                cx.shared.timers.set(cx.now.at, TimerKey::Send(op), send.deadline);
                self.lane.wait_for_route(&topic, op);
                return cx.want(Want::Route { topic, publish: true });
            }
            Choice::NotThere => "the queue that was asked for takes no messages",
            Choice::Queue(_) | Choice::NotWritable => "no broker of the topic takes messages",
        };
        cx.want(Want::Refresh(topic.clone()));
        self.fail(cx, op, OpErrorKind::NoRoute { topic, reason: reason.into() }, Certainty::NotSent);
    }

    fn back_off(&mut self, cx: &mut Cx<'_>, op: OpId, no: &NoLink) {
        let Some(send) = self.lane.get_mut(op) else { return };
        send.step = Step::Backoff;
        if let Some(slot) = send.last {
            let broker = cx.shared.table.broker(slot);
            let endpoint = broker.and_then(|broker| broker.master().cloned());
            if let (Some(broker), Some(endpoint)) = (broker, endpoint)
                && send.attempts.len() < RECORDED
            {
                let ended = OpErrorKind::Unreachable { endpoint, cause: no.cause };
                send.attempts.push(Attempt::new(broker.name.clone(), Duration::ZERO, ended, Certainty::NotSent));
            }
        }
        send.last = None;
        let at = no.retry_at.min(send.deadline);
        cx.shared.timers.set(cx.now.at, TimerKey::Send(op), at);
    }

    fn send_on(&mut self, cx: &mut Cx<'_>, op: OpId, conn: ConnId, queue: PublishQueue) {
        if self.lane.someone_waits(conn) {
            return self.wait_for_room(cx, op, conn);
        }
        self.put_on_link(cx, op, conn, queue);
    }

    fn wait_for_room(&mut self, cx: &mut Cx<'_>, op: OpId, conn: ConnId) {
        let Some(send) = self.lane.get_mut(op) else { return };
        send.step = Step::Room(conn);
        cx.shared.timers.set(cx.now.at, TimerKey::Send(op), send.deadline);
        self.lane.wait_for_room(conn, op);
    }

    /// Emits the frame.
    fn put_on_link(&mut self, cx: &mut Cx<'_>, op: OpId, conn: ConnId, queue: PublishQueue) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let Some(producer) = self.list.get(send.producer) else { return };
        let config = &producer.config;
        let left = send.deadline.since(cx.now.at);
        let another = send.tries < config.retries && send.mode != SendMode::Oneway;
        let share = config.attempt_timeout.unwrap_or(send.timeout / 3);
        let timeout = if another { share.min(left) } else { left };
        let broker_name = cx.shared.table.broker(queue.broker).map(|broker| broker.name.clone());
        let request = SendMessageV2 {
            producer_group: config.group.as_str().into(),
            topic: send.message.topic().as_str().into(),
            default_topic: config.default_topic.as_str().into(),
            default_topic_queue_nums: cx.shared.config.default_topic_queues,
            queue_id: queue.id,
            sys_flag: send.message.sys_flag() | if send.mode == SendMode::Half { PREPARED } else { 0 },
            born_timestamp: cx.now.wall.get(),
            flag: send.message.flag(),
            properties: Some(send.message.properties().into()),
            reconsume_times: Some(0),
            unit_mode: Some(false),
            max_reconsume_times: None,
            batch: Some(false),
            broker_name: broker_name.as_ref().map(|name| name.as_str().into()),
            scope: Scope::default(),
        };
        let body = send.message.body().clone();
        let sent = match send.mode {
            SendMode::Acknowledged | SendMode::Half => {
                let how = Outgoing { timeout, waiter: Waiter::Send(op) };
                cx.request_on(conn, &request, body, how)
            }
            SendMode::Oneway => cx.oneway_on(conn, &request, body, op),
        };
        self.after_put(cx, op, queue, sent);
    }

    fn after_put(&mut self, cx: &mut Cx<'_>, op: OpId, queue: PublishQueue, sent: Result<(), NotSent>) {
        let Some(send) = self.lane.get_mut(op) else { return };
        match sent {
            Ok(()) => {
                cx.shared.timers.cancel(TimerKey::Send(op));
                send.tries += 1;
                send.last = Some(queue.broker);
                if send.tries > 1 {
                    cx.shared.counters.send_retried += 1;
                }
                if let Some(broker) = cx.shared.table.broker_mut(queue.broker) {
                    broker.in_flight += 1;
                }
                send.step = match send.mode {
                    SendMode::Acknowledged | SendMode::Half => Step::Reply { queue, sent_at: cx.now.at },
                    SendMode::Oneway => Step::Flush { queue },
                };
            }
            Err(NotSent::NoRoom(conn)) => self.wait_for_room(cx, op, conn),
            Err(NotSent::NoLink(no)) => self.back_off(cx, op, &no),
            Err(NotSent::NoCall) => {
                let retry_at = cx.now.at + Duration::from_millis(10);
                self.back_off(cx, op, &NoLink { cause: rocketry_machine::LinkError::Other, retry_at });
            }
            Err(NotSent::TooLarge { size, limit }) => {
                let text = alloc::format!("the frame has {size} bytes, limits.frame allows {limit}");
                self.fail(cx, op, OpErrorKind::Refused(text), Certainty::NotSent);
            }
        }
    }

    /// A waiting send has waited long enough.
    pub(crate) fn on_timer(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let Some(send) = self.lane.get_mut(op) else { return };
        if let Step::Room(conn) = send.step {
            let mut waiting = self.lane.take_for_room(conn);
            waiting.retain(|other| *other != op);
            self.lane.put_back(conn, waiting);
        }
        self.leave_route_queue(op);
        self.attempt(cx, op);
    }

    pub(super) fn on_route(&mut self, cx: &mut Cx<'_>, topic: &Topic) {
        for op in self.lane.take_for_route(topic) {
            cx.shared.timers.cancel(TimerKey::Send(op));
            self.attempt(cx, op);
        }
    }

    /// A missing topic fails its sends; silent name servers do not: the sends wait for them until their deadline.
    pub(super) fn on_no_route(&mut self, cx: &mut Cx<'_>, topic: &Topic, failure: &RouteFailure) {
        if matches!(failure, RouteFailure::NoNameServer(_)) {
            self.no_name_server = Some(failure.clone());
            return;
        }
        for op in self.lane.take_for_route(topic) {
            self.fail(cx, op, failure.kind(topic), Certainty::NotSent);
        }
    }

    pub(super) fn on_link_room(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        let mut waiting = self.lane.take_for_room(conn);
        while let Some(op) = waiting.pop_front() {
            self.attempt(cx, op);
            let Some(Send { step: Step::Room(conn), .. }) = self.lane.get_mut(op) else { continue };
            let conn = *conn;
            // Whoever found no room stands at the head again, before those that have not tried.
            let mut again = self.lane.take_for_room(conn);
            again.extend(waiting);
            self.lane.put_back(conn, again);
            return;
        }
    }

    /// A link is gone: who waited for room on it looks for another.
    pub(crate) fn on_link_gone(&mut self, cx: &mut Cx<'_>, conn: ConnId) {
        for op in self.lane.take_for_room(conn) {
            cx.shared.timers.cancel(TimerKey::Send(op));
            self.attempt(cx, op);
        }
    }

    pub(super) fn leave_route_queue(&mut self, op: OpId) {
        if let Some(Send { step: Step::Route, message, .. }) = self.lane.get_mut(op) {
            let topic = message.topic().clone();
            self.lane.forget_route(&topic, op);
        }
    }

    /// Ends a send with an error that tells of every attempt.
    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, op: OpId, kind: OpErrorKind, certainty: Certainty) {
        self.leave_route_queue(op);
        cx.shared.timers.cancel(TimerKey::Send(op));
        let Some(send) = self.lane.remove(op) else { return };
        let kind = match (&kind, send.step, &self.no_name_server) {
            // The time is over because no name server answered: say that.
            (OpErrorKind::TimedOut { .. }, Step::Route, Some(failure)) => failure.kind(send.message.topic()),
            _ => kind,
        };
        let uncertain = send.attempts.iter().any(|attempt| attempt.certainty != Certainty::NotSent);
        let certainty = if uncertain { Certainty::Unknown } else { certainty };
        cx.shared.counters.send_failed += 1;
        cx.done(op, Outcome::Failed(OpError::new(kind, certainty).with_attempts(send.attempts)));
        self.send_over(cx, send.producer);
    }
}

/// More brokers than any topic has: the bound of one round of passing over.
const MOST_BROKERS_PER_ROUND: usize = 64;

/// The connection to a broker's master, the one used last if it still stands.
fn link_to(cx: &mut Cx<'_>, slot: BrokerSlot) -> Result<ConnId, NoLink> {
    let Some(broker) = cx.shared.table.broker(slot) else { return Err(gone(cx)) };
    if let Some(conn) = broker.master_conn
        && cx.shared.links.get(conn).is_some_and(|link| link.state() != LinkState::Draining)
    {
        return Ok(conn);
    }
    let Some(endpoint) = broker.master().cloned() else { return Err(gone(cx)) };
    let conn = cx.link(&endpoint)?;
    if let Some(broker) = cx.shared.table.broker_mut(slot) {
        broker.master_conn = Some(conn);
    }
    Ok(conn)
}

/// The broker has left the routes since the queue was chosen; a fresh route comes within this wait.
fn gone(cx: &Cx<'_>) -> NoLink {
    NoLink { cause: rocketry_machine::LinkError::Unresolved, retry_at: cx.now.at + Duration::from_millis(500) }
}
