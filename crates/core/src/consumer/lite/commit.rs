//! Commits: positions that are saved because the owner says so (consumer.md 10.6).
//!
//! Decides: which positions are to be saved, and when a commit that waits has ended. One save of a queue is on its way at
//! a time, so that brokers cannot take two in the wrong order; a commit that finds another save under way follows it.
//! What a broker did not take stays wanted and is sent again with the next round, also when its commit has failed.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use rocketry_codec::codes::ResponseCode;
use rocketry_machine::{ConnId, Key};

use super::fail;
use crate::api::{Certainty, Commit, CommitUntil, MessageQueue, OpErrorKind, OpId, Outcome};
use crate::calls::Reply;
use crate::consumer::group::{Consumer, failure_of};
use crate::consumer::queue::Step;
use crate::cx::Cx;

/// A commit that waits for brokers.
#[derive(Debug)]
pub(super) struct Committing {
    pub(super) op: OpId,
    /// The positions that are not stored yet.
    waiting: BTreeMap<Key, i64>,
    failure: Option<OpErrorKind>,
}

impl Consumer {
    /// Saves positions. The queues that are named were checked to be ours.
    pub(super) fn commit(&mut self, cx: &mut Cx<'_>, op: OpId, what: Commit, until: CommitUntil) {
        let targets = self.commit_targets(cx, what);
        let mut committing = Committing { op, waiting: BTreeMap::new(), failure: None };
        for (key, offset) in targets {
            let Some(queue) = self.queues.get_mut(key) else { continue };
            queue.wanted = Some(offset);
            // What is on its way comes first; its answer sends the rest.
            if queue.saving.is_some() || self.save(cx, key) {
                committing.waiting.insert(key, offset);
            } else {
                committing.failure.get_or_insert_with(unsent);
            }
        }
        if until == CommitUntil::Accepted {
            return cx.done(op, Outcome::Changed);
        }
        if committing.waiting.is_empty() {
            return committing.end(cx);
        }
        if let Some(lite) = &mut self.lite {
            lite.commits.push(committing);
        }
    }

    fn commit_targets(&mut self, cx: &mut Cx<'_>, what: Commit) -> Vec<(Key, i64)> {
        let named = match what {
            Commit::Offsets(offsets) => {
                let of = |(queue, offset): (MessageQueue, i64)| Some((*self.owned.get(&queue)?, offset));
                return offsets.into_iter().filter_map(of).collect();
            }
            Commit::All => None,
            Commit::Queues(queues) => Some(queues),
        };
        let chosen = |queue: &MessageQueue| named.as_ref().is_none_or(|named| named.contains(queue));
        self.settle_handed(cx, chosen);
        let live = self.queues.iter().filter(|(_, queue)| queue.step == Step::Live && chosen(&queue.mq));
        let due = live.filter(|(_, queue)| {
            queue.saved != Some(queue.position()) || queue.saving.is_some() || queue.wanted.is_some()
        });
        due.map(|(key, queue)| (key, queue.position())).collect()
    }

    /// A queue goes on under another key: commits follow.
    pub(in crate::consumer) fn commits_move(&mut self, from: Key, to: Key) {
        let Some(lite) = &mut self.lite else { return };
        for commit in &mut lite.commits {
            if let Some(offset) = commit.waiting.remove(&from) {
                commit.waiting.insert(to, offset);
            }
        }
    }

    /// The saving of a position has ended.
    pub(in crate::consumer) fn commit_settled(
        &mut self,
        cx: &mut Cx<'_>,
        key: Key,
        position: Option<i64>,
        conn: ConnId,
        reply: &Reply,
    ) {
        let (Some(lite), Some(position)) = (&mut self.lite, position) else { return };
        let stored = matches!(reply, Reply::Frame(frame) if frame.response_code() == ResponseCode::SUCCESS);
        let behind = self.queues.get(key).is_some_and(|queue| queue.wanted.is_some_and(|wanted| wanted != position));
        for commit in &mut lite.commits {
            match commit.waiting.get(&key) {
                Some(_) if !stored => {
                    commit.waiting.remove(&key);
                    commit.failure.get_or_insert_with(|| failure_of(cx, conn, reply));
                }
                // Where nothing is left to be saved, a later commit has replaced what this one wanted.
                Some(wanted) if *wanted == position || !behind => drop(commit.waiting.remove(&key)),
                Some(_) | None => {}
            }
        }
        if stored && behind && !self.save(cx, key) {
            self.commit_lost(key, &unsent());
        }
        self.end_settled(cx);
    }

    /// A queue is ours no more, or its position cannot be sent: commits do not wait for it.
    fn commit_lost(&mut self, key: Key, why: &OpErrorKind) {
        let Some(lite) = &mut self.lite else { return };
        for commit in &mut lite.commits {
            if commit.waiting.remove(&key).is_some() {
                commit.failure.get_or_insert_with(|| why.clone());
            }
        }
    }

    /// The position of a queue cannot be sent.
    pub(in crate::consumer) fn commit_unsent(&mut self, cx: &mut Cx<'_>, key: Key) {
        self.commit_lost(key, &unsent());
        self.end_settled(cx);
    }

    /// A queue was given up.
    pub(in crate::consumer) fn commits_lose(&mut self, cx: &mut Cx<'_>, key: Key, queue: &MessageQueue) {
        self.commit_lost(key, &OpErrorKind::NotAssigned(queue.clone()));
        self.end_settled(cx);
    }

    fn end_settled(&mut self, cx: &mut Cx<'_>) {
        let Some(lite) = &mut self.lite else { return };
        let (over, still): (Vec<_>, Vec<_>) =
            core::mem::take(&mut lite.commits).into_iter().partition(|commit| commit.waiting.is_empty());
        lite.commits = still;
        for commit in over {
            commit.end(cx);
        }
    }

    /// The consumer is over: what no broker has taken by now fails.
    pub(in crate::consumer) fn end_commits(&mut self, cx: &mut Cx<'_>) {
        let Some(lite) = &mut self.lite else { return };
        for commit in core::mem::take(&mut lite.commits) {
            fail(cx, commit.op, OpErrorKind::Stopping, Certainty::Unknown);
        }
    }
}

impl Committing {
    fn end(self, cx: &mut Cx<'_>) {
        match self.failure {
            Some(kind) => fail(cx, self.op, kind, Certainty::Unknown),
            None => cx.done(self.op, Outcome::Changed),
        }
    }
}

fn unsent() -> OpErrorKind {
    OpErrorKind::Refused("the position could not be sent to its broker".into())
}
