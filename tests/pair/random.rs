//! Random runs of a group: members come, leave, are killed and cut off while messages are sent. In the end every
//! acknowledged message was handled, every queue has one owner, and every position is the end of its queue.

use std::collections::BTreeSet;
use std::time::Duration;

use rocketry_broker::DelayLevels;
use rocketry_core::{Command, Consume, ConsumerConfig, ConsumerId, StartAt, StopReport};
use rocketry_machine::{Prng, Seed};

use crate::net::{Net, Verdictive, numbered};

const QUEUES: u32 = 6;

struct Run {
    net: Net,
    draws: Prng,
    writer: usize,
    producer: rocketry_core::ProducerId,
    group: Vec<(usize, ConsumerId)>,
    sent: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut net = Net::with(|mut config| {
            config.delay_levels = DelayLevels::new(vec![Duration::from_millis(700); 18]);
            config.with_topic("T", QUEUES)
        });
        let writer = net.member("1@writer");
        let producer = net.producer(writer, "p");
        let draws = Seed::from(seed).stream("group");
        let mut run = Self { net, draws, writer, producer, group: Vec::new(), sent: 0 };
        run.join();
        run
    }

    fn join(&mut self) {
        let number = self.net.members.len();
        let member = self.net.member(&format!("10.0.0.{number}@m"));
        let mut fails = Seed::from(number as u64).stream("fails");
        self.net.members[member].handler =
            Box::new(move |_| if fails.chance(1, 20) { Verdictive::Retry(1) } else { Verdictive::Succeed });
        let mut config = ConsumerConfig::new("g").subscribe("T", "*");
        config.start_at = StartAt::First;
        config.max_cached_messages = 100;
        let consumer = self.net.consume(member, config);
        self.group.push((member, consumer));
    }

    fn any(&mut self) -> Option<usize> {
        let count = self.group.len() as u64;
        (count > 0).then(|| usize::try_from(self.draws.below(count)).unwrap_or(0))
    }

    fn step(&mut self) {
        match self.draws.below(12) {
            0..4 => {
                let count = usize::try_from(self.draws.below(120)).unwrap_or(0);
                self.net.send(self.writer, self.producer, numbered("T", self.sent..self.sent + count));
                self.sent += count;
            }
            4 if self.group.len() < 8 => self.join(),
            5 => {
                if let Some(at) = self.any() {
                    self.let_go(at);
                    let (member, consumer) = self.group.swap_remove(at);
                    self.net.leave(member, consumer);
                }
            }
            6 => {
                if let Some(at) = self.any() {
                    let (member, _) = self.group.swap_remove(at);
                    self.net.kill_member(member);
                }
            }
            7 => {
                if let Some(at) = self.any() {
                    self.net.cut_member(self.group[at].0);
                }
            }
            8 => {
                if let Some(at) = self.any() {
                    let member = self.group[at].0;
                    self.net.members[member].holds = true;
                }
            }
            9 => {
                if let Some(at) = self.any() {
                    self.let_go(at);
                }
            }
            _ => self.net.run(self.draws.below(3_000)),
        }
    }

    /// The application of a member, which may have held its hands still, handles what waits.
    fn let_go(&mut self, at: usize) {
        let member = self.group[at].0;
        self.net.members[member].holds = false;
        self.net.handle(member);
    }

    fn finish(mut self) {
        for at in 0..self.group.len() {
            self.let_go(at);
        }
        self.join();
        self.net.run(90_000);
        let handled: BTreeSet<&[u8]> = self.net.handled.iter().map(|handled| handled.body.as_slice()).collect();
        let lost: Vec<usize> =
            (0..self.sent).filter(|number| !handled.contains(number.to_string().as_bytes())).collect();
        assert!(lost.is_empty(), "{lost:?} of {} were never handled", self.sent);
        let mut all: Vec<_> = self.group.iter().flat_map(|(member, _)| self.net.owned(*member, "T")).collect();
        all.sort();
        assert_eq!(all.len(), QUEUES as usize, "{all:?}");
        all.dedup();
        assert_eq!(all.len(), QUEUES as usize, "one owner each");
        for (member, consumer) in std::mem::take(&mut self.group) {
            assert_eq!(self.net.leave(member, consumer), StopReport::default());
        }
        let before = self.net.handled.len();
        let fresh = self.net.member("10.0.0.99@m");
        let config = ConsumerConfig::new("g").subscribe("T", "*");
        self.net.submit(fresh, Command::Consume(Consume::Start(Box::new(config))));
        self.net.run(30_000);
        assert_eq!(self.net.handled.len(), before, "all positions stand at the ends");
    }
}

#[test]
fn random_groups_lose_nothing_and_end_with_one_owner_each() {
    for seed in 0..25 {
        let mut run = Run::new(seed);
        for _ in 0..60 {
            run.step();
        }
        run.finish();
    }
}
