//! Orderly consumption: one handler at a time in each queue, and one member for each queue (consumer.md 7).
//!
//! Decides: when a queue may be worked on, and what a refused message does. A queue needs a lock at its broker before its
//! position is asked for; locks are asked for together, by broker, and renewed. A message that is refused is offered again
//! after a while, before anything behind it; one that was refused too often goes to the dead-letter topic, and until a
//! broker has it there the queue stays where it is (`cases.md` ORD-05).
//!
//! States of a queue's lock: *wanted* -> *held* -> *held* (renewed), or *wanted* again when a broker says that another
//! member has it: what was cached does not count then. A lock that was not renewed for 30 s is not relied on, which is
//! half of what brokers keep it for: no handler starts, and the next renewal lets the queue go on where it was
//! (ORD-01). A queue that is given up is unlocked after its position was sent, and not while a handler of it runs; nor
//! does a handler start in a queue that came back meanwhile (ORD-03, ORD-09). Until then its lock is renewed, and so are
//! the locks of a consumer that stops: a handler may run for longer than a broker keeps a lock.
//!
//! Timers: `Lock`, the next round of asking for locks; `SendBack(queue)`, the end of a message's rest.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::lock::{LockReply, LockRequest};
use rocketry_codec::body::queue::QueueName;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::request::{LockBatchMq, UnlockBatchMq};
use rocketry_machine::{Key, Moment};

use super::group::Consumer;
use super::queue::{ProcessQueue, State, Step};
use crate::api::{BrokerName, MessageQueue};
use crate::calls::Reply;
use crate::cx::{Cx, Outgoing};
use crate::timer::{ConsumerTimer, TimerKey};
use crate::waiter::{ConsumerCall, Waiter};

/// How often locks are renewed.
const RENEWAL: Duration = Duration::from_secs(20);
/// How long a lock is relied on after it was asked for.
const RELIED_ON: Duration = Duration::from_secs(30);
/// How long a broker keeps a lock; after that another member may have had it.
const KEPT: Duration = Duration::from_secs(60);
/// The wait before a lock that another member has is asked for again.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a broker may take to answer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// A refused message rests at least and at most so long, as in Java (`cases.md` ORD-08).
const REST: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(30));

/// What is known about the lock of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lock {
    /// When the last request left that a broker granted.
    pub(super) granted: Option<Moment>,
    /// The request in which it is being asked for, and when that left.
    asked: Option<(u32, Moment)>,
}

impl Lock {
    fn is_relied_on(self, now: Moment) -> bool {
        self.granted.is_some_and(|at| at + RELIED_ON > now)
    }
}

/// A queue that was given up while a handler of it ran. Its lock is renewed until that handler has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaving {
    mq: Arc<MessageQueue>,
    /// When its lock was asked for last, since the queue was given up.
    asked: Option<Moment>,
}

/// What one broker is asked for.
#[derive(Default)]
struct Wanted {
    keys: Vec<Key>,
    names: BTreeSet<QueueName>,
}

impl Consumer {
    /// Whether queues need locks at their brokers.
    pub(super) const fn needs_locks(&self) -> bool {
        self.config.orderly && !self.config.broadcasting
    }

    /// Whether a handler may start in the queue.
    pub(super) fn may_start(&self, now: Moment, key: Key) -> bool {
        if !self.config.orderly {
            return true;
        }
        let Some(queue) = self.queues.get(key) else { return false };
        !self.is_left(&queue.mq) && (!self.needs_locks() || queue.lock.is_relied_on(now))
    }

    /// Asks for the locks of all queues as soon as the machine has done what it is about.
    pub(super) fn lock_soon(&self, cx: &mut Cx<'_>) {
        let timer = TimerKey::Consumer(self.id, ConsumerTimer::Lock);
        cx.shared.timers.set_no_later(cx.now.at, timer, cx.now.at);
    }

    /// Asks the brokers for the locks that are missing or to be renewed.
    pub(super) fn ask_locks(&mut self, cx: &mut Cx<'_>) {
        if !self.is_running() && !self.is_draining() {
            return;
        }
        let now = cx.now.at;
        let is_due = |asked: Moment| asked + RENEWAL <= now + AGAIN;
        let mut next = now + RENEWAL;
        let mut wanted: BTreeMap<BrokerName, Wanted> = BTreeMap::new();
        for (key, queue) in self.queues.iter().filter(|(_, queue)| queue.lock.asked.is_none()) {
            match queue.lock.granted {
                Some(at) if !is_due(at) => next = next.min(at + RENEWAL),
                // Nothing is begun by a consumer that stops.
                None if !self.is_running() => {}
                _ => {
                    let wanted = wanted.entry(queue.mq.broker.clone()).or_default();
                    wanted.keys.push(key);
                    wanted.names.insert(name_of(&queue.mq));
                }
            }
        }
        for leaving in self.leaving.values_mut().filter(|leaving| !self.owned.contains_key(&leaving.mq)) {
            let asked = *leaving.asked.get_or_insert(now);
            if asked == now || is_due(asked) {
                leaving.asked = Some(now);
                wanted.entry(leaving.mq.broker.clone()).or_default().names.insert(name_of(&leaving.mq));
            }
            next = next.min(leaving.asked.unwrap_or(now) + RENEWAL);
        }
        self.wake_after(cx, ConsumerTimer::Lock, next.since(now));
        for (broker, Wanted { keys, names }) in wanted {
            self.ask_broker(cx, &broker, &keys, names);
        }
    }

    fn ask_broker(&mut self, cx: &mut Cx<'_>, broker: &BrokerName, keys: &[Key], names: BTreeSet<QueueName>) {
        self.lock_round = self.lock_round.wrapping_add(1);
        let round = self.lock_round;
        let how = Outgoing { timeout: LOCK_TIMEOUT, waiter: Waiter::Consumer(self.id, ConsumerCall::Lock(round)) };
        let body = self.lock_body(cx, names);
        let sent = match cx.master(broker) {
            Some(to) => cx.request(&to, &LockBatchMq::default(), body, how).is_ok(),
            None => false,
        };
        if !sent {
            return self.lock_again(cx);
        }
        for key in keys {
            if let Some(queue) = self.queues.get_mut(*key) {
                queue.lock.asked = Some((round, cx.now.at));
            }
        }
    }

    fn lock_body(&self, cx: &Cx<'_>, names: BTreeSet<QueueName>) -> Bytes {
        let request = LockRequest {
            client_id: cx.shared.config.client_id.clone(),
            consumer_group: self.config.group.as_str().into(),
            queues: names,
            ..LockRequest::default()
        };
        request.encode().into()
    }

    fn lock_again(&self, cx: &mut Cx<'_>) {
        let timer = TimerKey::Consumer(self.id, ConsumerTimer::Lock);
        cx.shared.timers.set_no_later(cx.now.at, timer, cx.now.at + AGAIN);
    }

    /// A broker says which locks are ours, or says nothing.
    pub(super) fn on_locks(&mut self, cx: &mut Cx<'_>, round: u32, reply: &Reply) {
        let granted = match reply {
            Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS => {
                LockReply::decode(frame.body()).ok().map(|locked| locked.locked)
            }
            Reply::Frame(_) | Reply::TimedOut { .. } | Reply::LinkLost { .. } => None,
        };
        let asked: Vec<(Key, Moment)> = self
            .queues
            .iter()
            .filter_map(|(key, queue)| Some((key, queue.lock.asked.filter(|(of, _)| *of == round)?.1)))
            .collect();
        for (key, asked_at) in asked {
            let Some(queue) = self.queues.get_mut(key) else { continue };
            queue.lock.asked = None;
            match &granted {
                Some(granted) if granted.contains(&name_of(&queue.mq)) => self.lock_granted(cx, key, asked_at),
                Some(_) => self.lock_refused(cx, key),
                // Nothing is known: what was granted is relied on until its time is over.
                None => self.lock_again(cx),
            }
        }
    }

    fn lock_granted(&mut self, cx: &mut Cx<'_>, key: Key, asked_at: Moment) {
        let Some(queue) = self.queues.get_mut(key) else { return };
        let before = queue.lock.granted.replace(asked_at);
        if queue.step == Step::Lock {
            queue.step = Step::Position;
            return self.ask_position(cx, key);
        }
        // Somebody else may have had it meanwhile, and may have got further.
        if self.is_running() && before.is_some_and(|before| before + KEPT <= asked_at) {
            return self.begin_anew(cx, key);
        }
        self.progressed(cx, key);
    }

    fn lock_refused(&mut self, cx: &mut Cx<'_>, key: Key) {
        self.lock_again(cx);
        let is_running = self.is_running();
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.lock.granted = None;
        if queue.step != Step::Lock && is_running {
            self.begin_anew(cx, key);
        }
    }

    /// What is known of the queue does not count any more: it is locked, its position asked for, its messages pulled anew.
    fn begin_anew(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(old) = self.queues.get(key) else { return };
        let (mq, subscription, fresh, lock) = ((*old.mq).clone(), old.subscription, old.fresh, old.lock);
        if old.is_started() {
            let left = Arc::clone(&old.mq);
            self.keep_lock(cx, key, left);
        }
        self.forget_queue(cx, key);
        let key = self.insert_queue(subscription, mq, fresh);
        if let Some(queue) = self.queues.get_mut(key) {
            queue.lock = lock;
            queue.step = if lock.granted.is_some() { Step::Position } else { Step::Lock };
        }
        self.ask_position(cx, key);
    }

    /// A queue is given up: it is unlocked now, or when its handler has ended.
    pub(super) fn leave_lock(&mut self, cx: &mut Cx<'_>, key: Key, mq: &Arc<MessageQueue>, is_started: bool) {
        if !self.config.orderly {
            return;
        }
        if is_started {
            self.keep_lock(cx, key, Arc::clone(mq));
        } else if !self.is_left(mq) {
            self.unlock(cx, [&**mq]);
        }
    }

    /// Whether a handler still runs in the queue from before it was given up.
    fn is_left(&self, mq: &MessageQueue) -> bool {
        self.leaving.values().any(|leaving| *leaving.mq == *mq)
    }

    /// A handler runs in a queue that was given up: until it has ended no other may start, here or elsewhere,
    /// and its lock is renewed.
    pub(super) fn keep_lock(&mut self, cx: &mut Cx<'_>, key: Key, mq: Arc<MessageQueue>) {
        self.leaving.insert(key, Leaving { mq, asked: None });
        if self.needs_locks() {
            self.lock_soon(cx);
        }
    }

    /// Whether handlers that run have each their queue to themselves.
    pub(super) fn are_alone(&self, running: impl IntoIterator<Item = Key>) -> bool {
        let mut busy = BTreeSet::new();
        running.into_iter().all(|key| {
            let left = self.leaving.get(&key).map(|leaving| &leaving.mq);
            left.or_else(|| self.queues.get(key).map(|queue| &queue.mq)).is_some_and(|mq| busy.insert(mq))
        })
    }

    /// A handler of a queue that was given up has ended.
    pub(super) fn handler_left(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(Leaving { mq, .. }) = self.leaving.remove(&key) else { return };
        match self.owned.get(&mq).copied() {
            // It came back meanwhile, and may go on now.
            Some(own) => self.progressed(cx, own),
            None => self.unlock(cx, [&*mq]),
        }
    }

    /// Tells brokers that queues are free. Nobody waits for the answer: a lock that stays ends by itself.
    fn unlock<'q>(&self, cx: &mut Cx<'_>, queues: impl IntoIterator<Item = &'q MessageQueue>) {
        if !self.needs_locks() {
            return;
        }
        let mut by_broker: BTreeMap<&BrokerName, BTreeSet<QueueName>> = BTreeMap::new();
        for queue in queues {
            by_broker.entry(&queue.broker).or_default().insert(name_of(queue));
        }
        for (broker, names) in by_broker {
            let body = self.lock_body(cx, names);
            let how = Outgoing { timeout: LOCK_TIMEOUT, waiter: Waiter::Forget };
            if let Some(to) = cx.master(broker) {
                // A broker that cannot be reached frees them in its own time.
                let _ = cx.request(&to, &UnlockBatchMq::default(), body, how);
            }
        }
    }

    /// The consumer is about to leave: its queues are free, but for those whose handlers still run.
    pub(super) fn unlock_all(&self, cx: &mut Cx<'_>) {
        if self.needs_locks() {
            let is_idle = |queue: &ProcessQueue| !queue.is_started() && !self.is_left(&queue.mq);
            let held = self.queues.iter().map(|(_, queue)| queue).filter(|queue| queue.lock.granted.is_some());
            self.unlock(cx, held.filter(|queue| is_idle(queue)).map(|queue| &*queue.mq));
        }
    }

    /// A message was refused: it rests and comes again, or is buried.
    pub(super) fn rest_or_bury(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, level: i32) {
        let (least, most) = REST;
        let due = cx.now.at + self.config.suspend_time.clamp(least, most);
        let Some(queue) = self.queues.get_mut(key) else { return };
        let Some((_, message)) = queue.message(sequence) else { return };
        let refused = i64::from(message.reconsume_times()) + i64::from(queue.refusals);
        let most_refusals = self.config.max_redeliveries;
        if level < 0 || (most_refusals >= 0 && refused >= i64::from(most_refusals)) {
            return self.give_up(cx, key, sequence, -1);
        }
        queue.refusals = queue.refusals.saturating_add(1);
        queue.set(sequence, State::Waiting(due));
        let timer = TimerKey::Consumer(self.id, ConsumerTimer::SendBack(key));
        cx.shared.timers.set_no_later(cx.now.at, timer, due);
    }
}

fn name_of(queue: &MessageQueue) -> QueueName {
    QueueName { broker_name: queue.broker.as_str().into(), queue_id: queue.id, topic: queue.topic.as_str().into() }
}
