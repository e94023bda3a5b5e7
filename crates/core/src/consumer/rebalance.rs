//! Dividing the queues of each subscribed topic among the members of the group (consumer.md 3).
//!
//! Decides: when to divide, and what a new division changes. A division of a topic asks one of its brokers for the
//! members, divides, gives up what is not ours any more (its position is saved first), and takes what is. Divisions
//! happen when the consumer has started, when a broker says that the members changed, when the route changed, and once
//! each `rebalance_interval`; events 50 ms apart cause one, so that many members that come at once cause few.
//!
//! A list of members in which this client is missing is first taken for a broker that has not heard of us: it hears
//! again, and is asked again. The second time in a row it counts, as in Java: nothing is ours then.
//!
//! Timers: `Rebalance`, the next division of all topics.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::ConsumerList;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::request::GetConsumerListByGroup;
use rocketry_machine::{ConnId, Key};

use super::group::{Consumer, failure_of, refusal_of};
use crate::api::{MessageQueue, Notice, OpErrorKind, Topic};
use crate::calls::Reply;
use crate::cx::{Cx, Outgoing, Want};
use crate::timer::{ConsumerTimer, TimerKey};
use crate::waiter::{ConsumerCall, Waiter};

/// The wait after a division that failed.
const GAP: Duration = Duration::from_secs(1);
/// The least time between two divisions that events ask for. Java waits a second, in which two members read the same
/// queues whenever one joins; this is enough to answer a burst of notifications once.
const EVENT_GAP: Duration = Duration::from_millis(50);

impl Consumer {
    /// Divides now, or as soon as the last division is long enough ago.
    pub(super) fn rebalance_soon(&mut self, cx: &mut Cx<'_>) {
        if !self.is_running() {
            return;
        }
        let earliest = self.last_rebalance.map_or(cx.now.at, |last| last + EVENT_GAP);
        if earliest <= cx.now.at {
            self.rebalance(cx);
        } else {
            let timer = TimerKey::Consumer(self.id, ConsumerTimer::Rebalance);
            cx.shared.timers.set_no_later(cx.now.at, timer, earliest);
        }
    }

    /// Divides the queues of all topics.
    pub(super) fn rebalance(&mut self, cx: &mut Cx<'_>) {
        if !self.is_running() || self.is_assigned_by_hand() {
            return;
        }
        self.last_rebalance = Some(cx.now.at);
        self.wake_after(cx, ConsumerTimer::Rebalance, cx.shared.config.rebalance_interval);
        for subscription in self.subscriptions.ids() {
            self.ask_members(cx, subscription);
        }
    }

    fn ask_members(&mut self, cx: &mut Cx<'_>, key: Key) {
        let how = Outgoing {
            timeout: cx.shared.config.request_timeout,
            waiter: Waiter::Consumer(self.id, ConsumerCall::Members(key)),
        };
        let Some(subscription) = self.subscriptions.get_mut(key) else { return };
        if subscription.asking {
            subscription.again = true;
            return;
        }
        let Some(queues) = cx.shared.table.subscribe_queues(&subscription.topic) else { return };
        if self.config.broadcasting {
            let all: BTreeSet<MessageQueue> = queues.iter().cloned().collect();
            return self.take_all(cx, key, all);
        }
        let Some(to) = cx.shared.table.any_address_of_topic(&subscription.topic, self.spread.next_u64()) else {
            cx.want(Want::Refresh(subscription.topic.clone()));
            return;
        };
        let group = self.config.group.as_str().into();
        let request = GetConsumerListByGroup { consumer_group: group, ..GetConsumerListByGroup::default() };
        match cx.request(&to, &request, Bytes::new(), how) {
            Ok(_) => subscription.asking = true,
            Err(no) => self.division_failed(cx, key, refusal_of(&to, &no)),
        }
    }

    /// A broker says who the members are.
    pub(super) fn on_members(&mut self, cx: &mut Cx<'_>, key: Key, conn: ConnId, reply: &Reply) {
        let Some(subscription) = self.subscriptions.get_mut(key) else { return };
        subscription.asking = false;
        let again = core::mem::take(&mut subscription.again);
        if !self.is_running() {
            return;
        }
        let members = match reply {
            Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS => {
                ConsumerList::decode(frame.body()).map_err(|error| OpErrorKind::Protocol(error.to_string()))
            }
            Reply::Frame(_) | Reply::TimedOut { .. } | Reply::LinkLost { .. } => Err(failure_of(cx, conn, reply)),
        };
        match members {
            Ok(members) => self.divide(cx, key, &members.members),
            Err(kind) => self.division_failed(cx, key, kind),
        }
        if again {
            self.rebalance_soon(cx);
        }
    }

    fn divide(&mut self, cx: &mut Cx<'_>, key: Key, members: &[String]) {
        let Some(subscription) = self.subscriptions.get_mut(key) else { return };
        subscription.trouble = false;
        if members.contains(&cx.shared.config.client_id) {
            subscription.absences = 0;
        } else {
            subscription.absences = subscription.absences.saturating_add(1);
            if subscription.absences == 1 {
                cx.want(Want::HeartbeatAll);
                return self.rebalance_in(cx, GAP);
            }
        }
        let Some(queues) = cx.shared.table.subscribe_queues(&subscription.topic) else { return };
        let ours = match self.config.allocation.divide(queues, members, &cx.shared.config.client_id) {
            Ok(ours) => ours,
            Err(error) => {
                return self.division_failed(cx, key, OpErrorKind::Refused(error.to_string()));
            }
        };
        let all: Vec<MessageQueue> = queues.to_vec();
        self.take_over(cx, key, ours.into_iter().collect());
        if let Some(subscription) = self.subscriptions.get_mut(key) {
            subscription.seen.get_or_insert_default().extend(all);
        }
    }

    /// Every queue is ours: nobody is asked.
    fn take_all(&mut self, cx: &mut Cx<'_>, key: Key, all: BTreeSet<MessageQueue>) {
        self.take_over(cx, key, all.clone());
        if let Some(subscription) = self.subscriptions.get_mut(key) {
            subscription.seen.get_or_insert_default().extend(all);
        }
    }

    /// Gives up what is not in `ours` and takes what is.
    fn take_over(&mut self, cx: &mut Cx<'_>, key: Key, mut ours: BTreeSet<MessageQueue>) {
        let mut changed = false;
        for owned in self.queues_of(key) {
            let keeps = self.queues.get(owned).is_some_and(|queue| ours.remove(&*queue.mq));
            if !keeps {
                self.drop_queue(cx, owned);
                changed = true;
            }
        }
        for queue in ours {
            let fresh = self.subscriptions.get(key).is_some_and(|subscription| subscription.is_news(&queue));
            self.add_queue(cx, key, queue, fresh);
            changed = true;
        }
        if changed {
            cx.shared.counters.rebalances += 1;
            if let Some(topic) = self.subscriptions.get(key).map(|subscription| subscription.topic.clone()) {
                self.tell_assignment(cx, topic);
            }
        }
    }

    pub(super) fn tell_assignment(&self, cx: &mut Cx<'_>, topic: Topic) {
        let queues = self.owned.keys().filter(|queue| queue.topic == topic).map(|queue| (**queue).clone()).collect();
        cx.notice(Notice::Assigned { consumer: self.id, group: self.config.group.clone(), topic, queues });
    }

    /// Gives up all queues of a subscription and forgets it.
    pub(super) fn drop_subscription(&mut self, cx: &mut Cx<'_>, key: Key) {
        let queues = self.queues_of(key);
        let had_queues = !queues.is_empty();
        for queue in queues {
            self.drop_queue(cx, queue);
        }
        if let Some(subscription) = self.subscriptions.remove(key)
            && had_queues
        {
            self.tell_assignment(cx, subscription.topic);
        }
    }

    fn division_failed(&mut self, cx: &mut Cx<'_>, key: Key, kind: OpErrorKind) {
        if let Some(subscription) = self.subscriptions.get_mut(key)
            && !subscription.trouble
        {
            subscription.trouble = true;
            Self::report(cx, "rebalance", None, kind, Some(GAP));
        }
        self.rebalance_in(cx, GAP);
    }

    fn rebalance_in(&self, cx: &mut Cx<'_>, wait: Duration) {
        let timer = TimerKey::Consumer(self.id, ConsumerTimer::Rebalance);
        cx.shared.timers.set_no_later(cx.now.at, timer, cx.now.at + wait);
    }
}
