//! Push consumers as an application sees them.

pub(crate) mod builder;
pub(crate) mod deliveries;
pub(crate) mod feed;
pub(crate) mod inflate;
pub(crate) mod lite;
pub(crate) mod received;
pub(crate) mod run;
mod slots;
pub(crate) mod undecodable;
pub(crate) mod verdict;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rocketry_core::{
    Answer as Answers, Command, Consume, ConsumerId, ConsumerStats, FilterExpression, Outcome, RejectReason,
    StopReport, Topic, Verdict,
};

use crate::client::host::Stop;
use crate::client::operation::Operation;
use crate::client::{ClientCore, unexpected};
use crate::consumer::deliveries::Deliveries;
use crate::consumer::received::Received;
use crate::consumer::run::Run;
use crate::consumer::undecodable::Undecodables;
use crate::consumer::verdict::Answer;
use crate::error::Error;

/// A started push consumer. Clones are handles to the same one; it stops when the last of them, its workers and its
/// deliveries are dropped.
#[derive(Clone, Debug)]
pub struct Consumer {
    pub(crate) shared: Arc<Shared>,
}

/// What the handles, workers and deliveries of one consumer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) core: Arc<ClientCore>,
    pub(crate) id: ConsumerId,
    pub(crate) concurrency: usize,
}

impl Shared {
    /// Tells the machine what became of messages.
    pub(crate) fn answer(&self, verdicts: Vec<Verdict>) {
        if verdicts.is_empty() {
            return;
        }
        self.core.shell.step(|machine, host, now, after| {
            // Too late means that the queue has moved: whoever has it now gets the messages again.
            let _ = machine.answer(now, Answers::Verdicts(verdicts));
            if let Some(feed) = host.feed(self.id) {
                feed.stir(after);
            }
        });
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.core.shell.step(|machine, host, now, _| {
            host.forget_feed(self.id);
            let stop = Consume::Stop { consumer: self.id, within: Duration::ZERO };
            // Refused means that it is stopped already.
            let _ = machine.submit(now, Command::Consume(stop));
        });
    }
}

impl Consumer {
    pub(crate) fn new(core: Arc<ClientCore>, id: ConsumerId, concurrency: usize) -> Self {
        Self { shared: Arc::new(Shared { core, id, concurrency }) }
    }

    /// Handles messages until the consumer is stopped. The handler's futures are polled inside this one, as many at once
    /// as the consumer's concurrency allows; nothing is spawned. What a handler returns decides about its message: an
    /// `Err`, a panic and a handler that is dropped before its end all mean that it comes again.
    ///
    /// Handlers share one task, hence one thread. For handlers that compute for long, run this several times, each in a
    /// task of its own, or let the handler spawn.
    ///
    /// The future ends with `Ok` when the consumer or the client is shut down, after the handlers that the shutdown
    /// waited for; dropping it before gives the handlers up.
    pub fn run<H, F>(&self, handler: H) -> Run<H, F>
    where
        H: FnMut(Received) -> F,
        F: Future,
        F::Output: Answer,
    {
        Run::new(Arc::clone(&self.shared), handler)
    }

    /// The messages as a stream. Each is to be answered; one that is dropped unanswered comes again. How many are
    /// handled at once is up to whoever polls, within the consumer's concurrency. Dropping the stream releases what was
    /// not taken from it.
    pub fn deliveries(&self) -> Deliveries {
        Deliveries::new(Arc::clone(&self.shared))
    }

    /// Records that cannot be decoded, as they came, while the stream is there (with
    /// [`Quarantine::SetAside`](rocketry_core::Quarantine), the default). Without it a notice tells of each. At most 64
    /// wait to be taken; older ones are dropped, which the notices still tell of.
    pub fn undecodable(&self) -> Undecodables {
        Undecodables::new(Arc::clone(&self.shared))
    }

    /// How it is doing: rates, times, what is cached and how far it is behind. `None` when it is stopped.
    #[must_use]
    pub fn stats(&self) -> Option<ConsumerStats> {
        let id = self.shared.id;
        self.shared.core.shell.step(|machine, _, now, _| machine.consumer_stats(now, id))
    }

    /// Subscribes to a topic, or changes its filter, while running.
    ///
    /// # Errors
    /// An expression or a name that cannot be, or a consumer that is stopped.
    pub async fn subscribe(&self, topic: impl Into<Topic>, filter: impl Into<FilterExpression>) -> Result<(), Error> {
        let (consumer, topic, filter) = (self.shared.id, topic.into(), filter.into());
        self.change(Consume::Subscribe { consumer, topic, filter }).await
    }

    /// Drops a subscription while running.
    ///
    /// # Errors
    /// When the consumer is stopped.
    pub async fn unsubscribe(&self, topic: impl Into<Topic>) -> Result<(), Error> {
        self.change(Consume::Unsubscribe { consumer: self.shared.id, topic: topic.into() }).await
    }

    /// Fetches no more messages; what is cached is still handled.
    ///
    /// # Errors
    /// When the consumer is stopped.
    pub async fn suspend(&self) -> Result<(), Error> {
        self.change(Consume::Suspend(self.shared.id)).await
    }

    /// Fetches messages again.
    ///
    /// # Errors
    /// When the consumer is stopped.
    pub async fn resume(&self) -> Result<(), Error> {
        self.change(Consume::Resume(self.shared.id)).await
    }

    /// Offers no more messages, waits for the handlers that have begun, saves the positions, tells the brokers. What is
    /// not done after `within` is left to redelivery. On a consumer that is stopped already it does nothing. Called from
    /// inside a handler it waits for that handler too, and so takes the whole time.
    ///
    /// # Errors
    /// When the client went away in the middle of it.
    pub async fn shutdown(&self, within: Duration) -> Result<StopReport, Error> {
        let consumer = self.shared.id;
        let command = Command::Consume(Consume::Stop { consumer, within });
        let core = Arc::clone(&self.shared.core);
        match Operation::stop(core, command, Stop::Consumer(consumer)).await {
            Ok(Outcome::Stopped(report)) => Ok(report),
            Ok(other) => Err(unexpected(&other)),
            Err(Error::Rejected(RejectReason::Closed | RejectReason::NotRunning { .. }) | Error::DriverGone) => {
                Ok(StopReport::default())
            }
            Err(error) => Err(error),
        }
    }

    async fn change(&self, change: Consume) -> Result<(), Error> {
        match self.shared.core.run(Command::Consume(change)).await? {
            Outcome::Changed => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}
