//! The application's side of the client machine: operations, what is offered to consumers, notices, the end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rocketry_core::{
    Answer, Ask, Client as Machine, Command, Consume, ConsumerId, Control, Event, GivenBack, Lite, LiteOutcome, Notice,
    OpId, Outcome, ProducerId,
};
use rocketry_machine::Now;

use super::notices::NoticeQueue;
use super::ops::{Abandoned, Ops, WaiterId};
use crate::consumer::feed::Feed;
use crate::host::{After, Host, Life, Pace};
use crate::offsets::OffsetFiles;
use crate::transaction::{CheckQueue, CheckReaders};

/// With so many operations in flight, frames are gathered and written by the driver; with fewer, the caller writes its
/// own at once.
const GATHER_FROM: usize = 8;

/// The application's side of the client machine.
#[derive(Debug)]
pub(crate) struct ClientHost {
    pub(crate) ops: Ops,
    feeds: HashMap<ConsumerId, Feed>,
    watchers: Vec<Arc<NoticeQueue>>,
    /// Stops on their way: what they mean is true whether or not somebody waits for them.
    stops: Vec<(OpId, Stop)>,
    /// Commands that nobody waits for.
    orphans: Vec<Command>,
    checks: CheckReaders,
    /// Questions about positions in files.
    tasks: Vec<Ask>,
    offsets: OffsetFiles,
    life: Life,
    ended: bool,
    #[cfg(feature = "tracing")]
    pub(crate) records: crate::trace::Limiter,
}

/// What a stop stops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    Consumer(ConsumerId),
    Client,
}

impl ClientHost {
    pub(crate) fn new(offsets: OffsetFiles) -> Self {
        Self {
            ops: Ops::new(),
            feeds: HashMap::new(),
            watchers: Vec::new(),
            stops: Vec::new(),
            orphans: Vec::new(),
            checks: CheckReaders::default(),
            tasks: Vec::new(),
            offsets,
            life: Life::Running,
            ended: false,
            #[cfg(feature = "tracing")]
            records: crate::trace::Limiter::default(),
        }
    }

    /// Whether the driver has ended.
    pub(crate) const fn ended(&self) -> bool {
        self.ended
    }

    /// The offers to a consumer; `None` once it is forgotten.
    pub(crate) fn feed(&mut self, consumer: ConsumerId) -> Option<&mut Feed> {
        self.feeds.get_mut(&consumer)
    }

    /// The consumer's handle is gone.
    pub(crate) fn forget_feed(&mut self, consumer: ConsumerId) {
        self.feeds.remove(&consumer);
    }

    /// Remembers what an operation stops.
    pub(crate) fn stopping(&mut self, op: OpId, stop: Stop) {
        self.stops.push((op, stop));
    }

    /// Somebody answers questions about transactions of a producer.
    pub(crate) fn watch_checks(&mut self, producer: ProducerId, queue: Arc<CheckQueue>) {
        self.checks.add(producer, queue);
    }

    pub(crate) fn watch(&mut self, queue: Arc<NoticeQueue>) {
        self.watchers.push(queue);
    }

    /// The driver ends without further ado.
    pub(crate) fn over(&mut self) {
        self.life = Life::Over;
    }

    /// The waiter gave up. Returns the operation to cancel, if the machine has it.
    pub(crate) fn abandon(&mut self, waiter: WaiterId) -> Option<OpId> {
        match self.ops.abandon(waiter) {
            Abandoned::Nothing => None,
            Abandoned::Running(op) => Some(op),
            Abandoned::Unclaimed(outcome) => {
                self.on_unclaimed(&outcome);
                None
            }
        }
    }

    /// Something has ended for which nobody waits: a start that was given up must not leave anything behind.
    fn on_unclaimed(&mut self, outcome: &Outcome) {
        match outcome {
            // What a poll brought that nobody waits for is for the next one.
            Outcome::Lite(LiteOutcome::Polled(polled)) => {
                let messages = (0..).zip(&polled.messages).map(|(place, _)| (place, GivenBack::Untaken)).collect();
                let give = Lite::GiveBack { consumer: polled.consumer, poll: polled.poll, messages };
                self.orphans.push(Command::Consume(Consume::Lite(give)));
            }
            Outcome::ProducerStarted(producer) => self.stop_producer(*producer),
            Outcome::ConsumerStarted(consumer) => {
                let consumer = *consumer;
                self.feeds.remove(&consumer);
                let stop = Consume::Stop { consumer, within: Duration::ZERO };
                self.orphans.push(Command::Consume(stop));
            }
            _ => {}
        }
    }

    fn stop_producer(&mut self, producer: ProducerId) {
        let stop = Control::StopProducer { producer, within: Duration::ZERO };
        self.orphans.push(Command::Control(stop));
    }

    fn on_stopped(&mut self, op: OpId, after: &mut After) {
        let Some(at) = self.stops.iter().position(|(stop, _)| *stop == op) else { return };
        match self.stops.swap_remove(at).1 {
            Stop::Consumer(consumer) => {
                if let Some(feed) = self.feeds.get_mut(&consumer) {
                    feed.close(after);
                }
            }
            Stop::Client => {
                self.life = Life::Ending;
                for feed in self.feeds.values_mut() {
                    feed.close(after);
                }
            }
        }
    }

    fn on_notice(&mut self, notice: Notice, after: &mut After) {
        self.watchers.retain(|watcher| Arc::strong_count(watcher) > 1);
        for watcher in &self.watchers {
            watcher.push(notice.clone(), after);
        }
        #[cfg(feature = "tracing")]
        after.records.extend(super::records::notice(&mut self.records, &notice));
    }
}

impl Host<Machine> for ClientHost {
    fn on_event(&mut self, event: Event, after: &mut After) {
        match event {
            Event::Done { op, outcome } => {
                if !self.stops.is_empty() {
                    self.on_stopped(op, after);
                }
                if let Outcome::ConsumerStarted(consumer) = outcome {
                    self.feeds.entry(consumer).or_default();
                }
                if let Some(unclaimed) = self.ops.done(op, outcome, after) {
                    self.on_unclaimed(&unclaimed);
                }
            }
            Event::Ask(Ask::Deliver(delivery)) => {
                self.feeds.entry(delivery.consumer).or_default().offer(delivery, after);
            }
            Event::Ask(Ask::SetAside(record)) => {
                if let Some(feed) = self.feeds.get_mut(&record.consumer) {
                    feed.set_aside(record, after);
                }
            }
            Event::Ask(Ask::CheckTransaction(check)) => self.checks.ask(check, after),
            Event::Ask(ask @ (Ask::LoadOffsets(_) | Ask::KeepOffsets(_))) => self.tasks.push(ask),
            // A question of a kind that this driver does not know has a default answer in the machine.
            Event::Ask(_) => {}
            Event::Notice(notice) => self.on_notice(notice, after),
        }
    }

    fn settle(&mut self, machine: &mut Machine, now: Now, after: &mut After) -> bool {
        let orphans = std::mem::take(&mut self.orphans);
        let mut fed = !orphans.is_empty();
        for command in orphans {
            // Refused means that it is stopped already.
            let _ = machine.submit(now, command);
        }
        for task in std::mem::take(&mut self.tasks) {
            fed = true;
            let answer = match task {
                Ask::LoadOffsets(load) => Answer::Loaded(load.task, self.offsets.load(load.group.as_str())),
                Ask::KeepOffsets(keep) => {
                    Answer::Kept(keep.task, self.offsets.keep(keep.group.as_str(), &keep.offsets))
                }
                _ => continue,
            };
            // Too late means that the consumer is gone.
            let _ = machine.answer(now, answer);
        }
        fed |= self.ops.admit(machine, now, after);
        fed
    }

    fn pace(&self) -> Pace {
        if self.ops.in_flight() >= GATHER_FROM { Pace::Together } else { Pace::AtOnce }
    }

    fn life(&self) -> Life {
        self.life
    }

    fn on_end(&mut self, after: &mut After) {
        self.ended = true;
        self.ops.end_all(after);
        for feed in self.feeds.values_mut() {
            feed.abandon(after);
        }
        self.checks.end(after);
        for watcher in self.watchers.drain(..) {
            watcher.end(after);
        }
    }
}
