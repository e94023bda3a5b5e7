//! What every command that runs a client needs: the runtime, the client, signals, waiting.

use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::future::{Either, poll_fn, select};
use rocketry_driver::io::Runtime;
use rocketry_driver::{Client, Error};
use rocketry_machine::{Endpoint, EndpointError};

use crate::args::{Connect, Header};
use crate::output::Failure;

/// How long a command takes to end in order once it was asked to.
pub(crate) const FAREWELL: Duration = Duration::from_secs(10);

/// A client as the flags say.
pub(crate) fn client<R: Runtime>(connect: &Connect) -> Result<Client<R>, Failure> {
    let wrong = |error: EndpointError| Failure::usage(format!("--name-server: {error}"));
    Endpoint::parse_list(&connect.name_server).map_err(wrong)?;
    let header = match connect.header {
        Header::Json => rocketry_codec::header::Encoding::Json,
        Header::Binary => rocketry_codec::header::Encoding::Binary,
    };
    Client::builder().name_servers(&connect.name_server).header(header).build().map_err(failed)
}

/// The exit code that an error of the client calls for.
pub(crate) fn failed(error: Error) -> Failure {
    match error {
        Error::Config(_) | Error::Message(_) => Failure::usage(error),
        other => Failure::operation(other),
    }
}

/// Waits on the runtime's own timer.
pub(crate) async fn sleep<R: Runtime>(wait: Duration) {
    let mut timer = R::timer();
    timer.set(Some(Instant::now() + wait));
    poll_fn(|cx| timer.poll_elapsed(cx)).await;
}

/// Ctrl-C and SIGTERM, which end every command in order.
#[derive(Clone)]
pub(crate) struct Interrupt {
    asked: async_channel::Receiver<()>,
}

impl Interrupt {
    /// Takes the signals over; once in a process.
    pub(crate) fn install() -> Result<Self, Failure> {
        let (ask, asked) = async_channel::bounded(1);
        ctrlc::set_handler(move || {
            // A second signal finds the channel full, or the command gone: nothing more to say.
            let _ = ask.try_send(());
        })
        .map_err(Failure::operation)?;
        Ok(Self { asked })
    }

    /// Ends when the user asks for it.
    pub(crate) async fn wait(&self) {
        if self.asked.recv().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The work's result, or `None` when the user asked for the end first.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(work), pin!(self.wait())).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }
}
