//! How a driver learns what to look at: tokens of connections and listeners whose wakers fired.
//!
//! Each connection has a waker of its own, so that one wake-up costs the work of the connections that have something,
//! not of all of them. A token is queued at most once until the driver takes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use rocketry_machine::ConnId;

use crate::sync::lock;

/// What a driver may have to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A connection: it stands, can be read, or can be written.
    Conn(ConnId),
    /// A listener: a peer has connected.
    Listener(usize),
}

/// The driver's bell.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<Arc<TokenWaker>>,
    waker: Option<Waker>,
    rung: Option<Ring>,
}

/// Why somebody rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ring {
    /// Frames are queued; more may follow from whoever was woken together with whoever rang.
    Gather,
    /// Something that should not wait.
    Now,
}

impl Signal {
    /// Wakes the driver, unless it was woken already and has not looked since.
    pub(crate) fn ring(&self, ring: Ring) {
        let waker = {
            let mut state = lock(&self.state);
            state.rung = state.rung.max(Some(ring));
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// From now on `waker` is the one to wake; takes the ready tokens. Returns whether and why the bell rang since
    /// the last look.
    pub(crate) fn look(&self, waker: &Waker, ready: &mut Vec<Token>) -> Option<Ring> {
        let mut state = lock(&self.state);
        match &mut state.waker {
            Some(known) if known.will_wake(waker) => {}
            other => *other = Some(waker.clone()),
        }
        for token in state.ready.drain(..) {
            token.queued.store(false, Ordering::Release);
            ready.push(token.token);
        }
        std::mem::take(&mut state.rung)
    }

    /// A waker that queues `token` and rings.
    pub(crate) fn waker(self: &Arc<Self>, token: Token) -> Waker {
        Waker::from(Arc::new(TokenWaker { token, queued: AtomicBool::new(false), signal: Arc::clone(self) }))
    }
}

#[derive(Debug)]
struct TokenWaker {
    token: Token,
    queued: AtomicBool,
    signal: Arc<Signal>,
}

impl Wake for TokenWaker {
    fn wake(self: Arc<Self>) {
        Self::wake_by_ref(&self);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = {
            let mut state = lock(&self.signal.state);
            if self.queued.swap(true, Ordering::AcqRel) {
                return;
            }
            state.ready.push(Arc::clone(self));
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CountingWaker;

    #[test]
    fn a_token_is_queued_once_and_one_wake_up_is_enough() {
        let signal = Arc::new(Signal::default());
        let counter = CountingWaker::new();
        let mut ready = Vec::new();
        assert_eq!(signal.look(&counter.waker(), &mut ready), None);
        let (one, two) = (signal.waker(Token::Listener(1)), signal.waker(Token::Listener(2)));
        one.wake_by_ref();
        one.wake_by_ref();
        two.wake_by_ref();
        signal.ring(Ring::Now);
        signal.ring(Ring::Gather);
        assert_eq!(counter.count(), 1, "the driver is woken once for all of it");
        assert_eq!(signal.look(&counter.waker(), &mut ready), Some(Ring::Now));
        assert_eq!(ready, [Token::Listener(1), Token::Listener(2)]);
        ready.clear();
        one.wake_by_ref();
        assert_eq!(counter.count(), 2);
        assert_eq!(signal.look(&counter.waker(), &mut ready), None, "a token is not a ring");
        assert_eq!(ready, [Token::Listener(1)]);
    }
}
