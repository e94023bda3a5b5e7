//! GO_AWAY (1500): the peer is shutting down and asks for a new connection (wire.md 1.5, producer.md 6.8).
//!
//! The request is sent once more, on a new connection, within its old deadline; the old connection drains. A second
//! GO_AWAY is an answer like any other.

use rocketry_codec::codes::ResponseCode;
use rocketry_codec::frame::Frame;
use rocketry_machine::LinkError;

use crate::calls::{Pending, Reply};
use crate::cx::{Cx, Outgoing, Want};

/// Whether the answer is GO_AWAY.
pub(crate) fn is_go_away(frame: &Frame) -> bool {
    frame.response_code() == ResponseCode::GO_AWAY
}

/// Sends the request again, or gives back the call with the reply that its waiter must hear instead.
pub(crate) fn retry(cx: &mut Cx<'_>, mut pending: Pending, answer: Frame) -> Option<(Pending, Reply)> {
    let endpoint = cx.shared.links.get(pending.conn).map(|link| link.endpoint().clone());
    cx.shared.links.drain(pending.conn);
    cx.want(Want::CloseDrained(pending.conn));
    let (Some(frame), Some(endpoint)) = (pending.resend.take(), endpoint) else {
        return Some((pending, Reply::Frame(answer)));
    };
    let timeout = pending.deadline.since(cx.now.at);
    match cx.launch_again(&endpoint, &frame, Outgoing { timeout, waiter: pending.waiter }) {
        Ok(()) => None,
        // The broker refused the first one, and no second one left: surely not done.
        Err(_) => Some((pending, Reply::LinkLost { cause: LinkError::Eof, flushed: false })),
    }
}
