//! How commands become operations.

use rocketry_machine::Now;

use super::Client;
use crate::api::{Command, Config, Consume, Control, OpId, Outcome, RejectReason, Rejected};
use crate::cx::Cx;
use crate::ops::OpOwner;

impl Client {
    pub(super) fn submit_consume(&mut self, now: Now, consume: Consume) -> Result<OpId, Rejected<Command>> {
        let mut cx = Cx { now, shared: &mut self.shared };
        let consumers = &mut self.consumers;
        let done = match &consume {
            Consume::Start(config) => consumers.check(cx.shared, config),
            Consume::Stop { consumer, .. } => consumers.check_running(*consumer),
            Consume::Subscribe { consumer, topic, filter } => consumers.subscribe(&mut cx, *consumer, topic, filter),
            Consume::Unsubscribe { consumer, topic } => consumers.unsubscribe(&mut cx, *consumer, topic),
            Consume::Suspend(consumer) => consumers.suspend(&mut cx, *consumer),
            Consume::Resume(consumer) => consumers.resume(&mut cx, *consumer),
            Consume::Lite(lite) => consumers.check_lite(cx.shared, lite),
        };
        if let Err(why) = done {
            return Err(Rejected { why, command: Command::Consume(consume) });
        }
        Ok(match consume {
            Consume::Start(config) => {
                let op = cx.shared.ops.insert(OpOwner::StartConsumer);
                consumers.start(&mut cx, op, *config);
                op
            }
            Consume::Stop { consumer, within } => {
                let op = cx.shared.ops.insert(OpOwner::StopConsumer);
                consumers.stop(&mut cx, Some(op), consumer, within);
                op
            }
            Consume::Lite(lite) => consumers.submit_lite(&mut cx, lite),
            Consume::Subscribe { .. } | Consume::Unsubscribe { .. } | Consume::Suspend(_) | Consume::Resume(_) => {
                let op = cx.shared.ops.insert(OpOwner::Change);
                cx.done(op, Outcome::Changed);
                op
            }
        })
    }

    pub(super) fn submit_control(&mut self, now: Now, control: Control) -> Result<OpId, Rejected<Command>> {
        let mut cx = Cx { now, shared: &mut self.shared };
        let checked = match &control {
            Control::StartProducer(config) => self.producers.check(cx.shared, config),
            Control::StopProducer { producer, .. } => self.producers.check_running(*producer),
            Control::SetNameServers(servers) => Config::check_name_servers(servers).map_err(RejectReason::Invalid),
            Control::Route(_) | Control::Shutdown { .. } => Ok(()),
        };
        if let Err(why) = checked {
            return Err(Rejected { why, command: Command::Control(control) });
        }
        Ok(match control {
            Control::StartProducer(config) => self.producers.start(&mut cx, *config),
            Control::StopProducer { producer, within } => {
                let op = cx.shared.ops.insert(OpOwner::StopProducer);
                self.producers.stop(&mut cx, Some(op), producer, within);
                op
            }
            Control::Route(topic) => {
                let op = cx.shared.ops.insert(OpOwner::Route);
                self.routes.ask(&mut cx, op, topic);
                op
            }
            Control::SetNameServers(servers) => {
                let op = cx.shared.ops.insert(OpOwner::Change);
                self.routes.set_name_servers(&mut cx, servers);
                cx.done(op, Outcome::Changed);
                op
            }
            Control::Shutdown { within } => {
                let op = cx.shared.ops.insert(OpOwner::Shutdown);
                self.lifecycle.shut_down(&mut cx, op, within);
                op
            }
        })
    }

    pub(super) fn admits(&self, command: &Command) -> Result<(), RejectReason> {
        if let Some(what) = self.shared.health.broken() {
            return Err(RejectReason::Internal(what));
        }
        if !self.lifecycle.is_running() {
            return Err(RejectReason::Closed);
        }
        let stops = matches!(
            command,
            Command::Control(Control::Shutdown { .. } | Control::StopProducer { .. })
                | Command::Consume(Consume::Stop { .. })
        );
        if !stops && self.shared.ops.len() >= self.shared.config.limits.operations {
            return Err(RejectReason::Busy);
        }
        Ok(())
    }
}
