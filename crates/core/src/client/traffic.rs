//! What the network says: frames, flushes, lost links, missed deadlines.

use rocketry_codec::frame::Frame;
use rocketry_machine::{CloseReason, ConnId, LinkError, Now};

use super::Client;
use crate::api::Notice;
use crate::calls::{Pending, Reply};
use crate::cx::{Cx, Want};
use crate::links::{Ended, Link, LinkState};
use crate::timer::TimerKey;

impl Client {
    pub(super) fn on_frame(&mut self, now: Now, conn: ConnId, frame: Frame) {
        let mut cx = Cx { now, shared: &mut self.shared };
        if !frame.is_response() {
            return crate::serverside::on_request(&mut cx, &mut self.consumers, &self.producers, conn, &frame);
        }
        let Some(pending) = cx.shared.calls.answered(conn, frame.opaque()) else {
            return cx.notice(Notice::StrayReply { conn });
        };
        if let Some(link) = cx.shared.links.get_mut(conn) {
            link.progressed(now.at);
        }
        self.call_over(now, conn);
        if crate::go_away::is_go_away(&frame) {
            let mut cx = Cx { now, shared: &mut self.shared };
            if let Some((pending, reply)) = crate::go_away::retry(&mut cx, pending, frame) {
                self.finish(now, pending, reply);
            }
            return;
        }
        self.finish(now, pending, Reply::Frame(frame));
    }

    pub(super) fn call_over(&mut self, now: Now, conn: ConnId) {
        let Some(link) = self.shared.links.get_mut(conn) else { return };
        if link.call_left() && link.state() == LinkState::Draining {
            self.close_link(now, conn, CloseReason::GoAway, LinkError::Eof);
        }
    }

    pub(super) fn on_flushed(&mut self, now: Now, conn: ConnId, frames: u32) {
        let Some(link) = self.shared.links.get_mut(conn) else { return };
        link.flush(frames);
        let room = link.take_room_wanted();
        while let Some(op) = self.shared.links.get_mut(conn).and_then(Link::pop_flushed_oneway) {
            self.producers.on_handed(&mut Cx { now, shared: &mut self.shared }, op);
        }
        if room {
            Cx { now, shared: &mut self.shared }.want(Want::LinkRoom(conn));
        }
    }

    /// We close a connection: nothing more is emitted for it.
    pub(super) fn close_link(&mut self, now: Now, conn: ConnId, why: CloseReason, cause: LinkError) {
        let known = self.shared.links.get(conn).is_some();
        if known {
            Cx { now, shared: &mut self.shared }.close(conn, why);
            self.link_gone(now, conn, cause);
        }
    }

    pub(super) fn link_gone(&mut self, now: Now, conn: ConnId, cause: LinkError) {
        self.shared.timers.cancel(TimerKey::Connect(conn));
        let Some(Ended { link, unsent }) = self.shared.links.closed(now.at, conn, cause) else { return };
        let mut cx = Cx { now, shared: &mut self.shared };
        cx.notice(Notice::Link { conn, endpoint: link.endpoint().clone(), gone: Some(cause) });
        for op in unsent {
            self.producers.on_not_handed(&mut cx, op, cause);
        }
        for pending in self.shared.calls.lost(conn) {
            let flushed = link.is_flushed(pending.seq);
            self.finish(now, pending, Reply::LinkLost { cause, flushed });
        }
        self.heartbeat.on_link_gone(conn);
        self.producers.on_link_gone(&mut Cx { now, shared: &mut self.shared }, conn);
    }

    pub(super) fn on_expired(&mut self, now: Now, pending: Pending) {
        let conn = pending.conn;
        let link = self.shared.links.get(conn);
        let flushed = link.is_some_and(|link| link.is_flushed(pending.seq));
        let silent = link.is_some_and(|link| !link.progressed_since(pending.sent_at));
        let after = pending.deadline.since(pending.sent_at);
        self.call_over(now, conn);
        self.finish(now, pending, Reply::TimedOut { after, flushed });
        // No answer to anything since then: the peer is gone without saying so (`cases.md` NET-05).
        if silent {
            self.close_link(now, conn, CloseReason::Unresponsive, LinkError::Silent);
        }
    }
}
