//! The client machine: dispatch, and nothing else.
//!
//! Every verb does the same three things: hand the input to the part that it is for, hand wants over between parts until
//! none is left, and leave the outputs queued. What is decided, the parts decide.

mod submit;
mod traffic;
mod view;

use rocketry_codec::frame::Frame;
use rocketry_machine::{
    CloseReason, Deadline, Fingerprint, Fingerprinter, Health, Input, LinkError, Machine, Moment, Now, Outbox, Output,
    Seed, Slab, Timers,
};

use crate::admin::Admin;
use crate::api::{
    Answer, AskId, Command, Config, ConfigError, Ended, Event, Lane, Notice, OpId, Rejected, StaleAnswer,
};
use crate::calls::{Calls, Pending, Reply};
use crate::consumer::Consumers;
use crate::cx::{Cx, Shared, Want};
use crate::heartbeat::Heartbeat;
use crate::lifecycle::Lifecycle;
use crate::links::Links;
use crate::message_trace::{self, TraceBuffer};
use crate::naming::Naming;
use crate::ops::OpOwner;
use crate::producer::Producers;
use crate::registry::Registry;
use crate::routes::{RouteTable, Routes};
use crate::stats::Counters;
use crate::timer::TimerKey;
use crate::waiter::Waiter;

/// A RocketMQ client without sockets, clock or threads: feed it frames and time, do what it puts out.
///
/// See the crate's documentation for a loop that drives it.
#[derive(Debug)]
pub struct Client {
    shared: Shared,
    routes: Routes,
    heartbeat: Heartbeat,
    producers: Producers,
    consumers: Consumers,
    admin: Admin,
    lifecycle: Lifecycle,
    last: Moment,
}

/// More hand-overs between parts than any input can cause.
const MOST_WANTS: usize = 100_000;

impl Client {
    /// A client that has done nothing yet; it connects when something needs it to.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub fn new(config: Config, seed: Seed, now: Now) -> Result<Self, ConfigError> {
        config.check()?;
        let limits = &config.limits;
        let mut shared = Shared {
            calls: Calls::new(limits.calls),
            timers: Timers::new(),
            links: Links::new(limits.links, limits.link_bytes, seed.stream("link backoff")),
            naming: Naming::new(config.name_servers.clone(), seed.stream("name server")),
            table: RouteTable::default(),
            registry: Registry::default(),
            writer: config.writer(),
            ops: Slab::new(),
            out: Outbox::with_limit(usize::MAX),
            wants: Outbox::with_limit(MOST_WANTS),
            counters: Counters::default(),
            trace: TraceBuffer::default(),
            health: Health::sound(),
            notices: 0,
            oneways: 0,
            config,
        };
        let mut routes = Routes::default();
        let mut heartbeat = Heartbeat::default();
        let producers = Producers::new(seed, &shared, now.wall);
        let mut cx = Cx { now, shared: &mut shared };
        routes.start(&mut cx);
        heartbeat.start(&mut cx);
        Ok(Self {
            shared,
            routes,
            heartbeat,
            producers,
            consumers: Consumers::new(seed),
            admin: Admin::default(),
            lifecycle: Lifecycle::default(),
            last: now.at,
        })
    }

    /// Accepts a command as an operation, or hands it back with the reason.
    ///
    /// # Errors
    /// [`Rejected`] with the command inside; nothing happened.
    pub fn submit(&mut self, now: Now, command: Command) -> Result<OpId, Rejected<Command>> {
        let now = self.clamp(now);
        if let Err(why) = self.admits(&command) {
            return Err(Rejected { why, command });
        }
        let accepted = match command {
            Command::Produce(produce) => {
                let mut cx = Cx { now, shared: &mut self.shared };
                let submitted = self.producers.submit(&mut cx, produce);
                submitted.map_err(|(why, produce)| Rejected { why, command: Command::Produce(produce) })
            }
            Command::Consume(consume) => self.submit_consume(now, consume),
            Command::Call(call) => {
                let mut cx = Cx { now, shared: &mut self.shared };
                Ok(self.admin.submit(&mut cx, call))
            }
            Command::Control(control) => self.submit_control(now, control),
        };
        self.settle(now);
        accepted
    }

    /// Marks up to `count` further messages of a delivery as started, which is what its handlers need first: their
    /// time runs from here.
    ///
    /// # Errors
    /// The queue belongs to another consumer by now; the messages must not be handled.
    pub fn begin(&mut self, now: Now, ask: AskId, count: u32) -> Result<u32, Ended> {
        let now = self.clamp(now);
        let mut cx = Cx { now, shared: &mut self.shared };
        let begun = self.consumers.begin(&mut cx, ask, count);
        self.settle(now);
        begun
    }

    /// Takes the owner's answer to a question.
    ///
    /// # Errors
    /// Some of it came too late to count; the rest has counted.
    pub fn answer(&mut self, now: Now, answer: Answer) -> Result<(), StaleAnswer> {
        let now = self.clamp(now);
        let mut cx = Cx { now, shared: &mut self.shared };
        let answered = self.consumers.answer(&mut cx, answer);
        self.settle(now);
        answered
    }

    /// Gives an operation up: it ends with `Cancelled` unless it has ended already. Starts and stops go on.
    pub fn cancel(&mut self, now: Now, op: OpId) {
        let now = self.clamp(now);
        let mut cx = Cx { now, shared: &mut self.shared };
        match cx.shared.ops.get(op) {
            Some(OpOwner::Send) => self.producers.cancel(&mut cx, op),
            Some(OpOwner::Lite(consumer)) => {
                let consumer = *consumer;
                self.consumers.cancel(&mut cx, consumer, op);
            }
            Some(OpOwner::Call) => self.admin.cancel(&mut cx, op),
            Some(OpOwner::Route) => self.routes.cancel(&mut cx, op),
            Some(
                OpOwner::StartProducer
                | OpOwner::StopProducer
                | OpOwner::StartConsumer
                | OpOwner::StopConsumer
                | OpOwner::Change
                | OpOwner::Shutdown,
            )
            | None => {}
        }
        self.settle(now);
    }

    /// How many more commands the lane takes now.
    #[must_use]
    pub fn room(&self, lane: Lane) -> u32 {
        let operations = self.shared.config.limits.operations.saturating_sub(self.shared.ops.len());
        let room = match lane {
            Lane::Produce => self.producers.room().min(operations as u64),
            Lane::Control => operations as u64,
        };
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// What happened since the start.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        let mut counters = self.shared.counters;
        counters.stray_replies = self.shared.calls.strays();
        counters
    }

    /// The settings that the client runs with.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The queues of a topic that messages may be sent to, sorted as key selection sees them; empty when no route is
    /// known.
    #[must_use]
    pub fn queues(&self, topic: &crate::api::Topic) -> alloc::vec::Vec<crate::api::MessageQueue> {
        self.shared.table.publish_by_name(topic)
    }

    /// How a consumer is doing; `None` when it is stopped.
    #[must_use]
    pub fn consumer_stats(&self, now: Now, consumer: crate::api::ConsumerId) -> Option<crate::api::ConsumerStats> {
        self.consumers.stats(now.at, consumer)
    }

    /// Requests that wait for an answer.
    #[must_use]
    pub const fn calls_in_flight(&self) -> usize {
        self.shared.calls.len()
    }

    /// The fault that the machine found in itself, if any.
    #[must_use]
    pub const fn broken(&self) -> Option<&'static str> {
        self.shared.health.broken()
    }

    /// Hands the end of a call to whoever waited for it.
    fn finish(&mut self, now: Now, pending: Pending, reply: Reply) {
        let mut cx = Cx { now, shared: &mut self.shared };
        match pending.waiter {
            Waiter::Send(op) => self.producers.on_reply(&mut cx, op, reply),
            Waiter::Route(lookup) => self.routes.on_reply(&mut cx, lookup, reply),
            Waiter::Heartbeat(told) => self.heartbeat.on_reply(&mut cx, told, reply),
            Waiter::Consumer(consumer, call) => {
                self.consumers.on_reply(&mut cx, consumer, call, pending.sent_at, pending.conn, reply);
            }
            Waiter::User(op) => self.admin.on_reply(&mut cx, op, reply),
            Waiter::Unregister(conn) => self.heartbeat.on_parted(&mut cx, conn),
            Waiter::Forget => {}
        }
    }

    fn on_timer(&mut self, now: Now, key: TimerKey) {
        let mut cx = Cx { now, shared: &mut self.shared };
        match key {
            TimerKey::Connect(conn) => {
                self.close_link(now, conn, CloseReason::Unresponsive, LinkError::ConnectTimeout);
            }
            TimerKey::RoutePoll => self.routes.on_poll(&mut cx),
            TimerKey::RouteRetry => self.routes.on_retry(&mut cx),
            TimerKey::Heartbeat => self.heartbeat.on_timer(&mut cx),
            TimerKey::Send(op) => self.producers.on_timer(&mut cx, op),
            TimerKey::Consumer(consumer, timer) => self.consumers.on_timer(&mut cx, consumer, timer),
            TimerKey::StopProducer(producer) => self.producers.on_stop_deadline(&mut cx, producer),
            TimerKey::Trace => message_trace::flush(&mut cx),
            TimerKey::Shutdown => self.lifecycle.on_deadline(&mut cx),
        }
    }

    /// Hands wants over between parts until none is left.
    fn settle(&mut self, now: Now) {
        let mut handed = 0;
        while let Some(want) = self.shared.wants.pop() {
            handed += 1;
            rocketry_machine::invariant!(self.shared.health, handed < MOST_WANTS, "parts ask each other without end");
            if handed >= MOST_WANTS {
                break;
            }
            self.hand_over(now, &want);
        }
    }

    fn hand_over(&mut self, now: Now, want: &Want) {
        let mut cx = Cx { now, shared: &mut self.shared };
        match want {
            Want::Route { .. } | Want::Refresh(_) => self.routes.on_want(&mut cx, want),
            Want::HeartbeatAll | Want::Unregister(_) => self.heartbeat.on_want(&mut cx, want),
            Want::StopProducers(_) => self.producers.on_want(&mut cx, want),
            Want::HeartbeatDone { .. } | Want::StopConsumers(_) => {
                self.consumers.on_want(&mut cx, want);
            }
            Want::RouteUpdated(_) | Want::RouteFailed(..) | Want::LinkRoom(_) | Want::Unregistered(_) => {
                self.producers.on_want(&mut cx, want);
                self.consumers.on_want(&mut cx, want);
            }
            Want::CloseDrained(conn) => {
                if self.shared.links.get(*conn).is_some_and(|link| link.calls() == 0) {
                    self.close_link(now, *conn, CloseReason::Unused, LinkError::Eof);
                }
            }
            Want::Stopped => {
                let idle = (self.consumers.is_idle(), self.producers.is_idle());
                self.lifecycle.on_stopped(&mut cx, idle.0, idle.1);
            }
            Want::CloseAll => {
                message_trace::flush(&mut cx);
                self.shared.links.shut();
                for conn in self.shared.links.ids() {
                    self.close_link(now, conn, CloseReason::Stopping, LinkError::Stopping);
                }
                self.lifecycle.on_closed(&mut Cx { now, shared: &mut self.shared });
            }
        }
    }

    fn clamp(&mut self, now: Now) -> Now {
        self.last = self.last.max(now.at);
        Now { at: self.last, wall: now.wall }
    }
}

impl Machine for Client {
    type Frame = Frame;
    type Event = Event;

    fn handle_input(&mut self, now: Now, input: Input<Frame>) {
        let now = self.clamp(now);
        if self.shared.health.broken().is_some() {
            return;
        }
        match input {
            Input::Opened { conn, .. } => {
                self.shared.timers.cancel(TimerKey::Connect(conn));
                if self.shared.links.opened(now.at, conn)
                    && let Some(link) = self.shared.links.get(conn)
                {
                    let endpoint = link.endpoint().clone();
                    Cx { now, shared: &mut self.shared }.notice(Notice::Link { conn, endpoint, gone: None });
                }
            }
            Input::Frame { conn, frame } => self.on_frame(now, conn, frame),
            Input::Flushed { conn, frames } => self.on_flushed(now, conn, frames),
            Input::Closed { conn, cause } => self.link_gone(now, conn, cause),
        }
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Now) {
        let now = self.clamp(now);
        if self.shared.health.broken().is_some() {
            return;
        }
        while let Some(pending) = self.shared.calls.expired(now.at) {
            self.on_expired(now, pending);
            self.settle(now);
        }
        while let Some(key) = self.shared.timers.pop(now.at) {
            self.on_timer(now, key);
            self.settle(now);
        }
    }

    fn poll_output(&mut self) -> Option<Output<Frame, Event>> {
        let output = self.shared.out.pop()?;
        if matches!(output, Output::Event(Event::Notice(_))) {
            self.shared.notices -= 1;
        }
        Some(output)
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        if !self.shared.out.is_empty() {
            return Some(Deadline { at: self.last, why: "output is queued" });
        }
        let call = self.shared.calls.next();
        let timer = self.shared.timers.next();
        match (call, timer) {
            (Some(call), Some(timer)) => Some(if call.at <= timer.at { call } else { timer }),
            (one, other) => one.or(other),
        }
    }
}

impl Fingerprint for Client {
    fn fingerprint(&self) -> u64 {
        let mut print = Fingerprinter::new();
        let parts = (&self.routes, &self.heartbeat, &self.producers, &self.consumers, &self.admin, &self.lifecycle);
        let Shared { calls, timers, links, naming, table, registry, ops, counters, health, .. } = &self.shared;
        let shared = (calls, timers, links, naming, table, registry, ops, counters, health);
        // Everything that decides later behaviour is shown by `Debug`, in a fixed order. Outputs that wait to be polled do
        // not.
        let written = core::fmt::write(&mut print, format_args!("{shared:?} {parts:?}"));
        debug_assert!(written.is_ok(), "hashing cannot fail");
        core::hash::Hasher::finish(&print)
    }
}
