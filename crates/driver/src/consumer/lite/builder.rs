//! How a lite consumer is set up and started.

use std::sync::Arc;
use std::time::Duration;

use rocketry_core::{Command, Consume, FilterExpression, Lite, LiteConfig, MessageQueue, Outcome, StartAt, Topic};

use super::LiteConsumer;
use crate::client::{ClientCore, unexpected};
use crate::consumer::Consumer;
use crate::error::Error;

/// Sets up a lite consumer. It either subscribes to topics or is assigned queues, now or later, but never both.
#[derive(Debug)]
#[must_use = "a consumer exists once it is started"]
pub struct LiteConsumerBuilder {
    core: Arc<ClientCore>,
    config: LiteConfig,
}

impl LiteConsumerBuilder {
    pub(crate) fn new(core: Arc<ClientCore>, group: &str) -> Self {
        Self { core, config: LiteConfig::new(group) }
    }

    /// Subscribes to a topic, whose queues are divided among the members of the group. `tags` chooses messages: `*` takes
    /// all, `a || b` those with one of the tags.
    pub fn subscribe(mut self, topic: impl Into<Topic>, filter: impl Into<FilterExpression>) -> Self {
        self.config = self.config.subscribe(topic, filter);
        self
    }

    /// Reads these queues, whoever else does.
    pub fn assign(mut self, queues: impl IntoIterator<Item = MessageQueue>) -> Self {
        self.config = self.config.assign(queues);
        self
    }

    /// Chooses messages of assigned queues of a topic by their tags.
    pub fn filter(mut self, topic: impl Into<Topic>, tags: impl Into<String>) -> Self {
        self.config.filters.insert(topic.into(), tags.into());
        self
    }

    /// Where a group begins that has no stored position. Default behind the newest message.
    pub const fn start_at(mut self, start: StartAt) -> Self {
        self.config.start_at = start;
        self
    }

    /// How often positions are committed by themselves; `None`: only by hand. Default 5 s.
    pub const fn auto_commit(mut self, interval: Option<Duration>) -> Self {
        self.config.auto_commit = interval;
        self
    }

    /// Changes any setting of the consumer.
    pub fn configure(mut self, change: impl FnOnce(&mut LiteConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Starts the consumer: it joins its group, and fetches messages for polls to come.
    ///
    /// # Errors
    /// A setting that cannot be used, a group that has a consumer in this client already, or name servers that cannot
    /// be reached.
    pub async fn start(self) -> Result<LiteConsumer, Error> {
        let Self { core, config } = self;
        match core.run(Command::Consume(Consume::Lite(Lite::Start(Box::new(config))))).await? {
            Outcome::ConsumerStarted(id) => Ok(LiteConsumer::new(Consumer::new(core, id, 0))),
            other => Err(unexpected(&other)),
        }
    }
}
