//! Transactions as an application sees them: a half message, a local step, and questions about forgotten ones.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use rocketry_codec::codes::ResponseCode;
use rocketry_core::{
    Call, Command, Message, Outcome, Produce, ProducerId, Resolution, SendReceipt, SendStatus, Topic,
    TransactionCheck as Check,
};

use crate::client::{ClientCore, unexpected};
use crate::error::Error;
use crate::host::After;
use crate::producer::{Producer, Shared};
use crate::sync::lock;

/// Questions that one producer may leave unread; the oldest is dropped, and the broker asks again.
const MOST: usize = 2_000;

/// How a transaction went.
#[derive(Debug)]
#[non_exhaustive]
pub struct Transaction {
    /// Where the half message lies.
    pub receipt: SendReceipt,
    /// What the local step said.
    pub resolution: Resolution,
    /// Whether the broker has heard of it. If not, it will ask: [`Producer::transaction_checks`].
    pub told: Result<(), Error>,
}

impl Producer {
    /// Sends a message that nobody sees unless `local` says [`Resolution::Commit`]. `local` runs once the broker has the
    /// message for sure; a message that may not be safe on the broker's disk or slave is rolled back without it, as in
    /// Java. [`Resolution::Unknown`], a future dropped in between, or an end of which the broker has not heard leave the
    /// answer to [`transaction_checks`](Self::transaction_checks).
    ///
    /// # Errors
    /// When the half message could not be sent: `local` has not run then, and nothing is delivered.
    pub async fn send_in_transaction<L, F>(&self, message: Message, local: L) -> Result<Transaction, Error>
    where
        L: FnOnce(SendReceipt) -> F,
        F: Future<Output = Resolution>,
    {
        let shared = self.shared();
        let produce = shared.compressed(Produce::new(shared.id, message)).half();
        let receipt = match shared.core.run(Command::Produce(produce)).await? {
            Outcome::Sent(receipt) => receipt,
            other => return Err(unexpected(&other)),
        };
        let resolution = match receipt.status {
            SendStatus::Stored => local(receipt.clone()).await,
            _ => Resolution::Rollback,
        };
        let told = match resolution.of_half(&shared.group, &receipt) {
            // The broker would say nothing, and ask later.
            _ if resolution == Resolution::Unknown => Ok(()),
            Some(call) => tell(&shared.core, call).await,
            None => Err(Error::Failed(rocketry_core::OpError::new(
                rocketry_core::OpErrorKind::Protocol(format!("no broker's id: {}", receipt.offset_message_id)),
                rocketry_core::Certainty::NotSent,
            ))),
        };
        Ok(Transaction { receipt, resolution, told })
    }

    /// Questions of brokers about transactions of the producer's group that nobody has ended: perhaps of another process
    /// that is gone. Every member of a group must be able to answer all of them. Without this stream none is answered, and
    /// the broker puts the message aside after some time.
    pub fn transaction_checks(&self) -> TransactionChecks {
        let queue = Arc::new(CheckQueue::default());
        let shared = Arc::clone(self.shared());
        shared.core.shell.step(|_, host, _, _| host.watch_checks(shared.id, Arc::clone(&queue)));
        TransactionChecks { queue, shared }
    }
}

async fn tell(core: &Arc<ClientCore>, call: Call) -> Result<(), Error> {
    match core.run(Command::Call(call)).await? {
        Outcome::Reply(frame) if frame.response_code() == ResponseCode::SUCCESS => Ok(()),
        Outcome::Reply(frame) => {
            let (code, remark) = (frame.response_code(), frame.remark().unwrap_or_default().into_owned());
            let kind = rocketry_core::OpErrorKind::Broker { code, remark };
            Err(Error::Failed(rocketry_core::OpError::new(kind, rocketry_core::Certainty::NotSent)))
        }
        other => Err(unexpected(&other)),
    }
}

/// A stream of questions; see [`Producer::transaction_checks`]. It ends with the client.
#[derive(Debug)]
#[must_use = "questions are answered only by whoever polls the stream"]
pub struct TransactionChecks {
    queue: Arc<CheckQueue>,
    shared: Arc<Shared>,
}

impl TransactionChecks {
    /// The next question; `None` once the client is closed.
    pub async fn next(&mut self) -> Option<TransactionCheck> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<TransactionCheck>> {
        let mut state = lock(&self.queue.state);
        if let Some(check) = state.waiting.pop_front() {
            return Poll::Ready(Some(TransactionCheck { check, core: Arc::clone(&self.shared.core) }));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Stream for TransactionChecks {
    type Item = TransactionCheck;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TransactionCheck>> {
        self.poll(cx)
    }
}

/// A broker asks what became of a half message. Dropped unanswered, it is asked again.
#[derive(Debug)]
pub struct TransactionCheck {
    check: Check,
    core: Arc<ClientCore>,
}

impl TransactionCheck {
    /// The topic that the message is for.
    #[must_use]
    pub const fn topic(&self) -> &Topic {
        &self.check.topic
    }

    /// The message.
    #[must_use]
    pub const fn message(&self) -> &rocketry_codec::message::StoredMessage {
        &self.check.message
    }

    /// The id that its producer gave it; it is the id of the transaction, too.
    #[must_use]
    pub fn id(&self) -> &str {
        self.check.message.unique_key().unwrap_or_default()
    }

    /// Answers.
    ///
    /// # Errors
    /// When the broker has not heard: it asks again.
    pub async fn resolve(self, resolution: Resolution) -> Result<(), Error> {
        if resolution == Resolution::Unknown {
            return Ok(());
        }
        tell(&self.core, self.check.answer(resolution)).await
    }
}

/// Questions that wait for one reader.
#[derive(Debug, Default)]
pub(crate) struct CheckQueue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Check>,
    ended: bool,
    waker: Option<Waker>,
}

impl CheckQueue {
    fn push(&self, check: Check, after: &mut After) {
        let mut state = lock(&self.state);
        if state.waiting.len() >= MOST {
            state.waiting.pop_front();
        }
        state.waiting.push_back(check);
        if let Some(waker) = state.waker.take() {
            after.wake(waker);
        }
    }

    fn end(&self, after: &mut After) {
        let mut state = lock(&self.state);
        state.ended = true;
        if let Some(waker) = state.waker.take() {
            after.wake(waker);
        }
    }
}

/// Who reads the questions to which producer.
#[derive(Debug, Default)]
pub(crate) struct CheckReaders {
    readers: Vec<(ProducerId, Arc<CheckQueue>)>,
}

impl CheckReaders {
    pub(crate) fn add(&mut self, producer: ProducerId, queue: Arc<CheckQueue>) {
        self.readers.retain(|(_, queue)| Arc::strong_count(queue) > 1);
        self.readers.push((producer, queue));
    }

    /// One reader of the producer gets the question.
    pub(crate) fn ask(&self, check: Check, after: &mut After) {
        let reads =
            |(of, queue): &&(ProducerId, Arc<CheckQueue>)| *of == check.producer && Arc::strong_count(queue) > 1;
        if let Some((_, queue)) = self.readers.iter().find(reads) {
            queue.push(check, after);
        }
    }

    pub(crate) fn end(&mut self, after: &mut After) {
        for (_, queue) in self.readers.drain(..) {
            queue.end(after);
        }
    }
}
