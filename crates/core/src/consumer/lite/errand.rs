//! Errands: what is done once for an operation, with one request at a time.
//!
//! Decides: which request comes next, and to whom it goes. A seek to an offset asks for both ends of the queue before it
//! acts; a message that the broker which holds it does not take back is copied to the retry topic. What the answers mean
//! is decided in `answers`.
//!
//! An errand ends with its operation. It has no timer of its own: each request has its time.

use alloc::boxed::Box;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::header::Scope;
use rocketry_codec::request::{
    GetMaxOffset, GetMinOffset, PullMessage, QueryConsumerOffset, SearchOffset, UpdateConsumerOffset,
};
use rocketry_codec::tags::TagExpression;
use rocketry_machine::{ConnId, Endpoint, Key};

use super::fail;
use crate::api::{Certainty, MessageQueue, OffsetOf, OpErrorKind, OpId, Received, SeekTo};
use crate::consumer::group::{Consumer, refusal_of};
use crate::consumer::offsets::{POSITION_TIMEOUT, START_TIMEOUT, no_broker};
use crate::consumer::pull::{SUBSCRIPTION, SUSPEND};
use crate::consumer::sendback::{COPY_TIMEOUT, RetryCopy, SEND_BACK_TIMEOUT, back_request};
use crate::cx::{Cx, NotSent, Outgoing, Want};
use crate::waiter::{ConsumerCall, Waiter};

/// The most bytes that a single pull asks for.
const PULL_BYTES: i32 = i32::MAX;

/// Something that is done for an operation.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) op: OpId,
    pub(super) queue: MessageQueue,
    pub(super) doing: Doing,
}

/// What an errand is doing.
#[derive(Debug)]
pub(super) enum Doing {
    /// Asking for an offset.
    Ask(OffsetOf),
    /// Asking where a seek leads: for the oldest offset, unless only the end or a time counts.
    Seek(SeekTo),
    /// Asking for the end of the queue, to see whether an offset lies within.
    SeekWithin { offset: i64, min: i64 },
    /// Storing a position.
    Save(i64),
    /// Pulling.
    Pull(Single),
    /// Asking the broker that holds a message to store it again.
    SendBack { message: Box<Received>, level: i32 },
    /// Sending a copy of it.
    Copy { message: Box<Received>, level: i32 },
}

/// A single pull.
#[derive(Debug)]
pub(super) struct Single {
    pub(super) from: i64,
    pub(super) max: u32,
    pub(super) tags: TagExpression,
    pub(super) wait: Duration,
    pub(super) timeout: Duration,
}

impl Errand {
    /// What is known about its effect while its request is on its way.
    pub(super) const fn certainty(&self) -> Certainty {
        match self.doing {
            Doing::Ask(_) | Doing::Seek(_) | Doing::SeekWithin { .. } | Doing::Pull(_) => Certainty::NotSent,
            Doing::Save(_) | Doing::SendBack { .. } | Doing::Copy { .. } => Certainty::Unknown,
        }
    }
}

impl Consumer {
    /// Takes the next step of an errand: sends its request, or ends its operation.
    pub(super) fn pursue(&mut self, cx: &mut Cx<'_>, errand: Errand) {
        if let Doing::Copy { .. } = errand.doing {
            return self.pursue_copy(cx, errand);
        }
        let slave_does = matches!(errand.doing, Doing::Pull(_));
        let master = || cx.master(&errand.queue.broker);
        let any = || cx.shared.table.broker_address(&errand.queue.broker, 0, false).map(|(to, _)| to);
        let Some(to) = master().or_else(|| if slave_does { any() } else { None }) else {
            cx.want(Want::Route { topic: errand.queue.topic.clone(), publish: false });
            return fail(cx, errand.op, no_broker(), Certainty::NotSent);
        };
        self.launch(cx, errand, &to, Self::request);
    }

    /// Enters an errand and sends its request.
    fn launch(
        &mut self,
        cx: &mut Cx<'_>,
        errand: Errand,
        to: &Endpoint,
        send: impl FnOnce(&Self, &mut Cx<'_>, &Errand, &Endpoint, Key) -> Result<ConnId, NotSent>,
    ) {
        let Some(lite) = &mut self.lite else { return };
        let key = lite.errands.insert(errand);
        let Some(errand) = self.lite.as_ref().and_then(|lite| lite.errands.get(key)) else { return };
        if let Err(no) = send(self, cx, errand, to, key) {
            let op = errand.op;
            if let Some(lite) = &mut self.lite {
                lite.errands.remove(key);
            }
            fail(cx, op, refusal_of(to, &no), Certainty::NotSent);
        }
    }

    fn request(&self, cx: &mut Cx<'_>, errand: &Errand, to: &Endpoint, key: Key) -> Result<ConnId, NotSent> {
        let (topic, queue_id) = (errand.queue.topic.as_str().into(), errand.queue.id);
        let scope = Scope::broker(errand.queue.broker.as_str());
        let group = self.config.group.as_str().into();
        let how = |timeout| Outgoing { timeout, waiter: Waiter::Consumer(self.id, ConsumerCall::Errand(key)) };
        let none = Bytes::new();
        match &errand.doing {
            Doing::Ask(OffsetOf::Committed) => {
                let set_zero_if_not_found = self.config.exact_start.then_some(false);
                let request =
                    QueryConsumerOffset { consumer_group: group, topic, queue_id, set_zero_if_not_found, scope };
                cx.request(to, &request, none, how(POSITION_TIMEOUT))
            }
            Doing::Ask(OffsetOf::Min) | Doing::Seek(SeekTo::Begin | SeekTo::Offset(_)) => {
                cx.request(to, &GetMinOffset { topic, queue_id, scope }, none, how(START_TIMEOUT))
            }
            Doing::Ask(OffsetOf::Max) | Doing::Seek(SeekTo::End) | Doing::SeekWithin { .. } => {
                cx.request(to, &GetMaxOffset { topic, queue_id, committed: true, scope }, none, how(START_TIMEOUT))
            }
            Doing::Ask(OffsetOf::Time(time)) | Doing::Seek(SeekTo::Time(time)) => {
                let boundary_type = Some("LOWER".into());
                let request = SearchOffset { topic, queue_id, timestamp: time.get(), boundary_type, scope };
                cx.request(to, &request, none, how(START_TIMEOUT))
            }
            Doing::Save(commit_offset) => {
                let commit_offset = *commit_offset;
                let request = UpdateConsumerOffset { consumer_group: group, topic, queue_id, commit_offset, scope };
                cx.request(to, &request, none, how(POSITION_TIMEOUT))
            }
            Doing::Pull(single) => {
                let request = self.single_pull(single, &errand.queue);
                cx.request(to, &request, none, how(single.wait.saturating_add(single.timeout)))
            }
            Doing::SendBack { message, level } | Doing::Copy { message, level } => {
                let most = self.max_redeliveries();
                let request = back_request(&self.config.group, &message.queue.broker, &message.stored, *level, most);
                cx.request(to, &request, none, how(SEND_BACK_TIMEOUT))
            }
        }
    }

    fn single_pull<'a>(&'a self, single: &'a Single, queue: &'a MessageQueue) -> PullMessage<'a> {
        PullMessage {
            consumer_group: self.config.group.as_str().into(),
            topic: queue.topic.as_str().into(),
            queue_id: queue.id,
            queue_offset: single.from,
            max_msg_nums: i32::try_from(single.max).unwrap_or(i32::MAX),
            sys_flag: if single.wait.is_zero() { SUBSCRIPTION } else { SUBSCRIPTION | SUSPEND },
            suspend_timeout_millis: i64::try_from(single.wait.as_millis()).unwrap_or(i64::MAX),
            subscription: Some(single.tags.as_str().into()),
            expression_type: Some("TAG".into()),
            max_msg_bytes: Some(PULL_BYTES),
            scope: Scope::broker(queue.broker.as_str()),
            ..PullMessage::default()
        }
    }

    fn pursue_copy(&mut self, cx: &mut Cx<'_>, errand: Errand) {
        let Some((broker, queue_id, to)) = self.copy_target(cx) else {
            cx.want(Want::Route { topic: self.retry_topic.clone(), publish: false });
            let text = alloc::format!("no broker takes messages for {}", self.retry_topic);
            return fail(cx, errand.op, OpErrorKind::Refused(text), Certainty::Unknown);
        };
        self.launch(cx, errand, &to, |consumer, cx, errand, to, key| {
            let Doing::Copy { message, level } = &errand.doing else { return Err(NotSent::NoCall) };
            let copy = RetryCopy {
                topic: &consumer.retry_topic,
                broker: &broker,
                queue_id,
                message: &message.stored,
                level: *level,
                max_redeliveries: consumer.max_redeliveries(),
            };
            let properties = copy.properties();
            let waiter = Waiter::Consumer(consumer.id, ConsumerCall::Errand(key));
            let how = Outgoing { timeout: COPY_TIMEOUT, waiter };
            cx.request(to, &copy.request(cx.now.wall, &properties), message.stored.body(), how)
        });
    }
}
