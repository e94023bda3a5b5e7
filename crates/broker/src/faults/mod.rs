//! Faults on demand: what a test wants to go wrong, as data.
//!
//! A [`FaultRule`] says which requests it is for (code, topic, how many to let pass, how many to hit) and what happens to
//! them. The dispatcher asks the rules before a request reaches the part that serves it; the oldest rule that has
//! something left for a request decides. A request that is put off waits on the machine's own timer; when its time has
//! come it is served as if it had just arrived, and no rule is asked again.

mod parse;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::frame::Frame;
use rocketry_machine::{ConnId, Moment};

pub use parse::FaultSyntax;

/// Requests that wait for their delay to end, at most. Beyond it a request is served at once.
const MAX_DELAYED: usize = 10_000;
/// Rules at once. The oldest goes when one more comes.
const MAX_RULES: usize = 1_000;

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is served so much later. Requests behind it on the connection overtake it.
    Delay(Duration),
    /// Its connection is closed; it is not served.
    CloseBefore,
    /// It is served; then its connection is closed instead of answering.
    CloseAfter,
    /// It is served, and its answer never sent. A pull that would have waited for news does not wait.
    DropAnswer,
    /// It is not served but answered with this code and remark, without fields or body.
    Answer {
        /// The code of the answer.
        code: ResponseCode,
        /// The remark of the answer; empty for none.
        remark: Arc<str>,
    },
    /// Its connection stays open, but nothing that arrives on it is served, and nothing is sent on it any more.
    HalfOpen,
}

/// Which requests go wrong, and how.
///
/// ```
/// use rocketry_broker::{Fault, FaultRule};
/// use rocketry_codec::codes::{RequestCode, ResponseCode};
///
/// let busy = Fault::Answer { code: ResponseCode::SYSTEM_BUSY, remark: "".into() };
/// let rule = FaultRule::new(busy).on(RequestCode::SEND_MESSAGE_V2).topic("orders").times(5);
/// assert_eq!("code=310,topic=orders,times=5,answer=2".parse(), Ok(rule));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultRule {
    /// The request code. Default any.
    pub code: Option<RequestCode>,
    /// The topic that the request's header names. Default any; requests whose topics stand in their bodies match no topic.
    pub topic: Option<Arc<str>>,
    /// How many matching requests pass before the first is hit. Default none.
    pub after: u32,
    /// How many requests are hit. Default all.
    pub times: Option<u32>,
    /// What happens to them.
    pub fault: Fault,
}

impl FaultRule {
    /// Every request.
    #[must_use]
    pub const fn new(fault: Fault) -> Self {
        Self { code: None, topic: None, after: 0, times: None, fault }
    }

    /// Only requests with this code.
    #[must_use]
    pub const fn on(mut self, code: RequestCode) -> Self {
        self.code = Some(code);
        self
    }

    /// Only requests whose header names this topic.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<Arc<str>>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// So many matching requests pass first.
    #[must_use]
    pub const fn after(mut self, requests: u32) -> Self {
        self.after = requests;
        self
    }

    /// At most so many requests are hit.
    #[must_use]
    pub const fn times(mut self, requests: u32) -> Self {
        self.times = Some(requests);
        self
    }

    fn matches(&self, frame: &Frame) -> bool {
        self.code.is_none_or(|code| code == frame.request_code())
            && self.topic.as_deref().is_none_or(|topic| topic_of(frame).is_some_and(|named| &*named == topic))
    }
}

/// A rule that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

#[derive(Debug)]
struct Active {
    rule: FaultRule,
    seen: u32,
    hits: u32,
}

/// The rules of a server, and the requests that one of them has put off.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    rules: BTreeMap<u64, Active>,
    next: u64,
    delayed: BTreeMap<(Moment, u64), (ConnId, Frame)>,
}

impl Faults {
    pub(crate) fn add(&mut self, rule: FaultRule) -> FaultId {
        if self.rules.len() >= MAX_RULES {
            self.rules.pop_first();
        }
        self.next += 1;
        self.rules.insert(self.next, Active { rule, seen: 0, hits: 0 });
        FaultId(self.next)
    }

    pub(crate) fn remove(&mut self, id: FaultId) -> bool {
        self.rules.remove(&id.0).is_some()
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn hits(&self, id: FaultId) -> u32 {
        self.rules.get(&id.0).map_or(0, |active| active.hits)
    }

    /// What happens to a request; `None` when it is served as ever.
    pub(crate) fn strike(&mut self, frame: &Frame) -> Option<Fault> {
        for active in self.rules.values_mut() {
            let rule = &active.rule;
            if rule.times.is_some_and(|times| active.hits >= times) || !rule.matches(frame) {
                continue;
            }
            active.seen = active.seen.saturating_add(1);
            if active.seen > rule.after {
                active.hits = active.hits.saturating_add(1);
                return Some(rule.fault.clone());
            }
        }
        None
    }

    /// Puts a request off; false when too many wait already.
    pub(crate) fn delay(&mut self, until: Moment, conn: ConnId, frame: &Frame) -> bool {
        if self.delayed.len() >= MAX_DELAYED {
            return false;
        }
        self.next += 1;
        self.delayed.insert((until, self.next), (conn, frame.clone()));
        true
    }

    /// The requests whose delay is over, in the order in which they are due.
    pub(crate) fn take_due(&mut self, now: Moment) -> Vec<(ConnId, Frame)> {
        let mut due = Vec::new();
        while let Some(first) = self.delayed.first_entry()
            && first.key().0 <= now
        {
            due.push(first.remove());
        }
        due
    }

    /// When the next delay ends.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.delayed.keys().next().map(|(at, _)| *at)
    }

    /// Drops the requests of a connection that is gone.
    pub(crate) fn close(&mut self, conn: ConnId) {
        self.delayed.retain(|_, (of, _)| *of != conn);
    }
}

/// The topic that a request's header names; the compact send headers call it `b`.
fn topic_of(frame: &Frame) -> Option<alloc::borrow::Cow<'_, str>> {
    match frame.request_code() {
        RequestCode::SEND_MESSAGE_V2 | RequestCode::SEND_BATCH_MESSAGE => {
            frame.field("b").or_else(|| frame.field("topic"))
        }
        _ => frame.field("topic"),
    }
}

#[cfg(test)]
mod tests;
