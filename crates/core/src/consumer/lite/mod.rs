//! Consumers that are polled instead of being offered messages: lite pull, and the essence of the old pull consumer
//! (consumer.md 10).
//!
//! A lite consumer is a consumer like others, with the same divisions, positions, pulls and queues. Three things differ:
//!
//! | file | decides |
//! |---|---|
//! | `assign` | which queues are ours when the owner says so, which of them are paused, what is kept in all |
//! | `poll` | what a poll hands over, and when that counts as handled |
//! | `commit` | what is saved when the owner says so |
//! | `errand`, `answers` | what is done once for an operation: seeks, offsets, single pulls, sending back |
//! | `dispatch` | whether a command can be taken, and who ends its operation |
//!
//! What a poll hands over counts as handled when the next poll comes, or a commit by hand; positions follow only then, so
//! that a queue that moves away, a stop or a crash never skips what the application may not have handled (`cases.md`
//! OFF-12). A consumer with a commit interval saves such positions by itself; without one it saves nothing that it was
//! not told to.
//!
//! A seek gives its queue a new key. Whatever was on its way for the old one is stale (OFF-11); the queue begins at the
//! target and stays there until a pull succeeds.
//!
//! The form, subscribed or assigned, is fixed by the first command that needs one, and stays.
//!
//! Timers: `Poll`, the end of the wait of a poll. `SaveOffsets` runs at the commit interval.

mod answers;
mod assign;
mod commit;
mod dispatch;
mod errand;
mod poll;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_codec::codes::Version;
use rocketry_codec::frame::Frame;
use rocketry_machine::{Key, Slab};

use self::commit::Committing;
use self::errand::Errand;
use self::poll::{Handed, Waiting};
use super::group::Consumer;
use crate::api::{
    BrokerName, Certainty, ConsumerConfig, LiteConfig, MessageQueue, OpError, OpErrorKind, OpId, Outcome, Topic,
};
use crate::cx::Cx;

/// The first release whose brokers know the code of lite pulls (wire.md 4.2).
const LITE_PULL_SINCE: Version = Version::V5_0_0;

/// What a consumer that is polled has beside what all have.
#[derive(Debug)]
pub(super) struct Lite {
    form: Option<Form>,
    assigned: BTreeSet<MessageQueue>,
    filters: BTreeMap<Topic, alloc::string::String>,
    max_total: u64,
    auto_commit: Option<Duration>,
    poll: Option<Waiting>,
    /// What the last poll handed over and nothing has settled yet.
    handed: Vec<Handed>,
    last_poll: Option<OpId>,
    errands: Slab<Key, Errand>,
    commits: Vec<Committing>,
    /// Brokers that are known to know the code of lite pulls. Old ones do not even answer it.
    modern: BTreeSet<BrokerName>,
    /// Brokers that say that they do not know it, whatever their version.
    plain: BTreeSet<BrokerName>,
}

/// Where the queues come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Topics are divided among the members.
    Subscribe,
    /// The owner names queues.
    Assign,
}

/// How a queue is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// For a push consumer: the broker knows the subscription, and takes the position along.
    Push,
    /// The subscription travels along, under a code of its own.
    Lite,
    /// The same under the code of other pulls, for brokers that do not know the other.
    Plain,
}

impl Lite {
    /// From settings that were checked.
    pub(super) fn new(config: &LiteConfig) -> Self {
        let form = match (config.subscriptions.is_empty(), config.assigned.is_empty()) {
            (false, _) => Some(Form::Subscribe),
            (true, false) => Some(Form::Assign),
            (true, true) => None,
        };
        Self {
            form,
            assigned: config.assigned.clone(),
            filters: config.filters.clone(),
            max_total: config.max_cached_total,
            auto_commit: config.auto_commit,
            poll: None,
            handed: Vec::new(),
            last_poll: None,
            errands: Slab::new(),
            commits: Vec::new(),
            modern: BTreeSet::new(),
            plain: BTreeSet::new(),
        }
    }
}

/// The settings that lite consumers share with others.
pub(super) fn shared_settings(config: &LiteConfig) -> ConsumerConfig {
    ConsumerConfig {
        subscriptions: config.subscriptions.clone(),
        start_at: config.start_at,
        pull_batch: config.pull_batch,
        max_cached_messages: config.max_cached_messages,
        max_cached_bytes: config.max_cached_bytes,
        max_span: config.max_span,
        pull_retry: config.pull_retry,
        long_poll: config.long_poll,
        allocation: config.allocation.clone(),
        exact_start: config.exact_start,
        quarantine: config.quarantine,
        trace: config.trace.clone(),
        ..ConsumerConfig::new(config.group.clone())
    }
}

impl Consumer {
    /// Whether positions are saved only when the owner says so.
    pub(super) fn commits_by_hand(&self) -> bool {
        self.lite.as_ref().is_some_and(|lite| lite.auto_commit.is_none())
    }

    /// Whether the owner names the queues.
    pub(super) fn is_assigned_by_hand(&self) -> bool {
        self.lite.as_ref().is_some_and(|lite| lite.form == Some(Form::Assign))
    }

    /// How often positions are saved.
    pub(super) fn save_interval(&self, cx: &Cx<'_>) -> Duration {
        let own = self.lite.as_ref().and_then(|lite| lite.auto_commit);
        own.unwrap_or(cx.shared.config.offset_interval)
    }

    /// How a queue is pulled.
    pub(super) fn manner(&self, key: Key) -> Manner {
        match (&self.lite, self.queues.get(key)) {
            (Some(lite), Some(queue))
                if lite.modern.contains(&queue.mq.broker) && !lite.plain.contains(&queue.mq.broker) =>
            {
                Manner::Lite
            }
            (Some(_), _) => Manner::Plain,
            (None, _) => Manner::Push,
        }
    }

    /// A broker has answered something about this queue: its version says how it is pulled.
    pub(super) fn note_version(&mut self, key: Key, frame: &Frame) {
        let (Some(lite), Some(queue)) = (&mut self.lite, self.queues.get(key)) else { return };
        let broker = &queue.mq.broker;
        if frame.version() < LITE_PULL_SINCE {
            lite.modern.remove(broker);
        } else if !lite.modern.contains(broker) {
            lite.modern.insert(broker.clone());
        }
    }

    /// The broker of this queue does not know the code of lite pulls.
    pub(super) fn pull_plainly(&mut self, key: Key) {
        if let (Some(lite), Some(queue)) = (&mut self.lite, self.queues.get(key)) {
            lite.plain.insert(queue.mq.broker.clone());
        }
    }

    /// The consumer stops: nobody is kept waiting. Commits go on, since the stop saves what they want.
    pub(super) fn end_operations(&mut self, cx: &mut Cx<'_>) {
        let Some(lite) = &mut self.lite else { return };
        if let Some(waiting) = lite.poll.take() {
            fail(cx, waiting.op, OpErrorKind::Stopping, Certainty::NotSent);
        }
        for key in lite.errands.ids() {
            if let Some(errand) = lite.errands.remove(key) {
                fail(cx, errand.op, OpErrorKind::Stopping, errand.certainty());
            }
        }
    }

    /// The owner does not wait for an operation any more.
    fn cancel(&mut self, cx: &mut Cx<'_>, op: OpId) {
        let id = self.id;
        let Some(lite) = &mut self.lite else { return };
        if lite.poll.take_if(|waiting| waiting.op == op).is_some() {
            cx.shared.timers.cancel(crate::timer::TimerKey::Consumer(id, crate::timer::ConsumerTimer::Poll));
            return fail(cx, op, OpErrorKind::Cancelled, Certainty::NotSent);
        }
        if let Some(at) = lite.commits.iter().position(|commit| commit.op == op) {
            lite.commits.swap_remove(at);
            return fail(cx, op, OpErrorKind::Cancelled, Certainty::Unknown);
        }
        let errand = lite.errands.iter().find(|(_, errand)| errand.op == op).map(|(key, _)| key);
        if let Some(errand) = errand.and_then(|key| lite.errands.remove(key)) {
            fail(cx, op, OpErrorKind::Cancelled, errand.certainty());
        }
    }
}

fn fail(cx: &mut Cx<'_>, op: OpId, kind: OpErrorKind, certainty: Certainty) {
    cx.done(op, Outcome::Failed(OpError::new(kind, certainty)));
}
