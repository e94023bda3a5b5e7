//! Starting, and changes of what a running consumer subscribes to (consumer.md 1.3, 1.9, 1.11).
//!
//! Order, as in Java: the group is registered, so that every heartbeat from here on speaks of it; the routes of all topics
//! are fetched; a heartbeat round tells the brokers; the start is complete and the queues are divided. A topic without
//! route is tolerated: it may come later. When no name server answers, `Config::on_unreachable` decides. A start that
//! fails leaves nothing behind.
//!
//! Timers: `StartDeadline`, the longest wait for routes, and then for the heartbeat round.

use alloc::vec::Vec;
use rocketry_codec::body::heartbeat::{ConsumerData, consume_from, consume_type, message_model};
use rocketry_machine::Key;

use super::filter::{Expression, Subscription};
use super::group::{Consumer, Phase, Starting};
use crate::api::{Certainty, OnUnreachable, OpError, OpErrorKind, OpId, Outcome, StartAt, Topic};
use crate::cx::{Cx, Farewell, RouteFailure, Want};
use crate::timer::{ConsumerTimer, TimerKey};

impl Consumer {
    /// Begins the start. The settings were checked.
    pub(super) fn start(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let mut wanted: Vec<(Topic, Expression)> = Vec::new();
        for (topic, filter) in &self.config.subscriptions {
            // It was checked.
            wanted.push((topic.clone(), Expression::read(filter).unwrap_or_else(|_| Expression::all())));
        }
        if self.lite.is_none() && !self.config.broadcasting {
            wanted.push((self.retry_topic.clone(), Expression::all()));
        }
        for (topic, filter) in wanted {
            let version = self.next_version(cx);
            let is_retry = topic == self.retry_topic;
            self.subscriptions.insert(Subscription::new(topic, filter, version, is_retry));
        }
        self.add_assigned_topics(cx);
        self.register(cx);
        let topics = self.topics();
        self.phase = Phase::Starting(op, Starting::Routes(topics.iter().cloned().collect()));
        // Every look-up ends by itself; this is for the one that is answered by nothing new.
        let servers = u32::try_from(cx.shared.naming.in_order().len()).unwrap_or(u32::MAX).saturating_add(1);
        let longest = cx.shared.config.request_timeout.saturating_mul(servers);
        self.wake_after(cx, ConsumerTimer::StartDeadline, longest);
        if topics.is_empty() {
            return self.greet_brokers(cx);
        }
        for topic in topics {
            cx.want(Want::Route { topic, publish: false });
        }
    }

    /// The route of a topic is known or has changed.
    pub(super) fn on_route(&mut self, cx: &mut Cx<'_>, topic: &Topic) {
        if let Phase::Starting(..) = &self.phase {
            return self.route_settled(cx, topic);
        }
        if self.is_assigned_by_hand() {
            self.find_positions(cx, topic);
        } else if self.subscription_to(topic).is_some() {
            self.rebalance_soon(cx);
        }
    }

    /// There is no route of a topic.
    pub(super) fn on_no_route(&mut self, cx: &mut Cx<'_>, topic: &Topic, failure: &RouteFailure) {
        match failure {
            RouteFailure::NoNameServer(tried) => {
                if let Phase::Starting(op, Starting::Routes(left)) = &self.phase
                    && left.contains(topic)
                    && cx.shared.config.on_unreachable == OnUnreachable::Fail
                {
                    let (op, tried) = (*op, tried.clone());
                    return self.fail_start(cx, op, OpErrorKind::NoNameServer { tried });
                }
            }
            RouteFailure::Unknown(_) => {
                // It does not exist yet: whatever its queues hold when they appear is news.
                if let Some(key) = self.subscription_to(topic)
                    && let Some(subscription) = self.subscriptions.get_mut(key)
                {
                    subscription.seen.get_or_insert_default();
                }
            }
        }
        self.route_settled(cx, topic);
    }

    fn route_settled(&mut self, cx: &mut Cx<'_>, topic: &Topic) {
        if let Phase::Starting(_, Starting::Routes(left)) = &mut self.phase
            && left.remove(topic)
            && left.is_empty()
        {
            self.greet_brokers(cx);
        }
    }

    /// The wait of this step has been long enough.
    pub(super) fn on_start_deadline(&mut self, cx: &mut Cx<'_>) {
        match &self.phase {
            Phase::Starting(_, Starting::Routes(_)) => self.greet_brokers(cx),
            Phase::Starting(_, Starting::Heartbeat) => self.on_heartbeat_done(cx),
            Phase::Starting(op, Starting::Checks(_)) => self.run(cx, *op),
            Phase::Running | Phase::Stopping(..) | Phase::Over => {}
        }
    }

    fn greet_brokers(&mut self, cx: &mut Cx<'_>) {
        if let Phase::Starting(op, _) = self.phase {
            self.phase = Phase::Starting(op, Starting::Heartbeat);
            let longest = cx.shared.config.request_timeout.saturating_add(cx.shared.config.connect_timeout);
            self.wake_after(cx, ConsumerTimer::StartDeadline, longest);
            cx.want(Want::HeartbeatAll);
        }
    }

    /// A heartbeat round has ended.
    pub(super) fn on_heartbeat_done(&mut self, cx: &mut Cx<'_>) {
        let Phase::Starting(op, Starting::Heartbeat) = self.phase else { return };
        if self.ask_checks(cx, op) {
            return;
        }
        self.run(cx, op);
    }

    /// The start is complete.
    pub(super) fn run(&mut self, cx: &mut Cx<'_>, op: OpId) {
        cx.shared.timers.cancel(TimerKey::Consumer(self.id, ConsumerTimer::StartDeadline));
        self.phase = Phase::Running;
        cx.done(op, Outcome::ConsumerStarted(self.id));
        self.wake_after(cx, ConsumerTimer::SaveOffsets, self.save_interval(cx));
        if self.lite.is_none() && !self.config.broadcasting && !cx.shared.table.knows(&self.retry_topic) {
            // Brokers create it at the first heartbeat of the group.
            cx.want(Want::Refresh(self.retry_topic.clone()));
        }
        self.take_assigned(cx);
        self.rebalance(cx);
    }

    /// Ends a start that failed; nothing of it stays.
    pub(super) fn fail_start(&mut self, cx: &mut Cx<'_>, op: OpId, kind: OpErrorKind) {
        self.phase = Phase::Over;
        cx.shared.registry.remove_consumer(&self.config.group);
        cx.want(Want::Unregister(Farewell { group: self.config.group.clone(), consumer: Some(self.id) }));
        cx.done(op, Outcome::Failed(OpError::new(kind, Certainty::NotSent)));
    }

    /// Adds or changes a subscription of a running consumer.
    pub(super) fn subscribe(&mut self, cx: &mut Cx<'_>, topic: Topic, filter: Expression) {
        let version = self.next_version(cx);
        match self.subscription_to(&topic).and_then(|key| self.subscriptions.get_mut(key)) {
            Some(subscription) => {
                subscription.filter = filter;
                subscription.version = version;
            }
            None => {
                self.subscriptions.insert(Subscription::new(topic.clone(), filter, version, false));
            }
        }
        self.register(cx);
        cx.want(Want::HeartbeatAll);
        if let Phase::Starting(_, Starting::Routes(left)) = &mut self.phase {
            left.insert(topic.clone());
        }
        cx.want(Want::Route { topic, publish: false });
    }

    /// Drops a subscription of a running consumer. The retry topic stays.
    pub(super) fn unsubscribe(&mut self, cx: &mut Cx<'_>, key: Key) {
        let topic = self.subscriptions.get(key).map(|subscription| subscription.topic.clone());
        self.drop_subscription(cx, key);
        self.register(cx);
        cx.want(Want::HeartbeatAll);
        if let Some(topic) = topic {
            self.route_settled(cx, &topic);
        }
    }

    /// Writes what heartbeats say about this consumer.
    fn register(&self, cx: &mut Cx<'_>) {
        let told = !self.is_assigned_by_hand();
        let subscriptions = self.subscriptions.iter().filter(|_| told).map(|(_, subscription)| subscription.told());
        let lite = self.lite.is_some();
        let data = ConsumerData {
            consume_type: if lite { consume_type::PULL } else { consume_type::PUSH }.into(),
            group: self.config.group.as_str().into(),
            consume_from_where: match self.config.start_at {
                _ if lite => consume_from::LAST,
                StartAt::Last => consume_from::LAST,
                StartAt::First => consume_from::FIRST,
                StartAt::Time(_) => consume_from::TIMESTAMP,
            }
            .into(),
            message_model: if self.config.broadcasting {
                message_model::BROADCASTING
            } else {
                message_model::CLUSTERING
            }
            .into(),
            subscriptions: subscriptions.collect(),
            ..ConsumerData::default()
        };
        cx.shared.registry.set_consumer(self.config.group.clone(), data);
    }

    /// A version above all earlier ones, whatever the wall clock does.
    pub(super) fn next_version(&mut self, cx: &Cx<'_>) -> i64 {
        self.last_version = cx.now.wall.get().max(self.last_version.saturating_add(1));
        self.last_version
    }

    fn topics(&self) -> Vec<Topic> {
        self.subscriptions.iter().map(|(_, subscription)| subscription.topic.clone()).collect()
    }
}
