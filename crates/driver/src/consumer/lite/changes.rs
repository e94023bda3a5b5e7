//! Changes of a topic's queues, as a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use rocketry_core::{MessageQueue, Notice, Topic};

use crate::client::notices::Notices;
use crate::consumer::Shared;

/// The queues of a topic whenever they have changed; see
/// [`LiteConsumer::queue_changes`](super::LiteConsumer::queue_changes). Changes that come faster than they are taken are
/// one. It ends when the client is closed.
#[derive(Debug)]
#[must_use = "a stream does nothing unless it is polled"]
pub struct QueueChanges {
    shared: Arc<Shared>,
    notices: Notices,
    topic: Topic,
    known: Vec<MessageQueue>,
    /// Notices that were lost when it last looked.
    lost: u64,
}

impl QueueChanges {
    pub(super) const fn new(shared: Arc<Shared>, notices: Notices, topic: Topic, known: Vec<MessageQueue>) -> Self {
        Self { shared, notices, topic, known, lost: 0 }
    }

    /// The queues as they were last told.
    #[must_use]
    pub fn known(&self) -> &[MessageQueue] {
        &self.known
    }

    /// All queues of the topic after the next change; `None` once the client is closed.
    pub async fn next(&mut self) -> Option<Vec<MessageQueue>> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<MessageQueue>>> {
        loop {
            let Some(notice) = ready!(Pin::new(&mut self.notices).poll_next(cx)) else { return Poll::Ready(None) };
            let lost = self.notices.dropped();
            let told = matches!(&notice, Notice::RouteChanged(topic) if *topic == self.topic);
            if !told && lost == self.lost {
                continue;
            }
            self.lost = lost;
            let topic = &self.topic;
            let queues = self.shared.core.shell.step(|machine, _, _, _| machine.readable_queues(topic));
            if queues != self.known {
                self.known.clone_from(&queues);
                return Poll::Ready(Some(queues));
            }
        }
    }
}

impl Stream for QueueChanges {
    type Item = Vec<MessageQueue>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Vec<MessageQueue>>> {
        self.poll(cx)
    }
}
