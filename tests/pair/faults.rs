//! Faults that the embedded broker produces on demand, as our client meets them.

use rocketry_core::{ConsumerConfig, StartAt};

use crate::net::{NAMES, Net, numbered};

#[test]
fn lost_answers_and_closed_connections_lose_no_message() {
    for rule in [
        "code=310,times=1,drop",
        "code=310,times=1,close=after",
        "code=310,times=1,close=before",
        "code=11,times=3,delay=4000",
    ] {
        let mut net = Net::with_topic("T", 1);
        let member = net.member("1@a");
        let producer = net.producer(member, "p");
        let id = net.add_fault(NAMES, rule);
        let mut config = ConsumerConfig::new("g").subscribe("T", "*");
        config.start_at = StartAt::First;
        net.consume(member, config);
        net.send(member, producer, numbered("T", 0..10));
        net.run(30_000);
        let mut seen: Vec<Vec<u8>> = net.handled.iter().map(|handled| handled.body.clone()).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 10, "{rule}");
        assert!(net.fault_hits(NAMES, id) > 0, "{rule}");
    }
}
