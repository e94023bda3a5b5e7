//! The reference model of a case: what applications did and were told, and what brokers were asked. Small and sequential:
//! it says what may be, and the checks hold the cluster against it.

use std::collections::{BTreeMap, BTreeSet};

use rocketry_codec::codes::RequestCode;
use rocketry_codec::frame::Frame;
use rocketry_codec::request::{PullMessage, UpdateConsumerOffset};
use rocketry_core::MessageQueue;

use crate::check::{self, Violation};
use crate::plan::Part;

/// A pull that carries the position of the group has this bit in its flags.
const COMMITS: i32 = 1;

/// What is known about a case.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The number of the next message.
    pub(crate) next: u32,
    /// Whether further messages are to be sent.
    pub(crate) sending: bool,
    /// Messages that a broker acknowledged.
    pub(crate) acknowledged: BTreeSet<u32>,
    /// Sends that failed; they are tried again under the same number.
    pub(crate) failed_sends: u64,
    /// By message: how often a handler succeeded with it.
    pub(crate) handled: BTreeMap<u32, u32>,
    /// Handlers that ended, by place.
    finished: BTreeMap<MessageQueue, Finished>,
    /// The highest position that was saved of each queue.
    pub(crate) saved: BTreeMap<MessageQueue, i64>,
    /// Requests that servers received.
    pub(crate) requests: u64,
    /// What must not be.
    pub(crate) violations: Vec<Violation>,
}

/// Offsets of a queue whose handlers have ended.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// All below.
    pub(crate) below: i64,
    /// And these.
    pub(crate) beyond: BTreeSet<i64>,
}

impl Ledger {
    /// Nothing has happened; messages are to be sent.
    pub(crate) fn new() -> Self {
        Self { sending: true, ..Self::default() }
    }

    /// A handler has ended, with success or by refusing its message.
    pub(crate) fn finish(&mut self, queue: &MessageQueue, offset: i64) {
        if !self.finished.contains_key(queue) {
            self.finished.insert(queue.clone(), Finished::default());
        }
        let Some(finished) = self.finished.get_mut(queue) else { return };
        finished.beyond.insert(offset);
        while finished.beyond.remove(&finished.below) {
            finished.below += 1;
        }
    }

    /// Messages below an offset were deleted: nobody can finish them any more.
    pub(crate) fn trimmed(&mut self, queue: &MessageQueue, below: i64) {
        let finished = self.finished.entry(queue.clone()).or_default();
        finished.below = finished.below.max(below);
        finished.beyond.retain(|offset| *offset >= finished.below);
    }

    /// What was finished of a queue.
    pub(crate) fn finished(&self, queue: &MessageQueue) -> Option<&Finished> {
        self.finished.get(queue)
    }

    /// How far each queue is done.
    pub(crate) fn positions(&self) -> impl Iterator<Item = (&MessageQueue, i64)> {
        self.finished.iter().map(|(queue, finished)| (queue, finished.below))
    }

    /// A server received a request.
    pub(crate) fn on_request(&mut self, at: Part, frame: &Frame) {
        self.requests += 1;
        let Part::Broker(number) = at else { return };
        let broker = super::broker_name(number);
        let (topic, queue, position) = match frame.request_code() {
            RequestCode::UPDATE_CONSUMER_OFFSET => match frame.read::<UpdateConsumerOffset<'_>>() {
                Ok(request) => (request.topic, request.queue_id, request.commit_offset),
                Err(_) => return,
            },
            RequestCode::PULL_MESSAGE => match frame.read::<PullMessage<'_>>() {
                Ok(request) if request.sys_flag & COMMITS != 0 => {
                    (request.topic, request.queue_id, request.commit_offset)
                }
                _ => return,
            },
            _ => return,
        };
        if *topic != *super::TOPIC && topic.strip_prefix("%RETRY%") != Some(super::GROUP) {
            return;
        }
        let queue = MessageQueue::new(&*topic, broker.as_str(), queue);
        if let Some(what) = check::committed(self, &queue, position) {
            self.violate("committed", what);
        }
        let saved = self.saved.entry(queue).or_default();
        *saved = (*saved).max(position);
    }

    /// Notes what must not be, if it is not known yet.
    pub(crate) fn violate(&mut self, check: &'static str, what: String) {
        if self.violations.len() < 20 {
            self.violations.push(Violation { check, what });
        }
    }
}
