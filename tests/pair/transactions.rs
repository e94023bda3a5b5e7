//! Transactions between our machines, in virtual time.

use std::time::Duration;

use rocketry_core::{
    Call, Command, ConsumerConfig, Message, OpErrorKind, Outcome, Produce, ProducerId, RejectReason, Resolution,
    SendReceipt, StartAt,
};

use crate::net::Net;

fn net() -> Net {
    Net::with(|mut config| {
        config.transaction_check_interval = Duration::from_secs(4);
        config.with_topic("T", 2)
    })
}

fn half(net: &mut Net, member: usize, producer: ProducerId, body: &'static str) -> SendReceipt {
    let message = Message::new("T", body).expect("a message");
    let op = net.submit(member, Command::Produce(Produce::new(producer, message).half()));
    match net.outcome(member, op) {
        Outcome::Sent(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

fn tell(net: &mut Net, member: usize, call: Call) -> i32 {
    let op = net.submit(member, Command::Call(call));
    match net.outcome(member, op) {
        Outcome::Reply(frame) => frame.code(),
        other => panic!("{other:?}"),
    }
}

fn end(net: &mut Net, member: usize, group: &str, receipt: &SendReceipt, how: Resolution) -> i32 {
    tell(net, member, how.of_half(&group.into(), receipt).expect("a broker's receipt"))
}

fn consume(net: &mut Net, member: usize) {
    let mut config = ConsumerConfig::new("g").subscribe("T", "*");
    config.start_at = StartAt::First;
    net.consume(member, config);
}

fn bodies(net: &Net) -> Vec<String> {
    net.handled.iter().map(|handled| String::from_utf8_lossy(&handled.body).into_owned()).collect()
}

#[test]
fn a_half_is_delivered_when_it_is_committed_and_never_otherwise() {
    let mut net = net();
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    consume(&mut net, member);
    let receipts: Vec<_> =
        ["committed", "rolled back", "open"].map(|body| half(&mut net, member, producer, body)).into();
    net.run(1_000);
    assert!(bodies(&net).is_empty());
    assert_eq!(end(&mut net, member, "p", &receipts[0], Resolution::Commit), 0);
    assert_eq!(end(&mut net, member, "p", &receipts[1], Resolution::Rollback), 0);
    net.run(5_000);
    assert_eq!(bodies(&net), ["committed"]);
}

#[test]
fn txn_02_each_producer_of_a_client_gets_its_own_questions() {
    let mut net = net();
    let member = net.member("1@a");
    let (one, two) = (net.producer(member, "one"), net.producer(member, "two"));
    let first = half(&mut net, member, one, "of one");
    let second = half(&mut net, member, two, "of two");
    net.run(12_000);
    let mut asked: Vec<_> = net.members[member]
        .checks
        .iter()
        .map(|check| (check.producer, check.message.unique_key().unwrap_or_default().to_owned()))
        .collect();
    asked.sort_unstable_by_key(|(producer, _)| *producer != one);
    asked.dedup();
    assert_eq!(asked, [(one, first.message_id), (two, second.message_id)]);
}

#[test]
fn txn_03_what_nobody_can_answer_for_is_counted_and_never_committed() {
    let mut net = net();
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    consume(&mut net, member);
    half(&mut net, member, producer, "open");
    let stop = rocketry_core::Control::StopProducer { producer, within: Duration::from_secs(1) };
    let op = net.submit(member, Command::Control(stop));
    net.outcome(member, op);
    net.run(60_000);
    assert!(net.members[member].checks.is_empty());
    assert!(bodies(&net).is_empty());
}

#[test]
fn txn_04_a_broker_that_has_not_heard_asks_and_is_answered_alike_each_time() {
    let mut net = net();
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    consume(&mut net, member);
    let receipt = half(&mut net, member, producer, "slow to be decided");
    net.cut_member(member);
    let call = Resolution::Commit.of_half(&"p".into(), &receipt).expect("a broker's receipt");
    let op = net.submit(member, Command::Call(call));
    net.cut_member(member);
    let lost = matches!(net.outcome(member, op), Outcome::Failed(error) if matches!(error.kind, OpErrorKind::Unreachable { .. }));
    assert!(lost, "it may or may not have arrived");
    net.run(15_000);
    let checks = std::mem::take(&mut net.members[member].checks);
    assert!(!checks.is_empty(), "the broker asks");
    for check in &checks {
        assert_eq!(check.message.unique_key(), Some(receipt.message_id.as_str()));
    }
    let last = checks.last().expect("one at least");
    assert_eq!(tell(&mut net, member, last.answer(Resolution::Commit)), 0);
    net.run(60_000);
    assert_eq!(bodies(&net), ["slow to be decided"]);
    assert!(net.members[member].checks.is_empty(), "it is ended");
}

#[test]
fn any_member_of_the_group_is_asked_when_the_first_is_dead() {
    let mut net = net();
    let dead = net.member("1@a");
    let producer = net.producer(dead, "p");
    let receipt = half(&mut net, dead, producer, "orphan");
    net.kill_member(dead);
    let heir = net.member("2@b");
    net.producer(heir, "p");
    consume(&mut net, heir);
    net.run(15_000);
    let check = net.members[heir].checks.pop().expect("the heir is asked");
    assert_eq!(check.message.unique_key(), Some(receipt.message_id.as_str()));
    assert_eq!(tell(&mut net, heir, check.answer(Resolution::Commit)), 0);
    net.run(5_000);
    assert_eq!(bodies(&net), ["orphan"]);
}

#[test]
fn a_half_cannot_be_delayed() {
    let mut net = net();
    let member = net.member("1@a");
    let producer = net.producer(member, "p");
    let message = Message::builder("T").body("late").delay_level(3).build().expect("a message");
    let produce = Produce::new(producer, message).half();
    let now = net.now();
    let rejected = net.members[member].client.submit(now, Command::Produce(produce)).expect_err("it is refused");
    assert!(matches!(rejected.why, RejectReason::Invalid(error) if error.setting == "delay"));
}
