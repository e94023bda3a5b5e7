//! Stopping, suspending, resuming (consumer.md 1.12, 1.13 and 13.5).
//!
//! Order: nothing more is pulled, offered or begun; handlers that run are waited for, and the send-backs that they cause;
//! positions are saved and the answers awaited; queues are unlocked; the brokers hear the farewell. Long polls are left to end by themselves:
//! nobody waits for them. When time runs out at a step the rest is done without waiting, and the report says what was
//! left.
//!
//! Timers: `DrainDeadline`, the end of waiting for handlers, which leaves time for the rest; `StopDeadline`.

use core::time::Duration;

use rocketry_machine::Key;

use super::group::{Consumer, Phase, Stopping};
use super::queue::{ProcessQueue, Pull};
use crate::api::{Certainty, OpError, OpErrorKind, OpId, Outcome, StopReport};
use crate::cx::{Cx, Farewell, Want};
use crate::timer::{ConsumerTimer, TimerKey};

/// What is kept of the time allowed for saving and the farewell, unless a quarter of the whole is less.
const RESERVE: Duration = Duration::from_millis(500);

impl Consumer {
    /// Begins to stop.
    pub(super) fn stop(&mut self, cx: &mut Cx<'_>, op: Option<OpId>, within: Duration) {
        let started = match self.phase {
            Phase::Starting(start, _) => {
                let error = OpError::new(OpErrorKind::Stopping, Certainty::NotSent);
                cx.done(start, Outcome::Failed(error));
                false
            }
            Phase::Running => true,
            Phase::Stopping(..) | Phase::Over => return,
        };
        self.cancel_timers(cx);
        self.end_operations(cx);
        self.wake_after(cx, ConsumerTimer::StopDeadline, within);
        if started {
            self.wake_after(cx, ConsumerTimer::DrainDeadline, within.saturating_sub(RESERVE.min(within / 4)));
            self.phase = Phase::Stopping(op, Stopping::Handlers, StopReport::default());
            if self.needs_locks() {
                self.lock_soon(cx);
            }
        } else {
            self.phase = Phase::Stopping(op, Stopping::Positions(0), StopReport::default());
        }
    }

    /// Takes the next steps of stopping whose time has come.
    pub(super) fn advance_stop(&mut self, cx: &mut Cx<'_>) {
        let Phase::Stopping(_, step, _) = &mut self.phase else { return };
        match *step {
            Stopping::Handlers if self.running == 0 && self.sending_back == 0 => self.save_last(cx),
            Stopping::Positions(0) => self.part(cx),
            Stopping::Handlers | Stopping::Positions(_) | Stopping::Farewell => {}
        }
    }

    /// Handlers have had their time.
    pub(super) fn on_drain_deadline(&mut self, cx: &mut Cx<'_>) {
        if let Phase::Stopping(_, Stopping::Handlers, report) = &mut self.phase {
            report.unfinished_handlers = self.running as u64;
            self.save_last(cx);
        }
    }

    fn save_last(&mut self, cx: &mut Cx<'_>) {
        self.send_all_partings(cx);
        self.save_all(cx);
        let waiting = self.queues.iter().filter(|(_, queue)| queue.saving.is_some() || queue.held).count();
        if let Phase::Stopping(_, step, _) = &mut self.phase {
            *step = Stopping::Positions(waiting);
        }
        self.advance_stop(cx);
    }

    /// The saving of a position has ended, with this position stored or with none. A stopping consumer saves once more
    /// what has changed since.
    pub(super) fn position_settled(&mut self, cx: &mut Cx<'_>, key: Key, stored: Option<i64>) {
        if let Phase::Stopping(_, Stopping::Positions(left), _) = self.phase {
            let behind =
                |queue: &ProcessQueue| stored.is_some_and(|stored| queue.goal().is_some_and(|goal| goal != stored));
            let again = self.queues.get(key).is_some_and(behind) && self.save(cx, key);
            if !again && let Phase::Stopping(_, step, _) = &mut self.phase {
                *step = Stopping::Positions(left.saturating_sub(1));
            }
        }
    }

    fn part(&mut self, cx: &mut Cx<'_>) {
        if let Phase::Stopping(_, step, _) = &mut self.phase {
            *step = Stopping::Farewell;
        }
        self.unlock_all(cx);
        cx.shared.registry.remove_consumer(&self.config.group);
        cx.want(Want::Unregister(Farewell { group: self.config.group.clone(), consumer: Some(self.id) }));
    }

    /// The farewell is said.
    pub(super) fn on_parted(&mut self, cx: &mut Cx<'_>) {
        if let Phase::Stopping(_, Stopping::Farewell, _) = self.phase {
            self.end(cx);
        }
    }

    /// The whole time is over.
    pub(super) fn on_stop_deadline(&mut self, cx: &mut Cx<'_>) {
        let Phase::Stopping(_, step, report) = &mut self.phase else { return };
        let step = *step;
        if step == Stopping::Handlers {
            report.unfinished_handlers = self.running as u64;
            self.save_all(cx);
        }
        if step != Stopping::Farewell {
            self.part(cx);
        }
        self.end(cx);
    }

    fn end(&mut self, cx: &mut Cx<'_>) {
        self.end_commits(cx);
        let unsaved = self.queues.iter().filter(|(_, queue)| queue.is_unsaved()).count() as u64;
        if let Phase::Stopping(op, _, report) = core::mem::replace(&mut self.phase, Phase::Over)
            && let Some(op) = op
        {
            let report = StopReport { unsaved_queues: unsaved, ..report };
            cx.done(op, Outcome::Stopped(report));
        }
    }

    /// Disarms everything that this consumer has armed.
    pub(super) fn cancel_timers(&self, cx: &mut Cx<'_>) {
        let key = |timer| TimerKey::Consumer(self.id, timer);
        cx.shared.timers.cancel_range(key(ConsumerTimer::FIRST)..=key(ConsumerTimer::LAST));
    }

    /// Pauses pulling.
    pub(super) const fn suspend(&mut self) {
        self.suspended = true;
    }

    /// Pulls again.
    pub(super) fn resume(&mut self, cx: &mut Cx<'_>) {
        self.suspended = false;
        for key in self.live_queues() {
            if self.queues.get(key).is_some_and(|queue| queue.pull == Pull::Idle) {
                self.pull(cx, key);
            }
        }
        self.rebalance_soon(cx);
    }
}
