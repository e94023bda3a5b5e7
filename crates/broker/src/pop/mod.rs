//! POP consumption (`spec/broker.md` 9): the broker decides who gets which message, and brings back what nobody
//! acknowledged.
//!
//! A popped message is invisible to its group until it is acknowledged or its time is over; then it is copied to the
//! retry topic that belongs to the group and the topic. Ordered pops keep messages in their queue and block it instead.
//!
//! | file | decides |
//! | --- | --- |
//! | `admit` | which pops are refused |
//! | `serve` | what a pop gets |
//! | `start` | where a group begins in a queue |
//! | `info` | what an answer says about its messages |
//! | `invisible` | which messages are invisible, and until when |
//! | `ack` | what acknowledging and changing the time do |
//! | `revive` | what becomes of messages whose time is over |
//! | `order` | when an ordered queue is blocked, and where its group stands |
//! | `polling` | who waits for messages, and when they are woken |
//! | `assign` | how groups read topics, and who gets which queue |
//!
//! Nothing here outlives the machine: like the log it lives in memory. A machine that is served again keeps it.

mod ack;
mod admit;
mod assign;
mod info;
mod invisible;
mod order;
mod polling;
mod revive;
mod serve;
mod start;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use rocketry_codec::codes::RequestCode;
use rocketry_machine::ConnId;

use crate::config::BrokerLimits;
use crate::shell::{Call, Shell};
use crate::state::{State, unsupported};
use assign::Modes;
use invisible::Invisible;
use order::Orders;
use polling::Polls;
pub(crate) use polling::{on_news, on_timer};

/// A queue as one group sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    group: Arc<str>,
    /// The topic in which the messages are stored: for retried ones the retry topic.
    topic: Arc<str>,
    queue: i32,
}

impl Place {
    fn new(group: &str, topic: &str, queue: i32) -> Self {
        Self { group: group.into(), topic: topic.into(), queue }
    }
}

/// What a broker knows about popped messages and those who wait for some.
#[derive(Debug)]
pub(crate) struct Pop {
    invisible: Invisible,
    orders: Orders,
    polls: Polls,
    modes: Modes,
    /// Up to where a group has popped a queue.
    positions: BTreeMap<Place, i64>,
    /// The revive queue of the last handle; Apache spreads them over eight.
    revive_queue: i32,
}

impl Pop {
    pub(crate) fn new(limits: &BrokerLimits) -> Self {
        Self {
            invisible: Invisible::new(limits.popped_messages),
            orders: Orders::default(),
            polls: Polls::new(limits.held_pops),
            modes: Modes::default(),
            positions: BTreeMap::new(),
            revive_queue: 0,
        }
    }

    fn next_revive_queue(&mut self) -> i32 {
        let queue = self.revive_queue;
        self.revive_queue = (queue + 1) % 8;
        queue
    }

    /// A connection is gone, and with it those who waited on it.
    pub(crate) fn close(&mut self, conn: ConnId) {
        self.polls.close(conn);
    }

    /// Forgets a topic: its offsets start anew if it comes back.
    pub(crate) fn remove_topic(&mut self, topic: &str) {
        self.positions.retain(|place, _| &*place.topic != topic);
        self.orders.retain(|place| &*place.topic != topic);
        self.invisible.retain(|place| &*place.topic != topic);
    }

    /// Forgets a group.
    pub(crate) fn remove_group(&mut self, group: &str) {
        self.positions.retain(|place, _| &*place.group != group);
        self.orders.retain(|place| &*place.group != group);
        self.invisible.retain(|place| &*place.group != group);
    }

    /// Whether somebody waits for messages at all.
    pub(crate) const fn somebody_waits(&self) -> bool {
        !self.polls.is_empty()
    }
}

/// Answers a request of a popping consumer.
pub(crate) fn handle(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.request_code() {
        RequestCode::POP_MESSAGE => polling::pop(state, shell, call),
        RequestCode::PEEK_MESSAGE => polling::peek(state, shell, call),
        RequestCode::NOTIFICATION => polling::notify(state, shell, call),
        RequestCode::POLLING_INFO => polling::info(state, shell, call),
        RequestCode::ACK_MESSAGE => ack::one(state, shell, call),
        RequestCode::BATCH_ACK_MESSAGE => ack::batch(state, shell, call),
        RequestCode::CHANGE_MESSAGE_INVISIBLETIME => ack::change(state, shell, call),
        RequestCode::QUERY_ASSIGNMENT => assign::query(state, shell, call),
        RequestCode::SET_MESSAGE_REQUEST_MODE => assign::set_mode(state, shell, call),
        _ => unsupported(shell, call),
    }
}

#[cfg(test)]
mod tests;
