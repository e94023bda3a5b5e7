//! What an answer, or its absence, means for a send.

use alloc::string::ToString;

use rocketry_codec::codes::ResponseCode;
use rocketry_codec::frame::Frame;
use rocketry_codec::message::property_names;
use rocketry_codec::reply::SendMessageReply;
use rocketry_codec::trace::{TraceRecord, TracedKind};
use rocketry_machine::{LinkError, Moment};

use super::Producers;
use super::send::Step;
use crate::api::{Attempt, Certainty, OpErrorKind, OpId, Outcome, ProducerId, SendReceipt, SendStatus};
use crate::calls::Reply;
use crate::cx::Cx;
use crate::message_trace::{self, Side};
use crate::routes::{BrokerSlot, PublishQueue};

impl Producers {
    /// The broker answered, was late, or its link was lost.
    pub(crate) fn on_reply(&mut self, cx: &mut Cx<'_>, op: OpId, reply: Reply) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let Step::Reply { queue, sent_at } = send.step else { return };
        attempt_over(cx, queue.broker);
        let (kind, certainty, retry) = match reply {
            Reply::Frame(frame) => match self.read(cx, op, queue, &frame) {
                Ok(receipt) => {
                    self.trace(cx, op, (queue, sent_at), &receipt, &frame);
                    return self.succeed(cx, op, receipt);
                }
                Err(failure) => failure,
            },
            Reply::TimedOut { after, flushed } => (OpErrorKind::TimedOut { after }, certainty_of(flushed), true),
            Reply::LinkLost { cause, flushed } => (unreachable(cx, queue.broker, cause), certainty_of(flushed), true),
        };
        self.attempt_failed(cx, op, queue.broker, sent_at, (kind, certainty, retry));
    }

    /// A one-way frame is with the kernel.
    pub(crate) fn on_handed(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let Some(send) = self.lane.remove(op) else { return };
        if let Step::Flush { queue } = send.step {
            attempt_over(cx, queue.broker);
        }
        cx.shared.counters.sent += 1;
        let message_id = send.message.unique_key().unwrap_or_default().to_string();
        cx.done(op, Outcome::Handed { message_id });
        self.send_over(cx, send.producer);
    }

    /// A one-way frame never was whole with the kernel: another attempt costs nothing.
    pub(crate) fn on_not_handed(&mut self, cx: &mut Cx<'_>, op: OpId, cause: LinkError) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let Step::Flush { queue } = send.step else { return };
        attempt_over(cx, queue.broker);
        let kind = unreachable(cx, queue.broker, cause);
        self.attempt_failed(cx, op, queue.broker, cx.now.at, (kind, Certainty::NotSent, true));
    }

    /// The owner does not want the outcome any more.
    pub(crate) fn cancel(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let certainty = match send.step {
            Step::Reply { queue, .. } | Step::Flush { queue } => {
                attempt_over(cx, queue.broker);
                Certainty::Unknown
            }
            Step::Route | Step::Backoff | Step::Room(_) => Certainty::NotSent,
        };
        self.fail(cx, op, OpErrorKind::Cancelled, certainty);
    }

    /// The deadline of its producer's stop has come.
    pub(super) fn fail_stopping(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let certainty = match send.step {
            Step::Reply { queue, .. } | Step::Flush { queue } => {
                attempt_over(cx, queue.broker);
                Certainty::Unknown
            }
            Step::Route | Step::Backoff | Step::Room(_) => Certainty::NotSent,
        };
        self.fail(cx, op, OpErrorKind::Stopping, certainty);
    }

    /// Tells of a stored message, where that is wanted by its producer and its broker.
    fn trace(
        &mut self,
        cx: &mut Cx<'_>,
        op: OpId,
        (queue, sent_at): (PublishQueue, Moment),
        receipt: &SendReceipt,
        answer: &Frame,
    ) {
        let Some(send) = self.lane.get_mut(op) else { return };
        let Some(config) = self.list.get(send.producer).map(|producer| &producer.config) else { return };
        let Some(settings) = &config.trace else { return };
        let Ok(SendMessageReply { trace_on: Some(true) | None, region_id: Some(region), .. }) = answer.read() else {
            return;
        };
        let took = cx.now.at.since(sent_at).as_millis();
        let host = cx.shared.table.broker(queue.broker).and_then(|broker| broker.master().map(ToString::to_string));
        let properties = send.message.property(property_names::DELAY_LEVEL);
        let (tags, keys) = (send.message.property(property_names::TAGS), send.message.property(property_names::KEYS));
        let record = TraceRecord::Published {
            timestamp_ms: cx.now.wall.get() - i64::try_from(took).unwrap_or(0),
            region: Some(&region),
            group: config.group.as_str(),
            topic: send.message.topic().as_str(),
            message_id: &receipt.message_id,
            tags,
            keys,
            store_host: host.as_deref().unwrap_or_default(),
            body_length: i32::try_from(send.message.body().len()).unwrap_or(i32::MAX),
            cost_ms: i32::try_from(took).unwrap_or(i32::MAX),
            kind: if properties.is_some() { TracedKind::Delay } else { TracedKind::Normal },
            offset_message_id: Some(&receipt.offset_message_id),
            success: true,
        };
        let words = keys.unwrap_or_default().split(' ').chain([receipt.message_id.as_str()]);
        let whose = (settings, config.group.as_str(), Side::Produce);
        message_trace::record(cx, whose, send.message.topic(), &record, words);
    }

    fn succeed(&mut self, cx: &mut Cx<'_>, op: OpId, receipt: SendReceipt) {
        let Some(send) = self.lane.remove(op) else { return };
        cx.shared.counters.sent += 1;
        cx.done(op, Outcome::Sent(receipt));
        self.send_over(cx, send.producer);
    }

    fn attempt_failed(
        &mut self,
        cx: &mut Cx<'_>,
        op: OpId,
        slot: BrokerSlot,
        sent_at: Moment,
        (kind, certainty, retry): (OpErrorKind, Certainty, bool),
    ) {
        let Some(send) = self.lane.get_mut(op) else { return };
        if let Some(broker) = cx.shared.table.broker(slot) {
            let took = cx.now.at.since(sent_at);
            send.attempts.push(Attempt::new(broker.name.clone(), took, kind.clone(), certainty));
        }
        let retries = self.list.get(send.producer).map_or(0, |producer| producer.config.retries);
        if retry && send.tries <= retries && cx.now.at < send.deadline {
            send.step = Step::Backoff;
            self.attempt(cx, op);
        } else {
            self.fail(cx, op, kind, certainty);
        }
    }

    /// Reads an answer: a receipt, or the failure with whether another attempt is allowed.
    fn read(
        &mut self,
        cx: &Cx<'_>,
        op: OpId,
        queue: PublishQueue,
        frame: &Frame,
    ) -> Result<SendReceipt, (OpErrorKind, Certainty, bool)> {
        let protocol = |what: &str| (OpErrorKind::Protocol(what.into()), Certainty::Unknown, false);
        let send = self.lane.get_mut(op).ok_or_else(|| protocol("the send is gone"))?;
        let code = frame.response_code();
        let Some(status) = status_of(code) else {
            let remark = frame.remark().unwrap_or_default().into_owned();
            let retry = is_retried(&self.list, send.producer, code);
            return Err((OpErrorKind::Broker { code, remark }, certainty_of_code(code), retry));
        };
        // The broker has stored it, even if its answer is odd.
        let odd = |what: alloc::string::String| (OpErrorKind::Protocol(what), Certainty::Applied, false);
        let reply = frame.read::<SendMessageReply<'_>>().map_err(|error| odd(error.to_string()))?;
        let named = PublishQueue { broker: queue.broker, id: reply.queue_id };
        let topic = send.message.topic();
        let stored = cx.shared.table.queue(topic, named).ok_or_else(|| odd("the broker is unknown".into()))?;
        let id = send.message.unique_key().unwrap_or_default().to_string();
        let mut receipt = SendReceipt::new(status, id, reply.msg_id.into_owned(), stored, reply.queue_offset);
        receipt.region = reply.region_id.map(alloc::borrow::Cow::into_owned);
        receipt.transaction_id = reply.transaction_id.map(alloc::borrow::Cow::into_owned);
        Ok(receipt)
    }
}

fn is_retried(
    list: &rocketry_machine::Slab<ProducerId, super::Producer>,
    producer: ProducerId,
    code: ResponseCode,
) -> bool {
    list.get(producer).is_some_and(|producer| producer.config.retry_codes.contains(&code.0))
}

/// The four codes that mean "stored" (wire.md 4.1).
const fn status_of(code: ResponseCode) -> Option<SendStatus> {
    match code {
        ResponseCode::SUCCESS => Some(SendStatus::Stored),
        ResponseCode::FLUSH_DISK_TIMEOUT => Some(SendStatus::FlushDiskTimeout),
        ResponseCode::FLUSH_SLAVE_TIMEOUT => Some(SendStatus::FlushSlaveTimeout),
        ResponseCode::SLAVE_NOT_AVAILABLE => Some(SendStatus::SlaveNotAvailable),
        _ => None,
    }
}

/// A refusal means that nothing was stored; only "system error" may come from behind the store.
const fn certainty_of_code(code: ResponseCode) -> Certainty {
    match code {
        ResponseCode::SYSTEM_ERROR => Certainty::Unknown,
        _ => Certainty::NotSent,
    }
}

const fn certainty_of(flushed: bool) -> Certainty {
    if flushed { Certainty::Unknown } else { Certainty::NotSent }
}

fn attempt_over(cx: &mut Cx<'_>, slot: BrokerSlot) {
    if let Some(broker) = cx.shared.table.broker_mut(slot) {
        broker.in_flight = broker.in_flight.saturating_sub(1);
    }
}

fn unreachable(cx: &Cx<'_>, slot: BrokerSlot, cause: LinkError) -> OpErrorKind {
    let endpoint = cx.shared.table.broker(slot).and_then(|broker| broker.master().cloned());
    match endpoint {
        Some(endpoint) => OpErrorKind::Unreachable { endpoint, cause },
        None => OpErrorKind::Protocol("the broker has left the routes".into()),
    }
}
