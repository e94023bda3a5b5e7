//! Our clients with Apache's servers and beside Apache's Java client: every scenario on every release and runtime. Without
//! `--long` some combinations are left out where another one covers the same code.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, ready};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rocketry_codec::header::Encoding;
use rocketry_codec::message::Compression;
use rocketry_core::{Commit, Message, StartAt};
use rocketry_testkit::harness::{Case, Ctx, Failure, ensure, main as run_cases};
use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions};
use rocketry_testkit::scenario::{self, Env, Outcome, Restart, Rt, SmolRt, TokioRt, Watched, Worker, all, beside};
use serde_json::Value;

/// For one run of the Java client, and for one scenario.
const LIMIT: Duration = Duration::from_secs(120);

const NEWEST: ApacheVersion = ApacheVersion::V5_3_3;

/// Adds a scenario that shares its servers with others.
macro_rules! play {
    ($cases:ident, $runtime:ident, $version:expr, $header:expr, $scenario:ident) => {{
        let (version, header) = ($version, $header);
        let name = format!("{}_on_{version}_{}_{}", stringify!($scenario), $runtime::NAME, word(header));
        let case = Case::new(name, move |ctx| {
            let apache = ctx.apache(version)?;
            let env = environment::<$runtime>(ctx, &apache).with_header(header);
            $runtime::run(env.within(LIMIT.as_secs(), scenario::$scenario(&env)))
        });
        $cases.push(case);
    }};
}

fn main() -> ExitCode {
    let mut cases = Vec::new();
    on_every_release::<TokioRt>(&mut cases);
    on_every_release::<SmolRt>(&mut cases);
    round_trips(&mut cases);
    on_the_newest(&mut cases);
    in_order(&mut cases);
    broadcast_and_filters(&mut cases);
    transactions::<TokioRt>(&mut cases);
    transactions::<SmolRt>(&mut cases);
    cases.push(Case::new("lite_consumers_of_java_and_ours_take_turns_tokio", lite_turns::<TokioRt>));
    cases.push(Case::new("lite_consumers_of_java_and_ours_take_turns_smol", lite_turns::<SmolRt>).only_long());
    lite::<TokioRt>(&mut cases);
    lite::<SmolRt>(&mut cases);
    run_cases(&cases)
}

fn round_trips(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        for header in [Encoding::Json, Encoding::Binary] {
            play!(cases, TokioRt, version, header, many_out_and_back);
            play!(cases, SmolRt, version, header, many_out_and_back);
        }
        play!(cases, TokioRt, version, Encoding::Json, a_failed_handler_sees_its_message_again);
        play!(cases, SmolRt, version, Encoding::Binary, a_failed_handler_sees_its_message_again);
        play!(cases, TokioRt, version, Encoding::Binary, two_consumers_share_and_one_leaves);
        play!(cases, SmolRt, version, Encoding::Json, two_consumers_share_and_one_leaves);
        play!(cases, TokioRt, version, Encoding::Json, a_killed_member_loses_nothing);
        play!(cases, SmolRt, version, Encoding::Binary, a_killed_member_loses_nothing);
    }
}

/// Lite pull on every release; without `--long` on the newest.
fn lite<R: Rt>(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        let mut own = Vec::new();
        let header = if version == NEWEST { Encoding::Json } else { Encoding::Binary };
        play!(own, R, version, header, lite_pull_with_seek);
        play!(own, R, version, header, lite_queues_by_hand_and_single_pulls);
        play!(own, R, version, header, lite_sends_back_to_its_group);
        play!(own, R, version, header, lite_tells_of_new_queues);
        play!(own, R, version, header, a_lite_stream_loses_nothing_when_dropped);
        cases.extend(own.into_iter().map(|case| if version == NEWEST { case } else { case.only_long() }));
    }
}

fn broadcast_and_filters(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        let first = cases.len();
        play!(cases, TokioRt, version, Encoding::Json, everybody_hears_everything_and_goes_on_after_a_restart);
        play!(cases, SmolRt, version, Encoding::Binary, everybody_hears_everything_and_goes_on_after_a_restart);
        play!(cases, TokioRt, version, Encoding::Binary, brokers_filter_by_properties);
        play!(cases, SmolRt, version, Encoding::Json, brokers_filter_by_properties);
        for case in cases.split_off(first) {
            cases.push(if version == NEWEST { case } else { case.only_long() });
        }
    }
}

fn transactions<R: Rt>(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        let runtime = R::NAME;
        let often = version == NEWEST;
        let mut add = |case: Case| cases.push(if often { case } else { case.only_long() });
        add(Case::new(format!("commits_arrive_and_rollbacks_do_not_on_{version}_{runtime}"), move |ctx| {
            let apache = ctx.apache(version)?;
            let env = environment::<R>(ctx, &apache);
            R::run(env.within(LIMIT.as_secs(), scenario::commits_arrive_and_rollbacks_do_not(&env)))
        }));
        // 4.2.0 stores half messages but never asks about them.
        if version != ApacheVersion::V4_2_0 {
            add(Case::new(format!("a_forgotten_transaction_is_asked_about_on_{version}_{runtime}"), move |_| {
                let often =
                    BrokerOptions::default().set("transactionCheckInterval", 2_000).set("transactionTimeOut", 500);
                let apache = Apache::start(version, &often)?;
                let env = Env::<R>::new(apache.name_server(), apache.broker(0), "t");
                R::run(env.within(LIMIT.as_secs(), scenario::a_forgotten_transaction_is_asked_about(&env)))
            }));
        }
    }
}

fn in_order(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        let first = cases.len();
        play!(cases, TokioRt, version, Encoding::Json, order_is_kept_when_a_member_leaves);
        play!(cases, SmolRt, version, Encoding::Binary, order_is_kept_when_a_member_leaves);
        play!(cases, TokioRt, version, Encoding::Binary, order_is_kept_when_a_member_is_killed);
        play!(cases, SmolRt, version, Encoding::Json, order_is_kept_when_a_member_is_killed);
        // A lock outlives its member by a minute.
        for (at, case) in cases.split_off(first).into_iter().enumerate() {
            let often = version == NEWEST && at < 3;
            cases.push(if often { case } else { case.only_long() });
        }
    }
}

fn on_the_newest(cases: &mut Vec<Case>) {
    for header in [Encoding::Json, Encoding::Binary] {
        play!(cases, TokioRt, NEWEST, header, oneway_arrives);
        play!(cases, SmolRt, NEWEST, header, oneway_arrives);
    }
    play!(cases, TokioRt, NEWEST, Encoding::Json, a_panic_means_retry);
    play!(cases, SmolRt, NEWEST, Encoding::Json, a_panic_means_retry);
    play!(cases, TokioRt, NEWEST, Encoding::Json, a_cancelled_handler_means_retry);
    play!(cases, SmolRt, NEWEST, Encoding::Json, a_cancelled_handler_means_retry);
    play!(cases, TokioRt, NEWEST, Encoding::Json, graceful_shutdown_drains);
    play!(cases, SmolRt, NEWEST, Encoding::Json, graceful_shutdown_drains);
    play!(cases, TokioRt, NEWEST, Encoding::Json, deliveries_are_answered_by_hand);
    play!(cases, SmolRt, NEWEST, Encoding::Json, deliveries_are_answered_by_hand);
}

fn on_every_release<R: Rt>(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        let runtime = R::NAME;
        // The releases differ in their answers, the runtimes in how they see a connection go.
        let often = version == NEWEST || runtime == TokioRt::NAME;
        let mut add = |case: Case| cases.push(if often { case } else { case.only_long() });
        add(Case::new(format!("kill_9_and_restart_on_{version}_{runtime}"), move |_| restart::<R>(version)));
        let codecs: &[Option<Compression>] = if version == NEWEST {
            &[None, Some(Compression::Zlib), Some(Compression::Lz4), Some(Compression::Zstd)]
        } else {
            &[None, Some(Compression::Zlib)]
        };
        for &codec in codecs {
            let name = name_of(codec);
            add(Case::new(format!("java_reads_ours_on_{version}_{runtime}_{name}"), move |ctx| {
                java_reads::<R>(ctx, version, codec)
            }));
            add(Case::new(format!("we_read_java_on_{version}_{runtime}_{name}"), move |ctx| {
                we_read::<R>(ctx, version, codec)
            }));
        }
    }
}

const fn word(header: Encoding) -> &'static str {
    match header {
        Encoding::Json => "json",
        _ => "binary",
    }
}

const fn name_of(codec: Option<Compression>) -> &'static str {
    match codec {
        None => "none",
        Some(Compression::Lz4) => "lz4",
        Some(Compression::Zstd) => "zstd",
        Some(_) => "zlib",
    }
}

/// Names of its own on these servers.
fn environment<R: Rt>(ctx: &Ctx, apache: &Apache) -> Env<R> {
    Env::new(apache.name_server(), apache.broker(0), ctx.name("t"))
}

/// A broker of Apache's, killed as `kill -9` does.
struct Killed(Apache);

impl Restart for Killed {
    fn kill(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
        self.0.kill_broker(0);
        Box::pin(ready(Ok(())))
    }

    fn start(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
        Box::pin(ready(self.0.restart_broker(0).map_err(Failure::from)))
    }
}

fn restart<R: Rt>(version: ApacheVersion) -> Outcome {
    let mut broker = Killed(Apache::start(version, &BrokerOptions::default())?);
    let env = Env::<R>::new(broker.0.name_server(), broker.0.broker(0), "t");
    R::run(env.within(LIMIT.as_secs(), scenario::a_restarted_broker_is_found_again(&env, &mut broker)))
}

/// How many messages go to Java or come from it.
const fn count(ctx: &Ctx) -> usize {
    if ctx.long() { 2_000 } else { 200 }
}

/// Java's lite consumer and ours in one group, one after the other: each begins where the other has committed.
fn lite_turns<R: Rt>(ctx: &Ctx) -> Outcome {
    let (apache, java) = (ctx.apache(NEWEST)?, ctx.java(NEWEST)?);
    let env: Env<R> = environment(ctx, &apache);
    let (topic, group, name_server) = (env.name("turns"), env.name("turns-group"), apache.name_server());
    apache.create_topic(&topic, 1)?;
    java.run(&["produce", &name_server, &topic, "turns", "40", "20"])?.all(LIMIT)?;
    let offsets_of_java = |count: &str| -> Result<Vec<i64>, Failure> {
        let lines = java.run(&["poll", &name_server, &topic, &group, count, "30"])?.all(LIMIT)?;
        Ok(lines.iter().filter_map(|line| line["queueOffset"].as_i64()).collect())
    };
    let first = offsets_of_java("10")?;
    let committed = first.len() as i64;
    ensure(first == (0..committed).collect::<Vec<_>>() && committed >= 10, || format!("Java read {first:?}"))?;
    R::run(env.within(LIMIT.as_secs(), async {
        let client = env.client()?;
        let builder = client.lite_consumer(group.as_str()).subscribe(topic.as_str(), "*").auto_commit(None);
        let consumer = builder.start().await?;
        let mut seen = Vec::new();
        while seen.len() < 40 - first.len() {
            seen.extend(consumer.poll(7, Duration::from_secs(1)).await?.iter().map(|message| message.queue_offset()));
        }
        ensure(seen == (committed..40).collect::<Vec<_>>(), || format!("after Java's {committed} came {seen:?}"))?;
        consumer.commit(Commit::Offsets(vec![(consumer.assignment().remove(0), 25)])).await?;
        client.shutdown(Duration::from_secs(5)).await?;
        Ok(())
    }))?;
    let rest = offsets_of_java("15")?;
    ensure(rest == (25..40).collect::<Vec<_>>(), || format!("Java began again with {rest:?} after our 25"))
}

fn by_id<'a>(lines: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, String> {
    let text = |line: &Value, member: &str| line[member].as_str().unwrap_or_default().to_owned();
    let messages = lines.into_iter().filter(|line| line.get("msgId").is_some());
    messages.map(|line| (text(line, "msgId"), text(line, "bodyBase64"))).collect()
}

fn java_reads<R: Rt>(ctx: &Ctx, version: ApacheVersion, codec: Option<Compression>) -> Outcome {
    let (apache, java, count) = (ctx.apache(version)?, ctx.java(NEWEST)?, count(ctx));
    let env: Env<R> = environment(ctx, &apache);
    let (sent, topic) = R::run(env.within(LIMIT.as_secs(), async {
        let client = env.client()?;
        let topic = env.create_topic(&client, "to-java", 4).await?;
        let producer = client.producer(env.name("producers")).compression(codec).compress_from(1).start().await?;
        let message = |number: usize| {
            let body = format!("ours {number} {}", "körper ".repeat(number % 50));
            Message::builder(topic.as_str()).body(body).tag("ours").property("from", "Rust™").build()
        };
        let messages = (0..count).map(message).collect::<Result<Vec<_>, _>>()?;
        let bodies: Vec<_> = messages.iter().map(|message| message.body().clone()).collect();
        let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
        let mut sent = BTreeMap::new();
        for (receipt, body) in receipts.into_iter().zip(bodies) {
            sent.insert(receipt?.message_id, base64(&body));
        }
        client.shutdown(Duration::from_secs(5)).await?;
        Ok((sent, topic))
    }))?;
    let words = ["consume", &apache.name_server(), &topic, &env.name("java"), &count.to_string(), "30", "tags=ours"];
    let lines = java.run(&words)?.all(LIMIT)?;
    let wrong = lines.iter().find(|line| line.get("msgId").is_some() && line["properties"]["from"] != "Rust™");
    ensure(wrong.is_none(), || format!("a property is lost in Java: {wrong:?}"))?;
    let read = by_id(&lines);
    ensure(read == sent, || format!("Java read {} of {} messages as they were sent", same(&read, &sent), sent.len()))
}

fn we_read<R: Rt>(ctx: &Ctx, version: ApacheVersion, codec: Option<Compression>) -> Outcome {
    let (apache, java, count) = (ctx.apache(version)?, ctx.java(NEWEST)?, count(ctx));
    let env: Env<R> = environment(ctx, &apache);
    let (topic, name_server, count) = (env.name("from-java"), apache.name_server(), count.to_string());
    apache.create_topic(&topic, 4)?;
    let codec = format!("compress={}", name_of(codec));
    let words = ["produce", &name_server, &topic, "java", &count, "300", "tag=java", "property.from=Java™", &codec];
    let sent = by_id(&java.run(&words)?.all(LIMIT)?);
    let read = R::run(env.within(LIMIT.as_secs(), async {
        let client = env.client()?;
        let builder = client.consumer(env.name("consumers")).subscribe(topic.as_str(), "java || none");
        let consumer = builder.start_at(StartAt::First).start().await?;
        let read: Watched<BTreeMap<String, String>> = Watched::new(BTreeMap::new());
        let wrong: Watched<BTreeSet<String>> = Watched::new(BTreeSet::new());
        let (into, other) = (read.clone(), wrong.clone());
        let worker: Worker = Box::pin(consumer.run(move |message| {
            if message.tag() != Some("java") || message.property("from") != Some("Java™") {
                other.change(|wrong| wrong.insert(message.id()));
            }
            into.change(|read| read.insert(message.id(), base64(message.body())));
            ready(())
        }));
        beside(vec![worker], async {
            read.until(|read| read.len() >= sent.len()).await;
            Ok(())
        })
        .await?;
        client.shutdown(Duration::from_secs(5)).await?;
        let wrong = wrong.change(std::mem::take);
        ensure(wrong.is_empty(), || format!("wrong tag or property: {wrong:?}"))?;
        Ok(read.change(std::mem::take))
    }))?;
    ensure(read == sent, || format!("we read {} of {} messages as they were sent", same(&read, &sent), sent.len()))
}

fn same(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> usize {
    one.iter().filter(|(id, body)| other.get(*id) == Some(body)).count()
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
