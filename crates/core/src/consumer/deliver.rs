//! Deliveries: offering cached messages, marking them as started, taking verdicts (design 3.10).
//!
//! Decides: how many messages stand offered at once, from which queue the next ones come (each queue in its turn), and
//! what a verdict does. Up to two batches for each worker are offered beyond what has started, so that a worker always
//! finds work and a queue that moves away takes little with it. When a queue is lost, what was offered of it and not
//! begun is forgotten, and verdicts on what was begun count for nothing but the number of running handlers.
//!
//! A handler that runs for long is told of once, and its message is sent back when its time is over (`cases.md` RET-03,
//! RET-07).
//!
//! Timers: `Sweep`, when the first running handler is to be told of or will have had its time.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::message::{StoredMessage, property_names};
use rocketry_machine::{Key, Moment, Slab, invariant};

use super::filter::Subscription;
use super::group::Consumer;
use super::queue::{ProcessQueue, State};
use super::told;
use crate::api::{
    Ask, AskId, ConsumerId, Delivery, MessageQueue, Notice, Offered, OpErrorKind, Received, Ticket, Topic, Verdict,
    VerdictKind,
};
use crate::cx::Cx;
use crate::timer::{ConsumerTimer, TimerKey};

/// Messages of one delivery.
pub(super) const BATCH: usize = 32;
/// Deliveries that may stand offered for each worker.
const BATCHES_PER_WORKER: usize = 2;
/// The delay level of a message whose handler took too long, as in Java.
const EXPIRED_LEVEL: i32 = 3;

/// A delivery that is not wholly answered.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) consumer: ConsumerId,
    queue: Key,
    sequences: [u64; BATCH],
    len: u32,
    begun: u32,
    answered: u32,
    /// Where the next `begin` goes on.
    next: u32,
    /// Those whose owner was told that they run for long.
    slow: u32,
    /// Whether its queue is lost.
    ended: bool,
}

/// What came of one verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It counts; this queue may go on.
    Counts(Key),
    /// It came too late.
    Stale,
}

impl Open {
    const fn new(consumer: ConsumerId, queue: Key) -> Self {
        Self { consumer, queue, sequences: [0; BATCH], len: 0, begun: 0, answered: 0, next: 0, slow: 0, ended: false }
    }

    const fn all(&self) -> u32 {
        if self.len as usize >= BATCH { u32::MAX } else { (1 << self.len) - 1 }
    }

    const fn running(&self) -> usize {
        (self.begun & !self.answered).count_ones() as usize
    }

    const fn unstarted(&self) -> usize {
        (self.all() & !self.begun & !self.answered).count_ones() as usize
    }

    /// Nobody will ask about it any more.
    pub(super) const fn is_over(&self) -> bool {
        self.running() == 0 && (self.ended || self.unstarted() == 0)
    }

    fn sequence(&self, index: u32) -> u64 {
        self.sequences.get(index as usize).copied().unwrap_or(u64::MAX)
    }
}

impl Consumer {
    /// Offers what may be offered.
    pub(super) fn offer(&mut self, cx: &mut Cx<'_>, asks: &mut Slab<AskId, Open>) {
        if !self.is_running() {
            return;
        }
        let limit = BATCH * BATCHES_PER_WORKER * self.config.concurrency as usize;
        while self.offered + BATCH <= limit {
            let Some(key) = self.line.pop_front() else { return };
            self.offer_of(cx, asks, key);
        }
    }

    fn offer_of(&mut self, cx: &mut Cx<'_>, asks: &mut Slab<AskId, Open>, key: Key) {
        let may_start = self.may_start(cx.now.at, key);
        let Some(queue) = self.queues.get_mut(key) else { return };
        queue.in_line = false;
        // In order means one at a time, and nothing before what rests.
        if self.config.orderly && !(may_start && queue.is_first_cached()) {
            return;
        }
        let most = if self.config.orderly { 1 } else { BATCH };
        let Some(subscription) = self.subscriptions.get(queue.subscription) else { return };
        let mq = Arc::clone(&queue.mq);
        let ask = asks.insert(Open::new(self.id, key));
        let Some(open) = asks.get_mut(ask) else { return };
        let mut offered = Vec::with_capacity(BATCH.min(queue.len()));
        while (open.len as usize) < most
            && let Some((sequence, message)) = queue.offer_next()
        {
            let received = received(&self.subscriptions, subscription, &mq, message);
            offered.push(Offered::new(received, Ticket::new(ask, open.len)));
            if let Some(place) = open.sequences.get_mut(open.len as usize) {
                *place = sequence;
            }
            open.len += 1;
        }
        if queue.has_cached() && !self.config.orderly {
            queue.in_line = true;
            self.line.push_back(key);
        }
        if offered.is_empty() {
            asks.remove(ask);
            return;
        }
        self.offered += offered.len();
        cx.ask(Ask::Deliver(Delivery::new(ask, self.id, mq, offered)));
    }

    /// Marks messages of a delivery as started; how many.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>, open: &mut Open, count: u32) -> Option<u32> {
        if open.ended || !self.is_running() {
            return None;
        }
        let may_start = self.may_start(cx.now.at, open.queue);
        let queue = self.queues.get_mut(open.queue)?;
        if !may_start {
            // The lock is not to be relied on: what was offered is offered again once it is.
            for index in (0..open.len).filter(|index| (open.begun | open.answered) & (1 << index) == 0) {
                queue.set(open.sequence(index), State::Cached);
            }
            self.offered -= open.unstarted();
            open.ended = true;
            return None;
        }
        let mut granted = 0;
        while granted < count && open.next < open.len {
            let bit = 1 << open.next;
            if open.answered & bit == 0 {
                queue.set(open.sequence(open.next), State::Started(cx.now.at));
                if let Some((_, message)) = queue.message(open.sequence(open.next)) {
                    told::tell(cx, &self.config, message, cx.now.at, None);
                }
                open.begun |= bit;
                granted += 1;
            }
            open.next += 1;
        }
        self.offered -= granted as usize;
        self.running += granted as usize;
        if granted > 0 {
            let timer = TimerKey::Consumer(self.id, ConsumerTimer::Sweep);
            let first_look = self.config.slow_after.min(self.config.consume_timeout);
            cx.shared.timers.set_no_later(cx.now.at, timer, cx.now.at + first_look);
        }
        Some(granted)
    }

    /// Takes one verdict.
    pub(super) fn judge(&mut self, cx: &mut Cx<'_>, open: &mut Open, verdict: &Verdict) -> Judged {
        if verdict.index() >= open.len || open.answered & (1 << verdict.index()) != 0 {
            return Judged::Stale;
        }
        let bit = 1 << verdict.index();
        open.answered |= bit;
        if open.begun & bit != 0 {
            self.running -= 1;
        } else if open.ended {
            return Judged::Stale;
        } else {
            self.offered -= 1;
        }
        if open.ended {
            if open.running() == 0 {
                self.handler_left(cx, open.queue);
            }
            return Judged::Stale;
        }
        let (key, sequence) = (open.queue, open.sequence(verdict.index()));
        let Some(queue) = self.queues.get_mut(key) else { return Judged::Stale };
        if let Some(reason) = verdict.reason()
            && let Some((queue_offset, message)) = queue.message(sequence)
        {
            let (queue, redeliveries) = ((*queue.mq).clone(), message.reconsume_times());
            cx.notice(Notice::HandlerFailed { queue, queue_offset, redeliveries, reason: reason.into() });
        }
        let started = match queue.state(sequence) {
            Some(State::Offered) => None,
            Some(State::Started(at)) => Some(at),
            _ => return Judged::Stale,
        };
        if let Some(at) = started
            && let VerdictKind::Succeeded | VerdictKind::Retry { .. } = verdict.kind()
            && let Some(subscription) = self.subscriptions.get_mut(queue.subscription)
        {
            let succeeded = verdict.kind() == VerdictKind::Succeeded;
            subscription.meters.handled(cx.now.at, cx.now.at.since(at), succeeded);
            if let Some((_, message)) = queue.message(sequence) {
                let ended = match (succeeded, verdict.reason()) {
                    (true, _) => told::Ended::Success,
                    (false, Some(_)) => told::Ended::Exception,
                    (false, None) => told::Ended::Failed,
                };
                told::tell(cx, &self.config, message, at, Some(ended));
            }
        }
        match verdict.kind() {
            VerdictKind::Succeeded => {
                queue.set(sequence, State::Done);
                cx.shared.counters.consumed += 1;
            }
            VerdictKind::Released => queue.set(sequence, State::Cached),
            VerdictKind::Retry { delay_level } if self.config.orderly => {
                self.rest_or_bury(cx, key, sequence, delay_level);
            }
            VerdictKind::Retry { delay_level } => self.give_up(cx, key, sequence, delay_level),
            VerdictKind::Undecodable { reason } => self.hold(cx, key, sequence, reason),
        }
        Judged::Counts(key)
    }

    /// A message failed: it goes back to a broker, or, where every member gets every message, it is dropped.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, key: Key, sequence: u64, delay_level: i32) {
        if !self.config.broadcasting {
            return self.send_back(cx, key, sequence, delay_level);
        }
        let Some(queue) = self.queues.get_mut(key) else { return };
        if let Some((queue_offset, _)) = queue.message(sequence) {
            cx.notice(Notice::Dropped { queue: (*queue.mq).clone(), queue_offset });
        }
        queue.set(sequence, State::Done);
        self.progressed(cx, key);
    }

    /// Ends the deliveries of queues that are gone.
    pub(super) fn end_deliveries(&mut self, asks: &mut Slab<AskId, Open>) {
        if self.lost.is_empty() {
            return;
        }
        let lost = core::mem::take(&mut self.lost);
        let mut over = Vec::new();
        for (ask, open) in asks.iter_mut() {
            if open.consumer == self.id && !open.ended && lost.contains(&open.queue) {
                self.offered -= open.unstarted();
                open.ended = true;
                if open.is_over() {
                    over.push(ask);
                }
            }
        }
        for ask in over {
            asks.remove(ask);
        }
    }

    /// Tells of handlers that run for long, sends back what has been handled for too long; looks again when the next
    /// handler will have had its time.
    pub(super) fn sweep(&mut self, cx: &mut Cx<'_>, asks: &mut Slab<AskId, Open>) {
        let (slow_after, timeout) = (self.config.slow_after, self.config.consume_timeout);
        let mut next: Option<Moment> = None;
        let mut expired: Vec<(Key, u64)> = Vec::new();
        for (_, open) in asks.iter_mut().filter(|(_, open)| open.consumer == self.id && !open.ended) {
            let Some(queue) = self.queues.get(open.queue) else { continue };
            for index in (0..open.len).filter(|index| open.begun & !open.answered & (1 << index) != 0) {
                let sequence = open.sequence(index);
                let Some(State::Started(at)) = queue.state(sequence) else { continue };
                // In order there is nothing to be gained by sending it back: what follows waits for it.
                if at + timeout <= cx.now.at && !self.config.orderly {
                    expired.push((open.queue, sequence));
                    continue;
                }
                if at + slow_after <= cx.now.at && open.slow & (1 << index) == 0 {
                    open.slow |= 1 << index;
                    tell_slow(cx, queue, sequence, cx.now.at.since(at));
                }
                let wait = match open.slow & (1 << index) {
                    0 => slow_after.min(timeout),
                    _ if self.config.orderly => continue,
                    _ => timeout,
                };
                next = Some(next.map_or(at + wait, |known| known.min(at + wait)));
            }
        }
        for (key, sequence) in expired {
            let broker = self.queues.get(key).map(|queue| queue.mq.broker.clone());
            Self::report(cx, "handler", broker, OpErrorKind::TimedOut { after: timeout }, None);
            self.give_up(cx, key, sequence, EXPIRED_LEVEL);
        }
        if let Some(next) = next {
            self.wake_after(cx, ConsumerTimer::Sweep, next.since(cx.now.at));
        }
    }

    /// Whether the counts of offered and running messages equal what the open deliveries say.
    pub(super) fn check_counts(&self, cx: &mut Cx<'_>, asks: &Slab<AskId, Open>) {
        if cfg!(debug_assertions) {
            let own = || asks.iter().filter(|(_, open)| open.consumer == self.id).map(|(_, open)| open);
            let running: usize = own().map(Open::running).sum();
            let offered: usize = own().filter(|open| !open.ended).map(Open::unstarted).sum();
            invariant!(cx.shared.health, running == self.running, "the count of running handlers is wrong");
            invariant!(cx.shared.health, offered == self.offered, "the count of offered messages is wrong");
            let busy = own().filter(|open| open.running() > 0).map(|open| open.queue);
            let alone = !self.config.orderly || self.are_alone(busy);
            invariant!(cx.shared.health, alone, "two handlers run in one queue");
        }
    }
}

/// Says that a handler has been running for `running`.
fn tell_slow(cx: &mut Cx<'_>, queue: &ProcessQueue, sequence: u64, running: Duration) {
    let Some((queue_offset, _)) = queue.message(sequence) else { return };
    cx.notice(Notice::SlowHandler { queue: (*queue.mq).clone(), queue_offset, running });
}

/// A message as the application gets it.
pub(super) fn received(
    subscriptions: &Slab<Key, Subscription>,
    subscription: &Subscription,
    queue: &Arc<MessageQueue>,
    message: &StoredMessage,
) -> Received {
    let own = if subscription.is_retry { own_topic(subscriptions, message) } else { None };
    let topic = own.unwrap_or_else(|| subscription.topic.clone());
    Received { stored: message.clone(), queue: Arc::clone(queue), topic }
}

/// The topic that a redelivered message was sent to, if it says so.
fn own_topic(subscriptions: &Slab<Key, Subscription>, message: &StoredMessage) -> Option<Topic> {
    let name = message.properties().get(property_names::RETRY_TOPIC)?;
    let known = subscriptions.iter().find(|(_, known)| known.topic.as_str() == name);
    Some(known.map_or_else(|| Topic::from(name), |(_, known)| known.topic.clone()))
}
