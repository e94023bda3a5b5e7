//! The life of the client: it runs, it stops its consumers, then its producers, then its connections, and is stopped.
//!
//! Consumers go first, since their handlers may still send. The deadline of a shutdown covers all of it.
//!
//! Timers: `Shutdown`, the deadline.

use core::time::Duration;

use rocketry_machine::Moment;

use crate::api::{Certainty, OpError, OpErrorKind, OpId, Outcome, StopReport};
use crate::cx::{Cx, Want};
use crate::timer::TimerKey;

/// The lifecycle part.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Running,
    StoppingConsumers {
        op: OpId,
        deadline: Moment,
    },
    StoppingProducers {
        op: OpId,
    },
    /// Every connection is being closed; their calls end with it.
    Closing {
        op: OpId,
    },
    Stopped,
}

impl Lifecycle {
    /// Whether commands are accepted.
    pub(crate) const fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    /// Begins the shutdown.
    pub(crate) fn shut_down(&mut self, cx: &mut Cx<'_>, op: OpId, within: Duration) {
        let deadline = cx.now.at + within;
        self.state = State::StoppingConsumers { op, deadline };
        // Parts give up a little before the whole does, so that what they know still gets out.
        cx.wake_after(TimerKey::Shutdown, within + GRACE);
        cx.want(Want::StopConsumers(within));
        cx.want(Want::Stopped);
    }

    /// A consumer or producer has stopped, or it is time to look.
    pub(crate) fn on_stopped(&mut self, cx: &mut Cx<'_>, consumers_idle: bool, producers_idle: bool) {
        if let State::StoppingConsumers { op, deadline } = self.state
            && consumers_idle
        {
            self.state = State::StoppingProducers { op };
            cx.want(Want::StopProducers(deadline.since(cx.now.at)));
        }
        if let State::StoppingProducers { op } = self.state
            && consumers_idle
            && producers_idle
        {
            self.close(cx, op);
        }
    }

    /// The deadline has come and parts are still not done.
    pub(crate) fn on_deadline(&mut self, cx: &mut Cx<'_>) {
        if let State::StoppingConsumers { op, .. } | State::StoppingProducers { op } = self.state {
            self.close(cx, op);
        }
    }

    fn close(&mut self, cx: &mut Cx<'_>, op: OpId) {
        self.state = State::Closing { op };
        cx.want(Want::CloseAll);
    }

    /// No connection is left, and none can be opened: whatever has not ended with them ends now.
    pub(crate) fn on_closed(&mut self, cx: &mut Cx<'_>) {
        let State::Closing { op } = self.state else { return };
        self.state = State::Stopped;
        for other in cx.shared.ops.ids() {
            if other != op {
                let error = OpError::new(OpErrorKind::Stopping, Certainty::Unknown);
                cx.done(other, Outcome::Failed(error));
            }
        }
        cx.done(op, Outcome::Stopped(StopReport::default()));
        cx.shared.timers.cancel_all();
    }
}

/// What the whole shutdown may take beyond the deadline that its parts keep.
const GRACE: Duration = Duration::from_millis(100);
