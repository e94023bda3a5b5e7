//! Lite consumers: what was handed over and not polled past comes again, whoever crashes and whatever breaks.

use std::rc::Rc;
use std::time::Duration;

use rocketry_core::{
    Client, Command, Config, Consume, ConsumerId, Event, Lite, LiteConfig, LiteOutcome, OffsetOf, OpId, Outcome,
    StartAt,
};
use rocketry_machine::{Endpoint, Now, Seed};
use rocketry_sim::{Application, ClientNode, Conditions, Fault, NodeId, Skew};

use crate::apps::Shared;
use crate::{Cluster, cluster};

/// Polls topic `orders` in group `billing`. Handling what a poll brought takes a request to a broker: only when that has
/// ended is it counted as consumed, and the next poll follows.
struct Poller {
    id: Option<ConsumerId>,
    hand: Vec<u32>,
    work: Option<OpId>,
    ledger: Shared,
}

impl Poller {
    fn boot(name_server: Endpoint, member: u64, ledger: Shared) -> rocketry_sim::Boot {
        Box::new(move |now| {
            let config = Config::new(vec![name_server.clone()], format!("member-{member}"));
            let mut client = Client::new(config, Seed::from(member), now).expect("settings");
            let mut lite = LiteConfig::new("billing").subscribe("orders", "*");
            lite.start_at = StartAt::First;
            submit(&mut client, now, Lite::Start(Box::new(lite)));
            Box::new(ClientNode::new(
                client,
                Self { id: None, hand: Vec::new(), work: None, ledger: Rc::clone(&ledger) },
            ))
        })
    }

    fn poll(&mut self, now: Now, client: &mut Client) {
        let Some(consumer) = self.id else { return };
        let mut ledger = self.ledger.borrow_mut();
        for number in self.hand.drain(..) {
            *ledger.consumed.entry(number).or_default() += 1;
        }
        submit(client, now, Lite::Poll { consumer, max: 20, timeout: Duration::from_secs(1) });
    }

    fn leave(&mut self, now: Now, client: &mut Client) {
        let consumer = self.id.take().expect("it has started");
        let stop = Consume::Stop { consumer, within: Duration::from_secs(10) };
        client.submit(now, Command::Consume(stop)).expect("a stop is always taken");
    }
}

fn submit(client: &mut Client, now: Now, lite: Lite) -> OpId {
    client.submit(now, Command::Consume(Consume::Lite(lite))).expect("it is taken")
}

impl Application for Poller {
    fn on_event(&mut self, now: Now, client: &mut Client, event: Event) {
        let Event::Done { op, outcome } = event else { return };
        match outcome {
            Outcome::ConsumerStarted(id) => {
                self.id = Some(id);
                self.ledger.borrow_mut().started += 1;
                self.poll(now, client);
            }
            Outcome::Lite(LiteOutcome::Polled(polled)) => {
                let number = |body: &[u8]| std::str::from_utf8(body).expect("text").parse().expect("a number");
                self.hand = polled.messages.iter().map(|message| number(message.stored.body_bytes())).collect();
                match (self.id, polled.messages.first()) {
                    (Some(consumer), Some(first)) => {
                        let queue = (*first.queue).clone();
                        self.work = Some(submit(client, now, Lite::Ask { consumer, queue, what: OffsetOf::Max }));
                    }
                    _ => self.poll(now, client),
                }
            }
            _ if self.work == Some(op) => {
                self.work = None;
                self.poll(now, client);
            }
            Outcome::Failed(error) => assert!(self.id.is_none(), "a poll failed: {error}"),
            _ => {}
        }
    }
}

impl Cluster {
    fn poller(&mut self, number: u64) -> NodeId {
        let boot = Poller::boot(self.name_server.clone(), number, self.ledger.clone());
        self.world.add(Vec::new(), Skew::default(), boot)
    }
}

#[test]
fn off_12_lite_members_that_leave_and_crash_lose_nothing() {
    for seed in 0..10 {
        let mut cluster = cluster(seed, 8);
        let first = cluster.poller(1);
        let second = cluster.poller(2);
        cluster.sender(3_000, 4);
        cluster.world.run_for(Duration::from_millis(300 + 37 * seed));
        cluster.world.with::<ClientNode<Poller>, _>(second, |node, now| node.app.leave(now, &mut node.client));
        cluster.world.run_for(Duration::from_secs(2 * seed));
        cluster.world.inflict(Fault::Crash { node: first, silently: seed % 2 == 0 });
        cluster.poller(3);
        cluster.finish(3_000, Duration::from_secs(400));
    }
}

#[test]
fn off_12_resets_stalls_and_half_open_links_of_lite_members_lose_nothing() {
    for seed in 10..30 {
        let mut cluster = cluster(seed, 8);
        let (member, other) = (cluster.poller(1), cluster.poller(2));
        cluster.world.run_for(Duration::from_secs(2));
        cluster.sender(2_000, 16);
        let server = cluster.server;
        let at = Duration::from_millis;
        let silent = Conditions { silent: true, ..Conditions::default() };
        let stalled = Conditions { stall: true, ..Conditions::default() };
        let link = |from, to, conditions: &Conditions| Fault::Link { from, to, conditions: conditions.clone() };
        cluster.world.schedule(at(20 + seed), Fault::Reset { a: member, b: server });
        cluster.world.schedule(at(60), link(server, member, &stalled));
        cluster.world.schedule(at(2_500), link(server, member, &Conditions::default()));
        cluster.world.schedule(at(2_600), link(server, other, &silent));
        cluster.world.schedule(at(9_000), link(server, other, &Conditions::default()));
        cluster.finish(2_000, Duration::from_secs(400));
    }
}
