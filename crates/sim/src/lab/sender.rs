//! The producer of a case: sends numbered messages at a steady rate, and again what failed.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use rocketry_core::{Client, Command, Control, Event, Message, OpId, Outcome, Produce, ProducerConfig, ProducerId};
use rocketry_machine::{Deadline, Moment, Now};

use super::TOPIC;
use super::ledger::Ledger;
use crate::client::Application;

/// Sends that may be unanswered at once.
const WINDOW: usize = 128;

pub(crate) struct Sender {
    ledger: Rc<RefCell<Ledger>>,
    interval: Duration,
    producer: Option<ProducerId>,
    starting: Option<OpId>,
    again: VecDeque<u32>,
    open: BTreeMap<OpId, u32>,
    next: Moment,
    /// Answers to what the case itself asked.
    pub(crate) replies: BTreeMap<OpId, Outcome>,
}

impl Sender {
    /// A producer that waits for `settling` before its first message.
    pub(crate) fn new(ledger: Rc<RefCell<Ledger>>, interval: Duration, settling: Duration, now: Now) -> Self {
        Self {
            ledger,
            interval,
            producer: None,
            starting: None,
            again: VecDeque::new(),
            open: BTreeMap::new(),
            next: now.at + settling,
            replies: BTreeMap::new(),
        }
    }

    /// Whether nothing is left to be sent or answered.
    pub(crate) fn is_done(&self) -> bool {
        self.again.is_empty() && self.open.is_empty()
    }

    fn start(&mut self, now: Now, client: &mut Client) {
        let start = Control::StartProducer(Box::new(ProducerConfig::new("senders")));
        self.starting = client.submit(now, Command::Control(start)).ok();
    }

    fn send_one(&mut self, now: Now, client: &mut Client) {
        let Some(producer) = self.producer.filter(|_| self.open.len() < WINDOW) else { return };
        let mut ledger = self.ledger.borrow_mut();
        let number = match self.again.pop_front() {
            Some(number) => number,
            None if ledger.sending => {
                ledger.next += 1;
                ledger.next - 1
            }
            None => return,
        };
        drop(ledger);
        let sent = Message::new(TOPIC, number.to_string())
            .ok()
            .and_then(|message| client.submit(now, Command::Produce(Produce::new(producer, message))).ok());
        match sent {
            Some(op) => drop(self.open.insert(op, number)),
            None => self.again.push_back(number),
        }
    }
}

impl Application for Sender {
    fn on_event(&mut self, now: Now, client: &mut Client, event: Event) {
        let Event::Done { op, outcome } = event else { return };
        if self.starting == Some(op) {
            self.starting = None;
            match outcome {
                Outcome::ProducerStarted(id) => self.producer = Some(id),
                _ => self.start(now, client),
            }
        } else if let Some(number) = self.open.remove(&op) {
            let mut ledger = self.ledger.borrow_mut();
            match outcome {
                Outcome::Sent(_) => drop(ledger.acknowledged.insert(number)),
                _ => {
                    ledger.failed_sends += 1;
                    self.again.push_back(number);
                }
            }
        } else if matches!(outcome, Outcome::Reply(_) | Outcome::Failed(_)) && !self.replies.contains_key(&op) {
            self.replies.insert(op, outcome);
        } else {
            self.ledger.borrow_mut().violate("outcomes", format!("{op:?} of the sender ended once more: {outcome:?}"));
        }
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        Some(Deadline { at: self.next, why: "the next message" })
    }

    fn handle_timeout(&mut self, now: Now, client: &mut Client) {
        self.next = now.at + self.interval;
        if self.producer.is_none() && self.starting.is_none() {
            self.start(now, client);
        }
        self.send_one(now, client);
        // What failed comes on top of what is new.
        if !self.again.is_empty() {
            self.send_one(now, client);
        }
    }
}
