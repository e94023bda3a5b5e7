//! Producers as an application sees them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rocketry_codec::message::Compression;
use rocketry_core::{
    Command, Control, Group, Message, MessageQueue, Outcome, Produce, ProducerConfig, ProducerId, RejectReason,
    SendReceipt, StopReport, Target, Topic,
};

use crate::client::operation::Operation;
use crate::client::{ClientCore, unexpected};
use crate::error::Error;
use crate::span::Span;

/// Bodies from this size on are compressed, as in Java.
const COMPRESS_FROM: usize = 4_096;

/// Sets up a producer.
#[derive(Debug)]
#[must_use = "a producer exists once it is started"]
pub struct ProducerBuilder {
    core: Arc<ClientCore>,
    config: ProducerConfig,
    compression: Option<Compression>,
    compress_from: usize,
}

impl ProducerBuilder {
    pub(crate) fn new(core: Arc<ClientCore>, group: &str) -> Self {
        let compression = if cfg!(feature = "zlib") { Some(Compression::Zlib) } else { None };
        Self { core, config: ProducerConfig::new(group), compression, compress_from: COMPRESS_FROM }
    }

    /// A topic whose route is fetched at the start, so that the first send need not wait for it.
    pub fn topic(mut self, topic: impl Into<Topic>) -> Self {
        self.config.topics.push(topic.into());
        self
    }

    /// The whole time of one send with all its attempts. Default 3 s.
    pub const fn send_timeout(mut self, timeout: Duration) -> Self {
        self.config.send_timeout = timeout;
        self
    }

    /// Further attempts after a failed one. Default 2.
    pub const fn retries(mut self, retries: u32) -> Self {
        self.config.retries = retries;
        self
    }

    /// How large bodies are compressed; `None`: not at all. Default zlib, as in Java.
    pub const fn compression(mut self, compression: Option<Compression>) -> Self {
        self.compression = compression;
        self
    }

    /// Bodies of at least so many bytes are compressed. Default 4,096.
    pub const fn compress_from(mut self, bytes: usize) -> Self {
        self.compress_from = bytes;
        self
    }

    /// Changes any setting of the producer.
    pub fn configure(mut self, change: impl FnOnce(&mut ProducerConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Starts the producer.
    ///
    /// # Errors
    /// A setting that cannot be used, a group that has a producer in this client already, or name servers that cannot
    /// be reached.
    pub async fn start(self) -> Result<Producer, Error> {
        let Self { core, config, compression, compress_from } = self;
        let group = config.group.clone();
        let command = Command::Control(Control::StartProducer(Box::new(config)));
        match core.run(command).await? {
            Outcome::ProducerStarted(id) => {
                let shared = Shared { core, id, group, compression, compress_from };
                Ok(Producer { shared: Arc::new(shared) })
            }
            other => Err(unexpected(&other)),
        }
    }
}

/// A started producer. Clones are handles to the same one; it stops when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Producer {
    shared: Arc<Shared>,
}

/// What the handles and sends of one producer share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) core: Arc<ClientCore>,
    pub(crate) id: ProducerId,
    pub(crate) group: Group,
    compression: Option<Compression>,
    compress_from: usize,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.core.shell.step(|machine, _, now, _| {
            let stop = Control::StopProducer { producer: self.id, within: Duration::ZERO };
            // Refused means that it is stopped already.
            let _ = machine.submit(now, Command::Control(stop));
        });
    }
}

impl Producer {
    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Sends a message and waits until a broker has stored it. Nothing happens before the future is polled; many may be
    /// on their way at once; dropping one gives the send up.
    pub fn send(&self, message: Message) -> Sending {
        let produce = Produce::new(self.shared.id, message);
        Sending { state: Progress::Fresh(Arc::clone(&self.shared), produce) }
    }

    /// Sends a message without an answer from a broker: returns its id once the kernel has taken it.
    ///
    /// # Errors
    /// When it cannot even be handed to the kernel.
    pub async fn send_oneway(&self, message: Message) -> Result<String, Error> {
        let produce = self.shared.compressed(Produce::new(self.shared.id, message)).oneway();
        match self.shared.core.run(Command::Produce(produce)).await? {
            Outcome::Handed { message_id } => Ok(message_id),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes no more sends, waits for those that are on their way, tells the brokers. What is not done after `within`
    /// fails. On a producer that is stopped already it does nothing.
    ///
    /// # Errors
    /// When the client went away in the middle of it.
    pub async fn shutdown(&self, within: Duration) -> Result<StopReport, Error> {
        let stop = Control::StopProducer { producer: self.shared.id, within };
        match self.shared.core.run(Command::Control(stop)).await {
            Ok(Outcome::Stopped(report)) => Ok(report),
            Ok(other) => Err(unexpected(&other)),
            Err(Error::Rejected(RejectReason::Closed | RejectReason::NotRunning { .. }) | Error::DriverGone) => {
                Ok(StopReport::default())
            }
            Err(error) => Err(error),
        }
    }
}

impl Shared {
    /// The message with its body compressed, if it is large enough and not compressed yet.
    pub(crate) fn compressed(&self, mut produce: Produce) -> Produce {
        let Some(compression) = self.compression else { return produce };
        let message = &produce.message;
        if message.body().len() < self.compress_from || message.sys_flag() != 0 {
            return produce;
        }
        // What cannot be compressed is sent as it is, as in Java.
        if let Ok(body) =
            rocketry_compress::compress(compression, rocketry_compress::Level::JAVA_DEFAULT, message.body())
        {
            produce.message = produce.message.with_compressed_body(body.into(), compression);
        }
        produce
    }
}

/// A send on its way: a future of the broker's receipt.
#[derive(Debug)]
#[must_use = "nothing is sent before the future is polled"]
pub struct Sending {
    state: Progress,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // an allocation for each send would cost more than the bytes
enum Progress {
    Fresh(Arc<Shared>, Produce),
    Running(Running),
    Over,
}

#[derive(Debug)]
struct Running {
    operation: Operation,
    span: Span,
    /// The producer must not stop under its sends.
    _shared: Arc<Shared>,
}

impl Sending {
    /// To the queue that Java's hash selector would choose for this key; never to another one.
    pub fn to_key(self, key: impl Into<String>) -> Self {
        self.to(Target::Key(key.into()))
    }

    /// To this queue and no other.
    pub fn to_queue(self, queue: MessageQueue) -> Self {
        self.to(Target::Queue(queue))
    }

    /// With its own time budget.
    pub fn within(self, timeout: Duration) -> Self {
        self.change(|produce| produce.within(timeout))
    }

    fn to(self, target: Target) -> Self {
        self.change(|produce| produce.to(target))
    }

    fn change(self, change: impl FnOnce(Produce) -> Produce) -> Self {
        let state = match self.state {
            Progress::Fresh(shared, produce) => Progress::Fresh(shared, change(produce)),
            // On its way: too late to change.
            other => other,
        };
        Self { state }
    }
}

impl Future for Sending {
    type Output = Result<SendReceipt, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Progress::Fresh(..) = self.state
            && let Progress::Fresh(shared, produce) = std::mem::replace(&mut self.state, Progress::Over)
        {
            let span = Span::send(produce.message.topic());
            let produce = shared.compressed(produce);
            let operation = Operation::new(Arc::clone(&shared.core), Command::Produce(produce));
            self.state = Progress::Running(Running { operation, span, _shared: shared });
        }
        let Progress::Running(Running { operation, span, .. }) = &mut self.state else {
            return Poll::Ready(Err(Error::DriverGone));
        };
        let ended = std::task::ready!(span.inside(|| Pin::new(operation).poll(cx)));
        self.state = Progress::Over;
        match ended {
            Ok(Outcome::Sent(receipt)) => Poll::Ready(Ok(receipt)),
            Ok(other) => Poll::Ready(Err(unexpected(&other))),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
