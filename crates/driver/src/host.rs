//! Who owns a machine on the side of the application: takes its events, feeds it what waited.

use std::task::Waker;

use rocketry_machine::{Machine, Now};

/// What remains to be done once the lock is released: wakers to wake, records to log.
#[derive(Debug, Default)]
pub(crate) struct After {
    wakes: Vec<Waker>,
    #[cfg(feature = "tracing")]
    pub(crate) records: Vec<crate::trace::Record>,
}

impl After {
    /// Wakes this waker once the lock is released.
    pub(crate) fn wake(&mut self, waker: Waker) {
        self.wakes.push(waker);
    }

    /// Does it. Must not be called under a lock: what is woken may run at once.
    pub(crate) fn run(&mut self) {
        for waker in self.wakes.drain(..) {
            waker.wake();
        }
        #[cfg(feature = "tracing")]
        for record in self.records.drain(..) {
            record.log();
        }
    }
}

/// When the frames of a step are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At once, by whoever took the step: the least latency.
    AtOnce,
    /// By the driver when it runs next, with everything that is queued until then: the fewest writes.
    Together,
}

/// The application's side of a machine. All methods are called under the shell's lock and must not block.
pub(crate) trait Host<M: Machine>: Send + 'static {
    /// Takes an event.
    fn on_event(&mut self, event: M::Event, after: &mut After);

    /// All outputs are taken: may feed the machine what waited for room. Returns whether it did.
    fn settle(&mut self, _machine: &mut M, _now: Now, _after: &mut After) -> bool {
        false
    }

    /// When the frames of a step that the application took are written.
    fn pace(&self) -> Pace {
        Pace::AtOnce
    }

    /// What the driver has to do about its own end.
    fn life(&self) -> Life {
        Life::Running
    }

    /// The driver has ended: nobody will feed the machine any more.
    fn on_end(&mut self, after: &mut After);
}

/// Whether a driver goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// It goes on.
    Running,
    /// It ends once the connections that the machine closed are written out.
    Ending,
    /// It ends now.
    Over,
}
