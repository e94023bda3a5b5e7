//! Commands about lite consumers: whether they can be taken, and whose operation they become.

use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::tags::TagExpression;

use super::errand::{Doing, Errand, Single};
use super::{Form, Lite, shared_settings};
use crate::api::{
    Commit, ConfigError, ConsumerId, Lite as Command, LiteConfig, MessageQueue, OpId, Outcome, PullOnce, RejectReason,
    SeekTo,
};
use crate::consumer::group::Consumer;
use crate::consumer::{Consumers, check};
use crate::cx::{Cx, Shared};
use crate::ops::OpOwner;

impl Consumers {
    /// Whether a command can be taken.
    pub(crate) fn check_lite(&self, shared: &Shared, command: &Command) -> Result<(), RejectReason> {
        match command {
            Command::Start(config) => check::check_lite(shared, config, &shared_settings(config)),
            Command::Assign { consumer, queues } => {
                let consumer = self.lite(*consumer)?;
                if queues.is_empty() {
                    return Err(invalid("queues", "", "at least one queue must be assigned"));
                }
                match consumer.lite.as_ref().and_then(|lite| lite.form) {
                    Some(Form::Subscribe) => Err(RejectReason::Exclusive),
                    Some(Form::Assign) | None => Ok(()),
                }
            }
            Command::Poll { consumer, max, .. } => {
                let consumer = self.lite(*consumer)?;
                if *max == 0 {
                    return Err(invalid("max", "0", "a poll needs room for one message"));
                }
                let pending = consumer.lite.as_ref().is_some_and(|lite| lite.poll.is_some());
                if pending { Err(RejectReason::PollPending) } else { Ok(()) }
            }
            Command::Seek { consumer, queue, to } => {
                owned(self.lite(*consumer)?, queue)?;
                if let SeekTo::Offset(offset) = to { not_negative(*offset) } else { Ok(()) }
            }
            Command::Commit { consumer, what, .. } => check_commit(self.lite(*consumer)?, what),
            Command::Save { consumer, offset, .. } => {
                self.lite(*consumer)?;
                not_negative(*offset)
            }
            Command::Pull { consumer, pull } => {
                self.lite(*consumer)?;
                check_pull(pull)
            }
            Command::SendBack { consumer, delay_level, .. } => {
                self.lite(*consumer)?;
                if (-1..=18).contains(delay_level) {
                    Ok(())
                } else {
                    Err(RejectReason::Invalid(ConfigError::new("delay_level", delay_level, "must be -1 to 18")))
                }
            }
            Command::GiveBack { consumer, .. }
            | Command::Pause { consumer, .. }
            | Command::Unpause { consumer, .. }
            | Command::Ask { consumer, .. } => self.lite(*consumer).map(|_| ()),
        }
    }

    /// Carries out a command that was checked.
    pub(crate) fn submit_lite(&mut self, cx: &mut Cx<'_>, command: Command) -> OpId {
        match command {
            Command::Start(config) => self.start_lite(cx, &config),
            Command::Assign { consumer, queues } => self.change(cx, consumer, |consumer, cx| {
                consumer.assign(cx, queues.into_iter().collect());
            }),
            Command::Pause { consumer, queues } => self.change(cx, consumer, |consumer, _| consumer.pause(&queues)),
            Command::Unpause { consumer, queues } => {
                self.change(cx, consumer, |consumer, cx| consumer.unpause(cx, &queues))
            }
            Command::GiveBack { consumer, poll, messages } => {
                self.change(cx, consumer, |consumer, cx| consumer.give_back(cx, poll, &messages))
            }
            Command::Poll { consumer, max, timeout } => {
                self.operate(cx, consumer, |consumer, cx, op| consumer.poll(cx, op, max, timeout))
            }
            Command::Commit { consumer, what, until } => {
                self.operate(cx, consumer, |consumer, cx, op| consumer.commit(cx, op, what, until))
            }
            Command::Seek { consumer, queue, to } => self.operate(cx, consumer, |consumer, cx, op| {
                consumer.supersede_seeks(cx, &queue);
                consumer.pursue(cx, Errand { op, queue, doing: Doing::Seek(to) });
            }),
            Command::Ask { consumer, queue, what } => self.run(cx, consumer, queue, Doing::Ask(what)),
            Command::Save { consumer, queue, offset } => self.run(cx, consumer, queue, Doing::Save(offset)),
            Command::Pull { consumer, pull } => {
                let PullOnce { queue, tags, offset, max, wait, timeout } = pull;
                // The expression was checked.
                let tags = TagExpression::parse(&tags).unwrap_or_else(|_| TagExpression::all());
                self.run(cx, consumer, queue, Doing::Pull(Single { from: offset, max, tags, wait, timeout }))
            }
            Command::SendBack { consumer, message, delay_level } => {
                let queue = (*message.queue).clone();
                self.run(cx, consumer, queue, Doing::SendBack { message, level: delay_level })
            }
        }
    }

    fn start_lite(&mut self, cx: &mut Cx<'_>, config: &LiteConfig) -> OpId {
        let op = cx.shared.ops.insert(OpOwner::StartConsumer);
        let settings = shared_settings(config);
        let spread = self.seed.stream(settings.group.as_str());
        let lite = Lite::new(config);
        let id = self.list.insert_with(|id| {
            let mut consumer = Consumer::new(id, op, settings, spread);
            consumer.lite = Some(alloc::boxed::Box::new(lite));
            consumer
        });
        self.act(cx, id, |consumer, cx| consumer.start(cx, op));
        op
    }

    fn run(&mut self, cx: &mut Cx<'_>, id: ConsumerId, queue: MessageQueue, doing: Doing) -> OpId {
        self.operate(cx, id, |consumer, cx, op| consumer.pursue(cx, Errand { op, queue, doing }))
    }

    /// An operation that the consumer ends.
    fn operate(&mut self, cx: &mut Cx<'_>, id: ConsumerId, act: impl FnOnce(&mut Consumer, &mut Cx<'_>, OpId)) -> OpId {
        let op = cx.shared.ops.insert(OpOwner::Lite(id));
        self.act(cx, id, |consumer, cx| act(consumer, cx, op));
        op
    }

    /// An operation that is complete when it is accepted.
    fn change(&mut self, cx: &mut Cx<'_>, id: ConsumerId, act: impl FnOnce(&mut Consumer, &mut Cx<'_>)) -> OpId {
        let op = cx.shared.ops.insert(OpOwner::Change);
        self.act(cx, id, act);
        cx.done(op, Outcome::Changed);
        op
    }

    /// The owner gives an operation up.
    pub(crate) fn cancel(&mut self, cx: &mut Cx<'_>, id: ConsumerId, op: OpId) {
        self.act(cx, id, |consumer, cx| consumer.cancel(cx, op));
    }

    /// Fixes where the queues of a lite consumer come from.
    pub(in crate::consumer) fn fix_form(&mut self, id: ConsumerId, form: Form) -> Result<(), RejectReason> {
        let Some(lite) = self.list.get_mut(id).and_then(|consumer| consumer.lite.as_mut()) else { return Ok(()) };
        if *lite.form.get_or_insert(form) == form { Ok(()) } else { Err(RejectReason::Exclusive) }
    }

    /// The queues that a consumer has.
    pub(crate) fn assignment(&self, id: ConsumerId) -> Vec<MessageQueue> {
        let owned = self.list.get(id).map(|consumer| consumer.owned.keys().map(|queue| (**queue).clone()).collect());
        owned.unwrap_or_default()
    }

    /// The offset of the next message of a queue that a poll would hand over.
    pub(crate) fn position(&self, id: ConsumerId, queue: &MessageQueue) -> Option<i64> {
        let consumer = self.list.get(id)?;
        let queue = consumer.queues.get(*consumer.owned.get(queue)?)?;
        (queue.step == crate::consumer::queue::Step::Live).then(|| queue.unread())
    }

    fn lite(&self, id: ConsumerId) -> Result<&Consumer, RejectReason> {
        let running = |consumer: &&Consumer| consumer.is_active() && consumer.lite.is_some();
        self.list.get(id).filter(running).ok_or(RejectReason::NotRunning { what: "lite consumer" })
    }
}

fn check_commit(consumer: &Consumer, what: &Commit) -> Result<(), RejectReason> {
    match what {
        Commit::All => Ok(()),
        Commit::Queues(queues) => queues.iter().try_for_each(|queue| owned(consumer, queue)),
        Commit::Offsets(offsets) => offsets.iter().try_for_each(|(queue, offset)| {
            owned(consumer, queue)?;
            not_negative(*offset)
        }),
    }
}

fn check_pull(pull: &PullOnce) -> Result<(), RejectReason> {
    not_negative(pull.offset)?;
    if !(1..=1_024).contains(&pull.max) {
        return Err(RejectReason::Invalid(ConfigError::new("max", pull.max, "must be 1 to 1024")));
    }
    if pull.wait > Duration::from_secs(60) {
        let given = alloc::format!("{} ms", pull.wait.as_millis());
        return Err(invalid("wait", &given, "must be at most 60000 ms"));
    }
    check::subscription(&pull.queue.topic, &(&pull.tags).into()).map(|_| ())
}

fn owned(consumer: &Consumer, queue: &MessageQueue) -> Result<(), RejectReason> {
    if consumer.owned.contains_key(queue) { Ok(()) } else { Err(RejectReason::NotAssigned(queue.clone())) }
}

fn not_negative(offset: i64) -> Result<(), RejectReason> {
    if offset >= 0 {
        return Ok(());
    }
    Err(RejectReason::Invalid(ConfigError::new("offset", offset, "must not be negative")))
}

fn invalid(setting: &'static str, value: &str, reason: &str) -> RejectReason {
    RejectReason::Invalid(ConfigError::new(setting, value, reason))
}
