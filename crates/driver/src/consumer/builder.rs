//! How a consumer is set up and started.

use std::sync::Arc;
use std::time::Duration;

use rocketry_core::{Command, Consume, ConsumerConfig, FilterExpression, Outcome, StartAt, Topic};

use super::Consumer;
use crate::client::{ClientCore, unexpected};
use crate::error::Error;

/// Sets up a push consumer. A subscription is required.
#[derive(Debug)]
#[must_use = "a consumer exists once it is started"]
pub struct ConsumerBuilder {
    core: Arc<ClientCore>,
    config: ConsumerConfig,
}

impl ConsumerBuilder {
    pub(crate) fn new(core: Arc<ClientCore>, group: &str) -> Self {
        Self { core, config: ConsumerConfig::new(group) }
    }

    /// Subscribes to a topic. A text chooses messages by their tags: `*` takes all, `a || b` those with one of the tags;
    /// [`FilterExpression::sql`] by their properties.
    pub fn subscribe(mut self, topic: impl Into<Topic>, filter: impl Into<FilterExpression>) -> Self {
        self.config = self.config.subscribe(topic, filter);
        self
    }

    /// Where a group begins that has no stored position. Default behind the newest message.
    pub const fn start_at(mut self, start: StartAt) -> Self {
        self.config.start_at = start;
        self
    }

    /// Handlers that run at once. Default 20.
    pub const fn concurrency(mut self, handlers: u32) -> Self {
        self.config.concurrency = handlers;
        self
    }

    /// How long a handler may take before its message is delivered again. Default 15 min.
    pub const fn consume_timeout(mut self, timeout: Duration) -> Self {
        self.config.consume_timeout = timeout;
        self
    }

    /// Redeliveries before a message goes to the dead-letter topic. Default 16.
    pub const fn max_redeliveries(mut self, most: i32) -> Self {
        self.config.max_redeliveries = most;
        self
    }

    /// Every member of the group gets every message. Positions are kept on this machine; a refused message does not come
    /// again.
    pub const fn broadcasting(mut self) -> Self {
        self.config.broadcasting = true;
        self
    }

    /// Handles the messages of each queue one at a time and in order; a refused message holds those behind it. Keys decide
    /// at the producer which queue a message goes to.
    pub const fn orderly(mut self) -> Self {
        self.config.orderly = true;
        self
    }

    /// Changes any setting of the consumer.
    pub fn configure(mut self, change: impl FnOnce(&mut ConsumerConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Starts the consumer: it joins its group and is offered messages from now on.
    ///
    /// # Errors
    /// A setting that cannot be used, a group that has a consumer in this client already, or name servers that cannot
    /// be reached.
    pub async fn start(self) -> Result<Consumer, Error> {
        let Self { core, config } = self;
        let concurrency = config.concurrency as usize;
        match core.run(Command::Consume(Consume::Start(Box::new(config)))).await? {
            Outcome::ConsumerStarted(id) => Ok(Consumer::new(core, id, concurrency)),
            other => Err(unexpected(&other)),
        }
    }
}
