use super::*;
use crate::testing::{World, bodies, message, pull};
use rocketry_codec::request::GetMaxOffset;
use std::prelude::v1::*;

fn max(world: &mut World) -> String {
    let client = world.connect();
    let frame = world.ask(client, &GetMaxOffset { topic: "T".into(), ..GetMaxOffset::default() }, "");
    frame.field("offset").expect("an offset").into_owned()
}

fn world(rule: &str) -> (World, FaultId, ConnId) {
    let mut world = World::with(|config| *config = config.clone().with_topic("T", 1).with_topic("U", 1));
    let id = world.machine.add_fault(rule.parse().expect("a rule"));
    let client = world.connect();
    (world, id, client)
}

#[test]
fn an_answer_is_given_for_topic_and_count_and_nothing_is_stored() {
    let (mut world, id, client) = world("code=310,topic=T,after=1,times=2,answer=2:[X]busy");
    let mut send = |topic| {
        let frame = world.ask(client, &message(topic, 0, ""), "x");
        (frame.code(), frame.remark().map(|remark| remark.into_owned()))
    };
    assert_eq!(send("T").0, 0, "the first passes");
    assert_eq!(send("T"), (2, Some("[X]busy".to_string())));
    assert_eq!(send("U").0, 0);
    assert_eq!(send("T").0, 2);
    assert_eq!(send("T").0, 0, "used up");
    assert_eq!(world.machine.fault_hits(id), 2);
    assert_eq!(max(&mut world), "2");
}

#[test]
fn a_delayed_request_is_served_when_its_time_has_come() {
    let (mut world, _, client) = world("code=310,times=1,delay=700");
    assert!(world.call(client, &message("T", 0, ""), "late").is_none());
    world.send(client, "T", 0, "", "early");
    world.pass(Duration::from_millis(699));
    assert!(world.take(client).is_empty());
    world.pass(Duration::from_millis(1));
    assert_eq!(world.take(client).len(), 1);
    assert_eq!(bodies(&world.ask(client, &pull("g", "T", 0, 0), "")), ["early", "late"]);
}

#[test]
fn a_delayed_request_goes_with_its_connection() {
    let (mut world, _, client) = world("code=310,delay=700");
    assert!(world.call(client, &message("T", 0, ""), "late").is_none());
    world.close(client);
    world.pass(Duration::from_secs(2));
    assert_eq!(max(&mut world), "0");
}

#[test]
fn connections_close_before_or_after_the_work() {
    for (rule, stored) in [("code=310,close=before", "0"), ("code=310,close=after", "1")] {
        let (mut world, _, client) = world(rule);
        assert!(world.call(client, &message("T", 0, ""), "x").is_none());
        assert_eq!(world.closed, [client], "{rule}");
        assert_eq!(max(&mut world), stored, "{rule}");
    }
}

#[test]
fn a_dropped_answer_leaves_the_work_and_the_connection() {
    let (mut world, id, client) = world("code=310,times=1,drop");
    assert!(world.call(client, &message("T", 0, ""), "x").is_none());
    assert!(world.closed.is_empty());
    assert_eq!(world.send(client, "T", 0, "", "y").offset, 1);
    assert!(world.machine.remove_fault(id));
    assert!(!world.machine.remove_fault(id));
}

#[test]
fn a_half_open_connection_serves_nothing_more() {
    let (mut world, _, client) = world("code=310,times=1,half-open");
    assert!(world.call(client, &message("T", 0, ""), "x").is_none());
    assert!(world.call(client, &message("T", 0, ""), "y").is_none());
    assert!(world.closed.is_empty());
    assert_eq!(max(&mut world), "0", "others are served");
}

#[test]
fn an_unread_outcome_is_refused() {
    let parse = |text: &str| text.parse::<FaultRule>();
    assert_eq!(parse("code=310"), Err(FaultSyntax::Outcome));
    assert_eq!(parse("drop,half-open"), Err(FaultSyntax::Outcome));
    assert_eq!(parse("kode=1,drop"), Err(FaultSyntax::Unknown("kode=1".into())));
    for wrong in ["code=x,drop", "topic=,drop", "delay=", "close=never", "drop=1", "answer=two"] {
        assert!(matches!(parse(wrong), Err(FaultSyntax::Value(_))), "{wrong}");
    }
    assert_eq!(parse("half-open").map(|rule| rule.fault), Ok(Fault::HalfOpen));
    assert_eq!(parse("delay=5").map(|rule| rule.fault), Ok(Fault::Delay(Duration::from_millis(5))));
}
