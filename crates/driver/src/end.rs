//! A flag that is set once, and those who wait for it.

use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use crate::sync::lock;

/// The end of a driver, to wait for.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    state: Mutex<(bool, Vec<Waker>)>,
}

impl Ended {
    pub(crate) fn set(&self) {
        let wakers = {
            let mut state = lock(&self.state);
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        for waker in wakers {
            waker.wake();
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        lock(&self.state).0
    }

    /// Waits until it is set.
    pub(crate) async fn wait(&self) {
        std::future::poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.0 {
            return Poll::Ready(());
        }
        if !state.1.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.1.push(cx.waker().clone());
        }
        Poll::Pending
    }
}
