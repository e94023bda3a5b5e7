//! The client as an application sees it.

pub(crate) mod builder;
pub(crate) mod host;
pub(crate) mod identity;
pub(crate) mod notices;
pub(crate) mod operation;
pub(crate) mod ops;
#[cfg(feature = "tracing")]
mod records;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use rocketry_codec::frame::Frame;
use rocketry_core::{
    Call, Client as Machine, Command, Control, Counters, MessageQueue, Outcome, RejectReason, StopReport, Topic,
};

use crate::client::builder::ClientBuilder;
use crate::client::host::{ClientHost, Stop};
use crate::client::notices::{NoticeQueue, Notices};
use crate::client::operation::Operation;
use crate::consumer::builder::ConsumerBuilder;
use crate::consumer::inflate::Inflation;
use crate::consumer::lite::builder::LiteConsumerBuilder;
use crate::end::Ended;
use crate::error::Error;
use crate::io::Runtime;
use crate::producer::ProducerBuilder;
use crate::shell::Shell;

/// What all handles share.
pub(crate) struct ClientCore {
    pub(crate) shell: Arc<Shell<Machine, ClientHost>>,
    pub(crate) ended: Arc<Ended>,
    pub(crate) inflation: Arc<Inflation>,
    pub(crate) client_id: Arc<str>,
}

impl fmt::Debug for ClientCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.client_id).field("closed", &self.ended.is_set()).finish()
    }
}

impl ClientCore {
    /// Runs an operation to its end.
    pub(crate) async fn run(self: &Arc<Self>, command: Command) -> Result<Outcome, Error> {
        Operation::new(Arc::clone(self), command).await
    }

    /// What happens from now on.
    pub(crate) fn watch(&self) -> Notices {
        let queue = Arc::new(NoticeQueue::default());
        self.shell.peek(|host| {
            if host.ended() {
                queue.end(&mut crate::host::After::default());
            } else {
                host.watch(Arc::clone(&queue));
            }
        });
        Notices::new(queue)
    }
}

impl Drop for ClientCore {
    /// Says goodbye as far as that goes without waiting, and lets the driver end.
    fn drop(&mut self) {
        self.shell.step(|machine, host, now, _| {
            // Refused means that the client is stopped already.
            let _ = machine.submit(now, Command::Control(Control::Shutdown { within: Duration::ZERO }));
            host.over();
        });
    }
}

/// A client: one identity towards the brokers of one set of name servers, with the connections that its producers and
/// consumers share. Clones are handles to the same client.
///
/// The client closes when [`Client::shutdown`] is called, or at once and without waiting for anything when the last
/// handle to it, its producers and its consumers is dropped.
pub struct Client<R> {
    core: Arc<ClientCore>,
    runtime: PhantomData<fn() -> R>,
}

impl<R> Clone for Client<R> {
    fn clone(&self) -> Self {
        Self::from_core(Arc::clone(&self.core))
    }
}

impl<R> fmt::Debug for Client<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

impl<R: Runtime> Client<R> {
    /// Begins a client.
    pub fn builder() -> ClientBuilder<R> {
        ClientBuilder::new()
    }
}

impl<R> Client<R> {
    pub(crate) const fn from_core(core: Arc<ClientCore>) -> Self {
        Self { core, runtime: PhantomData }
    }

    /// Begins a producer of this group.
    pub fn producer(&self, group: impl AsRef<str>) -> ProducerBuilder {
        ProducerBuilder::new(Arc::clone(&self.core), group.as_ref())
    }

    /// Begins a push consumer of this group.
    pub fn consumer(&self, group: impl AsRef<str>) -> ConsumerBuilder {
        ConsumerBuilder::new(Arc::clone(&self.core), group.as_ref())
    }

    /// Begins a lite consumer of this group: one that is polled.
    pub fn lite_consumer(&self, group: impl AsRef<str>) -> LiteConsumerBuilder {
        LiteConsumerBuilder::new(Arc::clone(&self.core), group.as_ref())
    }

    /// The identity towards brokers.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.core.client_id
    }

    /// The queues of a topic that messages may be sent to, in the order in which keys choose among them.
    ///
    /// # Errors
    /// When no name server knows the topic or none answers.
    pub async fn queues(&self, topic: impl Into<Topic>) -> Result<Vec<MessageQueue>, Error> {
        match self.core.run(Command::Control(Control::Route(topic.into()))).await? {
            Outcome::Routed(queues) => Ok(queues),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends one request to one peer and gives the answer back, whatever its code.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn call(&self, call: Call) -> Result<Frame, Error> {
        match self.core.run(Command::Call(call)).await? {
            Outcome::Reply(frame) => Ok(frame),
            other => Err(unexpected(&other)),
        }
    }

    /// What happens from now on, for whoever wants to look on.
    #[must_use]
    pub fn notices(&self) -> Notices {
        self.core.watch()
    }

    /// What was counted since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.core.shell.step(|machine, _, _, _| machine.counters())
    }

    /// Stops the consumers, then the producers, then the connections: handlers end, positions are saved, sends are
    /// answered, brokers are told. What is not done after `within` is left, and counted in the report. Returns when the
    /// driver has ended. On a client that is closed already it does nothing.
    ///
    /// # Errors
    /// When the driver went away in the middle of it.
    pub async fn shutdown(&self, within: Duration) -> Result<StopReport, Error> {
        let command = Command::Control(Control::Shutdown { within });
        let outcome = Operation::stop(Arc::clone(&self.core), command, Stop::Client).await;
        match outcome {
            Ok(Outcome::Stopped(report)) => {
                self.closed().await;
                Ok(report)
            }
            Ok(other) => Err(unexpected(&other)),
            Err(Error::Rejected(RejectReason::Closed)) => {
                self.closed().await;
                Ok(StopReport::default())
            }
            Err(Error::DriverGone) => Ok(StopReport::default()),
            Err(error) => Err(error),
        }
    }

    /// Waits until the client is closed: the driver has ended, nothing is left running.
    pub async fn closed(&self) {
        self.core.ended.wait().await;
    }

    /// Whether the client is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core.ended.is_set()
    }
}

/// The machine ended an operation in a way that it never does.
pub(crate) fn unexpected(outcome: &Outcome) -> Error {
    let _ = outcome;
    Error::Rejected(RejectReason::Internal("an operation ended in a way that does not belong to it"))
}

#[cfg(test)]
mod tests;
