//! Random runs: whatever the application, the members and the broker do, no message is skipped, no saved position is
//! above an unfinished message, and everything is given back in the end.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::{RequestCode, ResponseCode};
use rocketry_core::machine::{Prng, Seed};
use rocketry_core::{Command, Consume, ConsumerConfig, ConsumerId, Offered, Outcome, Ticket};

use crate::world::{Act, MASTER, Seen, World, heading};

const QUEUES: i32 = 3;
type Handled = BTreeSet<(i32, i64)>;

struct Run {
    world: World,
    draws: Prng,
    consumer: ConsumerId,
    /// Tickets of begun messages.
    running: Vec<(i32, i64, Ticket)>,
    handled: Handled,
    faulty: Rc<RefCell<bool>>,
    looked_at: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut world = World::new();
        world.topics = [("T".into(), QUEUES), ("%RETRY%g".into(), 1)].into();
        for queue in 0..QUEUES {
            world.offsets.insert(("T".into(), queue), 0);
        }
        let mut config = ConsumerConfig::new("g").subscribe("T", "*");
        config.concurrency = 1;
        config.pull_batch = 7;
        config.max_cached_messages = 40;
        config.consume_timeout = Duration::from_secs(20);
        let consumer = world.start(config);
        let draws = Seed::from(seed).stream("run");
        let mut faults = Seed::from(seed).stream("faults");
        let faulty = Rc::new(RefCell::new(false));
        let on = Rc::clone(&faulty);
        world.bend(move |seen| if *on.borrow() { fault(seen, &mut faults) } else { None });
        Self { world, draws, consumer, running: Vec::new(), handled: Handled::new(), faulty, looked_at: 0 }
    }

    fn step(&mut self) {
        match self.draws.below(14) {
            0..3 => {
                let queue = i32::try_from(self.draws.below(3)).unwrap_or(0);
                let count = usize::try_from(self.draws.below(20)).unwrap_or(0);
                self.world.store("T", queue, count);
            }
            3..6 => self.world.run(self.draws.below(40)),
            6 => self.world.run(self.draws.below(8_000)),
            7..9 => self.begin(),
            9..11 => self.answer(),
            11 => {
                let other = "10.0.0.0@other";
                if !self.world.members.remove(other) {
                    self.world.members.insert(other.into());
                }
                self.world.run(1_100);
                self.world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
            }
            12 => *self.faulty.borrow_mut() = self.draws.chance(1, 3),
            _ => {
                let consume = if self.draws.chance(1, 2) { Consume::Suspend } else { Consume::Resume };
                self.world.submit(Command::Consume(consume(self.consumer)));
            }
        }
        self.check();
    }

    fn begin(&mut self) {
        let Some(delivery) = self.world.deliveries.pop_front() else { return };
        let count = u32::try_from(self.draws.below(33)).unwrap_or(0);
        let Ok(begun) = self.world.begin(delivery.ask, count) else { return };
        let mut verdicts = Vec::new();
        for (at, Offered { message, ticket, .. }) in (0..).zip(delivery.offered) {
            if at < begun {
                self.running.push((message.queue.id, message.stored.queue_offset(), ticket));
            } else {
                verdicts.push(ticket.release());
            }
        }
        assert_eq!(self.world.answer(verdicts), 0, "what was offered just now can be released");
    }

    fn answer(&mut self) {
        let mut verdicts = Vec::new();
        for _ in 0..self.draws.below(12) {
            if self.running.is_empty() {
                break;
            }
            let at = usize::try_from(self.draws.below(self.running.len() as u64)).unwrap_or(0);
            let (queue, offset, ticket) = self.running.swap_remove(at);
            verdicts.push(match self.draws.below(10) {
                0 => ticket.retry(),
                1 => ticket.release(),
                _ => {
                    self.handled.insert((queue, offset));
                    ticket.succeed()
                }
            });
        }
        self.world.answer(verdicts);
    }

    /// Looks at what the client has sent since the last time.
    fn check(&mut self) {
        for seen in &self.world.seen[self.looked_at..] {
            let queue = i32::try_from(seen.number("queueId")).unwrap_or(-1);
            // The broker may have stored these, answered or not: the client must not count on more than that.
            match seen.code() {
                RequestCode::CONSUMER_SEND_MSG_BACK => {
                    let at = seen.number("offset") - 1_000;
                    self.handled.extend((0..QUEUES).map(|queue| (queue, at)));
                }
                RequestCode::UPDATE_CONSUMER_OFFSET if seen.text("topic") == "T" => {
                    covered(&self.handled, queue, seen.number("commitOffset"));
                }
                RequestCode::PULL_MESSAGE if seen.text("topic") == "T" && seen.number("sysFlag") == 3 => {
                    covered(&self.handled, queue, seen.number("commitOffset"));
                }
                _ => {}
            }
        }
        self.looked_at = self.world.seen.len();
        assert_eq!(self.world.client.broken(), None);
    }

    fn finish(mut self) {
        *self.faulty.borrow_mut() = false;
        self.world.members.remove("10.0.0.0@other");
        self.world.submit(Command::Consume(Consume::Resume(self.consumer)));
        self.world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
        while !self.running.is_empty() {
            self.answer();
        }
        for _ in 0..60 {
            self.world.run(2_000);
            let handled = &mut self.handled;
            self.world.handle(|offered| {
                handled.insert((offered.message.queue.id, offered.message.stored.queue_offset()));
                offered.ticket.succeed()
            });
            self.check();
        }
        for queue in 0..QUEUES {
            let end = self.world.queues.get(&("T".into(), queue)).map_or(0, |queue| queue.max());
            covered(&self.handled, queue, end);
            assert_eq!(self.world.offsets[&("T".into(), queue)], end, "all is saved");
        }
        let within = Duration::from_secs(5);
        let op = self.world.submit(Command::Consume(Consume::Stop { consumer: self.consumer, within }));
        assert!(matches!(self.world.outcome(op), Outcome::Stopped(report) if report == Default::default()));
    }
}

/// Every message below `end` was handled or handed to a broker.
fn covered(handled: &Handled, queue: i32, end: i64) {
    for offset in 0..end {
        assert!(handled.contains(&(queue, offset)), "queue {queue}: {end} is saved, {offset} is unfinished");
    }
}

/// What a bad broker does with a request now and then.
pub fn fault(seen: &Seen, draws: &mut Prng) -> Option<Act> {
    if seen.to != MASTER || !draws.chance(1, 4) {
        return None;
    }
    if seen.code() == RequestCode::UPDATE_CONSUMER_OFFSET && draws.chance(1, 2) {
        return Some(Act::Nothing);
    }
    let reads = [RequestCode::PULL_MESSAGE, RequestCode::LITE_PULL_MESSAGE, RequestCode::QUERY_CONSUMER_OFFSET]
        .contains(&seen.code());
    let say = |code, fields| Act::Say(code, fields, Bytes::new());
    let from = seen.number("queueOffset");
    Some(match draws.below(9) {
        0 => Act::Nothing,
        1 => Act::Hang,
        2 => say(ResponseCode::SYSTEM_ERROR, Vec::new()),
        3 if reads => say(ResponseCode::SUCCESS, Vec::new()),
        4 => say(ResponseCode::FLOW_CONTROL, Vec::new()),
        5 => say(ResponseCode::SUBSCRIPTION_NOT_LATEST, Vec::new()),
        6 => say(ResponseCode::PULL_RETRY_IMMEDIATELY, heading(from, 0, 100)),
        7 if reads => say(ResponseCode::SUCCESS, heading(-5, 0, 100)),
        _ => say(ResponseCode::PULL_OFFSET_MOVED, heading(from, 0, i64::MAX)),
    })
}

#[test]
fn off_08_flo_06_random_runs_skip_nothing_and_leak_nothing() {
    for seed in 0..60 {
        let mut run = Run::new(seed);
        for _ in 0..150 {
            run.step();
        }
        run.finish();
    }
}
