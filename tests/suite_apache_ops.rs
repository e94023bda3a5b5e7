//! What people who operate brokers rely on, with Apache's servers: message trace that `mqadmin` reads, and access control.

use std::process::ExitCode;
use std::time::Duration;

use rocketry_codec::sign::Credentials;
use rocketry_core::{Message, MessageTrace, StartAt};
use rocketry_testkit::harness::{Case, Ctx, Failure, ensure, main as run_cases};
use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions};
use rocketry_testkit::scenario::{Env, Outcome, Rt, SmolRt, TokioRt};

/// For one scenario.
const LIMIT: u64 = 120;

fn main() -> ExitCode {
    let mut cases = Vec::new();
    add::<TokioRt>(&mut cases);
    add::<SmolRt>(&mut cases);
    run_cases(&cases)
}

fn add<R: Rt>(cases: &mut Vec<Case>) {
    for version in ApacheVersion::ALL {
        let name = format!("mqadmin_reads_our_trace_on_{version}_{}", R::NAME);
        let case = Case::new(name, move |_| mqadmin_reads_our_trace::<R>(version));
        // 4.2.0's mqadmin knows no trace.
        let often = version == ApacheVersion::V5_3_3 && R::NAME == TokioRt::NAME;
        if version != ApacheVersion::V4_2_0 {
            cases.push(if often { case } else { case.only_long() });
        }
    }
    let name = format!("brokers_take_what_we_signed_and_nothing_else_{}", R::NAME);
    cases.push(Case::new(name, brokers_take_what_we_signed_and_nothing_else::<R>));
}

/// One message out and back on a topic of its own; its id.
async fn out_and_back<R: Rt>(env: &Env<R>, client: &rocketry_driver::Client<R::Net>) -> Result<String, Failure> {
    let trace = || Some(MessageTrace::default());
    let topic = env.name("topic");
    let producer = client.producer(env.name("producers")).configure(|config| config.trace = trace()).start().await?;
    let message = Message::builder(topic.as_str()).body("traced").tag("tag").key("the-key").build()?;
    let receipt = producer.send(message).await?;
    let consumer = client.consumer(env.name("consumers")).subscribe(topic.as_str(), "*").start_at(StartAt::First);
    let consumer = consumer.configure(|config| config.trace = trace()).start().await?;
    let delivery = consumer.deliveries().next().await.ok_or("the stream ended")?;
    ensure(delivery.id() == receipt.message_id, || format!("{} came", delivery.id()))?;
    delivery.succeed();
    Ok(receipt.message_id)
}

fn mqadmin_reads_our_trace<R: Rt>(version: ApacheVersion) -> Outcome {
    let apache = Apache::start(version, &BrokerOptions::default().set("traceTopicEnable", true))?;
    let env = Env::<R>::new(apache.name_server(), apache.broker(0), "t");
    let id = R::run(env.within(LIMIT, async {
        let client = env.client()?;
        let id = out_and_back(&env, &client).await?;
        // What waits leaves before the connections do.
        client.shutdown(Duration::from_secs(10)).await?;
        Ok(id)
    }))?;
    let mut shown = String::new();
    // The broker builds its index in its own time.
    for _ in 0..20 {
        let output = apache.mqadmin(&["queryMsgTraceById", "-n", &apache.name_server(), "-i", &id])?;
        shown = output.stdout.lines().filter(|line| !line.contains("|-")).collect::<Vec<_>>().join("\n");
        if shown.contains("t-producers") && shown.contains("t-consumers") {
            return ensure(shown.contains("success"), || format!("no success in: {shown}"));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Err(Failure::from(format!("mqadmin does not show both groups: {shown}")))
}

fn brokers_take_what_we_signed_and_nothing_else<R: Rt>(_: &Ctx) -> Outcome {
    let provider = "org.apache.rocketmq.auth.authentication.provider";
    let options = BrokerOptions::default()
        .set("authenticationEnabled", true)
        .set("authenticationProvider", format!("{provider}.DefaultAuthenticationProvider"))
        .set("authenticationMetadataProvider", format!("{provider}.LocalAuthenticationMetadataProvider"))
        .set("initAuthenticationUser", r#"{"username":"rocketry","password":"the-secret"}"#)
        .set("innerClientAuthenticationCredentials", r#"{"accessKey":"rocketry","secretKey":"the-secret"}"#);
    let apache = Apache::start(ApacheVersion::V5_3_3, &options)?;
    let env = Env::<R>::new(apache.name_server(), apache.broker(0), "t");
    let with = |key: &str, secret: &str| env.builder().credentials(Credentials::new(key, secret)).build();
    R::run(env.within(LIMIT, async {
        let client = with("rocketry", "the-secret")?;
        out_and_back(&env, &client).await?;
        client.shutdown(Duration::from_secs(10)).await?;
        for (client, reason) in [
            (with("rocketry", "another")?, "check signature failed"),
            (with("nobody", "the-secret")?, "not found"),
            (env.client()?, "username cannot be null"),
        ] {
            let producer = client.producer(env.name("denied")).start().await?;
            let message = Message::new(env.name("topic").as_str(), "denied")?;
            match producer.send(message).await {
                Ok(receipt) => return Err(Failure::from(format!("stored: {receipt:?}"))),
                Err(error) => ensure(error.to_string().contains(reason), || format!("{error}, not {reason}"))?,
            }
            client.shutdown(Duration::from_secs(10)).await?;
        }
        Ok(())
    }))
}
