//! `serve`: the embedded name server and broker on loopback.

use std::io;
use std::net::SocketAddr;

use rocketry_broker::{BrokerConfig, Embedded, NameServerConfig};
use rocketry_driver::io::Runtime;
use rocketry_driver::server::{Listener, Server};
use serde_json::json;

use crate::args::Serve;
use crate::output::Failure;
use crate::report::Output;
use crate::session::Interrupt;

/// Servers with the addresses that they have.
pub(crate) struct Running {
    pub(crate) name_server: SocketAddr,
    pub(crate) broker: SocketAddr,
    pub(crate) server: Server<Embedded>,
}

/// Starts both servers in one machine.
pub(crate) async fn start<R: Runtime>(
    name_server: SocketAddr,
    broker: SocketAddr,
    topics: &[(String, u32)],
) -> Result<Running, Failure> {
    let bound = |what: &str, at: SocketAddr, error: &io::Error| Failure::operation(format!("{what} {at}: {error}"));
    let names =
        Listener::<R>::bind(name_server).await.map_err(|error| bound("--name-server-listen", name_server, &error))?;
    let queues = Listener::<R>::bind(broker).await.map_err(|error| bound("--broker-listen", broker, &error))?;
    let address = |listener: &Listener<R>| listener.address().ok_or_else(|| Failure::operation("no address"));
    let (name_server, broker) = (address(&names)?, address(&queues)?);
    let config = topics
        .iter()
        .fold(BrokerConfig::new(broker), |config, (topic, queues)| config.with_topic(topic.as_str(), *queues));
    let server = names
        .and(queues)
        .serve(|now, seed| Embedded::new(NameServerConfig::new(), config, seed, now))
        .map_err(Failure::operation)?;
    Ok(Running { name_server, broker, server })
}

/// Runs the command.
pub(crate) async fn run<R: Runtime>(args: &Serve, out: Output, interrupt: &Interrupt) -> Result<(), Failure> {
    Failure::refuse("--data", args.data.is_some())?;
    for (flag, address) in [("--name-server-listen", args.name_server_listen), ("--broker-listen", args.broker_listen)]
    {
        if !address.ip().is_loopback() {
            let why = "the embedded servers are for development and tests, and listen on loopback only";
            return Err(Failure::usage(format!("{flag} {address}: {why}")));
        }
    }
    let topics = args.topic.iter().map(|spec| topic(spec)).collect::<Result<Vec<_>, _>>()?;
    let running = start::<R>(args.name_server_listen, args.broker_listen, &topics).await?;
    running.server.inspect(|server, _| {
        for rule in &args.fault {
            server.add_fault(rule.clone());
        }
    });
    let ready = json!({ "name_server": running.name_server.to_string(), "broker": running.broker.to_string() });
    out.object(ready.as_object().ok_or_else(|| Failure::operation("no object"))?)?;
    interrupt.wait().await;
    running.server.stop().await;
    Ok(())
}

/// `NAME:QUEUES`.
fn topic(spec: &str) -> Result<(String, u32), Failure> {
    let wrong = |why: &str| Failure::usage(format!("--topic {spec}: {why}"));
    let (name, queues) = spec.rsplit_once(':').ok_or_else(|| wrong("NAME:QUEUES is expected"))?;
    let queues = queues.parse().ok().filter(|queues| (1..=65_536).contains(queues));
    let queues = queues.ok_or_else(|| wrong("the number of queues is 1 to 65536"))?;
    rocketry_codec::names::check_topic(name).map_err(|error| wrong(&error.to_string()))?;
    Ok((name.to_owned(), queues))
}
