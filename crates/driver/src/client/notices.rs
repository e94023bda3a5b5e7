//! Notices for whoever wants to look on.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use rocketry_core::Notice;

use crate::host::After;
use crate::sync::lock;

/// Notices that one subscriber may leave unread; the oldest is dropped.
const MOST: usize = 1_024;

/// A stream of what the client notices: connections, routes, assignments, troubles. It ends with the client. A subscriber
/// that is slow loses the oldest ones and can see how many.
#[derive(Debug)]
pub struct Notices {
    queue: Arc<NoticeQueue>,
}

#[derive(Debug, Default)]
pub(crate) struct NoticeQueue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Notice>,
    dropped: u64,
    ended: bool,
    waker: Option<Waker>,
}

impl NoticeQueue {
    pub(crate) fn push(&self, notice: Notice, after: &mut After) {
        let mut state = lock(&self.state);
        if state.waiting.len() >= MOST {
            state.waiting.pop_front();
            state.dropped += 1;
        }
        state.waiting.push_back(notice);
        if let Some(waker) = state.waker.take() {
            after.wake(waker);
        }
    }

    pub(crate) fn end(&self, after: &mut After) {
        let mut state = lock(&self.state);
        state.ended = true;
        if let Some(waker) = state.waker.take() {
            after.wake(waker);
        }
    }
}

impl Notices {
    pub(crate) const fn new(queue: Arc<NoticeQueue>) -> Self {
        Self { queue }
    }

    /// The next notice; `None` once the client is closed.
    pub async fn next(&mut self) -> Option<Notice> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// Notices that were dropped because nobody read them in time.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        lock(&self.queue.state).dropped
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<Notice>> {
        let mut state = lock(&self.queue.state);
        if let Some(notice) = state.waiting.pop_front() {
            return Poll::Ready(Some(notice));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Stream for Notices {
    type Item = Notice;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Notice>> {
        self.poll(cx)
    }
}
