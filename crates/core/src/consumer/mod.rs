//! Push consumers, clustering and concurrent: messages are pulled, offered to the application, and counted as done when
//! it says so (consumer.md 1 to 6, 8).
//!
//! Decides nothing itself: hands commands, replies, timers and wants to the consumer that they are for, and afterwards
//! lets it offer what has become ready. The decisions:
//!
//! | file | decides |
//! |---|---|
//! | `check` | whether settings can be used |
//! | `start`, `stop` | the order of starting and stopping, changes of subscriptions |
//! | `filter`, `filter_check` | which messages are wanted; whether brokers understand that |
//! | `rebalance`, `allocate` | which queues are ours |
//! | `offsets`, `first` | where a queue begins, when its position is saved |
//! | `pull` | when and where a queue is pulled, what the answer means |
//! | `queue` | what is cached, what is finished, how far the group has got |
//! | `deliver` | what is offered, what a verdict does |
//! | `orderly` | when a queue may be worked on, what a refused message does, in orderly mode |
//! | `local` | when positions are loaded and kept by the owner, in broadcasting mode |
//! | `meter` | nothing; counts |
//! | `sendback` | where a failed message goes |
//! | `quarantine` | what becomes of a record that cannot be decoded |
//! | `lite` | what consumers do that are polled instead |
//!
//! Promises, checked as invariants: at most one pull of a queue is on its way; a saved position is never above the
//! lowest unfinished message and goes back only by a correction; a queue that is given up starts no handler and moves no
//! position; the counts of offered messages and running handlers equal what the open deliveries say.
//!
//! Timers: those of [`ConsumerTimer`], all owned by one consumer and gone with it.

mod allocate;
mod check;
mod deliver;
mod filter;
mod filter_check;
mod first;
mod group;
mod lite;
mod local;
mod meter;
mod offsets;
mod orderly;
mod pull;
mod quarantine;
mod queue;
mod rebalance;
mod sendback;
mod start;
mod stop;
mod told;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::{ConnId, Moment, Seed, Slab};

pub use allocate::{Allocate, Allocation, AllocationError, Rooms};

use self::deliver::{Judged, Open};
use self::group::Consumer;
use self::local::OpenTask;
use self::quarantine::OpenAside;
use crate::api::{
    Answer, Aside, AsideId, AskId, ConsumerConfig, ConsumerId, ConsumerStats, Ended, OpId, RejectReason, StaleAnswer,
    Topic, Verdict,
};
use crate::api::{FilterExpression, MessageQueue, OffsetStoreError, OffsetTask, OffsetTaskId};
use crate::calls::Reply;
use crate::cx::{Cx, Shared, Want};
use crate::timer::ConsumerTimer;
use crate::waiter::ConsumerCall;

/// All consumers of a client.
#[derive(Debug)]
pub(crate) struct Consumers {
    list: Slab<ConsumerId, Consumer>,
    asks: Slab<AskId, Open>,
    asides: Slab<AsideId, OpenAside>,
    tasks: Slab<OffsetTaskId, OpenTask>,
    seed: Seed,
    touched: Vec<(ConsumerId, Judged)>,
}

impl Consumers {
    /// No consumers.
    pub(crate) const fn new(seed: Seed) -> Self {
        Self {
            list: Slab::new(),
            asks: Slab::new(),
            asides: Slab::new(),
            tasks: Slab::new(),
            seed,
            touched: Vec::new(),
        }
    }

    /// Whether no consumer is left.
    pub(crate) const fn is_idle(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a consumer with these settings can be started.
    pub(crate) fn check(&self, shared: &Shared, config: &ConsumerConfig) -> Result<(), RejectReason> {
        check::check(shared, config)
    }

    /// Whether the consumer exists and is not stopping.
    pub(crate) fn check_running(&self, id: ConsumerId) -> Result<(), RejectReason> {
        match self.list.get(id) {
            Some(consumer) if consumer.is_active() => Ok(()),
            _ => Err(RejectReason::NotRunning { what: "consumer" }),
        }
    }

    /// How a consumer is doing.
    pub(crate) fn stats(&self, now: Moment, id: ConsumerId) -> Option<ConsumerStats> {
        self.list.get(id).map(|consumer| consumer.stats(now))
    }

    /// Starts a consumer whose settings were checked.
    pub(crate) fn start(&mut self, cx: &mut Cx<'_>, op: OpId, config: ConsumerConfig) -> ConsumerId {
        let spread = self.seed.stream(config.group.as_str());
        let id = self.list.insert_with(|id| Consumer::new(id, op, config, spread));
        self.act(cx, id, |consumer, cx| consumer.start(cx, op));
        id
    }

    /// Stops a consumer.
    pub(crate) fn stop(&mut self, cx: &mut Cx<'_>, op: Option<OpId>, id: ConsumerId, within: Duration) {
        self.act(cx, id, |consumer, cx| consumer.stop(cx, op, within));
    }

    /// Adds or changes a subscription.
    pub(crate) fn subscribe(
        &mut self,
        cx: &mut Cx<'_>,
        id: ConsumerId,
        topic: &Topic,
        filter: &FilterExpression,
    ) -> Result<(), RejectReason> {
        self.check_running(id)?;
        let filter = check::subscription(topic, filter)?;
        self.fix_form(id, lite::Form::Subscribe)?;
        self.act(cx, id, |consumer, cx| consumer.subscribe(cx, topic.clone(), filter));
        Ok(())
    }

    /// Drops a subscription. One that is not there, and that to the retry topic, are left as they are.
    pub(crate) fn unsubscribe(&mut self, cx: &mut Cx<'_>, id: ConsumerId, topic: &Topic) -> Result<(), RejectReason> {
        self.check_running(id)?;
        self.act(cx, id, |consumer, cx| {
            if let Some(key) = consumer.subscription_to(topic)
                && *topic != consumer.retry_topic
            {
                consumer.unsubscribe(cx, key);
            }
        });
        Ok(())
    }

    /// Pauses pulling.
    pub(crate) fn suspend(&mut self, cx: &mut Cx<'_>, id: ConsumerId) -> Result<(), RejectReason> {
        self.check_running(id)?;
        self.act(cx, id, |consumer, _| consumer.suspend());
        Ok(())
    }

    /// Pulls again.
    pub(crate) fn resume(&mut self, cx: &mut Cx<'_>, id: ConsumerId) -> Result<(), RejectReason> {
        self.check_running(id)?;
        self.act(cx, id, Consumer::resume);
        Ok(())
    }

    /// Marks messages of a delivery as started.
    pub(crate) fn begin(&mut self, cx: &mut Cx<'_>, ask: AskId, count: u32) -> Result<u32, Ended> {
        let open = self.asks.get_mut(ask).ok_or(Ended::new())?;
        let id = open.consumer;
        let consumer = self.list.get_mut(id).ok_or(Ended::new())?;
        let begun = consumer.begin(cx, open, count).ok_or(Ended::new());
        if open.is_over() {
            self.asks.remove(ask);
        }
        self.settle(cx, id);
        begun
    }

    /// Takes verdicts.
    pub(crate) fn answer(&mut self, cx: &mut Cx<'_>, answer: Answer) -> Result<(), StaleAnswer> {
        match answer {
            Answer::Verdicts(verdicts) => self.judge_all(cx, verdicts),
            Answer::Passed(aside) => self.pass(cx, &aside),
            Answer::Loaded(task, result) => self.owner_did(cx, &task, result),
            Answer::Kept(task, result) => self.owner_did(cx, &task, result.map(|()| BTreeMap::new())),
        }
    }

    /// Lets a position pass a record that was set aside.
    fn pass(&mut self, cx: &mut Cx<'_>, aside: &Aside) -> Result<(), StaleAnswer> {
        let stale = StaleAnswer::new(1);
        let open = self.asides.remove(aside.id()).ok_or(stale)?;
        let consumer = self.list.get_mut(open.consumer).ok_or(stale)?;
        let counts = consumer.pass(cx, &open);
        self.settle(cx, open.consumer);
        if counts { Ok(()) } else { Err(stale) }
    }

    /// The owner has loaded or kept positions, or could not.
    fn owner_did(
        &mut self,
        cx: &mut Cx<'_>,
        task: &OffsetTask,
        result: Result<BTreeMap<MessageQueue, i64>, OffsetStoreError>,
    ) -> Result<(), StaleAnswer> {
        let open = self.tasks.remove(task.id()).ok_or(StaleAnswer::new(1))?;
        self.act(cx, open.consumer, |consumer, cx| consumer.owner_did(cx, &open, result));
        Ok(())
    }

    fn judge_all(&mut self, cx: &mut Cx<'_>, verdicts: Vec<Verdict>) -> Result<(), StaleAnswer> {
        let mut stale = 0;
        let mut touched = core::mem::take(&mut self.touched);
        for verdict in verdicts {
            let Some((id, judged)) = self.judge(cx, &verdict) else {
                stale += 1;
                continue;
            };
            stale += usize::from(judged == Judged::Stale);
            if touched.last() != Some(&(id, judged)) {
                touched.push((id, judged));
            }
        }
        for (at, (id, judged)) in touched.iter().enumerate() {
            if let (Some(consumer), Judged::Counts(key)) = (self.list.get_mut(*id), judged) {
                consumer.progressed(cx, *key);
            }
            // Also after verdicts that came too late: a stop may wait for the end of their handlers.
            if touched.get(at + 1).is_none_or(|(next, _)| next != id) {
                self.settle(cx, *id);
            }
        }
        touched.clear();
        self.touched = touched;
        if stale == 0 { Ok(()) } else { Err(StaleAnswer::new(stale)) }
    }

    fn judge(&mut self, cx: &mut Cx<'_>, verdict: &Verdict) -> Option<(ConsumerId, Judged)> {
        let open = self.asks.get_mut(verdict.ask())?;
        let id = open.consumer;
        let judged = self.list.get_mut(id)?.judge(cx, open, verdict);
        if open.is_over() {
            self.asks.remove(verdict.ask());
        }
        Some((id, judged))
    }

    /// The answer to something that a consumer asked, or its absence.
    pub(crate) fn on_reply(
        &mut self,
        cx: &mut Cx<'_>,
        id: ConsumerId,
        call: ConsumerCall,
        sent_at: Moment,
        conn: ConnId,
        reply: Reply,
    ) {
        self.act(cx, id, |consumer, cx| match call {
            ConsumerCall::Check(subscription) => consumer.on_check(cx, subscription, conn, &reply),
            ConsumerCall::Lock(round) => consumer.on_locks(cx, round, &reply),
            ConsumerCall::Members(subscription) => consumer.on_members(cx, subscription, conn, &reply),
            ConsumerCall::Pull(queue) => consumer.on_pull(cx, queue, sent_at, conn, reply),
            ConsumerCall::QueryOffset(queue) => consumer.on_stored(cx, queue, conn, &reply),
            ConsumerCall::StartOffset(queue) => consumer.on_start_offset(cx, queue, conn, &reply),
            ConsumerCall::SaveOffset(queue) => consumer.on_saved(cx, queue, conn, &reply),
            ConsumerCall::PartingOffset(parting) => consumer.on_parting_saved(cx, parting, &reply),
            ConsumerCall::SendBack(queue, sequence) => consumer.on_send_back(cx, queue, sequence, &reply),
            ConsumerCall::Reread(queue, sequence) => consumer.on_read_again(cx, queue, sequence, reply),
            ConsumerCall::Errand(errand) => consumer.on_errand(cx, errand, conn, reply),
            ConsumerCall::RetryCopy(queue, sequence) => consumer.on_copy(cx, queue, sequence, conn, &reply),
        });
    }

    /// A timer of a consumer.
    pub(crate) fn on_timer(&mut self, cx: &mut Cx<'_>, id: ConsumerId, timer: ConsumerTimer) {
        if timer == ConsumerTimer::Sweep
            && let Some(consumer) = self.list.get_mut(id)
        {
            consumer.sweep(cx, &mut self.asks);
            return self.settle(cx, id);
        }
        self.act(cx, id, |consumer, cx| match timer {
            ConsumerTimer::Rebalance => consumer.rebalance(cx),
            ConsumerTimer::SaveOffsets => {
                consumer.wake_after(cx, ConsumerTimer::SaveOffsets, consumer.save_interval(cx));
                consumer.save_all(cx);
            }
            ConsumerTimer::Load => consumer.on_load_timer(cx),
            ConsumerTimer::Lock => consumer.ask_locks(cx),
            ConsumerTimer::Sweep => {}
            ConsumerTimer::Pull(queue) => consumer.on_pull_timer(cx, queue),
            ConsumerTimer::Start(queue) => consumer.ask_position(cx, queue),
            ConsumerTimer::SendBack(queue) => consumer.on_send_back_timer(cx, queue),
            ConsumerTimer::Quarantine(queue) => consumer.on_quarantine(cx, queue),
            ConsumerTimer::Poll => consumer.on_poll_deadline(cx),
            ConsumerTimer::StartDeadline => consumer.on_start_deadline(cx),
            ConsumerTimer::DrainDeadline => consumer.on_drain_deadline(cx),
            ConsumerTimer::StopDeadline => consumer.on_stop_deadline(cx),
        });
    }

    /// What other parts tell or ask.
    pub(crate) fn on_want(&mut self, cx: &mut Cx<'_>, want: &Want) {
        match want {
            Want::RouteUpdated(topic) => self.each(cx, |consumer, cx| consumer.on_route(cx, topic)),
            Want::RouteFailed(topic, failure) => {
                self.each(cx, |consumer, cx| consumer.on_no_route(cx, topic, failure));
            }
            Want::HeartbeatDone { .. } => self.each(cx, Consumer::on_heartbeat_done),
            Want::StopConsumers(within) => self.stop_all(cx, *within),
            Want::Unregistered(farewell) => {
                if let Some(id) = farewell.consumer {
                    self.act(cx, id, Consumer::on_parted);
                }
            }
            Want::Route { .. }
            | Want::Refresh(_)
            | Want::HeartbeatAll
            | Want::Unregister(_)
            | Want::LinkRoom(_)
            | Want::CloseDrained(_)
            | Want::StopProducers(_)
            | Want::Stopped
            | Want::CloseAll => {}
        }
    }

    fn stop_all(&mut self, cx: &mut Cx<'_>, within: Duration) {
        self.each(cx, |consumer, cx| consumer.stop(cx, None, within));
    }

    /// A broker says that the members of a group changed.
    pub(crate) fn on_ids_changed(&mut self, cx: &mut Cx<'_>, group: &str) {
        self.each(cx, |consumer, cx| {
            if consumer.config.group.as_str() == group {
                consumer.rebalance_soon(cx);
            }
        });
    }

    fn each(&mut self, cx: &mut Cx<'_>, mut act: impl FnMut(&mut Consumer, &mut Cx<'_>)) {
        for id in self.list.ids() {
            self.act(cx, id, &mut act);
        }
    }

    fn act(&mut self, cx: &mut Cx<'_>, id: ConsumerId, act: impl FnOnce(&mut Consumer, &mut Cx<'_>)) {
        if let Some(consumer) = self.list.get_mut(id) {
            act(consumer, cx);
            self.settle(cx, id);
        }
    }

    /// What follows whatever happened: deliveries of lost queues end, ready messages are offered, stopping goes on.
    fn settle(&mut self, cx: &mut Cx<'_>, id: ConsumerId) {
        let Some(consumer) = self.list.get_mut(id) else { return };
        consumer.end_deliveries(&mut self.asks);
        consumer.ask_aside(cx, &mut self.asides);
        consumer.ask_owner(cx, &mut self.tasks);
        if consumer.lite.is_some() {
            consumer.serve(cx);
        } else {
            consumer.offer(cx, &mut self.asks);
        }
        consumer.advance_stop(cx);
        consumer.ask_owner(cx, &mut self.tasks);
        consumer.check_counts(cx, &self.asks);
        if consumer.is_over() {
            consumer.cancel_timers(cx);
            self.list.remove(id);
            let open: Vec<AskId> =
                self.asks.iter().filter(|(_, open)| open.consumer == id).map(|(ask, _)| ask).collect();
            for ask in open {
                self.asks.remove(ask);
            }
            let aside: Vec<AsideId> =
                self.asides.iter().filter(|(_, aside)| aside.consumer == id).map(|(aside, _)| aside).collect();
            for aside in aside {
                self.asides.remove(aside);
            }
            cx.want(Want::Stopped);
        }
    }
}
