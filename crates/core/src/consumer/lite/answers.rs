//! What the answers to errands mean.
//!
//! Decides: when an errand is done, what its operation says, and where a seek leads. An error is never "no offset".

use alloc::string::ToString;
use alloc::sync::Arc;

use rocketry_codec::codes::ResponseCode;
use rocketry_codec::frame::Frame;
use rocketry_codec::message::Messages;
use rocketry_codec::names;
use rocketry_codec::reply::{
    GetMaxOffsetReply, GetMinOffsetReply, PullMessageReply, QueryConsumerOffsetReply, SearchOffsetReply,
};
use rocketry_machine::{ConnId, Key};

use super::errand::{Doing, Errand, Single};
use super::fail;
use crate::api::{
    Certainty, LiteOutcome, MessageQueue, OffsetOf, OpErrorKind, OpId, Outcome, PullStatus, Pulled, SeekTo,
};
use crate::calls::Reply;
use crate::consumer::deliver;
use crate::consumer::filter::Expression;
use crate::consumer::filter::Subscription;
use crate::consumer::group::{Consumer, failure_of};
use crate::consumer::offsets::negative;
use crate::consumer::sendback::STORED;
use crate::cx::Cx;

impl Consumer {
    /// The answer to the request of an errand, or its absence.
    pub(in crate::consumer) fn on_errand(&mut self, cx: &mut Cx<'_>, key: Key, conn: ConnId, reply: Reply) {
        let Some(errand) = self.lite.as_mut().and_then(|lite| lite.errands.remove(key)) else { return };
        let frame = match reply {
            Reply::Frame(frame) => frame,
            Reply::TimedOut { flushed, .. } | Reply::LinkLost { flushed, .. } => {
                let kind = failure_of(cx, conn, &reply);
                return self.errand_unanswered(cx, errand, kind, flushed);
            }
        };
        let Errand { op, queue, doing } = errand;
        match doing {
            Doing::Ask(what) => match offset_in(what, &frame) {
                Ok(offset) => cx.done(op, Outcome::Lite(LiteOutcome::Offset(offset))),
                Err(kind) => fail(cx, op, kind, Certainty::NotSent),
            },
            Doing::Seek(to) => self.on_seek_answer(cx, op, queue, to, &frame),
            Doing::SeekWithin { offset, min } => match offset_in(OffsetOf::Max, &frame) {
                Ok(max) => {
                    let max = max.unwrap_or(min);
                    if offset < min || offset > max {
                        let kind = OpErrorKind::OffsetOutOfRange { offset, min, max };
                        return fail(cx, op, kind, Certainty::NotSent);
                    }
                    self.seek(cx, op, &queue, offset);
                }
                Err(kind) => fail(cx, op, kind, Certainty::NotSent),
            },
            Doing::Save(_) if frame.response_code() == ResponseCode::SUCCESS => cx.done(op, Outcome::Changed),
            Doing::Save(_) => fail(cx, op, broker_says(&frame), Certainty::Unknown),
            Doing::Pull(single) => match pulled(&single, queue, &frame) {
                Ok(pulled) => cx.done(op, Outcome::Lite(LiteOutcome::Pulled(pulled))),
                Err(kind) => fail(cx, op, kind, Certainty::NotSent),
            },
            Doing::SendBack { .. } if frame.response_code() == ResponseCode::SUCCESS => self.sent_back_once(cx, op),
            Doing::SendBack { message, level } => {
                self.pursue(cx, Errand { op, queue, doing: Doing::Copy { message, level } });
            }
            Doing::Copy { .. } if STORED.contains(&frame.response_code()) => self.sent_back_once(cx, op),
            Doing::Copy { .. } => fail(cx, op, broker_says(&frame), Certainty::Unknown),
        }
    }

    fn errand_unanswered(&mut self, cx: &mut Cx<'_>, errand: Errand, kind: OpErrorKind, flushed: bool) {
        let certainty = if flushed { errand.certainty() } else { Certainty::NotSent };
        let Errand { op, queue, doing } = errand;
        // As with a listener's failures: rather twice than not at all.
        if let Doing::SendBack { message, level } = doing {
            return self.pursue(cx, Errand { op, queue, doing: Doing::Copy { message, level } });
        }
        fail(cx, op, kind, certainty);
    }

    fn on_seek_answer(&mut self, cx: &mut Cx<'_>, op: OpId, queue: MessageQueue, to: SeekTo, frame: &Frame) {
        let asked = match to {
            SeekTo::Offset(_) | SeekTo::Begin => OffsetOf::Min,
            SeekTo::End => OffsetOf::Max,
            SeekTo::Time(time) => OffsetOf::Time(time),
        };
        let found = match offset_in(asked, frame) {
            Ok(found) => found.unwrap_or_default(),
            Err(kind) => return fail(cx, op, kind, Certainty::NotSent),
        };
        match to {
            SeekTo::Offset(offset) => {
                self.pursue(cx, Errand { op, queue, doing: Doing::SeekWithin { offset, min: found } });
            }
            SeekTo::Begin | SeekTo::End | SeekTo::Time(_) => self.seek(cx, op, &queue, found),
        }
    }

    /// A later seek of the queue makes an earlier one pointless.
    pub(super) fn supersede_seeks(&mut self, cx: &mut Cx<'_>, queue: &MessageQueue) {
        let Some(lite) = &mut self.lite else { return };
        for key in lite.errands.ids() {
            let seeks = |errand: &Errand| {
                errand.queue == *queue && matches!(errand.doing, Doing::Seek(_) | Doing::SeekWithin { .. })
            };
            if lite.errands.get(key).is_some_and(seeks)
                && let Some(errand) = lite.errands.remove(key)
            {
                let kind = OpErrorKind::Refused("a later seek of the queue came before the end of this one".into());
                fail(cx, errand.op, kind, Certainty::NotSent);
            }
        }
    }

    /// The queue goes on there. Its key is new: whatever is on its way for the old one is stale.
    fn seek(&mut self, cx: &mut Cx<'_>, op: OpId, queue: &MessageQueue, offset: i64) {
        let renewed = self.owned.get(queue).copied().and_then(|key| self.renew_queue(cx, key, offset));
        let Some(key) = renewed else {
            return fail(cx, op, OpErrorKind::NotAssigned(queue.clone()), Certainty::NotSent);
        };
        cx.done(op, Outcome::Lite(LiteOutcome::Offset(Some(offset))));
        if self.queues.get(key).is_some_and(|queue| queue.wanted.is_some()) {
            self.save(cx, key);
        }
        self.pull(cx, key);
        self.pull_full(cx);
    }

    fn sent_back_once(&self, cx: &mut Cx<'_>, op: OpId) {
        cx.shared.counters.sent_back += 1;
        cx.done(op, Outcome::Changed);
    }
}

fn broker_says(frame: &Frame) -> OpErrorKind {
    OpErrorKind::Broker { code: frame.response_code(), remark: frame.remark().unwrap_or_default().into() }
}

/// The offset that an answer brings.
fn offset_in(what: OffsetOf, frame: &Frame) -> Result<Option<i64>, OpErrorKind> {
    let code = frame.response_code();
    if what == OffsetOf::Committed && code == ResponseCode::QUERY_NOT_FOUND {
        return Ok(None);
    }
    if code != ResponseCode::SUCCESS {
        return Err(broker_says(frame));
    }
    let read = match what {
        OffsetOf::Committed => frame.read::<QueryConsumerOffsetReply>().map(|reply| reply.offset),
        OffsetOf::Min => frame.read::<GetMinOffsetReply>().map(|reply| reply.offset),
        OffsetOf::Max => frame.read::<GetMaxOffsetReply>().map(|reply| reply.offset),
        OffsetOf::Time(_) => frame.read::<SearchOffsetReply>().map(|reply| reply.offset),
    };
    match read {
        Ok(offset) if offset >= 0 => Ok(Some(offset)),
        Ok(offset) => Err(negative(offset)),
        Err(error) => Err(OpErrorKind::Protocol(error.to_string())),
    }
}

/// What a single pull brought.
fn pulled(single: &Single, queue: MessageQueue, frame: &Frame) -> Result<Pulled, OpErrorKind> {
    let code = frame.response_code();
    let status = if code == ResponseCode::SUCCESS {
        PullStatus::Found
    } else if code == ResponseCode::PULL_NOT_FOUND {
        PullStatus::NoNew
    } else if code == ResponseCode::PULL_RETRY_IMMEDIATELY {
        PullStatus::NoMatched
    } else if code == ResponseCode::PULL_OFFSET_MOVED {
        PullStatus::OffsetIllegal
    } else {
        return Err(broker_says(frame));
    };
    let heading = frame.read::<PullMessageReply>().map_err(|error| OpErrorKind::Protocol(error.to_string()))?;
    let next = heading.next_begin_offset;
    if next < 0 || (status == PullStatus::Found && next < single.from) {
        return Err(OpErrorKind::Protocol(alloc::format!("a pull from {} leads to {next}", single.from)));
    }
    let mut pulled = Pulled::new(status, next, heading.min_offset, heading.max_offset);
    if status != PullStatus::Found {
        return Ok(pulled);
    }
    let topic = queue.topic.clone();
    let is_retry = names::is_retry_topic(topic.as_str());
    let subscription = Subscription::new(topic, Expression::Tags(single.tags.clone()), 0, is_retry);
    let (queue, none) = (Arc::new(queue), rocketry_machine::Slab::new());
    for record in Messages::new(frame.body().clone()) {
        match record {
            Ok(message) if (single.from..next).contains(&message.queue_offset()) && subscription.wants(&message) => {
                pulled.messages.push(deliver::received(&none, &subscription, &queue, &message));
            }
            Ok(_) => {}
            Err(bad) => pulled.undecodable.push((bad.queue_offset, bad.reason.to_string())),
        }
    }
    if pulled.messages.is_empty() && pulled.undecodable.is_empty() {
        pulled.status = PullStatus::NoMatched;
    }
    Ok(pulled)
}
