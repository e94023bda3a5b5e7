//! Calls of the owner: one typed request to one peer, one answer.
//!
//! Timers: none of its own; each call has its deadline in the request table.

use crate::api::{Call, Certainty, OpError, OpErrorKind, OpId, Outcome, Peer};
use crate::calls::Reply;
use crate::cx::{Cx, NotSent, Outgoing};
use crate::ops::OpOwner;
use crate::waiter::Waiter;
use rocketry_machine::Endpoint;

/// The admin part.
#[derive(Debug, Default)]
pub(crate) struct Admin {
    asked: alloc::collections::BTreeMap<OpId, Endpoint>,
}

impl Admin {
    /// Sends the request.
    pub(crate) fn submit(&mut self, cx: &mut Cx<'_>, call: Call) -> OpId {
        let op = cx.shared.ops.insert(OpOwner::Call);
        let peer = match &call.peer {
            Peer::NameServer => cx.shared.naming.current().cloned(),
            Peer::Broker(name) => cx.master(name),
            Peer::Address(endpoint) => Some(endpoint.clone()),
        };
        let Some(peer) = peer else {
            let text = alloc::format!("no address is known for {:?}", call.peer);
            fail(cx, op, OpErrorKind::Refused(text), Certainty::NotSent);
            return op;
        };
        let timeout = call.timeout.unwrap_or(cx.shared.config.request_timeout);
        let how = Outgoing { timeout, waiter: Waiter::User(op) };
        match cx.request_raw(&peer, &call.request, how) {
            Ok(_) => {
                self.asked.insert(op, peer);
            }
            Err(NotSent::NoLink(no)) => {
                let kind = OpErrorKind::Unreachable { endpoint: peer, cause: no.cause };
                fail(cx, op, kind, Certainty::NotSent);
            }
            Err(NotSent::TooLarge { size, limit }) => {
                let text = alloc::format!("the frame has {size} bytes, limits.frame allows {limit}");
                fail(cx, op, OpErrorKind::Refused(text), Certainty::NotSent);
            }
            Err(NotSent::NoRoom(_) | NotSent::NoCall) => {
                let text = "too many requests wait for an answer (limits.calls)".into();
                fail(cx, op, OpErrorKind::Refused(text), Certainty::NotSent);
            }
        }
        op
    }

    pub(crate) fn on_reply(&mut self, cx: &mut Cx<'_>, op: OpId, reply: Reply) {
        let Some(peer) = self.asked.remove(&op) else { return };
        let certainty = |flushed| if flushed { Certainty::Unknown } else { Certainty::NotSent };
        match reply {
            Reply::Frame(frame) => cx.done(op, Outcome::Reply(frame)),
            Reply::TimedOut { after, flushed } => {
                fail(cx, op, OpErrorKind::TimedOut { after }, certainty(flushed));
            }
            Reply::LinkLost { cause, flushed } => {
                fail(cx, op, OpErrorKind::Unreachable { endpoint: peer, cause }, certainty(flushed));
            }
        }
    }

    /// The owner does not want the answer any more.
    pub(crate) fn cancel(&mut self, cx: &mut Cx<'_>, op: OpId) {
        if self.asked.remove(&op).is_some() {
            fail(cx, op, OpErrorKind::Cancelled, Certainty::Unknown);
        }
    }
}

fn fail(cx: &mut Cx<'_>, op: OpId, kind: OpErrorKind, certainty: Certainty) {
    cx.done(op, Outcome::Failed(OpError::new(kind, certainty)));
}
