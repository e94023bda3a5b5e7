//! Random runs of lite consumers: whatever the application, the members and the broker do, no position passes a message
//! that was not handed over and polled past, each stay of a queue hands its messages over once and in order, and every
//! operation ends once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use rocketry_core::codec::codes::RequestCode;
use rocketry_core::machine::{Prng, Seed};
use rocketry_core::{
    Command, Commit, CommitUntil, Consume, ConsumerId, GivenBack, Lite, LiteOutcome, MessageQueue, Notice, OpId,
    Outcome, SeekTo,
};

use crate::lite::{config, queue};
use crate::random::fault;
use crate::world::World;

const QUEUES: i32 = 3;

struct Run {
    world: World,
    draws: Prng,
    consumer: ConsumerId,
    faulty: Rc<RefCell<bool>>,
    /// Polled past, or committed by hand, or passed over by a seek of ours.
    settled: BTreeSet<(i32, i64)>,
    /// What the last poll handed over.
    handed: Vec<(i32, i64)>,
    last_poll: Option<OpId>,
    /// A poll that waits.
    poll: Option<OpId>,
    others: Vec<(OpId, Option<(i32, i64)>)>,
    /// The next offset of each queue, since it was taken, sought or moved.
    next: BTreeMap<i32, i64>,
    looked_at: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut world = World::new();
        world.topics = [("T".into(), QUEUES)].into();
        for queue in 0..QUEUES {
            world.offsets.insert(("T".into(), queue), 0);
        }
        let mut config = config();
        (config.pull_batch, config.max_cached_messages, config.max_cached_total) = (7, 40, 60);
        let consumer = world.start_lite(config);
        let draws = Seed::from(seed).stream("run");
        let mut faults = Seed::from(seed).stream("faults");
        let faulty = Rc::new(RefCell::new(false));
        let on = Rc::clone(&faulty);
        world.bend(move |seen| if *on.borrow() { fault(seen, &mut faults) } else { None });
        Self {
            world,
            draws,
            consumer,
            faulty,
            settled: BTreeSet::new(),
            handed: Vec::new(),
            last_poll: None,
            poll: None,
            others: Vec::new(),
            next: BTreeMap::new(),
            looked_at: 0,
        }
    }

    fn step(&mut self) {
        match self.draws.below(16) {
            0..3 => {
                let queue = self.any_queue();
                let count = usize::try_from(self.draws.below(20)).unwrap_or(0);
                self.world.store("T", queue, count);
            }
            3..5 => self.world.run(self.draws.below(40)),
            5 => self.world.run(self.draws.below(8_000)),
            6..10 => self.poll(),
            10 => self.give_back(),
            11 => {
                let other = "10.0.0.0@other";
                if !self.world.members.remove(other) {
                    self.world.members.insert(other.into());
                }
                self.world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
                self.world.run(1_100);
            }
            12 => *self.faulty.borrow_mut() = self.draws.chance(1, 3),
            13 => self.seek(),
            14 => self.commit(),
            _ => {
                let (consumer, queues) = (self.consumer, vec![queue(self.any_queue())]);
                let paused = self.draws.chance(1, 2);
                self.world.lite(if paused {
                    Lite::Pause { consumer, queues }
                } else {
                    Lite::Unpause { consumer, queues }
                });
            }
        }
        self.check();
    }

    fn any_queue(&mut self) -> i32 {
        i32::try_from(self.draws.below(3)).unwrap_or(0)
    }

    fn owned(&mut self) -> Option<MessageQueue> {
        let owned = self.world.client.assignment(self.consumer);
        let at = usize::try_from(self.draws.below(owned.len().max(1) as u64)).unwrap_or(0);
        owned.get(at).cloned()
    }

    fn poll(&mut self) {
        if let Some(poll) = self.poll {
            if self.draws.chance(1, 4) {
                let now = self.world.now();
                self.world.client.cancel(now, poll);
            }
            return;
        }
        self.settled.extend(std::mem::take(&mut self.handed));
        let max = u32::try_from(1 + self.draws.below(20)).unwrap_or(1);
        let timeout = Duration::from_millis(self.draws.below(3) * 500);
        self.poll = Some(self.world.lite(Lite::Poll { consumer: self.consumer, max, timeout }));
    }

    fn give_back(&mut self) {
        let Some(poll) = self.last_poll.filter(|_| self.poll.is_none()) else { return };
        let keep = usize::try_from(self.draws.below(self.handed.len() as u64 + 1)).unwrap_or(0);
        let untaken = self.handed.split_off(keep);
        for (id, offset) in untaken.iter().rev() {
            // It is to come again, unless the queue has gone elsewhere since.
            if self.next.get(id) == Some(&(offset + 1)) {
                self.next.insert(*id, *offset);
            }
        }
        let places = (0..).skip(keep).take(untaken.len());
        let messages = places.map(|place| (place, GivenBack::Untaken)).collect();
        self.world.lite(Lite::GiveBack { consumer: self.consumer, poll, messages });
        self.last_poll = None;
    }

    fn seek(&mut self) {
        let Some(queue) = self.owned() else { return };
        let end = self.world.queues.get(&("T".into(), queue.id)).map_or(0, |queue| queue.max());
        let offset = i64::try_from(self.draws.below(end.unsigned_abs() + 2)).unwrap_or(0);
        let id = queue.id;
        let op = self.world.lite(Lite::Seek { consumer: self.consumer, queue, to: SeekTo::Offset(offset) });
        self.others.push((op, Some((id, offset))));
    }

    fn commit(&mut self) {
        self.settled.extend(std::mem::take(&mut self.handed));
        let until = if self.draws.chance(1, 2) { CommitUntil::Stored } else { CommitUntil::Accepted };
        let op = self.world.lite(Lite::Commit { consumer: self.consumer, what: Commit::All, until });
        self.others.push((op, None));
    }

    /// Queues whose stay ended since the last look: what comes of them next may begin anywhere.
    fn moved(&mut self) -> BTreeSet<i32> {
        let mut moved = BTreeSet::new();
        for notice in self.world.notices.drain(..) {
            match notice {
                Notice::Assigned { queues, .. } => {
                    moved.extend((0..QUEUES).filter(|id| queues.iter().all(|queue| queue.id != *id)));
                }
                Notice::OffsetCorrected { queue, .. } => drop(moved.insert(queue.id)),
                _ => {}
            }
        }
        moved
    }

    fn check(&mut self) {
        let moved = self.moved();
        self.next.retain(|id, _| !moved.contains(id));
        for (op, outcome) in std::mem::take(&mut self.world.done) {
            if let Some(at) = self.others.iter().position(|(other, _)| *other == op) {
                if let ((_, Some((id, offset))), Outcome::Lite(_)) = (self.others.swap_remove(at), &outcome) {
                    // The owner has gone there: what lies before counts as settled.
                    self.settled.extend((0..offset).map(|before| (id, before)));
                    self.next.insert(id, offset);
                }
            } else if self.poll == Some(op) {
                self.poll = None;
                if let Outcome::Lite(LiteOutcome::Polled(polled)) = outcome {
                    self.last_poll = Some(polled.poll);
                    self.handed.clear();
                    for message in polled.messages {
                        let (id, offset) = (message.queue.id, message.stored.queue_offset());
                        let next = self.next.insert(id, offset + 1);
                        assert!(next.is_none_or(|next| next == offset), "queue {id}: {offset} instead of {next:?}");
                        self.handed.push((id, offset));
                    }
                }
            }
        }
        self.next.retain(|id, _| !moved.contains(id));
        for seen in &self.world.seen[self.looked_at..] {
            if seen.code() == RequestCode::UPDATE_CONSUMER_OFFSET {
                let id = i32::try_from(seen.number("queueId")).unwrap_or(-1);
                for offset in 0..seen.number("commitOffset") {
                    assert!(self.settled.contains(&(id, offset)), "queue {id}: {offset} is passed and was not settled");
                }
            }
        }
        self.looked_at = self.world.seen.len();
        assert_eq!(self.world.client.broken(), None);
    }

    /// Without faults all comes, and all is saved.
    fn finish(mut self) {
        *self.faulty.borrow_mut() = false;
        self.world.members.remove("10.0.0.0@other");
        self.world.tell(RequestCode::NOTIFY_CONSUMER_IDS_CHANGED, &[("consumerGroup", "g")]);
        self.world.lite(Lite::Unpause { consumer: self.consumer, queues: (0..QUEUES).map(queue).collect() });
        for _ in 0..120 {
            self.world.run(1_000);
            self.check();
            self.poll();
            self.world.run(10);
            self.check();
        }
        self.world.run(10_000);
        self.check();
        assert!(self.others.is_empty(), "every operation has ended");
        let ends: BTreeMap<i32, i64> = (0..QUEUES)
            .map(|id| (id, self.world.queues.get(&("T".into(), id)).map_or(0, |queue| queue.max())))
            .collect();
        for (id, end) in ends {
            for offset in 0..end {
                assert!(self.settled.contains(&(id, offset)), "queue {id}: {offset} never came");
            }
            assert_eq!(self.world.offsets[&("T".into(), id)], end, "all of queue {id} is saved");
        }
        let stop = Consume::Stop { consumer: self.consumer, within: Duration::from_secs(5) };
        let stop = self.world.submit(Command::Consume(stop));
        assert!(matches!(self.world.outcome(stop), Outcome::Stopped(report) if report == Default::default()));
    }
}

#[test]
fn off_12_random_runs_pass_nothing_that_was_not_polled_past() {
    for seed in 0..80 {
        let mut run = Run::new(seed);
        for _ in 0..150 {
            run.step();
        }
        run.finish();
    }
}
