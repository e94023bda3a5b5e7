//! Message trace between our machines: what was sent and handled is told in the trace topic.

use rocketry_codec::trace::TraceRecord;
use rocketry_core::{Command, ConsumerConfig, Control, Message, MessageTrace, Outcome, ProducerConfig, StartAt};

use crate::net::{Net, Verdictive};

const TRACE: &str = "RMQ_SYS_TRACE_TOPIC";

#[test]
fn sends_and_handlers_are_told_in_the_trace_topic() {
    let mut net = Net::with(|config| config.with_topic("T", 1).with_topic(TRACE, 1));
    let member = net.member("a");
    let mut producing = ProducerConfig::new("p");
    producing.trace = Some(MessageTrace::default());
    let op = net.submit(member, Command::Control(Control::StartProducer(Box::new(producing))));
    let Outcome::ProducerStarted(producer) = net.outcome(member, op) else { panic!("no producer") };
    let mut consuming = ConsumerConfig::new("g").subscribe("T", "*");
    consuming.start_at = StartAt::First;
    consuming.trace = Some(MessageTrace::default());
    let mut refused = false;
    net.members[member].handler = Box::new(move |message| {
        let first = message.topic.as_str() == "T" && !std::mem::replace(&mut refused, true);
        if first { Verdictive::Retry(1) } else { Verdictive::Succeed }
    });
    net.consume(member, consuming);
    let message = Message::builder("T").body("traced").tag("tag").key("k1").key("k2").build().expect("a message");
    let receipt = net.send(member, producer, vec![message]).remove(0);
    net.run(20_000);
    let reader = net.member("reader");
    let mut reading = ConsumerConfig::new("readers").subscribe(TRACE, "*");
    reading.start_at = StartAt::First;
    net.consume(reader, reading);
    net.run(2_000);
    let texts: Vec<String> = net
        .handled
        .iter()
        .filter(|handled| handled.member == reader)
        .map(|handled| String::from_utf8(handled.body.clone()).expect("text"))
        .collect();
    let records: Vec<TraceRecord<'_>> =
        texts.iter().flat_map(|text| TraceRecord::decode_all(text)).map(|record| record.expect("readable")).collect();
    let sent: Vec<_> = records.iter().filter(|record| matches!(record, TraceRecord::Published { .. })).collect();
    let [TraceRecord::Published { group, topic, message_id, tags, keys, body_length, offset_message_id, .. }] =
        sent[..]
    else {
        panic!("{sent:?}")
    };
    assert_eq!((*group, *topic, *message_id, *body_length), ("p", "T", receipt.message_id.as_str(), 6));
    assert_eq!((*tags, *keys), (Some("tag"), Some("k1 k2")));
    assert_eq!(*offset_message_id, Some(receipt.offset_message_id.as_str()));
    let begun: Vec<(&str, i32)> = records
        .iter()
        .filter_map(|record| match record {
            TraceRecord::Consuming { request_id, redeliveries, .. } => Some((*request_id, *redeliveries)),
            _ => None,
        })
        .collect();
    let ended: Vec<(&str, bool, i32)> = records
        .iter()
        .filter_map(|record| match record {
            TraceRecord::Consumed { request_id, success, context_code, .. } => {
                Some((*request_id, *success, *context_code))
            }
            _ => None,
        })
        .collect();
    assert_eq!(begun.iter().map(|(_, redeliveries)| *redeliveries).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(ended, [(begun[0].0, false, 4), (begun[1].0, true, 0)], "each end is joined with its beginning");
}

#[test]
fn what_is_not_to_be_traced_is_not() {
    let mut net = Net::with(|config| config.with_topic("T", 1).with_topic(TRACE, 1));
    let member = net.member("a");
    let producer = net.producer(member, "p");
    net.consume(member, ConsumerConfig::new("g").subscribe("T", "*"));
    net.send(member, producer, vec![Message::new("T", "plain").expect("a message")]);
    net.run(20_000);
    let reader = net.member("reader");
    let mut reading = ConsumerConfig::new("readers").subscribe(TRACE, "*");
    reading.start_at = StartAt::First;
    net.consume(reader, reading);
    net.run(2_000);
    assert!(net.handled.iter().all(|handled| handled.member != reader));
}
