//! The worker: takes what is offered, begins handlers, polls them in place, answers in batches.
//!
//! A pass polls the handlers whose wakers fired, then takes one step of the shell that answers what has ended, takes
//! offers and begins as many messages as may start, then runs those. So a batch of messages costs one lock. After
//! [`BUDGET`] messages it yields to the runtime.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rocketry_core::{Answer as Answers, Client as Machine, Offered, Ticket, Verdict};
use rocketry_machine::Now;

use super::Shared;
use super::feed::{Batch, Closed};
use super::inflate::{self, Need};
use super::received::Received;
use super::slots::{Ran, Slots};
use super::verdict::{Action, Answer};
use crate::client::host::ClientHost;
use crate::error::Error;
use crate::span::Span;

/// Messages that are begun in one poll before other tasks get their turn.
const BUDGET: usize = 256;

/// A worker; see [`Consumer::run`](super::Consumer::run).
#[must_use = "no message is handled unless the future is polled"]
pub struct Run<H, F> {
    shared: Arc<Shared>,
    handler: H,
    slots: Slots<Ticket, F>,
    offers: Offers,
    verdicts: Vec<Verdict>,
}

/// What this worker has taken from the feed.
#[derive(Debug, Default)]
struct Offers {
    batch: Option<Batch>,
    /// What the first messages of the batch need, as far as it was looked at.
    needs: VecDeque<Need>,
    begun: VecDeque<(Offered, Need)>,
}

impl<H, F> fmt::Debug for Run<H, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("consumer", &self.shared.id).finish_non_exhaustive()
    }
}

impl<H, F> Unpin for Run<H, F> {}

impl<H, F> Run<H, F>
where
    H: FnMut(Received) -> F,
    F: Future,
    F::Output: Answer,
{
    pub(super) fn new(shared: Arc<Shared>, handler: H) -> Self {
        let slots = Slots::new(shared.concurrency);
        Self { shared, handler, slots, offers: Offers::default(), verdicts: Vec::new() }
    }

    /// One lock: answers, takes, begins. Returns how the feed was closed, if it was.
    fn exchange(&mut self, waker: &Waker) -> Option<Closed> {
        let Self { shared, slots, offers, verdicts, .. } = self;
        let room = slots.room();
        shared.core.shell.step(|machine, host, now, after| {
            if !verdicts.is_empty() {
                // Too late means that the queue has moved: whoever has it now gets the messages again.
                let _ = machine.answer(now, Answers::Verdicts(std::mem::take(verdicts)));
                if let Some(feed) = host.feed(shared.id) {
                    // Another worker may have waited for room.
                    feed.stir(after);
                }
            }
            offers.begin(shared, machine, host, now, room, waker)
        })
    }

    /// Runs what was begun.
    fn start(&mut self) {
        let Self { handler, slots, offers, verdicts, .. } = self;
        while let Some((offered, need)) = offers.begun.pop_front() {
            let Offered { message, ticket, .. } = offered;
            let body = match need {
                Need::Plain | Need::Wait => None,
                Need::Undecodable(reason) => {
                    verdicts.push(ticket.undecodable(reason));
                    continue;
                }
                Need::Inflate(compression, room) => {
                    match inflate::inflate(compression, message.stored.body_bytes(), room) {
                        Ok(body) => Some(body),
                        Err(reason) => {
                            verdicts.push(ticket.undecodable(reason));
                            continue;
                        }
                    }
                }
            };
            let span = Span::handle(&message);
            let received = Received::new(message, body);
            if let Some((ticket, ran)) = slots.start(ticket, span, || handler(received)) {
                verdicts.push(verdict(ticket, ran));
            }
        }
    }
}

impl Offers {
    fn begin(
        &mut self,
        shared: &Shared,
        machine: &mut Machine,
        host: &mut ClientHost,
        now: Now,
        room: usize,
        waker: &Waker,
    ) -> Option<Closed> {
        let Some(feed) = host.feed(shared.id) else { return Some(Closed::Stopped) };
        if let Some(closed) = feed.closed() {
            return Some(closed);
        }
        while self.begun.len() < room {
            let Some(batch) = self.batch.as_mut().filter(|batch| !batch.offered.is_empty()) else {
                self.needs.clear();
                self.batch = feed.take();
                if self.batch.is_none() {
                    break;
                }
                continue;
            };
            let wanted = look(&shared.core.inflation, batch, &mut self.needs, room - self.begun.len(), waker);
            let asked = u32::try_from(wanted).unwrap_or(u32::MAX);
            match machine.begin(now, batch.ask, asked) {
                Ok(count) => {
                    let count = count as usize;
                    let begun = batch.offered.drain(..count.min(wanted)).zip(self.needs.drain(..count.min(wanted)));
                    self.begun.extend(begun);
                    if count < wanted || wanted == 0 {
                        break;
                    }
                }
                // The queue has moved: its messages must not be handled here.
                Err(_) => self.batch = None,
            }
        }
        feed.wait(waker);
        None
    }
}

/// Looks what the first messages need, up to `most` or the first that has to wait. Returns how many may begin.
fn look(
    inflation: &Arc<inflate::Inflation>,
    batch: &Batch,
    needs: &mut VecDeque<Need>,
    most: usize,
    waker: &Waker,
) -> usize {
    if matches!(needs.back(), Some(Need::Wait)) {
        needs.pop_back();
    }
    for offered in batch.offered.iter().take(most).skip(needs.len()) {
        needs.push_back(inflate::need(inflation, &offered.message, waker));
        if matches!(needs.back(), Some(Need::Wait)) {
            break;
        }
    }
    let waiting = usize::from(matches!(needs.back(), Some(Need::Wait)));
    (needs.len() - waiting).min(most)
}

fn verdict<T: Answer>(ticket: Ticket, ran: Ran<T>) -> Verdict {
    match ran {
        Ran::Ended(answer) => {
            let (action, reason) = answer.action();
            let verdict = action.on(ticket);
            match reason {
                Some(reason) => verdict.because(reason),
                None => verdict,
            }
        }
        Ran::Panicked(said) => Action::Retry.on(ticket).because(format!("panicked: {said}")),
    }
}

impl<H, F> Future for Run<H, F>
where
    H: FnMut(Received) -> F,
    F: Future,
    F::Output: Answer,
{
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut handled = 0;
        loop {
            let verdicts = &mut this.verdicts;
            this.slots.poll_woken(cx.waker(), |ticket, ran| verdicts.push(verdict(ticket, ran)));
            match this.exchange(cx.waker()) {
                Some(Closed::Stopped) => return Poll::Ready(Ok(())),
                Some(Closed::Abandoned) => return Poll::Ready(Err(Error::DriverGone)),
                None => {}
            }
            if this.offers.begun.is_empty() {
                return Poll::Pending;
            }
            handled += this.offers.begun.len();
            this.start();
            if handled >= BUDGET {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }
}

impl<H, F> Drop for Run<H, F> {
    fn drop(&mut self) {
        let mut verdicts = std::mem::take(&mut self.verdicts);
        verdicts.extend(self.slots.cancel().into_iter().map(Ticket::retry));
        verdicts.extend(self.offers.begun.drain(..).map(|(offered, _)| offered.ticket.retry()));
        let unstarted = self.offers.batch.take().map(|batch| batch.offered).unwrap_or_default();
        verdicts.extend(unstarted.into_iter().map(|offered| offered.ticket.release()));
        self.shared.answer(verdicts);
    }
}
