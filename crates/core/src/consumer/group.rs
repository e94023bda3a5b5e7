//! One consumer: a member of a group, with its subscriptions and the queues that it owns.
//!
//! States: *starting* (routes, then a first heartbeat) -> *running* -> *stopping* (handlers, positions, farewell) -> over.
//! A failed start goes straight to over. The files beside this one hold what happens in each of them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::names;
use rocketry_machine::{ConnId, Key, Moment, Prng, Slab};

use super::filter::Subscription;
use super::first::Parting;
use super::lite::Lite;
use super::local::Local;
use super::orderly::Leaving;
use super::quarantine::ToAside;
use super::queue::{ProcessQueue, Pull, Step};
use crate::api::{
    BrokerName, Certainty, ConsumerConfig, ConsumerId, ConsumerStats, MessageQueue, Notice, OpError, OpErrorKind, OpId,
    StopReport, Topic,
};
use crate::calls::Reply;
use crate::cx::{Cx, NotSent};
use crate::timer::{ConsumerTimer, TimerKey};

/// A member of a group.
#[derive(Debug)]
pub(super) struct Consumer {
    pub(super) id: ConsumerId,
    pub(super) config: ConsumerConfig,
    pub(super) retry_topic: Topic,
    pub(super) phase: Phase,
    /// Whether pulling is paused by the owner.
    pub(super) suspended: bool,
    pub(super) subscriptions: Slab<Key, Subscription>,
    pub(super) queues: Slab<Key, ProcessQueue>,
    pub(super) owned: BTreeMap<Arc<MessageQueue>, Key>,
    /// Queues with something to offer, in the order of their turns.
    pub(super) line: VecDeque<Key>,
    /// Records that are about to be set aside.
    pub(super) to_aside: Vec<ToAside>,
    /// Queues that are gone and whose deliveries are still to be ended.
    pub(super) lost: Vec<Key>,
    /// Messages offered and not begun.
    pub(super) offered: usize,
    /// Handlers that run.
    pub(super) running: usize,
    /// Send-backs and copies that wait for an answer.
    pub(super) sending_back: usize,
    pub(super) last_version: i64,
    pub(super) last_rebalance: Option<Moment>,
    /// When a broker last made us tell all brokers of us.
    pub(super) last_nudge: Option<Moment>,
    pub(super) spread: Prng,
    /// Topics at brokers that have taken a position of ours.
    pub(super) established: BTreeSet<(Topic, BrokerName)>,
    /// First positions of queues that were given up.
    pub(super) partings: Slab<Key, Parting>,
    /// Queues that were given up while a handler of theirs ran, in orderly mode.
    pub(super) leaving: BTreeMap<Key, Leaving>,
    /// Positions that the owner keeps, in broadcasting mode.
    pub(super) local: Local,
    /// The number of the last request for locks.
    pub(super) lock_round: u32,
    /// What a consumer that is polled has beside the rest.
    pub(super) lite: Option<Box<Lite>>,
}

/// Where a consumer stands.
#[derive(Debug)]
pub(super) enum Phase {
    /// It is starting; what it waits for.
    Starting(OpId, Starting),
    /// It consumes.
    Running,
    /// It is stopping; what it waits for.
    Stopping(Option<OpId>, Stopping, StopReport),
    /// It is to be removed.
    Over,
}

/// What a starting consumer waits for.
#[derive(Debug)]
pub(super) enum Starting {
    /// An answer about the route of each of these topics.
    Routes(BTreeSet<Topic>),
    /// The end of a heartbeat round.
    Heartbeat,
    /// So many answers of brokers about filters.
    Checks(usize),
}

/// What a stopping consumer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    /// Handlers that run, and the send-backs that they cause.
    Handlers,
    /// Answers to so many saved positions.
    Positions(usize),
    /// The end of the farewell.
    Farewell,
}

impl Consumer {
    /// A consumer that is about to start under `op`.
    pub(super) fn new(id: ConsumerId, op: OpId, config: ConsumerConfig, spread: Prng) -> Self {
        let retry_topic = Topic::from(names::retry_topic(config.group.as_str()));
        Self {
            id,
            config,
            retry_topic,
            phase: Phase::Starting(op, Starting::Routes(BTreeSet::new())),
            suspended: false,
            subscriptions: Slab::new(),
            queues: Slab::new(),
            owned: BTreeMap::new(),
            line: VecDeque::new(),
            to_aside: Vec::new(),
            lost: Vec::new(),
            offered: 0,
            running: 0,
            sending_back: 0,
            last_version: 0,
            last_rebalance: None,
            last_nudge: None,
            spread,
            established: BTreeSet::new(),
            partings: Slab::new(),
            leaving: BTreeMap::new(),
            local: Local::default(),
            lock_round: 0,
            lite: None,
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// Whether it stops and handlers still have their time.
    pub(super) const fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Stopping(_, Stopping::Handlers, _))
    }

    /// Whether commands about it are taken.
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Starting(..) | Phase::Running)
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// The subscription to a topic.
    pub(super) fn subscription_to(&self, topic: &Topic) -> Option<Key> {
        self.subscriptions.iter().find(|(_, known)| known.topic == *topic).map(|(key, _)| key)
    }

    /// How it is doing.
    pub(super) fn stats(&self, now: Moment) -> ConsumerStats {
        let topics = self.subscriptions.iter().map(|(_, known)| known.meters.read(now, known.topic.clone())).collect();
        let queues = self.queues.iter().map(|(_, queue)| queue.stats()).collect();
        ConsumerStats { topics, queues, running_handlers: self.running }
    }

    pub(super) fn wake_after(&self, cx: &mut Cx<'_>, timer: ConsumerTimer, wait: Duration) {
        cx.wake_after(TimerKey::Consumer(self.id, timer), wait);
    }

    /// Takes a queue that an allocation gave us.
    pub(super) fn add_queue(&mut self, cx: &mut Cx<'_>, subscription: Key, queue: MessageQueue, fresh: bool) {
        let key = self.insert_queue(subscription, queue, fresh);
        self.ask_position(cx, key);
    }

    /// Enters a queue whose position is still to be asked for.
    pub(super) fn insert_queue(&mut self, subscription: Key, queue: MessageQueue, fresh: bool) -> Key {
        let mq = Arc::new(queue);
        let mut queue = ProcessQueue::new(Arc::clone(&mq), subscription, fresh);
        queue.by_hand = self.commits_by_hand();
        if self.needs_locks() {
            queue.step = Step::Lock;
        }
        let key = self.queues.insert(queue);
        self.owned.insert(mq, key);
        key
    }

    /// Gives a queue up: its position is saved, whatever still refers to it is stale.
    pub(super) fn drop_queue(&mut self, cx: &mut Cx<'_>, key: Key) {
        self.save_once(cx, key);
        if let Some(queue) = self.forget_queue(cx, key) {
            self.owned.remove(&queue.mq);
            self.leave_lock(cx, key, &queue.mq, queue.is_started());
            self.commits_lose(cx, key, &queue.mq);
            self.pull_full(cx);
        }
    }

    /// The broker moved the position: what was cached does not count, and the queue begins anew.
    pub(super) fn restart_queue(&mut self, cx: &mut Cx<'_>, key: Key, position: i64) {
        let Some(key) = self.renew_queue(cx, key, position) else { return };
        if self.queues.get(key).is_some_and(|queue| queue.goal().is_some()) {
            self.save(cx, key);
        }
        self.pull(cx, key);
    }

    /// The queue begins anew at a position, under another key: what still refers to the old one is stale.
    pub(super) fn renew_queue(&mut self, cx: &mut Cx<'_>, key: Key, position: i64) -> Option<Key> {
        let old = self.forget_queue(cx, key)?;
        let mut queue = ProcessQueue::new(Arc::clone(&old.mq), old.subscription, old.fresh);
        queue.go_live(position);
        queue.suggested = old.suggested;
        queue.setbacks = old.setbacks;
        (queue.paused, queue.by_hand, queue.wanted) = (old.paused, old.by_hand, old.wanted);
        queue.lock = old.lock;
        if self.config.orderly && old.is_started() {
            self.keep_lock(cx, key, Arc::clone(&old.mq));
        }
        let mq = Arc::clone(&queue.mq);
        let renewed = self.queues.insert(queue);
        self.owned.insert(mq, renewed);
        self.commits_move(key, renewed);
        Some(renewed)
    }

    pub(super) fn forget_queue(&mut self, cx: &mut Cx<'_>, key: Key) -> Option<ProcessQueue> {
        for timer in [
            ConsumerTimer::Pull(key),
            ConsumerTimer::Start(key),
            ConsumerTimer::SendBack(key),
            ConsumerTimer::Quarantine(key),
        ] {
            cx.shared.timers.cancel(TimerKey::Consumer(self.id, timer));
        }
        let queue = self.queues.remove(key)?;
        self.lost.push(key);
        if queue.saving.is_some() {
            self.first_settled(cx, &queue.mq, false);
        }
        Some(queue)
    }

    /// Messages were finished or became ready: offers and pulls may go on.
    pub(super) fn progressed(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        if queue.has_cached() && !queue.in_line {
            queue.in_line = true;
            self.line.push_back(key);
        }
        if queue.pull == Pull::Full && !queue.is_full(&self.config) {
            queue.pull = Pull::Idle;
            self.pull(cx, key);
        }
        self.pull_full(cx);
    }

    /// All queues of a subscription.
    pub(super) fn queues_of(&self, subscription: Key) -> Vec<Key> {
        let own = self.queues.iter().filter(|(_, queue)| queue.subscription == subscription);
        own.map(|(key, _)| key).collect()
    }

    /// All queues with known positions.
    pub(super) fn live_queues(&self) -> Vec<Key> {
        self.queues.iter().filter(|(_, queue)| queue.step == Step::Live).map(|(key, _)| key).collect()
    }

    /// Tells the owner about something that fails and is tried again.
    pub(super) fn report(
        cx: &mut Cx<'_>,
        what: &'static str,
        broker: Option<BrokerName>,
        kind: OpErrorKind,
        retry_in: Option<Duration>,
    ) {
        cx.notice(Notice::Trouble { what, broker, error: OpError::new(kind, Certainty::Unknown), retry_in });
    }
}

/// How a call failed that did not bring a success.
pub(super) fn failure_of(cx: &Cx<'_>, conn: ConnId, reply: &Reply) -> OpErrorKind {
    match reply {
        Reply::Frame(frame) => {
            OpErrorKind::Broker { code: frame.response_code(), remark: frame.remark().unwrap_or_default().into() }
        }
        Reply::TimedOut { after, .. } => OpErrorKind::TimedOut { after: *after },
        Reply::LinkLost { cause, .. } => match cx.shared.links.get(conn) {
            Some(link) => OpErrorKind::Unreachable { endpoint: link.endpoint().clone(), cause: *cause },
            None => OpErrorKind::Refused(alloc::format!("the connection is gone: {cause}")),
        },
    }
}

/// Why a request did not leave, as an error.
pub(super) fn refusal_of(to: &rocketry_machine::Endpoint, not_sent: &NotSent) -> OpErrorKind {
    match not_sent {
        NotSent::NoLink(no) => OpErrorKind::Unreachable { endpoint: to.clone(), cause: no.cause },
        NotSent::NoRoom(_) => OpErrorKind::Refused("the connection has no room".into()),
        NotSent::NoCall => OpErrorKind::Refused("too many requests wait for an answer (limits.calls)".into()),
        NotSent::TooLarge { size, limit } => {
            OpErrorKind::Refused(alloc::format!("the frame has {size} bytes, limits.frame allows {limit}"))
        }
    }
}
