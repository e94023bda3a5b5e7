//! The scenarios on both runtimes, over sockets, against the embedded name server and broker.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use rocketry_broker::{BrokerConfig, DelayLevels, Embedded, NameServerConfig};
use rocketry_core::codec::header::Encoding;
use rocketry_core::machine::{Endpoint, Now, Seed};
use rocketry_driver::Client;
use rocketry_driver::memory::Network;
use rocketry_driver::server::{Listener, Server};
use rocketry_testkit::harness::Failure;
use rocketry_testkit::scenario::{self, Env, Outcome, Restart, Rt, SmolRt, TokioRt};

/// A name server and broker in one, on a free port.
struct Embed<R: Rt> {
    address: SocketAddr,
    server: Option<Server<Embedded>>,
    stored: Option<Embedded>,
    runtime: std::marker::PhantomData<R>,
}

fn machine(address: SocketAddr) -> impl FnOnce(Now, Seed) -> Embedded {
    move |now, seed| {
        let mut broker = BrokerConfig::new(address);
        // Redeliveries and delays are as they are, only sooner.
        broker.delay_levels = DelayLevels::new(vec![Duration::from_millis(50); 18]);
        broker.transaction_timeout = Duration::from_millis(100);
        broker.transaction_check_interval = Duration::from_millis(200);
        Embedded::new(NameServerConfig::new(), broker, seed, now)
    }
}

impl<R: Rt> Embed<R> {
    async fn start() -> Result<Self, Failure> {
        let listener = Listener::<R::Net>::bind((Ipv4Addr::LOCALHOST, 0).into()).await?;
        let address = listener.address().ok_or("a socket has an address")?;
        let server = Some(listener.serve(machine(address))?);
        Ok(Self { address, server, stored: None, runtime: std::marker::PhantomData })
    }

    fn env(&self) -> Env<R> {
        Env::new(self.address.to_string(), self.address.to_string(), "embedded")
    }
}

impl<R: Rt> Restart for Embed<R> {
    fn kill(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
        Box::pin(async {
            let server = self.server.take().ok_or("it is dead already")?;
            self.stored = Some(server.stop().await.ok_or("somebody looks into it")?);
            Ok(())
        })
    }

    fn start(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
        Box::pin(async {
            let stored = self.stored.take().ok_or("it lives")?;
            let listener = Listener::<R::Net>::bind(self.address).await?;
            self.server = Some(listener.serve(|_, _| stored)?);
            Ok(())
        })
    }
}

fn play<R: Rt>(encoding: Encoding, scenario: impl AsyncFnOnce(&Env<R>) -> Outcome) {
    let outcome: Outcome = R::run(async {
        let embed = Embed::<R>::start().await?;
        let env = embed.env().with_header(encoding);
        env.within(60, scenario(&env)).await
    });
    outcome.unwrap_or_else(|failure| panic!("{failure:?}"));
}

macro_rules! suite {
    ($($name:ident),+ $(,)?) => {
        mod tokio {
            use super::*;

            $(#[test]
            fn $name() {
                play::<TokioRt>(Encoding::Json, scenario::$name);
            })+
        }

        mod smol {
            use super::*;

            $(#[test]
            fn $name() {
                play::<SmolRt>(Encoding::Json, scenario::$name);
            })+
        }
    };
}

suite! {
    many_out_and_back,
    oneway_arrives,
    a_failed_handler_sees_its_message_again,
    order_is_kept_when_a_member_leaves,
    brokers_filter_by_properties,
    commits_arrive_and_rollbacks_do_not,
    a_forgotten_transaction_is_asked_about,
    everybody_hears_everything_and_goes_on_after_a_restart,
    a_panic_means_retry,
    a_cancelled_handler_means_retry,
    two_consumers_share_and_one_leaves,
    a_killed_member_loses_nothing,
    graceful_shutdown_drains,
    deliveries_are_answered_by_hand,
    lite_pull_with_seek,
    lite_queues_by_hand_and_single_pulls,
    lite_sends_back_to_its_group,
    lite_tells_of_new_queues,
    a_lite_stream_loses_nothing_when_dropped,
    shutdown_inside_a_handler_ends,
    unfinished_sends_end_at_the_deadline,
    dropped_handles_close_the_client,
    dropped_sends_leave_nothing_behind,
}

#[test]
fn many_out_and_back_with_binary_headers() {
    play::<TokioRt>(Encoding::Binary, scenario::many_out_and_back);
    play::<SmolRt>(Encoding::Binary, scenario::many_out_and_back);
}

fn restart<R: Rt>() {
    let outcome: Outcome = R::run(async {
        let mut embed = Embed::<R>::start().await?;
        let env = embed.env();
        env.within(60, scenario::a_restarted_broker_is_found_again(&env, &mut embed)).await
    });
    outcome.unwrap_or_else(|failure| panic!("{failure:?}"));
}

#[test]
fn a_restarted_broker_is_found_again_on_tokio() {
    restart::<TokioRt>();
}

#[test]
fn a_restarted_broker_is_found_again_on_smol() {
    restart::<SmolRt>();
}

/// Client and servers in one process, without a socket.
fn in_memory<R: Rt>() {
    let outcome: Outcome = R::run(async {
        let network = Network::new();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 10_911));
        let listener = Listener::<R::Net>::in_memory(&network, Endpoint::from(address));
        let _server = listener.serve(machine(address))?;
        let client = Client::<R::Net>::builder().name_servers(address.to_string()).connector(network).build()?;
        let producer = client.producer("in-memory").start().await?;
        let receipt = producer.send(rocketry_core::Message::new("memory", "no socket was used")?).await?;
        let consumer = client.consumer("in-memory-too").subscribe("memory", "*");
        let consumer = consumer.start_at(rocketry_core::StartAt::First).start().await?;
        let delivery = consumer.deliveries().next().await.ok_or("the stream ended")?;
        assert_eq!((delivery.id(), delivery.body()), (receipt.message_id, &b"no socket was used"[..]));
        delivery.succeed();
        client.shutdown(Duration::from_secs(5)).await?;
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure:?}"));
}

#[test]
fn client_and_servers_live_in_one_process_without_sockets() {
    in_memory::<TokioRt>();
    in_memory::<SmolRt>();
}

/// The whole way of a message fits a small stack (`cases.md` API-03).
#[test]
fn a_small_stack_is_enough() {
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(|| {
        let runtime = ::tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let embed = Embed::<TokioRt>::start().await?;
            scenario::a_failed_handler_sees_its_message_again(&embed.env()).await
        })
    });
    let outcome = thread.expect("a thread").join().expect("no overflow");
    outcome.unwrap_or_else(|failure| panic!("{failure:?}"));
}

/// No task outlives its runtime, and who holds a handle is told (`cases.md` SHU-08).
#[test]
fn a_runtime_that_goes_takes_its_clients_with_it() {
    let runtime = ::tokio::runtime::Runtime::new().expect("a runtime");
    let (client, producer, server) = runtime.block_on(async {
        let embed = Embed::<TokioRt>::start().await.expect("a free port");
        let client = embed.env().client().expect("good settings");
        let producer = client.producer("orphans").start().await.expect("the server is there");
        (client, producer, embed)
    });
    drop(runtime);
    assert!(client.is_closed());
    let late = SmolRt::run(producer.send(rocketry_core::Message::new("late", "body").expect("a good message")));
    assert!(late.expect_err("nobody drives the client").is_closed());
    SmolRt::run(client.shutdown(Duration::from_secs(1))).expect("it is closed already");
    drop(server);
}
