//! The real peers themselves: each Apache release starts, and Apache's Java client works with it as with its own. What the
//! other suites build on is shown here without any client of ours.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use rocketry_testkit::harness::{Case, Ctx, Failure, ensure, main as run_cases};
use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions, JavaClient};
use serde_json::Value;

/// For one run of the Java client.
const LIMIT: Duration = Duration::from_secs(120);

const JAVA: ApacheVersion = ApacheVersion::V5_3_3;

fn main() -> ExitCode {
    let mut cases = Vec::new();
    for version in ApacheVersion::ALL {
        cases.push(Case::new(format!("java_round_trip_on_{version}"), move |ctx| round_trip(ctx, version)));
        let own =
            Case::new(format!("java_{version}_round_trip_on_its_own_release"), move |ctx| own_client(ctx, version));
        cases.push(own.only_long());
        cases.push(Case::new(format!("mqadmin_makes_a_topic_on_{version}"), move |ctx| mqadmin(ctx, version)));
        cases.push(Case::new(format!("acknowledged_messages_survive_kill_9_on_{version}"), move |ctx| {
            survive_a_kill(ctx, version)
        }));
    }
    for codec in ["zlib", "lz4", "zstd"] {
        cases.push(Case::new(format!("java_compresses_with_{codec}"), move |ctx| compressed(ctx, codec)));
    }
    cases.push(Case::new("two_brokers_share_a_topic", two_brokers));
    cases.push(Case::new("the_name_server_comes_back", name_server_comes_back));
    cases.push(Case::new("java_leaves_its_group_when_asked_to_end", leaves_when_asked));
    run_cases(&cases)
}

/// What identifies the messages of these lines, in any order.
fn set(lines: &[Value], field: &str) -> BTreeSet<String> {
    lines.iter().filter_map(|line| line.get(field)).map(Value::to_string).collect()
}

/// Sends with Java, reads with Java in a new group, and compares bodies.
fn there_and_back(ctx: &Ctx, apache: &Apache, topic: &str, size: usize, options: &[&str]) -> Result<(), Failure> {
    there_and_back_by(&ctx.java(JAVA)?, ctx, apache, topic, size, options)
}

fn there_and_back_by(
    java: &JavaClient,
    ctx: &Ctx,
    apache: &Apache,
    topic: &str,
    size: usize,
    options: &[&str],
) -> Result<(), Failure> {
    let name_server = apache.name_server();
    let count = if ctx.long() { "2000" } else { "100" };
    let (size, group) = (size.to_string(), ctx.name("readers"));
    let produce = [&["produce", &name_server, topic, "writers", count, &size], options].concat();
    let sent = java.run(&produce)?.all(LIMIT)?;
    let read = java.run(&["consume", &name_server, topic, &group, count, "30"])?.all(LIMIT)?;
    ensure(sent.len().to_string() == count, || format!("{} sent of {count}", sent.len()))?;
    ensure(set(&sent, "bodyBase64") == set(&read, "bodyBase64"), || {
        format!("{} sent, {} read", set(&sent, "bodyBase64").len(), set(&read, "bodyBase64").len())
    })?;
    ensure(set(&sent, "msgId") == set(&read, "msgId"), || "ids differ".into())
}

fn round_trip(ctx: &Ctx, version: ApacheVersion) -> Result<(), Failure> {
    let apache = ctx.apache(version)?;
    let topic = ctx.name("round");
    apache.create_topic(&topic, 4)?;
    there_and_back(ctx, &apache, &topic, 64, &["tag=blue", "property.colour=#00f"])
}

/// The driver compiles against each release's client. Those of 4.x are fetched by this case alone.
fn own_client(ctx: &Ctx, version: ApacheVersion) -> Result<(), Failure> {
    let apache = ctx.apache(version)?;
    let topic = ctx.name("own");
    apache.create_topic(&topic, 4)?;
    let java = ctx.java(version)?.property("rocketmq.serialize.type", "ROCKETMQ");
    there_and_back_by(&java, ctx, &apache, &topic, 64, &[])
}

fn compressed(ctx: &Ctx, codec: &str) -> Result<(), Failure> {
    let apache = ctx.apache(JAVA)?;
    let topic = ctx.name("compressed");
    apache.create_topic(&topic, 2)?;
    there_and_back(ctx, &apache, &topic, 2000, &[&format!("compress={codec}")])
}

fn mqadmin(ctx: &Ctx, version: ApacheVersion) -> Result<(), Failure> {
    let apache = ctx.apache(version)?;
    let topic = ctx.name("administered");
    let made = apache.mqadmin(&["updateTopic", "-c", "DefaultCluster", "-t", &topic, "-r", "3", "-w", "3"])?;
    ensure(made.success, || format!("updateTopic: {}{}", made.stdout, made.stderr))?;
    apache.wait_for_topic(&topic)?;
    let status = apache.mqadmin(&["topicRoute", "-t", &topic])?;
    ensure(status.stdout.contains("broker-a"), || format!("topicRoute: {}{}", status.stdout, status.stderr))
}

fn survive_a_kill(ctx: &Ctx, version: ApacheVersion) -> Result<(), Failure> {
    let mut apache = Apache::start(version, &BrokerOptions::default())?;
    apache.create_topic("kill", 2)?;
    let (java, name_server) = (ctx.java(JAVA)?, apache.name_server());
    let mut sender = java.run(&["produce", &name_server, "kill", "writers", "1000000", "64", "goOn=true"])?;
    let mut acknowledged = Vec::new();
    let mut take = |wanted: usize| -> Result<(), Failure> {
        let before = acknowledged.len();
        while acknowledged.len() < before + wanted {
            let line = sender.next(LIMIT)?.ok_or("the sender ended")?;
            acknowledged.extend(line.get("msgId").cloned().map(|id| id.to_string()));
        }
        Ok(())
    };
    // In the middle of a stream of sends, and on with the same stream afterwards.
    take(200)?;
    apache.kill_broker(0);
    apache.restart_broker(0)?;
    take(200)?;
    sender.kill();
    let mut reader = java.run(&["consume", &name_server, "kill", "readers", "1000000", "30"])?;
    let mut missing: BTreeSet<String> = acknowledged.into_iter().collect();
    while !missing.is_empty() {
        let line = reader.next(LIMIT)?.ok_or_else(|| format!("{} acknowledged messages are lost", missing.len()))?;
        missing.remove(&line["msgId"].to_string());
    }
    reader.kill();
    Ok(())
}

fn two_brokers(ctx: &Ctx) -> Result<(), Failure> {
    let apache = Apache::start(JAVA, &BrokerOptions::default().brokers(2))?;
    apache.create_topic("both", 2)?;
    let (java, name_server) = (ctx.java(JAVA)?, apache.name_server());
    let sent = java.run(&["produce", &name_server, "both", "writers", "40", "32"])?.all(LIMIT)?;
    let brokers = set(&sent, "brokerName");
    ensure(brokers.len() == 2, || format!("messages went to {brokers:?}"))?;
    there_and_back_from(ctx, &apache, &sent)
}

fn there_and_back_from(ctx: &Ctx, apache: &Apache, sent: &[Value]) -> Result<(), Failure> {
    let count = sent.len().to_string();
    let words = ["consume", &apache.name_server(), "both", "readers", &count, "30"];
    let read = ctx.java(JAVA)?.run(&words)?.all(LIMIT)?;
    ensure(set(sent, "msgId") == set(&read, "msgId"), || format!("{} sent, {} read", sent.len(), read.len()))
}

fn name_server_comes_back(ctx: &Ctx) -> Result<(), Failure> {
    let mut apache = Apache::start(JAVA, &BrokerOptions::default())?;
    apache.create_topic("routed", 1)?;
    apache.kill_name_server();
    apache.start_name_server()?;
    // Brokers register again by themselves.
    apache.wait_for_topic("routed")?;
    there_and_back(ctx, &apache, "routed", 32, &[])
}

fn leaves_when_asked(ctx: &Ctx) -> Result<(), Failure> {
    let apache = ctx.apache(JAVA)?;
    let (topic, group) = (ctx.name("left"), ctx.name("leavers"));
    apache.create_topic(&topic, 1)?;
    let java = ctx.java(JAVA)?;
    let mut reader = java.run(&["consume", &apache.name_server(), &topic, &group, "1", "600"])?;
    reader.next(LIMIT)?.ok_or("it ended")?;
    let members = || apache.mqadmin(&["consumerConnection", "-g", &group]);
    let before = members()?;
    ensure(before.stdout.contains("ClientId") || before.stdout.contains("127.0.0.1"), || {
        format!("no member is listed: {}{}", before.stdout, before.stderr)
    })?;
    reader.stop();
    let after = members()?;
    let text = format!("{}{}", after.stdout, after.stderr);
    ensure(text.contains("not online"), || format!("it is still a member: {text}"))
}
