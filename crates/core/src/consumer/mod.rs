//! Consumers: groups that read.

use core::time::Duration;

use rocketry_machine::{ConnId, Moment, Seed};

use crate::api::{
    Answer, AskId, ConsumerConfig, ConsumerId, Ended, OpId, Outcome, RejectReason, StaleAnswer, StopReport, Topic,
};
use crate::calls::Reply;
use crate::cx::{Cx, Shared, Want};
use crate::timer::ConsumerTimer;
use crate::waiter::ConsumerCall;

/// The consumer part.
#[derive(Debug)]
pub(crate) struct Consumers;

impl Consumers {
    pub(crate) fn new(_: Seed) -> Self {
        Self
    }

    pub(crate) fn check(&self, _: &Shared, _: &ConsumerConfig) -> Result<(), RejectReason> {
        Err(RejectReason::NotRunning { what: "consumer" })
    }

    pub(crate) fn check_running(&self, _: ConsumerId) -> Result<(), RejectReason> {
        Err(RejectReason::NotRunning { what: "consumer" })
    }

    pub(crate) fn start(&mut self, cx: &mut Cx<'_>, op: OpId, _: ConsumerConfig) {
        cx.done(op, Outcome::Stopped(StopReport::default()));
    }

    pub(crate) fn stop(&mut self, _: &mut Cx<'_>, _: Option<OpId>, _: ConsumerId, _: Duration) {}

    pub(crate) fn subscribe(&mut self, _: &mut Cx<'_>, id: ConsumerId, _: &Topic, _: &str) -> Result<(), RejectReason> {
        self.check_running(id)
    }

    pub(crate) fn unsubscribe(&mut self, _: &mut Cx<'_>, id: ConsumerId, _: &Topic) -> Result<(), RejectReason> {
        self.check_running(id)
    }

    pub(crate) fn suspend(&mut self, _: &mut Cx<'_>, id: ConsumerId) -> Result<(), RejectReason> {
        self.check_running(id)
    }

    pub(crate) fn resume(&mut self, _: &mut Cx<'_>, id: ConsumerId) -> Result<(), RejectReason> {
        self.check_running(id)
    }

    pub(crate) fn begin(&mut self, _: &mut Cx<'_>, _: AskId, _: u32) -> Result<u32, Ended> {
        Err(Ended::new())
    }

    pub(crate) fn answer(&mut self, _: &mut Cx<'_>, answer: Answer) -> Result<(), StaleAnswer> {
        let Answer::Verdicts(verdicts) = answer;
        if verdicts.is_empty() { Ok(()) } else { Err(StaleAnswer::new(verdicts.len())) }
    }

    pub(crate) fn on_reply(&mut self, _: &mut Cx<'_>, _: ConsumerId, _: ConsumerCall, _: Moment, _: ConnId, _: Reply) {}

    pub(crate) fn on_timer(&mut self, _: &mut Cx<'_>, _: ConsumerId, _: ConsumerTimer) {}

    pub(crate) fn on_want(&mut self, _: &mut Cx<'_>, _: &Want) {}

    pub(crate) fn on_link_gone(&mut self, _: &mut Cx<'_>, _: ConnId) {}

    pub(crate) fn on_ids_changed(&mut self, _: &mut Cx<'_>, _: &str) {}

    pub(crate) fn is_idle(&self) -> bool {
        true
    }
}
