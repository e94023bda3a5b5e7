//! Messages as a stream, each answered by hand.

use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use rocketry_core::{Client as Machine, Offered, Ticket};
use rocketry_machine::Now;

use super::Shared;
use super::feed::Batch;
use super::inflate::{self, Need};
use super::received::Received;
use super::verdict::{Action, DelayLevel};
use crate::client::host::ClientHost;

/// A stream of deliveries; see [`Consumer::deliveries`](super::Consumer::deliveries). It ends when the consumer is
/// stopped.
#[derive(Debug)]
#[must_use = "no message is delivered unless the stream is polled"]
pub struct Deliveries {
    shared: Arc<Shared>,
    batch: Option<Batch>,
}

/// What a step brought.
enum Step {
    Begun(Box<Offered>, Need),
    Wait,
    End,
}

impl Deliveries {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared, batch: None }
    }

    /// The next delivery; `None` once the consumer is stopped.
    pub async fn next(&mut self) -> Option<Delivery> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &Context<'_>) -> Poll<Option<Delivery>> {
        loop {
            let Self { shared, batch } = self;
            let step =
                shared.core.shell.step(|machine, host, now, _| begin(shared, batch, machine, host, now, cx.waker()));
            let (offered, need) = match step {
                Step::Begun(offered, need) => (*offered, need),
                Step::Wait => return Poll::Pending,
                Step::End => return Poll::Ready(None),
            };
            let Offered { message, ticket, .. } = offered;
            let body = match need {
                Need::Plain | Need::Wait => Ok(None),
                Need::Undecodable(reason) => Err(reason),
                Need::Inflate(compression, room) => {
                    inflate::inflate(compression, message.stored.body_bytes(), room).map(Some)
                }
            };
            match body {
                Ok(body) => {
                    let (message, shared) = (Received::new(message, body), Arc::clone(&self.shared));
                    return Poll::Ready(Some(Delivery { message, ticket: Some(ticket), shared }));
                }
                Err(reason) => self.shared.answer(vec![ticket.undecodable(reason)]),
            }
        }
    }
}

/// Begins one message.
fn begin(
    shared: &Shared,
    batch: &mut Option<Batch>,
    machine: &mut Machine,
    host: &mut ClientHost,
    now: Now,
    waker: &Waker,
) -> Step {
    let Some(feed) = host.feed(shared.id) else { return Step::End };
    if feed.closed().is_some() {
        return Step::End;
    }
    loop {
        let Some(Batch { ask, offered }) = batch.as_mut().filter(|batch| !batch.offered.is_empty()) else {
            *batch = feed.take();
            if batch.is_none() {
                break;
            }
            continue;
        };
        let Some(front) = offered.front() else { break };
        let need = inflate::need(&shared.core.inflation, &front.message, waker);
        if matches!(need, Need::Wait) {
            break;
        }
        match machine.begin(now, *ask, 1) {
            Ok(1..) => {
                let Some(offered) = offered.pop_front() else { break };
                return Step::Begun(Box::new(offered), need);
            }
            Ok(0) => break,
            // The queue has moved: its messages must not be handled here.
            Err(_) => *batch = None,
        }
    }
    feed.wait(waker);
    Step::Wait
}

impl Stream for Deliveries {
    type Item = Delivery;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        self.poll(cx)
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        let unstarted = self.batch.take().map(|batch| batch.offered).unwrap_or_default();
        self.shared.answer(unstarted.into_iter().map(|offered| offered.ticket.release()).collect());
    }
}

/// One message with the duty to say what became of it. Dropped without an answer, it comes again.
#[derive(Debug)]
#[must_use = "a delivery that is dropped comes again"]
pub struct Delivery {
    message: Received,
    ticket: Option<Ticket>,
    shared: Arc<Shared>,
}

impl Delivery {
    /// The message is done with.
    pub fn succeed(self) {
        self.act(Action::Succeed);
    }

    /// The message comes again, after a time that grows with every redelivery.
    pub fn retry(self) {
        self.act(Action::Retry);
    }

    /// The message comes again after this time.
    pub fn retry_after(self, level: DelayLevel) {
        self.act(Action::RetryAfter(level));
    }

    /// The message goes to the dead-letter topic of the group at once.
    pub fn dead_letter(self) {
        self.act(Action::DeadLetter);
    }

    /// Any of these.
    pub fn act(mut self, action: Action) {
        self.answer(action);
    }

    /// The message alone.
    #[must_use]
    pub const fn message(&self) -> &Received {
        &self.message
    }

    fn answer(&mut self, action: Action) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.answer(vec![action.on(ticket)]);
        }
    }
}

impl Deref for Delivery {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.message
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.answer(Action::Retry);
    }
}
