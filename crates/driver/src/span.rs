//! Spans of `tracing` around sends and handlers, or nothing without the feature.

use rocketry_core::Topic;

/// A span that something runs in, as often as it is polled.
#[derive(Debug)]
pub(crate) struct Span {
    #[cfg(feature = "tracing")]
    inner: tracing::Span,
}

impl Span {
    /// No span.
    pub(crate) const fn none() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            inner: tracing::Span::none(),
        }
    }

    /// Around one send.
    #[cfg_attr(not(feature = "tracing"), allow(unused_variables))]
    pub(crate) fn send(topic: &Topic) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            inner: tracing::debug_span!(target: "rocketry", "send", topic = topic.as_str()),
        }
    }

    /// Around one handler.
    #[cfg_attr(not(feature = "tracing"), allow(unused_variables))]
    pub(crate) fn handle(message: &rocketry_core::Received) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            inner: tracing::debug_span!(
                target: "rocketry",
                "handle",
                topic = message.topic.as_str(),
                queue = %message.queue,
                offset = message.stored.queue_offset(),
            ),
        }
    }

    /// Runs something inside the span.
    #[cfg_attr(not(feature = "tracing"), allow(clippy::unused_self))]
    pub(crate) fn inside<T>(&self, run: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        let _inside = self.inner.enter();
        run()
    }
}
