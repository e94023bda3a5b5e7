//! Messages of a lite consumer as a stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use rocketry_core::{Command, Consume, Lite, LiteOutcome, Outcome};

use super::polled::Handing;
use crate::client::operation::Operation;
use crate::client::unexpected;
use crate::consumer::Shared;
use crate::consumer::received::Received;
use crate::error::Error;

/// Messages that the stream polls for at once.
const BATCH: u32 = 32;
/// How long one of its polls waits before the next one follows.
const WAIT: Duration = Duration::from_secs(30);

/// A stream of the messages of a lite consumer; see [`LiteConsumer::messages`](super::LiteConsumer::messages). It polls
/// for up to 32 messages when it has none left; that is when those that it gave out before count as handled. It ends when
/// the consumer is stopped, and brings an error when another poll of the consumer is waiting.
#[derive(Debug)]
#[must_use = "no message is handed over unless the stream is polled"]
pub struct LiteMessages {
    shared: Arc<Shared>,
    polling: Option<Operation>,
    handing: Option<Handing>,
}

impl LiteMessages {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared, polling: None, handing: None }
    }

    /// The next message; `None` once the consumer is stopped.
    pub async fn next(&mut self) -> Option<Result<Received, Error>> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Received, Error>>> {
        loop {
            if let Some(handing) = &mut self.handing {
                if let Some(message) = ready!(handing.next(cx.waker())) {
                    return Poll::Ready(Some(Ok(message)));
                }
                self.handing = None;
            }
            let polling = self.polling.get_or_insert_with(|| {
                let poll = Lite::Poll { consumer: self.shared.id, max: BATCH, timeout: WAIT };
                Operation::new(Arc::clone(&self.shared.core), Command::Consume(Consume::Lite(poll)))
            });
            let ended = ready!(Pin::new(polling).poll(cx));
            self.polling = None;
            match ended {
                Ok(Outcome::Lite(LiteOutcome::Polled(polled))) => {
                    self.handing = Some(Handing::new(Arc::clone(&self.shared), polled));
                }
                Ok(other) => return Poll::Ready(Some(Err(unexpected(&other)))),
                Err(error) if error.is_closed() => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl Stream for LiteMessages {
    type Item = Result<Received, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(cx)
    }
}
