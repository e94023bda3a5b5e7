//! What the machine offers to one consumer, until a worker takes it.

use std::collections::VecDeque;
use std::task::Waker;

use rocketry_core::{AskId, Delivery, Offered, SetAside};

use crate::host::After;

/// Records that may wait to be taken.
const MOST_ASIDE: usize = 64;

/// The offers to one consumer.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    batches: VecDeque<Batch>,
    workers: Vec<Waker>,
    /// Records that cannot be decoded, while somebody takes them; the oldest is dropped.
    asides: Option<VecDeque<SetAside>>,
    closed: Option<Closed>,
}

/// Messages of one offer.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) ask: AskId,
    pub(crate) offered: VecDeque<Offered>,
}

/// Why there will be no more offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The consumer is stopped.
    Stopped,
    /// The driver is gone.
    Abandoned,
}

impl Feed {
    pub(crate) fn offer(&mut self, delivery: Delivery, after: &mut After) {
        self.batches.push_back(Batch { ask: delivery.ask, offered: delivery.offered.into() });
        self.stir(after);
    }

    pub(crate) fn take(&mut self) -> Option<Batch> {
        self.batches.pop_front()
    }

    /// From now on somebody takes what is set aside.
    pub(crate) fn take_asides(&mut self) {
        self.asides.get_or_insert_default();
    }

    pub(crate) fn set_aside(&mut self, record: SetAside, after: &mut After) {
        let Some(asides) = &mut self.asides else { return };
        if asides.len() >= MOST_ASIDE {
            asides.pop_front();
        }
        asides.push_back(record);
        self.stir(after);
    }

    pub(crate) fn aside(&mut self) -> Option<SetAside> {
        self.asides.as_mut()?.pop_front()
    }

    /// Registers a worker to be woken when there may be something to do.
    pub(crate) fn wait(&mut self, waker: &Waker) {
        if !self.workers.iter().any(|known| known.will_wake(waker)) {
            self.workers.push(waker.clone());
        }
    }

    /// Something may have become possible: new offers, room for another handler.
    pub(crate) fn stir(&mut self, after: &mut After) {
        for worker in self.workers.drain(..) {
            after.wake(worker);
        }
    }

    pub(crate) fn close(&mut self, after: &mut After) {
        self.end(Closed::Stopped, after);
    }

    pub(crate) fn abandon(&mut self, after: &mut After) {
        self.end(Closed::Abandoned, after);
    }

    pub(crate) const fn closed(&self) -> Option<Closed> {
        self.closed
    }

    fn end(&mut self, why: Closed, after: &mut After) {
        self.closed.get_or_insert(why);
        self.batches.clear();
        self.stir(after);
    }
}
