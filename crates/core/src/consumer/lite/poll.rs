//! Polls: handing messages over, and when they count as handled.
//!
//! Decides: which messages a poll gets. Queues take turns; those of one queue come in order. One poll may wait; what the
//! poll before it handed over is settled when it arrives. What a poll handed over and nobody took is given back, and
//! handed over again.
//!
//! Timers: `Poll`, the end of the wait.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::{Key, Moment};

use crate::api::{GivenBack, LiteOutcome, MessageQueue, OpId, Outcome, Polled, Received};
use crate::consumer::deliver;
use crate::consumer::group::Consumer;
use crate::consumer::queue::State;
use crate::consumer::told;
use crate::cx::Cx;
use crate::timer::{ConsumerTimer, TimerKey};

/// A poll that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) op: OpId,
    max: usize,
}

/// A message that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handed {
    queue: Key,
    sequence: u64,
    /// Its place in what the poll handed over.
    place: u32,
    /// When that was.
    at: Moment,
}

impl Consumer {
    /// A poll has come. What the one before handed over counts as handled.
    pub(super) fn poll(&mut self, cx: &mut Cx<'_>, op: OpId, max: u32, timeout: Duration) {
        self.settle_handed(cx, |_| true);
        if let Some(lite) = &mut self.lite {
            lite.poll = Some(Waiting { op, max: max as usize });
        }
        self.serve(cx);
        if self.lite.as_ref().is_some_and(|lite| lite.poll.is_some()) {
            if timeout.is_zero() {
                self.on_poll_deadline(cx);
            } else {
                self.wake_after(cx, ConsumerTimer::Poll, timeout);
            }
        }
    }

    /// Hands over what there is to a poll that waits.
    pub(in crate::consumer) fn serve(&mut self, cx: &mut Cx<'_>) {
        let Some(max) = self.lite.as_ref().and_then(|lite| Some(lite.poll.as_ref()?.max)) else { return };
        if !self.is_running() || self.line.is_empty() {
            return;
        }
        let messages = self.hand_over(cx, max);
        if !messages.is_empty() {
            self.end_poll(cx, messages);
        }
    }

    /// A poll has waited long enough.
    pub(in crate::consumer) fn on_poll_deadline(&mut self, cx: &mut Cx<'_>) {
        self.end_poll(cx, Vec::new());
    }

    fn end_poll(&mut self, cx: &mut Cx<'_>, messages: Vec<Received>) {
        let Some(lite) = &mut self.lite else { return };
        let Some(Waiting { op, .. }) = lite.poll.take() else { return };
        lite.last_poll = Some(op);
        cx.shared.timers.cancel(TimerKey::Consumer(self.id, ConsumerTimer::Poll));
        cx.done(op, Outcome::Lite(LiteOutcome::Polled(Polled::new(self.id, op, messages))));
    }

    fn hand_over(&mut self, cx: &mut Cx<'_>, max: usize) -> Vec<Received> {
        let mut messages = Vec::new();
        let mut handed = Vec::new();
        while messages.len() < max
            && let Some(key) = self.line.pop_front()
        {
            let Some(queue) = self.queues.get_mut(key) else { continue };
            queue.in_line = false;
            let Some(subscription) = self.subscriptions.get(queue.subscription) else { continue };
            let mq = Arc::clone(&queue.mq);
            while messages.len() < max
                && let Some((sequence, message)) = queue.offer_next()
            {
                let place = u32::try_from(messages.len()).unwrap_or(u32::MAX);
                messages.push(deliver::received(&self.subscriptions, subscription, &mq, message));
                handed.push(Handed { queue: key, sequence, place, at: cx.now.at });
                told::tell(cx, &self.config, message, cx.now.at, None);
            }
            if queue.has_cached() {
                queue.in_line = true;
                self.line.push_back(key);
            }
        }
        if let Some(lite) = &mut self.lite {
            lite.handed = handed;
        }
        messages
    }

    /// What was handed over of these queues counts as handled.
    pub(super) fn settle_handed(&mut self, cx: &mut Cx<'_>, of: impl Fn(&MessageQueue) -> bool) {
        let Some(lite) = &mut self.lite else { return };
        let mut touched: Vec<Key> = Vec::new();
        for handed in core::mem::take(&mut lite.handed) {
            // A queue that is gone takes what was handed over with it.
            let Some(queue) = self.queues.get_mut(handed.queue) else { continue };
            if !of(&queue.mq) {
                lite.handed.push(handed);
                continue;
            }
            if let Some((_, message)) = queue.message(handed.sequence)
                && let Some(subscription) = self.subscriptions.get_mut(queue.subscription)
            {
                subscription.meters.handled(cx.now.at, cx.now.at.since(handed.at), true);
                told::tell(cx, &self.config, message, handed.at, Some(told::Ended::Success));
            }
            queue.set(handed.sequence, State::Done);
            cx.shared.counters.consumed += 1;
            if touched.last() != Some(&handed.queue) {
                touched.push(handed.queue);
            }
        }
        for key in touched {
            self.progressed(cx, key);
        }
    }

    /// Messages of the last poll come back.
    pub(super) fn give_back(&mut self, cx: &mut Cx<'_>, poll: OpId, messages: &[(u32, GivenBack)]) {
        for (place, why) in messages {
            let Some(lite) = self.lite.as_mut().filter(|lite| lite.last_poll == Some(poll)) else { return };
            let Some(at) = lite.handed.iter().position(|handed| handed.place == *place) else { continue };
            let Handed { queue: key, sequence, .. } = lite.handed.remove(at);
            match why {
                GivenBack::Untaken => {
                    if let Some(queue) = self.queues.get_mut(key) {
                        queue.set(sequence, State::Cached);
                    }
                }
                GivenBack::Undecodable(reason) => self.hold(cx, key, sequence, reason),
            }
            self.progressed(cx, key);
        }
    }
}
