//! Producers: groups that send, and the sends that are on their way.
//!
//! Decides: whether a send is accepted, which queue takes it, whether a failed attempt is followed by another, and what a
//! failure means for the message.
//!
//! States of a producer: *running* -> *stopping* (takes nothing new, waits for its sends, says goodbye) -> gone. States of
//! a send are in `send.rs`.
//!
//! Timers: `Send(op)` while a send waits for a route, a link or room; `StopProducer(op)` for the deadline of a stop.

mod choose;
mod lane;
mod outcome;
mod send;

use alloc::string::ToString;
use core::time::Duration;

use rocketry_codec::ids::UniqueIdGenerator;
use rocketry_codec::names;
use rocketry_machine::{Prng, Seed, Slab, UnixMillis};

use crate::api::{ConfigError, Group, OpId, Outcome, ProducerConfig, ProducerId, RejectReason, StopReport};
use crate::cx::{Cx, Farewell, RouteFailure, Shared, Want};
use crate::ops::OpOwner;
use crate::timer::TimerKey;
use lane::SendLane;

/// The producer part.
#[derive(Debug)]
pub(crate) struct Producers {
    list: Slab<ProducerId, Producer>,
    lane: SendLane,
    spread: Prng,
    ids: UniqueIdGenerator,
    accepted: u64,
    no_name_server: Option<RouteFailure>,
}

/// One producer group.
#[derive(Debug)]
struct Producer {
    config: ProducerConfig,
    in_flight: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Running,
    Stopping { op: Option<OpId>, report: StopReport, parting: bool },
}

impl Producers {
    /// No producers yet.
    pub(crate) fn new(seed: Seed, shared: &Shared, wall: UnixMillis) -> Self {
        let mut spread = seed.stream("producer spread");
        let ids = unique_ids(&mut spread, wall);
        Self {
            list: Slab::new(),
            lane: SendLane::new(shared.config.limits.sends, shared.config.limits.send_bytes),
            spread,
            ids,
            accepted: 0,
            no_name_server: None,
        }
    }

    /// Whether a producer with these settings can start (producer.md 1.4).
    pub(crate) fn check(&self, shared: &Shared, config: &ProducerConfig) -> Result<(), RejectReason> {
        let invalid = |setting, value: &dyn core::fmt::Display, reason: &str| {
            Err(RejectReason::Invalid(ConfigError::new(setting, value, reason)))
        };
        if let Err(error) = names::check_group(config.group.as_str()) {
            return invalid("group", &config.group, &error.to_string());
        }
        if config.group.as_str() == "DEFAULT_PRODUCER" {
            return invalid("group", &config.group, "DEFAULT_PRODUCER is reserved, name another group");
        }
        if shared.registry.has_producer(&config.group) {
            return invalid("group", &config.group, "this client has a producer of the group already");
        }
        if config.retries > 16 {
            return invalid("retries", &config.retries, "must be 0 to 16");
        }
        if config.send_timeout.is_zero() {
            return invalid("send_timeout", &"0 ms", "must be longer than nothing");
        }
        if config.attempt_timeout.is_some_and(|attempt| attempt.is_zero()) {
            return invalid("attempt_timeout", &"0 ms", "must be longer than nothing");
        }
        if config.max_message_size == 0 {
            return invalid("max_message_size", &0, "must be at least 1 byte");
        }
        if let Some(Err(error)) = config.trace.as_ref().map(crate::api::MessageTrace::check) {
            return Err(RejectReason::Invalid(error));
        }
        for topic in &config.topics {
            if let Err(error) = names::check_topic(topic.as_str()) {
                return invalid("topics", topic, &error.to_string());
            }
        }
        if shared.registry.len() >= shared.config.limits.groups {
            return invalid("limits.groups", &shared.config.limits.groups, "this many groups exist already");
        }
        Ok(())
    }

    /// The running producer of a group.
    pub(crate) fn of_group(&self, group: &str) -> Option<(ProducerId, Group)> {
        let own = self
            .list
            .iter()
            .find(|(_, producer)| matches!(producer.state, State::Running) && producer.config.group.as_str() == group);
        own.map(|(id, producer)| (id, producer.config.group.clone()))
    }

    /// Whether a producer runs.
    pub(crate) fn check_running(&self, id: ProducerId) -> Result<(), RejectReason> {
        if self.list.contains(id) { Ok(()) } else { Err(RejectReason::NotRunning { what: "producer" }) }
    }

    /// Starts a producer whose settings were checked.
    pub(crate) fn start(&mut self, cx: &mut Cx<'_>, config: ProducerConfig) -> OpId {
        cx.shared.registry.add_producer(&config.group);
        for topic in &config.topics {
            cx.want(Want::Route { topic: topic.clone(), publish: true });
        }
        cx.want(Want::HeartbeatAll);
        let producer = self.list.insert(Producer { config, in_flight: 0, state: State::Running });
        let op = cx.shared.ops.insert(OpOwner::StartProducer);
        cx.done(op, Outcome::ProducerStarted(producer));
        op
    }

    /// Stops a producer: what is on its way may finish until the deadline.
    pub(crate) fn stop(&mut self, cx: &mut Cx<'_>, op: Option<OpId>, id: ProducerId, within: Duration) {
        let Some(producer) = self.list.get_mut(id) else { return };
        if let State::Stopping { op: slot @ None, .. } = &mut producer.state {
            *slot = op;
        }
        if matches!(producer.state, State::Running) {
            producer.state = State::Stopping { op, report: StopReport::default(), parting: false };
            cx.wake_after(TimerKey::StopProducer(id), within);
        }
        self.stop_if_empty(cx, id);
    }

    /// The deadline of a stop has come: what is unfinished fails.
    pub(crate) fn on_stop_deadline(&mut self, cx: &mut Cx<'_>, id: ProducerId) {
        let failed = self.lane.of_producer(id);
        for op in &failed {
            self.fail_stopping(cx, *op);
        }
        if let Some(Producer { state: State::Stopping { report, .. }, .. }) = self.list.get_mut(id) {
            report.unfinished_sends = failed.len() as u64;
        }
        self.stop_if_empty(cx, id);
        self.gone(cx, id);
    }

    /// How many more sends are taken now.
    pub(crate) const fn room(&self) -> u64 {
        self.lane.room()
    }

    /// Whether no producer is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.list.is_empty()
    }

    /// Stops all producers.
    pub(crate) fn stop_all(&mut self, cx: &mut Cx<'_>, within: Duration) {
        for id in self.list.ids() {
            self.stop(cx, None, id, within);
        }
    }

    #[allow(clippy::wildcard_enum_match_arm)] // the others are for other parts
    pub(crate) fn on_want(&mut self, cx: &mut Cx<'_>, want: &Want) {
        match want {
            Want::RouteUpdated(topic) => self.on_route(cx, topic),
            Want::RouteFailed(topic, failure) => self.on_no_route(cx, topic, failure),
            Want::LinkRoom(conn) => self.on_link_room(cx, *conn),
            Want::StopProducers(within) => self.stop_all(cx, *within),
            Want::Unregistered(Farewell { group, consumer: None }) => {
                let found = self.list.iter().find(|(_, producer)| {
                    producer.config.group == *group && matches!(producer.state, State::Stopping { parting: true, .. })
                });
                if let Some(id) = found.map(|(id, _)| id) {
                    self.gone(cx, id);
                }
            }
            _ => {}
        }
    }

    /// A send of this producer has ended.
    fn send_over(&mut self, cx: &mut Cx<'_>, id: ProducerId) {
        if let Some(producer) = self.list.get_mut(id) {
            producer.in_flight = producer.in_flight.saturating_sub(1);
            if !matches!(producer.state, State::Running) {
                self.stop_if_empty(cx, id);
            }
        }
    }

    fn stop_if_empty(&mut self, cx: &mut Cx<'_>, id: ProducerId) {
        let Some(producer) = self.list.get_mut(id) else { return };
        if producer.in_flight > 0 {
            return;
        }
        if let State::Stopping { parting, .. } = &mut producer.state
            && !*parting
        {
            *parting = true;
            let group = producer.config.group.clone();
            cx.shared.registry.remove_producer(&group);
            cx.want(Want::Unregister(Farewell { group, consumer: None }));
        }
    }

    fn gone(&mut self, cx: &mut Cx<'_>, id: ProducerId) {
        let Some(producer) = self.list.remove(id) else { return };
        cx.shared.timers.cancel(TimerKey::StopProducer(id));
        cx.shared.registry.remove_producer(&producer.config.group);
        if let State::Stopping { op: Some(op), report, .. } = producer.state {
            cx.done(op, Outcome::Stopped(report));
        }
        cx.want(Want::Stopped);
    }
}

/// The source of unique ids. The fields that Java fills with address, process and class loader are drawn from the seed,
/// so that two processes with equal address and process id do not clash (`cases.md` COD-23).
fn unique_ids(random: &mut Prng, wall: UnixMillis) -> UniqueIdGenerator {
    let drawn = random.next_u64();
    let [a, b, c, d, e, f, g, h] = drawn.to_be_bytes();
    let salt = u32::from_be_bytes([a, b, c, d]);
    let pid = u32::from(u16::from_be_bytes([e, f]));
    let _ = (g, h);
    UniqueIdGenerator::new(UniqueIdGenerator::fake_ip(wall.get()), pid, salt, 0)
}
