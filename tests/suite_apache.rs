//! The scenarios of the application's API on Apache's own brokers, and messages between us and Apache's Java client.
//!
//! Every version is paired with every runtime and every header encoding in the long form (`--long`); the short form takes
//! all four on 5.3.3 and one of them on each older release.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rocketry_codec::header::Encoding;
use rocketry_codec::message::Compression;
use rocketry_core::{Message, StartAt};
use rocketry_testkit::harness::{Case, Ctx, Failure, ensure, is_long, main as run_cases};
use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions};
use rocketry_testkit::scenario::{self, Env, Outcome, Restart, Rt, SmolRt, TokioRt, Watched, Worker, beside};
use serde_json::Value;

/// For one run of the Java client.
const LIMIT: Duration = Duration::from_secs(120);

const JAVA: ApacheVersion = ApacheVersion::V5_3_3;

fn main() -> ExitCode {
    let mut cases = Vec::new();
    for version in ApacheVersion::ALL {
        on_runtime::<TokioRt>(&mut cases, version);
        on_runtime::<SmolRt>(&mut cases, version);
    }
    run_cases(&cases)
}

/// Whether the pair belongs to the short form.
fn is_short<R: Rt>(version: ApacheVersion, header: Encoding) -> bool {
    match version {
        ApacheVersion::V4_2_0 => R::NAME == "tokio" && header == Encoding::Binary,
        ApacheVersion::V4_9_7 => R::NAME == "smol" && header == Encoding::Json,
        _ => true,
    }
}

fn on_runtime<R: Rt>(cases: &mut Vec<Case>, version: ApacheVersion) {
    for header in [Encoding::Json, Encoding::Binary] {
        if is_long() || is_short::<R>(version, header) {
            with_header::<R>(cases, version, header);
        }
    }
}

fn with_header<R: Rt>(cases: &mut Vec<Case>, version: ApacheVersion, header: Encoding) {
    let name = |what: &str| format!("{what}_{}_{}_on_{version}", R::NAME, format!("{header:?}").to_lowercase());
    let mut add = |what: &str, run: fn(&Ctx, ApacheVersion, Encoding) -> Outcome| {
        cases.push(Case::new(name(what), move |ctx| run(ctx, version, header)));
    };
    add("many_out_and_back", |ctx, version, header| {
        play(ctx, version, header, |env: Env<R>| Box::pin(async move { scenario::many_out_and_back(&env).await }))
    });
    add("oneway_arrives", |ctx, version, header| {
        play(ctx, version, header, |env: Env<R>| Box::pin(async move { scenario::oneway_arrives(&env).await }))
    });
    add("a_failed_handler_sees_its_message_again", |ctx, version, header| {
        play(ctx, version, header, |env: Env<R>| {
            Box::pin(async move { scenario::a_failed_handler_sees_its_message_again(&env).await })
        })
    });
    add("two_consumers_share_and_one_leaves", |ctx, version, header| {
        play(ctx, version, header, |env: Env<R>| {
            Box::pin(async move { scenario::two_consumers_share_and_one_leaves(&env).await })
        })
    });
    add("java_reads_what_we_send", java_reads::<R>);
    add("we_read_what_java_sends", we_read::<R>);
    // A kill needs a cluster of its own, which takes its time; the encoding of headers makes no difference to it.
    if header == Encoding::Json {
        add("a_killed_broker_is_found_again", |ctx, version, _| killed::<R>(ctx, version));
    }
}

fn play<R: Rt>(
    ctx: &Ctx,
    version: ApacheVersion,
    header: Encoding,
    run: impl FnOnce(Env<R>) -> Pin<Box<dyn Future<Output = Outcome>>>,
) -> Outcome {
    let apache = ctx.apache(version)?;
    let env = Env::new(apache.name_server(), apache.broker(0), ctx.name("suite")).with_header(header);
    R::run(run(env))
}

/// Which codecs the release reads.
const fn codecs(version: ApacheVersion) -> &'static [Option<Compression>] {
    match version {
        ApacheVersion::V5_3_3 => &[None, Some(Compression::Zlib), Some(Compression::Lz4), Some(Compression::Zstd)],
        _ => &[None, Some(Compression::Zlib)],
    }
}

/// The n-th body of a test: text that compresses, of growing length.
fn body(number: usize) -> String {
    format!("{number}-{}", "rocketry ".repeat(number * 7 % 900))
}

fn java_reads<R: Rt>(ctx: &Ctx, version: ApacheVersion, header: Encoding) -> Outcome {
    let apache = ctx.apache(version)?;
    let env = Env::<R>::new(apache.name_server(), apache.broker(0), ctx.name("to-java")).with_header(header);
    let (topic, sent) = R::run(send_all(&env, version))?;
    let count = sent.len().to_string();
    let words = ["consume", &apache.name_server(), &topic, &ctx.name("java-readers"), &count, "60"];
    let read = ctx.java(JAVA)?.run(&words)?.all(LIMIT)?;
    let mut missing = sent;
    for line in read.iter().filter(|line| line.get("msgId").is_some()) {
        let id = text(line, "msgId")?;
        let Some(expected) = missing.remove(&id) else { continue };
        let bytes = BASE64.decode(text(line, "bodyBase64")?)?;
        ensure(bytes == expected.as_bytes(), || format!("{id} has another body in Java"))?;
        ensure(text(line, "tags")? == "blue", || format!("{id} has another tag in Java: {line}"))?;
        ensure(line["properties"]["colour"] == "#00f", || format!("{id} has lost a property in Java: {line}"))?;
    }
    ensure(missing.is_empty(), || format!("{} of our messages did not reach Java", missing.len()))
}

async fn send_all<R: Rt>(env: &Env<R>, version: ApacheVersion) -> Result<(String, BTreeMap<String, String>), Failure> {
    let client = env.client()?;
    let topic = env.create_topic(&client, "sent", 4).await?;
    let mut sent = BTreeMap::new();
    for codec in codecs(version) {
        let group = env.name(&format!("producers-{codec:?}").to_lowercase().replace(['(', ')'], "-"));
        let producer = client.producer(group).compression(*codec).compress_from(64).start().await?;
        for number in 0..50 {
            let message = Message::builder(topic.as_str()).body(body(number)).tag("blue").property("colour", "#00f");
            let receipt = producer.send(message.build()?).await?;
            sent.insert(receipt.message_id, body(number));
        }
    }
    client.shutdown(Duration::from_secs(10)).await?;
    Ok((topic, sent))
}

fn we_read<R: Rt>(ctx: &Ctx, version: ApacheVersion, header: Encoding) -> Outcome {
    let apache = ctx.apache(version)?;
    let env = Env::<R>::new(apache.name_server(), apache.broker(0), ctx.name("from-java")).with_header(header);
    let topic = ctx.name("java-sent");
    apache.create_topic(&topic, 4)?;
    let mut sent = BTreeMap::new();
    for codec in codecs(version) {
        let compress = codec.map(|codec| format!("compress={}", format!("{codec:?}").to_lowercase()));
        let name_server = apache.name_server();
        let mut words = vec!["produce", &name_server, &topic, "java-writers", "50", "900", "tag=blue"];
        words.extend(compress.as_deref());
        for line in ctx.java(JAVA)?.run(&words)?.all(LIMIT)? {
            sent.insert(text(&line, "msgId")?, BASE64.decode(text(&line, "bodyBase64")?)?);
        }
    }
    R::run(read_all(&env, &topic, sent))
}

async fn read_all<R: Rt>(env: &Env<R>, topic: &str, mut missing: BTreeMap<String, Vec<u8>>) -> Outcome {
    let client = env.client()?;
    let group = env.name("readers");
    // Another tag than Java's is subscribed beside it, so that tags are compared.
    let consumer = client.consumer(group).subscribe(topic, "blue || red").start_at(StartAt::First).start().await?;
    let seen = Watched::new(BTreeMap::new());
    let into = seen.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen: &mut BTreeMap<String, Vec<u8>>| seen.insert(message.id(), message.body().to_vec()));
        std::future::ready(())
    }));
    let wanted = missing.len();
    beside(
        vec![worker],
        env.within(60, async {
            seen.until(|seen| seen.len() >= wanted).await;
            Ok(())
        }),
    )
    .await?;
    for (id, body) in seen.change(std::mem::take) {
        let expected = missing.remove(&id).ok_or_else(|| format!("{id} was not sent by Java"))?;
        ensure(body == expected, || format!("{id} has another body here"))?;
    }
    client.shutdown(Duration::from_secs(10)).await?;
    ensure(missing.is_empty(), || format!("{} of Java's messages did not reach us", missing.len()))
}

fn text(line: &Value, field: &str) -> Result<String, Failure> {
    Ok(line.get(field).and_then(Value::as_str).ok_or_else(|| format!("no {field} in {line}"))?.to_owned())
}

fn killed<R: Rt>(ctx: &Ctx, version: ApacheVersion) -> Outcome {
    struct Broker(Apache);

    impl Restart for Broker {
        fn kill(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
            self.0.kill_broker(0);
            Box::pin(std::future::ready(Ok(())))
        }

        fn start(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>> {
            Box::pin(std::future::ready(self.0.restart_broker(0).map_err(Failure::from)))
        }
    }

    let apache = Apache::start(version, &BrokerOptions::default())?;
    let env = Env::<R>::new(apache.name_server(), apache.broker(0), ctx.name("killed"));
    let mut broker = Broker(apache);
    R::run(scenario::a_restarted_broker_is_found_again(&env, &mut broker))
}
