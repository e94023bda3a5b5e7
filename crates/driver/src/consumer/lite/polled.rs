//! What a poll brought, on its way to the application: bodies are inflated within the budget of the client, and what does
//! not get there is given back.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rocketry_core::{Command, Consume, GivenBack, Lite, OpId, Polled};

use crate::consumer::Shared;
use crate::consumer::inflate::{self, Inflation, Need};
use crate::consumer::received::Received;

/// Messages of one poll that the application does not have yet.
#[derive(Debug)]
pub(super) struct Handing {
    shared: Arc<Shared>,
    poll: OpId,
    left: VecDeque<(u32, rocketry_core::Received)>,
    /// Opened, but not handed over.
    opened: Vec<(u32, Received)>,
}

impl Handing {
    pub(super) fn new(shared: Arc<Shared>, polled: Polled) -> Self {
        let left = (0..).zip(polled.messages).collect();
        Self { shared, poll: polled.poll, left, opened: Vec::new() }
    }

    /// Opens as many messages as the budget allows, at least one if there is any; the rest is given back.
    pub(super) async fn open(mut self) -> Vec<Received> {
        poll_fn(|cx| self.open_all(cx)).await;
        // Where a part of the budget is held by these, waiting for more of it could take for ever.
        std::mem::take(&mut self.opened).into_iter().map(|(_, message)| message).collect()
    }

    fn open_all(&mut self, cx: &Context<'_>) -> Poll<()> {
        while !self.left.is_empty() {
            match self.open_one(cx.waker()) {
                Poll::Ready(Some(opened)) => self.opened.push(opened),
                Poll::Ready(None) => {}
                Poll::Pending if self.opened.is_empty() => return Poll::Pending,
                Poll::Pending => return Poll::Ready(()),
            }
        }
        Poll::Ready(())
    }

    /// The next message for a stream; `None` when none is left.
    pub(super) fn next(&mut self, waker: &Waker) -> Poll<Option<Received>> {
        while !self.left.is_empty() {
            if let Some((_, message)) = std::task::ready!(self.open_one(waker)) {
                return Poll::Ready(Some(message));
            }
        }
        Poll::Ready(None)
    }

    /// Opens the first message; nothing if it cannot be read.
    fn open_one(&mut self, waker: &Waker) -> Poll<Option<(u32, Received)>> {
        let Some((_, front)) = self.left.front() else { return Poll::Ready(None) };
        let opened = match open(&self.shared.core.inflation, front, waker) {
            Poll::Ready(opened) => opened,
            Poll::Pending => return Poll::Pending,
        };
        let Some((place, message)) = self.left.pop_front() else { return Poll::Ready(None) };
        match opened {
            Ok(body) => Poll::Ready(Some((place, Received::new(message, body)))),
            Err(reason) => {
                self.give_back(vec![(place, GivenBack::Undecodable(reason))]);
                Poll::Ready(None)
            }
        }
    }

    fn give_back(&self, messages: Vec<(u32, GivenBack)>) {
        let give = Lite::GiveBack { consumer: self.shared.id, poll: self.poll, messages };
        self.shared.core.shell.step(|machine, _, now, _| {
            // Refused means that the consumer is stopped: whatever it had comes again anyway.
            let _ = machine.submit(now, Command::Consume(Consume::Lite(give)));
        });
    }
}

impl Drop for Handing {
    fn drop(&mut self) {
        let places = self.opened.iter().map(|(place, _)| *place).chain(self.left.iter().map(|(place, _)| *place));
        let untaken: Vec<_> = places.map(|place| (place, GivenBack::Untaken)).collect();
        if !untaken.is_empty() {
            self.give_back(untaken);
        }
    }
}

/// The inflated body of a message, if it is compressed; pending while the budget is spent.
pub(super) fn open(
    inflation: &Arc<Inflation>,
    message: &rocketry_core::Received,
    waker: &Waker,
) -> Poll<Result<Option<bytes::Bytes>, &'static str>> {
    match inflate::need(inflation, message, waker) {
        Need::Plain => Poll::Ready(Ok(None)),
        Need::Wait => Poll::Pending,
        Need::Undecodable(reason) => Poll::Ready(Err(reason)),
        Need::Inflate(compression, room) => {
            Poll::Ready(inflate::inflate(compression, message.stored.body_bytes(), room).map(Some))
        }
    }
}
