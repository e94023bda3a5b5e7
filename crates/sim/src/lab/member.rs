//! A member of the consumer group of a case, with handlers that can be slow, stuck or unwilling.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rocketry_core::{
    Answer, Ask, Client, Command, Consume, ConsumerConfig, ConsumerId, Delivery, Event, MessageQueue, OpId, Outcome,
    StartAt, StopReport, Ticket, Verdict,
};
use rocketry_machine::{Deadline, Moment, Now};

use super::ledger::Ledger;
use super::{GROUP, TOPIC};
use crate::client::Application;

/// The delay level with which handlers refuse: it comes again soon.
const SOON: i32 = 1;
/// How long a stop may take.
pub(crate) const STOP: Duration = Duration::from_secs(10);

/// How the handlers of a member are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mood {
    pub(crate) slow: Duration,
    pub(crate) stuck: bool,
    pub(crate) unwilling: bool,
}

/// A handler that runs.
struct Running {
    ticket: Ticket,
    queue: Arc<MessageQueue>,
    offset: i64,
    number: Option<u32>,
}

pub(crate) struct Member {
    ledger: Rc<RefCell<Ledger>>,
    mood: Rc<RefCell<Mood>>,
    /// Whether it is to be in the group.
    wanted: bool,
    pub(crate) consumer: Option<ConsumerId>,
    starting: Option<OpId>,
    stopping: Option<OpId>,
    /// How the last stop ended.
    pub(crate) stopped: Option<StopReport>,
    again: Option<Moment>,
    running: BTreeMap<(Moment, u64), Running>,
    count: u64,
}

impl Member {
    pub(crate) fn new(ledger: Rc<RefCell<Ledger>>, mood: Rc<RefCell<Mood>>, now: Now) -> Self {
        Self {
            ledger,
            mood,
            wanted: true,
            consumer: None,
            starting: None,
            stopping: None,
            stopped: None,
            again: Some(now.at),
            running: BTreeMap::new(),
            count: 0,
        }
    }

    /// Leaves the group in order.
    pub(crate) fn leave(&mut self, now: Now, client: &mut Client) {
        self.wanted = false;
        self.again = None;
        if let Some(consumer) = self.consumer.take() {
            let stop = Consume::Stop { consumer, within: STOP };
            self.stopping = client.submit(now, Command::Consume(stop)).ok();
        }
    }

    /// Comes back into the group.
    pub(crate) fn come_back(&mut self, now: Now) {
        self.wanted = true;
        self.again = Some(now.at);
    }

    /// Whether it has left, or never was in.
    pub(crate) const fn is_out(&self) -> bool {
        self.consumer.is_none() && self.starting.is_none() && self.stopping.is_none()
    }

    /// Handlers that run.
    pub(crate) fn handlers(&self) -> usize {
        self.running.len()
    }

    fn begin(&mut self, now: Now, client: &mut Client, delivery: Delivery) {
        let Ok(begun) = client.begin(now, delivery.ask, u32::MAX) else { return };
        let slow = self.mood.borrow().slow;
        let mut unbegun = Vec::new();
        for (at, offered) in (0..).zip(delivery.offered) {
            if at >= begun {
                unbegun.push(offered.ticket.release());
                continue;
            }
            let text = offered.message.stored.body();
            let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
            if number.is_none() || offered.message.topic.as_str() != TOPIC {
                let what = format!("{:?} of topic {} was delivered", text, offered.message.topic);
                self.ledger.borrow_mut().violate("delivered", what);
            }
            self.count += 1;
            let running = Running {
                ticket: offered.ticket,
                queue: offered.message.queue,
                offset: offered.message.stored.queue_offset(),
                number,
            };
            self.running.insert((now.at + slow, self.count), running);
        }
        let _ = client.answer(now, Answer::Verdicts(unbegun));
        self.end_due(now, client);
    }

    fn end_due(&mut self, now: Now, client: &mut Client) {
        if self.mood.borrow().stuck {
            return;
        }
        let mut verdicts: Vec<Verdict> = Vec::new();
        while let Some(first) = self.running.first_entry().filter(|first| first.key().0 <= now.at) {
            let ((_, count), running) = first.remove_entry();
            verdicts.push(self.judge(count, running));
        }
        if !verdicts.is_empty() {
            // Too late means that the queue has moved.
            let _ = client.answer(now, Answer::Verdicts(verdicts));
        }
    }

    fn judge(&self, count: u64, running: Running) -> Verdict {
        let mut ledger = self.ledger.borrow_mut();
        ledger.finish(&running.queue, running.offset);
        if self.mood.borrow().unwilling && count.is_multiple_of(2) {
            return running.ticket.retry_at(SOON);
        }
        if let Some(number) = running.number {
            *ledger.handled.entry(number).or_default() += 1;
        }
        running.ticket.succeed()
    }

    fn start(&mut self, now: Now, client: &mut Client) {
        let mut config = ConsumerConfig::new(GROUP).subscribe(TOPIC, "*");
        config.start_at = StartAt::First;
        self.again = None;
        self.starting = client.submit(now, Command::Consume(Consume::Start(Box::new(config)))).ok();
        if self.starting.is_none() {
            self.again = Some(now.at + Duration::from_secs(1));
        }
    }

    fn on_done(&mut self, now: Now, client: &mut Client, op: OpId, outcome: &Outcome) {
        if self.starting == Some(op) {
            self.starting = None;
            match outcome {
                Outcome::ConsumerStarted(id) => self.consumer = Some(*id),
                _ => self.again = self.wanted.then(|| now.at + Duration::from_secs(1)),
            }
            if !self.wanted {
                self.leave(now, client);
            }
        } else if self.stopping == Some(op) {
            self.stopping = None;
            if let Outcome::Stopped(report) = outcome {
                self.stopped = Some(report.clone());
            }
            // Handlers that a stop did not wait for are given up.
            self.running.clear();
            self.again = self.wanted.then_some(now.at);
        } else {
            self.ledger.borrow_mut().violate("outcomes", format!("{op:?} of a member ended once more: {outcome:?}"));
        }
    }
}

impl Application for Member {
    fn on_event(&mut self, now: Now, client: &mut Client, event: Event) {
        match event {
            Event::Done { op, outcome } => self.on_done(now, client, op, &outcome),
            Event::Ask(Ask::Deliver(delivery)) => self.begin(now, client, delivery),
            Event::Ask(_) | Event::Notice(_) => {}
        }
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let handler = self.running.keys().next().map(|(at, _)| *at).filter(|_| !self.mood.borrow().stuck);
        let start = self.again.filter(|_| self.stopping.is_none());
        let at = [handler, start].into_iter().flatten().min()?;
        Some(Deadline { at, why: "a handler ends or a start is tried" })
    }

    fn handle_timeout(&mut self, now: Now, client: &mut Client) {
        self.end_due(now, client);
        if self.again.is_some_and(|at| at <= now.at) && self.stopping.is_none() {
            if self.is_out() {
                self.start(now, client);
            } else {
                self.again = None;
            }
        }
    }
}
