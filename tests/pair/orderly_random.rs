//! Random runs of an orderly group whose handlers take their time, some of them longer than a broker keeps a lock: members
//! join, leave and are killed. No two handlers of a queue overlap, none skips a message, and every message is handled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rocketry_core::{Answer, Command, Consume, ConsumerConfig, ConsumerId, Delivery, ProducerId, StartAt, Verdict};
use rocketry_machine::{Machine as _, Moment, Prng, Seed};

use crate::net::{Net, numbered};

const QUEUES: u32 = 5;
/// How often applications look at what they have.
const TICK_MS: u64 = 50;

/// A handler that runs.
struct Handler {
    member: usize,
    delivery: Delivery,
    ends: Moment,
}

struct Run {
    net: Net,
    draws: Prng,
    writer: usize,
    producer: ProducerId,
    group: Vec<(usize, ConsumerId)>,
    dead: BTreeSet<usize>,
    running: BTreeMap<i32, Handler>,
    /// The first offset of each queue that no handler has accepted.
    next: BTreeMap<i32, i64>,
    accepted: BTreeSet<(i32, i64)>,
    sent: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut net = Net::with_topic("T", QUEUES);
        let writer = net.member("1@writer");
        let producer = net.producer(writer, "p");
        let mut run = Self {
            net,
            draws: Seed::from(seed).stream("orderly"),
            writer,
            producer,
            group: Vec::new(),
            dead: BTreeSet::new(),
            running: BTreeMap::new(),
            next: BTreeMap::new(),
            accepted: BTreeSet::new(),
            sent: 0,
        };
        run.join();
        run
    }

    fn join(&mut self) {
        let number = self.net.members.len();
        let member = self.net.member(&format!("10.0.0.{number}@m"));
        self.net.members[member].holds = true;
        let mut config = ConsumerConfig::new("g").subscribe("T", "*");
        config.start_at = StartAt::First;
        config.orderly = true;
        config.suspend_time = Duration::from_millis(100);
        let consumer = self.net.consume(member, config);
        self.group.push((member, consumer));
    }

    fn send(&mut self) {
        let count = usize::try_from(self.draws.below(30)).unwrap_or(0);
        self.net.send(self.writer, self.producer, numbered("T", self.sent..self.sent + count));
        self.sent += count;
    }

    fn step(&mut self) {
        match self.draws.below(10) {
            0..4 => self.send(),
            4 if self.group.len() < 3 => self.join(),
            5 if self.group.len() > 1 => {
                // It leaves when its handlers have ended, which may take longer than a lock lives.
                let (_, consumer) = self.group[0];
                let (member, within) = (self.group.swap_remove(0).0, Duration::from_secs(300));
                self.net.submit(member, Command::Consume(Consume::Stop { consumer, within }));
            }
            6 if self.group.len() > 1 => {
                let (member, _) = self.group.swap_remove(0);
                self.net.kill_member(member);
                self.dead.insert(member);
                self.running.retain(|_, handler| handler.member != member);
            }
            _ => {
                let ticks = self.draws.below(200);
                self.ticks(ticks, true);
            }
        }
    }

    fn ticks(&mut self, ticks: u64, slow: bool) {
        for _ in 0..ticks {
            self.net.run(TICK_MS);
            self.end_handlers();
            for member in 0..self.net.members.len() {
                if !self.dead.contains(&member) {
                    self.begin_handlers(member, slow);
                    assert_eq!(self.net.members[member].client.broken(), None);
                }
            }
        }
    }

    fn begin_handlers(&mut self, member: usize, slow: bool) {
        while let Some(delivery) = self.net.members[member].waiting.pop_front() {
            let now = self.net.now();
            if self.net.members[member].client.begin(now, delivery.ask, 1) != Ok(1) {
                continue;
            }
            assert_eq!(delivery.offered.len(), 1, "one at a time");
            let (queue, offset) = (delivery.queue.id, delivery.offered[0].message.stored.queue_offset());
            assert!(offset <= *self.next.entry(queue).or_default(), "queue {queue} skips to {offset}");
            let takes = match self.draws.below(40) {
                0 if slow => self.draws.below(150_000),
                1..10 => self.draws.below(400),
                _ => 0,
            };
            let handler = Handler { member, delivery, ends: now.at + Duration::from_millis(takes) };
            if let Some(other) = self.running.insert(queue, handler) {
                panic!("queue {queue}: member {member} begins {offset}, a handler of member {} runs", other.member);
            }
        }
        self.net.handle(member);
    }

    fn end_handlers(&mut self) {
        let at = self.net.at;
        let over: Vec<i32> =
            self.running.iter().filter(|(_, handler)| handler.ends <= at).map(|(queue, _)| *queue).collect();
        for queue in over {
            let Some(Handler { member, delivery, .. }) = self.running.remove(&queue) else { continue };
            let refuses = self.draws.chance(1, 10);
            let mut verdicts: Vec<Verdict> = Vec::new();
            for offered in delivery.offered {
                let offset = offered.message.stored.queue_offset();
                if refuses {
                    verdicts.push(offered.ticket.retry());
                    continue;
                }
                self.accepted.insert((queue, offset));
                let next = self.next.entry(queue).or_default();
                *next = (*next).max(offset + 1);
                verdicts.push(offered.ticket.succeed());
            }
            let now = self.net.now();
            // A queue that was given up meanwhile takes no verdict; the next owner has the message again.
            let _ = self.net.members[member].client.answer(now, Answer::Verdicts(verdicts));
            self.net.members[member].client.handle_timeout(now);
        }
    }

    fn finish(mut self) {
        let ticks = 250_000 / TICK_MS;
        self.ticks(ticks, false);
        assert_eq!(self.accepted.len(), self.sent, "every message was handled");
    }
}

#[test]
fn ord_09_handlers_of_a_queue_never_overlap_and_never_skip() {
    for seed in 0..12 {
        let mut run = Run::new(seed);
        for _ in 0..80 {
            run.step();
        }
        run.finish();
    }
}
