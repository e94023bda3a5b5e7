//! Scenarios of the application's API: each runs on every runtime, against every kind of peer.
//!
//! A scenario is an `async fn` over a [`Rt`] and an [`Env`]. Topics and groups of an environment have a prefix of their
//! own, so that many scenarios can share one broker. Nothing here waits for time to pass where an event can be awaited;
//! [`Env::within`] only keeps a scenario that hangs from hanging for ever.

mod broadcast;
mod filters;
mod lifecycle;
mod lite;
mod orderly;
mod recovery;
mod redelivery;
mod round_trip;
mod share;
mod transactions;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use rocketry_codec::encoder::RawRequest;
use rocketry_codec::header::Encoding;
use rocketry_codec::request::CreateTopic;
use rocketry_core::{Call, Peer as To};
use rocketry_driver::io::Runtime;
use rocketry_driver::{Action, Client, ClientBuilder, DelayLevel};
use rocketry_machine::Endpoint;

use crate::harness::{Failure, ensure};

pub use broadcast::everybody_hears_everything_and_goes_on_after_a_restart;
pub use filters::brokers_filter_by_properties;
pub use lifecycle::{
    deliveries_are_answered_by_hand, dropped_handles_close_the_client, dropped_sends_leave_nothing_behind,
    graceful_shutdown_drains, shutdown_inside_a_handler_ends, unfinished_sends_end_at_the_deadline,
};
pub use lite::{
    a_lite_stream_loses_nothing_when_dropped, lite_pull_with_seek, lite_queues_by_hand_and_single_pulls,
    lite_sends_back_to_its_group, lite_tells_of_new_queues,
};
pub use orderly::{order_is_kept_when_a_member_is_killed, order_is_kept_when_a_member_leaves};
pub use recovery::{Restart, a_restarted_broker_is_found_again};
pub use redelivery::{a_cancelled_handler_means_retry, a_failed_handler_sees_its_message_again, a_panic_means_retry};
pub use round_trip::{many_out_and_back, oneway_arrives};
pub use share::{a_killed_member_loses_nothing, two_consumers_share_and_one_leaves};
pub use transactions::{a_forgotten_transaction_is_asked_about, commits_arrive_and_rollbacks_do_not};

/// How a scenario ends.
pub type Outcome = Result<(), Failure>;

/// A runtime that scenarios run on.
pub trait Rt: Send + Sync + 'static {
    /// What the adapter calls its runtime.
    type Net: Runtime;
    /// For the names of tests.
    const NAME: &'static str;

    /// Runs a future on a runtime of its own.
    fn run<T>(future: impl Future<Output = T>) -> T;

    /// Waits.
    fn sleep(time: Duration) -> impl Future<Output = ()> + Send;
}

/// tokio with two threads.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // only a name
pub struct TokioRt;

impl Rt for TokioRt {
    type Net = rocketry_tokio::Tokio;
    const NAME: &'static str = "tokio";

    /// # Panics
    /// When the operating system gives no threads.
    #[allow(clippy::expect_used)] // a test can do nothing else
    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("threads for the runtime").block_on(future)
    }

    async fn sleep(time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// smol's global executor.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // only a name
pub struct SmolRt;

impl Rt for SmolRt {
    type Net = rocketry_smol::Smol;
    const NAME: &'static str = "smol";

    fn run<T>(future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }

    async fn sleep(time: Duration) {
        smol::Timer::after(time).await;
    }
}

/// Where a scenario plays.
#[derive(Debug)]
#[non_exhaustive]
pub struct Env<R> {
    /// The name servers, `;` between them.
    pub name_servers: String,
    /// A broker, to create topics on.
    pub broker: String,
    /// What topics and groups begin with.
    pub prefix: String,
    /// How clients write headers.
    pub header: Encoding,
    /// What a handler answers that wants its message again soon.
    pub soon: Action,
    runtime: PhantomData<fn() -> R>,
}

impl<R: Rt> Env<R> {
    /// An environment on these servers. Messages that are to come again soon come after the broker's first delay level.
    pub fn new(name_servers: impl Into<String>, broker: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self {
            name_servers: name_servers.into(),
            broker: broker.into(),
            prefix: prefix.into(),
            header: Encoding::Json,
            soon: Action::RetryAfter(DelayLevel::ONE_SECOND),
            runtime: PhantomData,
        }
    }

    /// With headers in this encoding.
    #[must_use]
    pub const fn with_header(mut self, header: Encoding) -> Self {
        self.header = header;
        self
    }

    /// A name of this environment.
    #[must_use]
    pub fn name(&self, what: &str) -> String {
        format!("{}-{what}", self.prefix)
    }

    /// A client to be.
    pub fn builder(&self) -> ClientBuilder<R::Net> {
        Client::builder().name_servers(&self.name_servers).header(self.header)
    }

    /// A client.
    ///
    /// # Errors
    /// When it cannot be built.
    pub fn client(&self) -> Result<Client<R::Net>, Failure> {
        Ok(self.builder().build()?)
    }

    /// Creates a topic on the broker, and waits until the name servers know it.
    ///
    /// # Errors
    /// When the broker refuses.
    pub async fn create_topic(&self, client: &Client<R::Net>, what: &str, queues: i32) -> Result<String, Failure> {
        let topic = self.name(what);
        let request = CreateTopic {
            topic: topic.as_str().into(),
            default_topic: "TBW102".into(),
            read_queue_nums: queues,
            write_queue_nums: queues,
            perm: 6,
            topic_filter_type: "SINGLE_TAG".into(),
            topic_sys_flag: Some(0),
            order: false,
            ..CreateTopic::default()
        };
        let call = Call::new(To::Address(Endpoint::parse(&self.broker)?), RawRequest::new(&request, Bytes::new()));
        let answer = client.call(call).await?;
        ensure(answer.code() == 0, || format!("creating {topic}: {} {:?}", answer.code(), answer.remark()))?;
        while client.queues(topic.as_str()).await.map_or(true, |known| known.is_empty()) {
            // A broker tells the name servers in its own time, and nobody tells us.
            R::sleep(Duration::from_millis(20)).await;
        }
        Ok(topic)
    }

    /// The future's outcome, or a failure when it takes so long that it must be stuck.
    ///
    /// # Errors
    /// Those of the future, and the passing of the time.
    pub async fn within<T>(
        &self,
        seconds: u64,
        future: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let late = async {
            R::sleep(Duration::from_secs(seconds)).await;
            Err(Failure::from(format!("not done after {seconds} s")))
        };
        race(future, late).await
    }
}

/// The output of the future that ends first; the other is dropped.
pub async fn race<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> T {
    let (mut one, mut other) = (pin!(one), pin!(other));
    std::future::poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Pending => other.as_mut().poll(cx),
        ready => ready,
    })
    .await
}

/// A future of a worker.
pub type Worker = Pin<Box<dyn Future<Output = Result<(), rocketry_driver::Error>> + Send>>;

/// Runs `body` with workers beside it, which are dropped when it ends. A worker that ends before is let be; one that
/// fails, fails the scenario.
///
/// # Errors
/// Those of the body and of the workers.
pub async fn beside<T>(mut workers: Vec<Worker>, body: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut body = pin!(body);
    std::future::poll_fn(move |cx| {
        let mut at = 0;
        while at < workers.len() {
            match workers[at].as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(())) => drop(workers.swap_remove(at)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
            }
        }
        body.as_mut().poll(cx)
    })
    .await
}

/// All outputs, in order.
pub async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(move |cx| {
        let mut pending = false;
        for (future, output) in &mut futures {
            if output.is_none() {
                match future.as_mut().poll(cx) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(&mut futures).into_iter().filter_map(|(_, output)| output).collect())
    })
    .await
}

/// A value that handlers change and a scenario waits on.
#[derive(Debug, Default)]
pub struct Watched<T> {
    state: Arc<Mutex<(T, Vec<Waker>)>>,
}

impl<T> Clone for Watched<T> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<T> Watched<T> {
    /// Holds this value.
    pub fn new(value: T) -> Self {
        Self { state: Arc::new(Mutex::new((value, Vec::new()))) }
    }

    /// Changes the value.
    pub fn change<O>(&self, change: impl FnOnce(&mut T) -> O) -> O {
        let (output, wakers) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let output = change(&mut state.0);
            (output, std::mem::take(&mut state.1))
        };
        wakers.into_iter().for_each(Waker::wake);
        output
    }

    /// Waits until the condition holds.
    pub async fn until(&self, mut condition: impl FnMut(&T) -> bool) {
        std::future::poll_fn(|cx| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if condition(&state.0) {
                return Poll::Ready(());
            }
            state.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
