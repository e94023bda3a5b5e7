//! Client, broker and name-server machines in virtual time: the real ones, with the real codec between them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod apps;
mod broken;
mod cases;
mod lite;

use std::time::Duration;

use apps::{Consumer, Ledger, Sender, Shared};
use rocketry_broker::{BrokerConfig, Embedded, NameServerConfig};
use rocketry_core::Certainty;
use rocketry_machine::{Endpoint, Seed};
use rocketry_sim::{ClientNode, Conditions, Fault, NodeId, Server, Skew, Stopped, World};

struct Cluster {
    world: World,
    server: NodeId,
    name_server: Endpoint,
    ledger: Shared,
}

/// One name server and one broker in a node of their own, with topic `orders` of `queues` queues.
fn cluster(seed: u64, queues: u32) -> Cluster {
    let mut world = World::new(Seed::from(seed));
    let address = "10.0.0.1:10911".parse().expect("an address");
    let endpoints = vec![Endpoint::new("10.0.0.1", 9876), Endpoint::new("10.0.0.1", 10911)];
    let server = world.add(
        endpoints.clone(),
        Skew::default(),
        Box::new(move |now| {
            let config = BrokerConfig::new(address).with_topic("orders", queues);
            let machine = Embedded::new(NameServerConfig::new(), config, Seed::from(seed), now);
            Box::new(Server::new(machine, |_, _, _| {}))
        }),
    );
    Cluster { world, server, name_server: endpoints[0].clone(), ledger: Shared::default() }
}

impl Cluster {
    fn sender(&mut self, count: u32, window: usize) -> NodeId {
        let boot = Sender::boot(self.name_server.clone(), 11, count, window, self.ledger.clone());
        self.world.add(Vec::new(), Skew::default(), boot)
    }

    fn member(&mut self, number: u64, refuse: i32) -> NodeId {
        let boot = Consumer::boot(self.name_server.clone(), number, refuse, self.ledger.clone());
        self.world.add(Vec::new(), Skew::default(), boot)
    }

    /// Runs until `count` messages are acknowledged and consumed.
    fn finish(&mut self, count: u32, at_most: Duration) {
        let ledger = self.ledger.clone();
        let count_of = |seen: &std::collections::BTreeMap<u32, u32>| u32::try_from(seen.len()).unwrap_or(u32::MAX);
        let done = |ledger: &Ledger| count_of(&ledger.acknowledged) == count && count_of(&ledger.consumed) == count;
        let stopped = self.world.run_until(at_most, |_| done(&ledger.borrow()));
        let ledger = ledger.borrow();
        let missing = |seen: &std::collections::BTreeMap<u32, u32>| {
            (0..count).filter(|n| !seen.contains_key(n)).take(10).collect::<Vec<_>>()
        };
        assert_eq!(
            stopped,
            Stopped::Satisfied,
            "at {}: not acknowledged {:?}, not consumed {:?}, {} members started",
            self.world.now(),
            missing(&ledger.acknowledged),
            missing(&ledger.consumed),
            ledger.started,
        );
    }
}

#[test]
fn without_faults_every_message_is_consumed_once() {
    let mut cluster = cluster(1, 8);
    cluster.member(1, 0);
    cluster.member(2, 0);
    cluster.world.run_for(Duration::from_secs(30));
    cluster.sender(2_000, 64);
    cluster.finish(2_000, Duration::from_secs(60));
    let ledger = cluster.ledger.borrow();
    assert!(ledger.consumed.values().all(|times| *times == 1), "nothing comes twice");
    assert!(ledger.failed.is_empty(), "{:?}", ledger.failed);
}

#[test]
fn a_refused_message_comes_again_with_its_own_topic() {
    let mut cluster = cluster(2, 4);
    cluster.member(1, 1);
    cluster.sender(50, 8);
    cluster.finish(50, Duration::from_secs(180));
    assert_eq!(cluster.ledger.borrow().redelivered, 50);
}

#[test]
fn members_that_leave_and_crash_lose_nothing() {
    let mut cluster = cluster(3, 8);
    let first = cluster.member(1, 0);
    let second = cluster.member(2, 0);
    cluster.sender(3_000, 4);
    cluster.world.run_for(Duration::from_millis(300));
    cluster.world.with::<ClientNode<Consumer>, _>(second, |node, now| node.app.leave(now, &mut node.client));
    cluster.world.run_for(Duration::from_secs(20));
    cluster.world.inflict(Fault::Crash { node: first, silently: false });
    cluster.member(3, 0);
    cluster.finish(3_000, Duration::from_secs(300));
}

#[test]
fn resets_stalls_and_half_open_links_lose_nothing() {
    for seed in 10..40 {
        let mut cluster = cluster(seed, 8);
        let member = cluster.member(1, 0);
        let other = cluster.member(2, 0);
        cluster.world.run_for(Duration::from_secs(2));
        let sender = cluster.sender(2_000, 16);
        let server = cluster.server;
        let at = |ms| Duration::from_millis(ms);
        let stalled = Conditions { stall: true, ..Conditions::default() };
        let silent = Conditions { silent: true, ..Conditions::default() };
        let link = |from, to, conditions: &Conditions| Fault::Link { from, to, conditions: conditions.clone() };
        cluster.world.schedule(at(20 + seed), Fault::Reset { a: sender, b: server });
        cluster.world.schedule(at(40), Fault::Reset { a: member, b: server });
        cluster.world.schedule(at(60), link(server, sender, &stalled));
        cluster.world.schedule(at(2_500), link(server, sender, &Conditions::default()));
        cluster.world.schedule(at(2_600), link(server, other, &silent));
        cluster.world.schedule(at(9_000), link(server, other, &Conditions::default()));
        cluster.world.schedule(at(9_500), link(sender, server, &silent));
        cluster.world.schedule(at(15_000), link(sender, server, &Conditions::default()));
        cluster.finish(2_000, Duration::from_secs(400));
        let ledger = cluster.ledger.borrow();
        for (number, copies) in &ledger.consumed {
            let unsure = ledger.failed.get(number).is_some_and(|said| said.contains(&Certainty::Unknown));
            assert!(*copies >= 1 && (*copies < 50 || unsure), "seed {seed}: {number} came {copies} times");
        }
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| {
        let mut cluster = cluster(seed, 4);
        cluster.member(1, 1);
        cluster.sender(100, 8);
        cluster.world.run_for(Duration::from_secs(60));
        (cluster.world.trace_hash(), cluster.world.steps())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}
