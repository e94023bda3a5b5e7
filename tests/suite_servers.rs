//! The embedded name server and broker beside Apache's own programs, without any client of ours: Apache's Java client and
//! `mqadmin` work with them as with Apache's, our broker registers at Apache's name servers, Apache's brokers at ours.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use rocketry_broker::{Broker, BrokerConfig, DelayLevels, Embedded, NameServer, NameServerConfig};
use rocketry_core::machine::Endpoint;
use rocketry_driver::server::{Listener, Server};
use rocketry_testkit::harness::{Case, Ctx, Failure, ensure, main as run_cases};
use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions};
use rocketry_testkit::scenario::{Rt, TokioRt};
use serde_json::Value;

/// For one run of the Java client.
const LIMIT: Duration = Duration::from_secs(120);

const JAVA: ApacheVersion = ApacheVersion::V5_3_3;

type Net = <TokioRt as Rt>::Net;

fn main() -> ExitCode {
    let mut cases = vec![
        Case::new("java_round_trip_on_embedded_servers", |ctx| TokioRt::run(round_trip(ctx, &[]))),
        Case::new("java_round_trip_with_binary_headers", |ctx| TokioRt::run(round_trip(ctx, &["ROCKETMQ"]))),
        Case::new("java_sees_what_it_refused_again", |ctx| TokioRt::run(refused(ctx))),
        Case::new("java_members_share_and_leave", |ctx| TokioRt::run(share(ctx))),
        Case::new("java_filters_by_tag", |ctx| TokioRt::run(tags(ctx))),
        Case::new("java_pops_and_sees_what_it_refused_again", |ctx| TokioRt::run(pop(ctx))),
    ];
    for version in ApacheVersion::ALL {
        let name = format!("our_broker_at_the_name_server_of_{version}");
        cases.push(Case::new(name, move |ctx| TokioRt::run(at_apaches_name_server(ctx, version))));
        let name = format!("the_broker_of_{version}_at_our_name_server");
        cases.push(Case::new(name, move |ctx| TokioRt::run(at_our_name_server(ctx, version))));
    }
    run_cases(&cases)
}

async fn embedded(change: impl FnOnce(&mut BrokerConfig)) -> Result<(Server<Embedded>, String), Failure> {
    let listener = Listener::<Net>::bind((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let address = listener.address().ok_or("a socket has an address")?;
    let mut config = BrokerConfig::new(address);
    change(&mut config);
    let server = listener.serve(move |now, seed| Embedded::new(NameServerConfig::new(), config, seed, now))?;
    Ok((server, address.to_string()))
}

/// What identifies the messages of these lines, in any order.
fn set(lines: &[Value], field: &str) -> BTreeSet<String> {
    lines.iter().filter_map(|line| line.get(field)).map(Value::to_string).collect()
}

/// The number of messages of a round trip.
fn count(ctx: &Ctx) -> &'static str {
    if ctx.long() { "2000" } else { "200" }
}

/// Sends with Java, reads with Java, and compares ids and bodies.
fn there_and_back(ctx: &Ctx, name_server: &str, topic: &str, serialize: &[&str]) -> Result<(), Failure> {
    let mut java = ctx.java(JAVA)?;
    for form in serialize {
        java = java.property("rocketmq.serialize.type", form);
    }
    let (group, count) = (ctx.name("readers"), count(ctx));
    let sent = java.run(&["produce", name_server, topic, "writers", count, "64", "tag=blue"])?.all(LIMIT)?;
    let read = java.run(&["consume", name_server, topic, &group, count, "30"])?.all(LIMIT)?;
    ensure(sent.len().to_string() == count, || format!("{} sent of {count}", sent.len()))?;
    ensure(set(&sent, "bodyBase64") == set(&read, "bodyBase64"), || {
        format!("{} sent, {} read", set(&sent, "bodyBase64").len(), set(&read, "bodyBase64").len())
    })?;
    ensure(set(&sent, "msgId") == set(&read, "msgId"), || "ids differ".into())
}

async fn round_trip(ctx: &Ctx, serialize: &[&str]) -> Result<(), Failure> {
    let (_server, address) = embedded(|_| {}).await?;
    there_and_back(ctx, &address, "round", serialize)
}

/// A listener that refuses each message once sees it again under its own topic and id.
async fn refused(ctx: &Ctx) -> Result<(), Failure> {
    let soon = DelayLevels::new(vec![Duration::from_millis(200); 18]);
    let (_server, address) = embedded(|config| config.delay_levels = soon).await?;
    let java = ctx.java(JAVA)?;
    let sent = java.run(&["produce", &address, "refused", "writers", "20", "64"])?.all(LIMIT)?;
    let read = java.run(&["consume", &address, "refused", "readers", "20", "30", "failFirst=2"])?.all(LIMIT)?;
    ensure(set(&sent, "msgId") == set(&read, "msgId"), || format!("sent {sent:?}, read {read:?}"))?;
    let again = |line: &&Value| line["msgId"].is_string();
    let right = |line: &Value| line["reconsumeTimes"] == 2 && line["topic"] == "refused";
    ensure(read.iter().filter(again).all(right), || format!("{read:?}"))
}

/// Two members divide the queues; when one ends, the other has them all.
async fn share(ctx: &Ctx) -> Result<(), Failure> {
    let (_server, address) = embedded(|config| *config = config.clone().with_topic("shared", 4)).await?;
    let java = ctx.java(JAVA)?;
    let consume = |instance: &'static str, count: &'static str| {
        java.run(&["consume", &address, "shared", "readers", count, "60", instance])
    };
    let mut first = consume("instance=first", "40")?;
    let mut second = consume("instance=second", "10000")?;
    for member in [&mut first, &mut second] {
        ensure(member.next(LIMIT)?.is_some_and(|line| line["started"] == true), || "a member does not start".into())?;
    }
    let send = |count: &str| java.run(&["produce", &address, "shared", "writers", count, "64"])?.all(LIMIT);
    let mut sent = send("80")?;
    let mut read = Vec::new();
    // Both get some: each holds two of four queues.
    for member in [&mut first, &mut second] {
        let line = member.next(LIMIT)?.ok_or("a member ended early")?;
        read.push(line);
    }
    // The first member ends after its forty messages; what comes later is the other's.
    read.extend(first.all(LIMIT)?);
    sent.extend(send("40")?);
    while set(&read, "msgId").len() < set(&sent, "msgId").len() {
        read.push(second.next(LIMIT)?.ok_or("the second member ended early")?);
    }
    ensure(set(&sent, "msgId") == set(&read, "msgId"), || "ids differ".into())
}

async fn tags(ctx: &Ctx) -> Result<(), Failure> {
    let (_server, address) = embedded(|_| {}).await?;
    let java = ctx.java(JAVA)?;
    let send = |tag| java.run(&["produce", &address, "tags", "writers", "20", "64", tag])?.all(LIMIT);
    let (blue, _red, green) = (send("tag=blue")?, send("tag=red")?, send("tag=green")?);
    let read = java.run(&["consume", &address, "tags", "readers", "40", "30", "tags=blue || green"])?.all(LIMIT)?;
    ensure(set(&read, "msgId") == set(&[blue, green].concat(), "msgId"), || format!("{read:?}"))
}

/// Java's consumer in POP mode; `mqadmin` sets the mode, and finds a message by its unique key.
async fn pop(ctx: &Ctx) -> Result<(), Failure> {
    let (_server, address) = embedded(|config| *config = config.clone().with_topic("popped", 4)).await?;
    let (apache, java) = (ctx.apache(JAVA)?, ctx.java(JAVA)?);
    let admin = |arguments: &[&str]| {
        let output = apache.mqadmin(&[arguments, &["-n", &address]].concat())?;
        ensure(output.success, || format!("{arguments:?}: {}{}", output.stdout, output.stderr))?;
        Ok::<_, Failure>(output.stdout)
    };
    admin(&["updateSubGroup", "-b", &address, "-g", "readers"])?;
    admin(&["setConsumeMode", "-b", &address, "-t", "popped", "-g", "readers", "-m", "POP", "-q", "0"])?;
    let sent = java.run(&["produce", &address, "popped", "writers", "40", "64"])?.all(LIMIT)?;
    let read =
        java.run(&["consume", &address, "popped", "readers", "40", "60", "failFirst=1", "pop=true"])?.all(LIMIT)?;
    ensure(set(&sent, "msgId") == set(&read, "msgId"), || format!("sent {sent:?}, read {read:?}"))?;
    let messages = || read.iter().filter(|line| line["msgId"].is_string());
    let right = |line: &Value| line["reconsumeTimes"] == 1 && line["properties"]["POP_CK"].is_string();
    ensure(messages().all(right), || format!("{read:?}"))?;
    let id = messages().next().and_then(|line| line["msgId"].as_str()).ok_or("an id")?;
    let found = admin(&["queryMsgByUniqueKey", "-t", "popped", "-i", id])?;
    ensure(found.contains(id), || found.clone())?;
    let status = admin(&["brokerStatus", "-b", &address])?;
    ensure(status.contains("commitLogMaxOffset"), || status.clone())
}

async fn at_apaches_name_server(ctx: &Ctx, version: ApacheVersion) -> Result<(), Failure> {
    let apache = ctx.apache(version)?;
    let listener = Listener::<Net>::bind((Ipv4Addr::LOCALHOST, 0).into()).await?;
    let address = listener.address().ok_or("a socket has an address")?;
    let topic = ctx.name("ours");
    let mut config = BrokerConfig::new(address).with_topic(topic.as_str(), 4);
    config.name = ctx.name("rocketry").into();
    config.name_servers = Endpoint::parse_list(&apache.name_server()).map_err(|error| error.to_string())?;
    let _server = listener.serve(move |now, seed| Broker::new(config, seed, now))?;
    apache.wait_for_topic(&topic)?;
    there_and_back(ctx, &apache.name_server(), &topic, &[])?;
    if version == ApacheVersion::V4_2_0 {
        // Its tools go to the port two below the broker's, where only a broker with fixed ports can listen.
        return Ok(());
    }
    let status = apache.mqadmin(&["topicStatus", "-t", &topic])?;
    ensure(status.success && status.stdout.contains("rocketry"), || format!("{}{}", status.stdout, status.stderr))
}

/// Our name server takes the place of Apache's; the broker finds it and registers.
async fn at_our_name_server(ctx: &Ctx, version: ApacheVersion) -> Result<(), Failure> {
    let mut apache = Apache::start(version, &BrokerOptions::default())?;
    let topic = ctx.name("theirs");
    apache.create_topic(&topic, 4)?;
    apache.kill_name_server();
    let address: SocketAddr = apache.name_server().parse()?;
    let listener = Listener::<Net>::bind(address).await?;
    let _server = listener.serve(|now, _| NameServer::new(NameServerConfig::new(), now))?;
    apache.wait_for_topic(&topic)?;
    there_and_back(ctx, &address.to_string(), &topic, &[])?;
    let list = apache.mqadmin(&["clusterList"])?;
    ensure(list.success && list.stdout.contains("broker-a"), || format!("{}{}", list.stdout, list.stderr))
}
