//! What a lite consumer does once: offsets of any queue, single pulls, sending a message back. With queues and positions
//! kept by the application this is what the old pull consumer was.

use std::future::poll_fn;
use std::task::Poll;

use rocketry_core::{Lite, LiteOutcome, MessageQueue, OffsetOf, Outcome, PullOnce, PullStatus};
use rocketry_machine::UnixMillis;

use super::{LiteConsumer, polled};
use crate::client::unexpected;
use crate::consumer::received::Received;
use crate::consumer::verdict::DelayLevel;
use crate::error::Error;

/// What a single pull brought.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Pull {
    /// What the broker says.
    pub status: PullStatus,
    /// Where to go on.
    pub next: i64,
    /// The oldest offset of the queue.
    pub min: i64,
    /// The end of the queue.
    pub max: i64,
    /// The messages that are wanted and can be read.
    pub messages: Vec<Received>,
    /// Offsets of records that could not be read, where they are known, and why.
    pub undecodable: Vec<(Option<i64>, String)>,
}

impl LiteConsumer {
    /// The group's position of a queue at its broker; `None` when it has none. A failure is never `None`.
    ///
    /// # Errors
    /// A broker that does not answer, or refuses.
    pub async fn committed(&self, queue: &MessageQueue) -> Result<Option<i64>, Error> {
        self.ask(queue, OffsetOf::Committed).await
    }

    /// The oldest offset of a queue.
    ///
    /// # Errors
    /// A broker that does not answer, or refuses.
    pub async fn min_offset(&self, queue: &MessageQueue) -> Result<i64, Error> {
        Ok(self.ask(queue, OffsetOf::Min).await?.unwrap_or_default())
    }

    /// The offset behind the newest message of a queue.
    ///
    /// # Errors
    /// A broker that does not answer, or refuses.
    pub async fn max_offset(&self, queue: &MessageQueue) -> Result<i64, Error> {
        Ok(self.ask(queue, OffsetOf::Max).await?.unwrap_or_default())
    }

    /// The offset of the first message of a queue that was stored at or after this time.
    ///
    /// # Errors
    /// A broker that does not answer, or refuses.
    pub async fn offset_for_time(&self, queue: &MessageQueue, time: UnixMillis) -> Result<i64, Error> {
        Ok(self.ask(queue, OffsetOf::Time(time)).await?.unwrap_or_default())
    }

    /// Stores the group's position of any queue, assigned or not, and waits until the broker has it. For an assigned
    /// queue use [`commit`](LiteConsumer::commit), which later commits follow.
    ///
    /// # Errors
    /// An offset that is negative, a broker that does not answer, or refuses.
    pub async fn save_offset(&self, queue: &MessageQueue, offset: i64) -> Result<(), Error> {
        self.route(&queue.topic).await?;
        let consumer = self.inner.shared.id;
        self.change(Lite::Save { consumer, queue: queue.clone(), offset }).await
    }

    /// Pulls once from any queue, apart from polls and positions.
    ///
    /// # Errors
    /// Values that cannot be, a broker that does not answer, or refuses.
    pub async fn pull(&self, pull: PullOnce) -> Result<Pull, Error> {
        self.route(&pull.queue.topic).await?;
        let consumer = self.inner.shared.id;
        let pulled = match self.lite(Lite::Pull { consumer, pull }).await? {
            Outcome::Lite(LiteOutcome::Pulled(pulled)) => pulled,
            other => return Err(unexpected(&other)),
        };
        let mut pull = Pull {
            status: pulled.status,
            next: pulled.next,
            min: pulled.min,
            max: pulled.max,
            messages: Vec::with_capacity(pulled.messages.len()),
            undecodable: pulled.undecodable,
        };
        for message in pulled.messages {
            let offset = message.stored.queue_offset();
            let opened = poll_fn(|cx| match polled::open(&self.core().inflation, &message, cx.waker()) {
                // Where a part of the budget is held by these, waiting for more of it could take for ever.
                Poll::Pending if !pull.messages.is_empty() => Poll::Ready(None),
                other => other.map(Some),
            });
            match opened.await {
                Some(Ok(body)) => pull.messages.push(Received::new(message, body)),
                Some(Err(reason)) => pull.undecodable.push((Some(offset), reason.into())),
                None => {
                    pull.next = offset;
                    break;
                }
            }
        }
        Ok(pull)
    }

    /// Sends a message to the group's retry topic: a broker delivers it again after this time, or after one that grows
    /// with every redelivery. Members of the group that are push consumers receive it.
    ///
    /// # Errors
    /// When no broker takes it.
    pub async fn send_back(&self, message: &Received, after: Option<DelayLevel>) -> Result<(), Error> {
        self.back(message, after.map_or(0, DelayLevel::get)).await
    }

    /// Sends a message to the dead-letter topic of the group.
    ///
    /// # Errors
    /// When no broker takes it.
    pub async fn dead_letter(&self, message: &Received) -> Result<(), Error> {
        self.back(message, -1).await
    }

    async fn back(&self, message: &Received, delay_level: i32) -> Result<(), Error> {
        let (consumer, message) = (self.inner.shared.id, Box::new(message.inner().clone()));
        self.change(Lite::SendBack { consumer, message, delay_level }).await
    }

    async fn ask(&self, queue: &MessageQueue, what: OffsetOf) -> Result<Option<i64>, Error> {
        self.route(&queue.topic).await?;
        let consumer = self.inner.shared.id;
        self.offset(Lite::Ask { consumer, queue: queue.clone(), what }).await
    }
}
