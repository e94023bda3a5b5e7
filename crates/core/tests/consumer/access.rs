//! What every request carries beside its own fields: signatures and the server-side namespace (wire.md 11.1).

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::codec::frame::Frame;
use rocketry_core::codec::sign::Credentials;
use rocketry_core::machine::{Moment, Now, Seed, UnixMillis};
use rocketry_core::{Command, Config, Consume, ConsumerConfig, Message, Produce, ProducerConfig, SendMode};

use crate::world::{Act, MASTER, NAME_SERVER, World, endpoint};

fn credentials() -> Credentials {
    Credentials::new("key", "the secret").with_token("the token")
}

fn fields(frame: &Frame) -> Vec<(String, String)> {
    frame.fields().map(|field| (field.name.into_owned(), field.value.text().into_owned())).collect()
}

fn is_signed(frame: &Frame) -> bool {
    let fields = fields(frame);
    let signatures: Vec<&str> =
        fields.iter().filter(|(name, _)| name == "Signature").map(|(_, value)| value.as_str()).collect();
    let [signature] = signatures[..] else { return false };
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let once = names.windows(2).all(|pair| pair[0] != pair[1]);
    let signed = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    once && credentials().verify(signed, frame.body(), signature)
}

/// A client that consumes, sends in both ways, saves and leaves.
fn live(world: &mut World) {
    world.store("T", 0, 3);
    world.offsets.insert(("T".into(), 0), 0);
    let consumer = world.start(ConsumerConfig::new("g").subscribe("T", "*"));
    let producer = world.producer(ProducerConfig::new("p"));
    for mode in [SendMode::Acknowledged, SendMode::Oneway] {
        let mut produce = Produce::new(producer, Message::new("T", "body").expect("a message"));
        produce.mode = mode;
        world.submit(Command::Produce(produce));
    }
    world.run(100);
    world.handle(|offered| offered.ticket.retry());
    world.run(40_000);
    let within = std::time::Duration::from_secs(5);
    let op = world.submit(Command::Consume(Consume::Stop { consumer, within }));
    world.outcome(op);
}

#[test]
fn sec_06_every_request_is_signed() {
    let mut world = World::with(|config| config.credentials = Some(credentials()));
    live(&mut world);
    for seen in &world.seen {
        assert!(is_signed(&seen.frame), "{} to {} is not signed", seen.code(), seen.to);
    }
    let codes: std::collections::BTreeSet<i32> = world.seen.iter().map(|seen| seen.code().0).collect();
    for code in [
        RequestCode::GET_ROUTEINFO_BY_TOPIC,
        RequestCode::HEART_BEAT,
        RequestCode::PULL_MESSAGE,
        RequestCode::SEND_MESSAGE_V2,
        RequestCode::UPDATE_CONSUMER_OFFSET,
        RequestCode::CONSUMER_SEND_MSG_BACK,
        RequestCode::UNREGISTER_CLIENT,
    ] {
        assert!(codes.contains(&code.0), "{code} was not seen");
    }
    assert!(world.seen.iter().any(|seen| seen.to == NAME_SERVER));
    assert!(world.seen.iter().any(|seen| seen.frame.is_oneway()));
}

#[test]
fn sec_03_what_is_sent_again_is_signed_once() {
    let mut world = World::with(|config| config.credentials = Some(credentials()));
    let go_away = Act::Say(ResponseCode::GO_AWAY, Vec::new(), Bytes::new());
    world.script(RequestCode::QUERY_CONSUMER_OFFSET, [go_away]);
    live(&mut world);
    let asked = world.requests_of(RequestCode::QUERY_CONSUMER_OFFSET, "T");
    assert!(asked.len() >= 2, "it was asked again");
    assert!(asked.iter().all(|seen| seen.to == MASTER && is_signed(&seen.frame)));
}

#[test]
fn nsp_03_the_server_side_namespace_is_named_and_signed() {
    let mut world = World::with(|config| {
        config.credentials = Some(credentials());
        config.namespace_v2 = Some("ns1".into());
    });
    live(&mut world);
    for seen in &world.seen {
        assert_eq!((seen.text("ns").as_str(), seen.text("nsd").as_str()), ("ns1", "true"));
        assert!(is_signed(&seen.frame), "{}", seen.code());
    }
}

#[test]
fn sec_07_settings_do_not_show_secrets() {
    let mut config = Config::new(vec![endpoint(NAME_SERVER)], "me");
    config.credentials = Some(credentials());
    let client = rocketry_core::Client::new(config.clone(), Seed::from(1), Now::new(Moment::ZERO, UnixMillis::new(1)));
    for shown in [format!("{config:?}"), format!("{client:?}")] {
        assert!(shown.contains("key") && !shown.contains("the secret") && !shown.contains("the token"), "{shown}");
    }
}

#[test]
fn half_a_pair_of_keys_is_refused() {
    let mut config = Config::new(vec![endpoint(NAME_SERVER)], "me");
    config.credentials = Some(Credentials::new("key", ""));
    assert_eq!(config.check().expect_err("it is half").setting, "credentials");
}

#[test]
fn requests_of_a_stream_say_so_and_are_signed_with_it() {
    let mut world = World::with(|config| {
        config.stream_requests = true;
        config.credentials = Some(credentials());
    });
    live(&mut world);
    for seen in &world.seen {
        assert_eq!(seen.text("ReqT"), "0", "{}", seen.code());
        assert!(is_signed(&seen.frame), "{} to {} is not signed", seen.code(), seen.to);
    }
}
