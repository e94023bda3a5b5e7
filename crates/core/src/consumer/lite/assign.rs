//! Queues by hand: which are ours, which are paused; and what may be kept of all queues together.
//!
//! Decides: what a new assignment changes. Queues that are not named any more are given up, their positions saved;
//! queues that stay go on undisturbed. A queue whose route is not known yet waits for it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use rocketry_codec::names;
use rocketry_codec::tags::TagExpression;
use rocketry_machine::Key;

use super::Form;
use crate::api::{MessageQueue, Topic};
use crate::consumer::filter::Expression;
use crate::consumer::filter::Subscription;
use crate::consumer::group::Consumer;
use crate::consumer::queue::{ProcessQueue, Pull, Step};
use crate::cx::{Cx, Want};
use crate::timer::{ConsumerTimer, TimerKey};

impl Consumer {
    /// Keeps a subscription for each topic of an assigned queue; brokers are not told of it.
    pub(in crate::consumer) fn add_assigned_topics(&mut self, cx: &Cx<'_>) {
        let Some(lite) = &self.lite else { return };
        let topics: BTreeSet<Topic> = lite.assigned.iter().map(|queue| queue.topic.clone()).collect();
        for topic in topics {
            if self.subscription_to(&topic).is_some() {
                continue;
            }
            let filter = self.lite.as_ref().and_then(|lite| lite.filters.get(&topic));
            // Filters were checked with the settings.
            let tags = filter.and_then(|tags| TagExpression::parse(tags).ok()).unwrap_or_else(TagExpression::all);
            let tags = Expression::Tags(tags);
            let version = self.next_version(cx);
            let is_retry = names::is_retry_topic(topic.as_str());
            self.subscriptions.insert(Subscription::new(topic, tags, version, is_retry));
        }
    }

    /// The start is complete: the assigned queues are taken.
    pub(in crate::consumer) fn take_assigned(&mut self, cx: &mut Cx<'_>) {
        let Some(lite) = &mut self.lite else { return };
        if lite.form == Some(Form::Assign) {
            let assigned = core::mem::take(&mut lite.assigned);
            self.assign(cx, assigned);
        }
    }

    /// Reads these queues and no others.
    pub(super) fn assign(&mut self, cx: &mut Cx<'_>, queues: BTreeSet<MessageQueue>) {
        let mut changed: BTreeSet<Topic> = BTreeSet::new();
        let gone: Vec<Key> =
            self.queues.iter().filter(|(_, queue)| !queues.contains(&*queue.mq)).map(|(key, _)| key).collect();
        for key in gone {
            changed.extend(self.queues.get(key).map(|queue| queue.mq.topic.clone()));
            self.drop_queue(cx, key);
        }
        if let Some(lite) = &mut self.lite {
            lite.form = Some(Form::Assign);
            lite.assigned.clone_from(&queues);
        }
        self.add_assigned_topics(cx);
        for queue in queues {
            let Some(subscription) = self.subscription_to(&queue.topic) else { continue };
            if !self.owned.contains_key(&queue) {
                changed.insert(queue.topic.clone());
                self.add_assigned(cx, subscription, queue);
            }
        }
        for key in self.subscriptions.ids() {
            if self.queues_of(key).is_empty() {
                self.subscriptions.remove(key);
            }
        }
        for topic in changed {
            self.tell_assignment(cx, topic);
        }
    }

    fn add_assigned(&mut self, cx: &mut Cx<'_>, subscription: Key, queue: MessageQueue) {
        let topic = queue.topic.clone();
        if cx.shared.table.knows(&topic) {
            return self.add_queue(cx, subscription, queue, false);
        }
        let key = self.insert_queue(subscription, queue, false);
        self.wake_after(cx, ConsumerTimer::Start(key), cx.shared.config.request_timeout);
        cx.want(Want::Route { topic, publish: false });
    }

    /// The route of a topic is known: its assigned queues need not wait longer for their positions.
    pub(in crate::consumer) fn find_positions(&mut self, cx: &mut Cx<'_>, topic: &Topic) {
        let searching = |queue: &ProcessQueue| queue.mq.topic == *topic && queue.step != Step::Live;
        let keys: Vec<Key> = self.queues.iter().filter(|(_, queue)| searching(queue)).map(|(key, _)| key).collect();
        for key in keys {
            // Where the timer is not armed a request is on its way.
            if cx.shared.timers.cancel(TimerKey::Consumer(self.id, ConsumerTimer::Start(key))) {
                self.ask_position(cx, key);
            }
        }
    }

    /// Fetches no more of these queues.
    pub(super) fn pause(&mut self, queues: &[MessageQueue]) {
        for key in queues.iter().filter_map(|queue| self.owned.get(queue)) {
            if let Some(queue) = self.queues.get_mut(*key) {
                queue.paused = true;
            }
        }
    }

    /// Fetches of these queues again.
    pub(super) fn unpause(&mut self, cx: &mut Cx<'_>, queues: &[MessageQueue]) {
        let keys: Vec<Key> = queues.iter().filter_map(|queue| self.owned.get(queue).copied()).collect();
        for key in keys {
            if let Some(queue) = self.queues.get_mut(key)
                && core::mem::take(&mut queue.paused)
            {
                self.pull(cx, key);
            }
        }
    }

    /// Whether enough is kept of all queues together.
    pub(in crate::consumer) fn is_full_in_all(&self) -> bool {
        self.lite.as_ref().is_some_and(|lite| {
            let kept: usize = self.queues.iter().map(|(_, queue)| queue.len()).sum();
            kept as u64 >= lite.max_total
        })
    }

    /// Something was settled: queues that had to wait for room may be pulled again.
    pub(in crate::consumer) fn pull_full(&mut self, cx: &mut Cx<'_>) {
        if self.lite.is_none() || self.is_full_in_all() {
            return;
        }
        let waiting = |queue: &ProcessQueue| queue.pull == Pull::Full && !queue.is_full(&self.config);
        let keys: Vec<Key> = self.queues.iter().filter(|(_, queue)| waiting(queue)).map(|(key, _)| key).collect();
        for key in keys {
            if let Some(queue) = self.queues.get_mut(key) {
                queue.pull = Pull::Idle;
            }
            self.pull(cx, key);
        }
    }
}
