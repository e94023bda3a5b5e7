//! Lite consumers as an application sees them: it asks for messages when it wants some, and says where to read.

pub(crate) mod builder;
pub(crate) mod changes;
pub(crate) mod messages;
pub(crate) mod once;
mod polled;

use std::sync::Arc;
use std::time::Duration;

use rocketry_core::{
    Command, Commit, CommitUntil, Consume, ConsumerStats, Control, FilterExpression, Lite, LiteOutcome, MessageQueue,
    Outcome, SeekTo, StopReport, Topic,
};

use self::changes::QueueChanges;
use self::messages::LiteMessages;
use self::polled::Handing;
use super::Consumer;
use super::received::Received;
use super::undecodable::Undecodables;
use crate::client::{ClientCore, unexpected};
use crate::error::Error;

/// A started lite consumer. Clones are handles to the same one; it stops when the last of them and of its streams is
/// dropped.
///
/// # When a message counts as handled
///
/// What a [`poll`](LiteConsumer::poll) hands over counts as handled when the next poll comes, or a commit by hand. So an
/// application that has finished with a poll's messages before it polls again loses none, whatever happens: a queue that
/// moves to another member, a stop, or a crash makes what was not polled past come again.
#[derive(Clone, Debug)]
pub struct LiteConsumer {
    inner: Consumer,
}

impl LiteConsumer {
    pub(super) const fn new(inner: Consumer) -> Self {
        Self { inner }
    }

    /// Hands over up to `max` messages, those of each queue in order. Waits for the first one, at most for `timeout`, and
    /// returns none when that is over. What the poll before handed over counts as handled from here on.
    ///
    /// One poll waits at a time. A future that is dropped takes no message with it.
    ///
    /// # Errors
    /// Another poll that waits, or a consumer that is stopped.
    pub async fn poll(&self, max: u32, timeout: Duration) -> Result<Vec<Received>, Error> {
        let consumer = self.inner.shared.id;
        match self.lite(Lite::Poll { consumer, max, timeout }).await? {
            Outcome::Lite(LiteOutcome::Polled(polled)) => {
                Ok(Handing::new(Arc::clone(&self.inner.shared), polled).open().await)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// The messages as a stream, which polls whenever it has none left. Messages that were not taken from a stream come
    /// again when it is dropped.
    pub fn messages(&self) -> LiteMessages {
        LiteMessages::new(Arc::clone(&self.inner.shared))
    }

    /// Goes on at this offset, which must be one of the queue's or its end. What was fetched of the queue before is
    /// forgotten, answers on their way included.
    ///
    /// # Errors
    /// A queue that is not assigned, an offset outside of it, a broker that does not answer.
    pub async fn seek(&self, queue: &MessageQueue, offset: i64) -> Result<(), Error> {
        self.seek_to(queue, SeekTo::Offset(offset)).await.map(|_| ())
    }

    /// Goes on at the oldest message, at the end, or at a time; where that is.
    ///
    /// # Errors
    /// As [`LiteConsumer::seek`].
    pub async fn seek_to(&self, queue: &MessageQueue, to: SeekTo) -> Result<i64, Error> {
        let consumer = self.inner.shared.id;
        let offset = self.offset(Lite::Seek { consumer, queue: queue.clone(), to }).await?;
        Ok(offset.unwrap_or_default())
    }

    /// Fetches no more of these queues; what is fetched is still handed over. Queues that are not assigned are ignored.
    ///
    /// # Errors
    /// When the consumer is stopped.
    pub async fn pause(&self, queues: impl IntoIterator<Item = MessageQueue>) -> Result<(), Error> {
        let (consumer, queues) = (self.inner.shared.id, queues.into_iter().collect());
        self.change(Lite::Pause { consumer, queues }).await
    }

    /// Fetches of these queues again.
    ///
    /// # Errors
    /// When the consumer is stopped.
    pub async fn resume(&self, queues: impl IntoIterator<Item = MessageQueue>) -> Result<(), Error> {
        let (consumer, queues) = (self.inner.shared.id, queues.into_iter().collect());
        self.change(Lite::Unpause { consumer, queues }).await
    }

    /// Reads these queues and no others. Queues that stay go on undisturbed; positions of those that go are saved.
    ///
    /// # Errors
    /// No queue at all, a consumer that subscribes, or one that is stopped.
    pub async fn assign(&self, queues: impl IntoIterator<Item = MessageQueue>) -> Result<(), Error> {
        let (consumer, queues) = (self.inner.shared.id, queues.into_iter().collect());
        self.change(Lite::Assign { consumer, queues }).await
    }

    /// Subscribes to a topic, or changes its tag expression.
    ///
    /// # Errors
    /// An expression or a name that cannot be, a consumer whose queues are assigned, or one that is stopped.
    pub async fn subscribe(&self, topic: impl Into<Topic>, filter: impl Into<FilterExpression>) -> Result<(), Error> {
        self.inner.subscribe(topic, filter).await
    }

    /// Drops a subscription.
    ///
    /// # Errors
    /// When the consumer is stopped.
    pub async fn unsubscribe(&self, topic: impl Into<Topic>) -> Result<(), Error> {
        self.inner.unsubscribe(topic).await
    }

    /// The queues that the consumer has now, sorted.
    #[must_use]
    pub fn assignment(&self) -> Vec<MessageQueue> {
        let id = self.inner.shared.id;
        self.core().shell.step(|machine, _, _, _| machine.assignment(id))
    }

    /// The offset of the next message of a queue that a poll would hand over; `None` while the queue is not assigned, or
    /// its position is still being asked for.
    #[must_use]
    pub fn position(&self, queue: &MessageQueue) -> Option<i64> {
        let id = self.inner.shared.id;
        self.core().shell.step(|machine, _, _, _| machine.position(id, queue))
    }

    /// Stores positions at the brokers and waits until they have them.
    ///
    /// # Errors
    /// A queue that is not assigned, or a broker that did not take a position; it is sent again later all the same.
    pub async fn commit(&self, what: Commit) -> Result<(), Error> {
        let consumer = self.inner.shared.id;
        self.change(Lite::Commit { consumer, what, until: CommitUntil::Stored }).await
    }

    /// As [`LiteConsumer::commit`], without waiting for brokers. What one does not take is a notice.
    ///
    /// # Errors
    /// A queue that is not assigned.
    pub async fn commit_soon(&self, what: Commit) -> Result<(), Error> {
        let consumer = self.inner.shared.id;
        self.change(Lite::Commit { consumer, what, until: CommitUntil::Accepted }).await
    }

    /// The queues of a topic that messages may be read from, sorted.
    ///
    /// # Errors
    /// When no name server knows the topic or none answers.
    pub async fn queues(&self, topic: impl Into<Topic>) -> Result<Vec<MessageQueue>, Error> {
        let topic = topic.into();
        self.route(&topic).await?;
        Ok(self.core().shell.step(|machine, _, _, _| machine.readable_queues(&topic)))
    }

    /// The queues of a topic whenever they have changed from now on, as far as name servers tell.
    ///
    /// # Errors
    /// When no name server knows the topic or none answers.
    pub async fn queue_changes(&self, topic: impl Into<Topic>) -> Result<QueueChanges, Error> {
        let topic = topic.into();
        let notices = self.core().watch();
        let known = self.queues(topic.clone()).await?;
        Ok(QueueChanges::new(Arc::clone(&self.inner.shared), notices, topic, known))
    }

    /// Records that cannot be decoded, as they came; see [`Consumer::undecodable`].
    pub fn undecodable(&self) -> Undecodables {
        self.inner.undecodable()
    }

    /// How it is doing. `None` when it is stopped.
    #[must_use]
    pub fn stats(&self) -> Option<ConsumerStats> {
        self.inner.stats()
    }

    /// Hands over no more messages, saves the positions as far as was polled past, tells the brokers. On a consumer that
    /// is stopped already it does nothing. To count what the last poll handed over, commit before.
    ///
    /// # Errors
    /// When the client went away in the middle of it.
    pub async fn shutdown(&self, within: Duration) -> Result<StopReport, Error> {
        self.inner.shutdown(within).await
    }

    fn core(&self) -> &Arc<ClientCore> {
        &self.inner.shared.core
    }

    async fn lite(&self, lite: Lite) -> Result<Outcome, Error> {
        self.core().run(Command::Consume(Consume::Lite(lite))).await
    }

    async fn change(&self, lite: Lite) -> Result<(), Error> {
        match self.lite(lite).await? {
            Outcome::Changed => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    async fn offset(&self, lite: Lite) -> Result<Option<i64>, Error> {
        match self.lite(lite).await? {
            Outcome::Lite(LiteOutcome::Offset(offset)) => Ok(offset),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes the brokers of a topic known.
    async fn route(&self, topic: &Topic) -> Result<(), Error> {
        self.core().run(Command::Control(Control::Route(topic.clone()))).await.map(|_| ())
    }
}
