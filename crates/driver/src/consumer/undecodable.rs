//! Records that cannot be decoded, as a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use rocketry_core::{Answer as Answers, MessageQueue, SetAside};

use super::Shared;

/// Records of a consumer that cannot be decoded; see [`Consumer::undecodable`](super::Consumer::undecodable). It ends
/// when the consumer is stopped.
#[derive(Debug)]
#[must_use = "records are set aside only while the stream is there"]
pub struct Undecodables {
    shared: Arc<Shared>,
}

impl Undecodables {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.core.shell.step(|_, host, _, _| {
            if let Some(feed) = host.feed(shared.id) {
                feed.take_asides();
            }
        });
        Self { shared }
    }

    /// The next record; `None` once the consumer is stopped.
    pub async fn next(&mut self) -> Option<Undecodable> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<Undecodable>> {
        let shared = &self.shared;
        shared.core.shell.step(|_, host, _, _| {
            let Some(feed) = host.feed(shared.id) else { return Poll::Ready(None) };
            if let Some(record) = feed.aside() {
                return Poll::Ready(Some(Undecodable { record, shared: Arc::clone(shared) }));
            }
            if feed.closed().is_some() {
                return Poll::Ready(None);
            }
            feed.wait(cx.waker());
            Poll::Pending
        })
    }
}

impl Stream for Undecodables {
    type Item = Undecodable;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Undecodable>> {
        self.poll(cx)
    }
}

/// A record that cannot be decoded. Its queue's position passes it when [`pass`](Undecodable::pass) is called, and after
/// 30 s in any case.
#[derive(Debug)]
pub struct Undecodable {
    record: SetAside,
    shared: Arc<Shared>,
}

impl Undecodable {
    /// The record as it came: up to its fence, or the rest of what came where its own size is wrong.
    #[must_use]
    pub const fn record(&self) -> &Bytes {
        &self.record.record
    }

    /// Why it cannot be decoded.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.record.reason
    }

    /// The queue that it was read from.
    #[must_use]
    pub fn queue(&self) -> &MessageQueue {
        &self.record.queue
    }

    /// Its place in the queue, where that is known.
    #[must_use]
    pub const fn queue_offset(&self) -> Option<i64> {
        self.record.queue_offset
    }

    /// It has been dealt with: the position passes it.
    pub fn pass(self) {
        let Self { record, shared } = self;
        shared.core.shell.step(|machine, _, now, _| {
            // Too late means that the queue has moved, or that its 30 s are over.
            let _ = machine.answer(now, Answers::Passed(record.aside));
        });
    }
}
