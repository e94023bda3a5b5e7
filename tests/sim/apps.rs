//! Applications of simulated clients: one that sends numbered messages, one that consumes and remembers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use rocketry_core::{
    Answer, Ask, Certainty, Client, Command, Config, ConsumerConfig, ConsumerId, Control, Event, Message, Outcome,
    Produce, ProducerConfig, ProducerId, StartAt,
};
use rocketry_machine::{Endpoint, Now, Seed};
use rocketry_sim::{Application, ClientNode};

/// What became of the numbered messages, as a sender and a consumer see it.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// By number: how many copies a broker acknowledged.
    pub(crate) acknowledged: BTreeMap<u32, u32>,
    /// By number: failures, with what was said about them.
    pub(crate) failed: BTreeMap<u32, Vec<Certainty>>,
    /// By number: how often a handler succeeded.
    pub(crate) consumed: BTreeMap<u32, u32>,
    /// Messages that came again through the retry topic.
    pub(crate) redelivered: u32,
    /// Members that have started.
    pub(crate) started: u32,
}

pub(crate) type Shared = Rc<RefCell<Ledger>>;

/// Sends messages 0 to `count`, at most `window` unanswered; a failed one is sent again.
pub(crate) struct Sender {
    producer: Option<ProducerId>,
    next: u32,
    again: Vec<u32>,
    count: u32,
    window: usize,
    numbers: BTreeMap<rocketry_core::OpId, u32>,
    ledger: Shared,
}

fn config(name_server: &Endpoint, id: &str) -> Config {
    Config::new(vec![name_server.clone()], id)
}

impl Sender {
    /// A node that sends to topic `orders`.
    pub(crate) fn boot(
        name_server: Endpoint,
        seed: u64,
        count: u32,
        window: usize,
        ledger: Shared,
    ) -> rocketry_sim::Boot {
        Box::new(move |now| {
            let mut client = Client::new(config(&name_server, "sender"), Seed::from(seed), now).expect("settings");
            let start = Command::Control(Control::StartProducer(Box::new(ProducerConfig::new("senders"))));
            client.submit(now, start).expect("a fresh client takes commands");
            let app = Self {
                producer: None,
                next: 0,
                again: Vec::new(),
                count,
                window,
                numbers: BTreeMap::new(),
                ledger: Rc::clone(&ledger),
            };
            Box::new(ClientNode::new(client, app))
        })
    }

    fn send(&mut self, now: Now, client: &mut Client) {
        let Some(producer) = self.producer else { return };
        while self.numbers.len() < self.window {
            let number = match self.again.pop() {
                Some(number) => number,
                None if self.next < self.count => {
                    self.next += 1;
                    self.next - 1
                }
                None => return,
            };
            let message = Message::new("orders", number.to_string()).expect("a message");
            let op = client.submit(now, Command::Produce(Produce::new(producer, message))).expect("room for a send");
            self.numbers.insert(op, number);
        }
    }
}

impl Application for Sender {
    fn on_event(&mut self, now: Now, client: &mut Client, event: Event) {
        let Event::Done { op, outcome } = event else { return };
        match outcome {
            Outcome::ProducerStarted(id) => self.producer = Some(id),
            Outcome::Sent(_) => {
                let number = self.numbers.remove(&op).expect("one outcome for each send");
                *self.ledger.borrow_mut().acknowledged.entry(number).or_default() += 1;
            }
            Outcome::Failed(error) => {
                let number = self.numbers.remove(&op).expect("one outcome for each send");
                self.ledger.borrow_mut().failed.entry(number).or_default().push(error.certainty);
                self.again.push(number);
            }
            _ => {}
        }
        self.send(now, client);
    }
}

/// Consumes topic `orders` in group `billing`; each message is refused `refuse` times first.
pub(crate) struct Consumer {
    refuse: i32,
    id: Option<ConsumerId>,
    ledger: Shared,
}

impl Consumer {
    /// A member of the group.
    pub(crate) fn boot(name_server: Endpoint, member: u64, refuse: i32, ledger: Shared) -> rocketry_sim::Boot {
        Box::new(move |now| {
            let id = format!("member-{member}");
            let mut client = Client::new(config(&name_server, &id), Seed::from(member), now).expect("settings");
            let mut consumer = ConsumerConfig::new("billing").subscribe("orders", "*");
            consumer.start_at = StartAt::First;
            let start = Command::Consume(rocketry_core::Consume::Start(Box::new(consumer)));
            client.submit(now, start).expect("a fresh client takes commands");
            Box::new(ClientNode::new(client, Self { refuse, id: None, ledger: Rc::clone(&ledger) }))
        })
    }

    /// Leaves the group in order.
    pub(crate) fn leave(&self, now: Now, client: &mut Client) {
        let consumer = self.id.expect("it has started");
        let stop = rocketry_core::Consume::Stop { consumer, within: Duration::from_secs(10) };
        client.submit(now, Command::Consume(stop)).expect("a stop is always taken");
    }
}

impl Application for Consumer {
    fn on_event(&mut self, now: Now, client: &mut Client, event: Event) {
        match event {
            Event::Done { outcome: Outcome::ConsumerStarted(id), .. } => {
                self.id = Some(id);
                self.ledger.borrow_mut().started += 1;
            }
            Event::Done { outcome: Outcome::Failed(error), .. } => panic!("the consumer failed: {error}"),
            Event::Ask(Ask::Deliver(delivery)) => {
                let count = u32::try_from(delivery.offered.len()).expect("few");
                let Ok(begun) = client.begin(now, delivery.ask, count) else { return };
                assert_eq!(begun, count, "a whole delivery may begin");
                let mut ledger = self.ledger.borrow_mut();
                let verdicts = delivery.offered.into_iter().map(|offered| {
                    let body = offered.message.stored.body();
                    let number: u32 = std::str::from_utf8(&body).expect("text").parse().expect("a number");
                    assert_eq!(offered.message.topic.as_str(), "orders", "redeliveries keep their own topic");
                    if offered.message.stored.reconsume_times() < self.refuse {
                        return offered.ticket.retry();
                    }
                    ledger.redelivered += u32::from(offered.message.stored.reconsume_times() > 0);
                    *ledger.consumed.entry(number).or_default() += 1;
                    offered.ticket.succeed()
                });
                let verdicts = verdicts.collect();
                drop(ledger);
                client.answer(now, Answer::Verdicts(verdicts)).expect("nothing is stale within one call");
            }
            Event::Done { .. } | Event::Ask(_) | Event::Notice(_) => {}
        }
    }
}
