//! Positions that stay with this member: broadcasting, in which every member gets every message (consumer.md 8.3).
//!
//! Decides: when the owner is asked for the positions of before, and when it is asked to keep those of now. The owner
//! loads once, after the start; queues wait for that. It is asked to keep the whole table at each `offset_interval` when
//! something has changed, when a queue goes, and at the stop, one request at a time; a stop waits for the last one.
//!
//! A load that fails is reported and tried again: an error is never "no position".
//!
//! Timers: those of positions at brokers (`SaveOffsets`); `Load`, the next try to load.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::{Key, Slab};

use super::group::Consumer;
use super::queue::Step;
use crate::api::{
    Ask, ConsumerId, KeepOffsets, LoadOffsets, MessageQueue, OffsetStoreError, OffsetTask, OffsetTaskId, OpErrorKind,
};
use crate::cx::Cx;
use crate::timer::ConsumerTimer;

/// The wait before positions are loaded or kept again after a failure.
const AGAIN: Duration = Duration::from_secs(1);

/// Positions that the owner keeps.
#[derive(Debug, Default)]
pub(super) struct Local {
    /// Those of before and those of now; `None` until they are loaded.
    table: Option<BTreeMap<MessageQueue, i64>>,
    /// Whether the owner is loading or keeping.
    busy: bool,
    /// Whether something has changed since the owner was last asked to keep it.
    changed: bool,
    /// What the owner is to be asked for.
    to_ask: Option<Task>,
}

/// What the owner is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Load,
    Keep,
}

/// A question about positions that is open.
#[derive(Debug)]
pub(super) struct OpenTask {
    pub(super) consumer: ConsumerId,
    task: Task,
}

impl Consumer {
    /// Whether positions stay here.
    pub(super) const fn is_local(&self) -> bool {
        self.config.broadcasting
    }

    /// Looks up where a queue begins, or has the table loaded.
    pub(super) fn find_local(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(table) = &self.local.table else { return self.load(cx) };
        let Some(queue) = self.queues.get_mut(key) else { return };
        match table.get(&*queue.mq).copied() {
            Some(position) => {
                queue.saved = Some(position);
                self.begin_queue(cx, key, position);
            }
            None => {
                queue.step = Step::Start;
                self.ask_position(cx, key);
            }
        }
    }

    fn load(&mut self, _: &mut Cx<'_>) {
        if !self.local.busy {
            self.local.busy = true;
            self.local.to_ask = Some(Task::Load);
        }
    }

    /// Asks the owner for what has become necessary.
    pub(super) fn ask_owner(&mut self, cx: &mut Cx<'_>, tasks: &mut Slab<OffsetTaskId, OpenTask>) {
        let Some(task) = self.local.to_ask.take() else { return };
        let id = tasks.insert(OpenTask { consumer: self.id, task });
        let (consumer, group) = (self.id, self.config.group.clone());
        cx.ask(match task {
            Task::Load => Ask::LoadOffsets(LoadOffsets { task: OffsetTask::new(id), consumer, group }),
            Task::Keep => {
                let offsets = self.local.table.clone().unwrap_or_default();
                Ask::KeepOffsets(KeepOffsets { task: OffsetTask::new(id), consumer, group, offsets })
            }
        });
    }

    /// The owner has done what it was asked for, or could not.
    pub(super) fn owner_did(
        &mut self,
        cx: &mut Cx<'_>,
        open: &OpenTask,
        result: Result<BTreeMap<MessageQueue, i64>, OffsetStoreError>,
    ) {
        self.local.busy = false;
        match (open.task, result) {
            (Task::Load, Ok(table)) => {
                self.local.table = Some(table);
                for key in self.queues.ids() {
                    if self.queues.get(key).is_some_and(|queue| queue.step == Step::Position) {
                        self.find_local(cx, key);
                    }
                }
            }
            (Task::Load, Err(error)) => {
                Self::report(cx, "offsets", None, OpErrorKind::Store(error.reason), Some(AGAIN));
                self.wake_after(cx, ConsumerTimer::Load, AGAIN);
            }
            (Task::Keep, result) => self.kept(cx, result.err()),
        }
        if self.local.changed && self.local.table.is_some() {
            self.keep();
        }
    }

    fn kept(&mut self, cx: &mut Cx<'_>, error: Option<OffsetStoreError>) {
        let stored = error.is_none();
        if let Some(error) = error {
            let interval = cx.shared.config.offset_interval;
            Self::report(cx, "offsets", None, OpErrorKind::Store(error.reason), Some(interval));
        }
        let saving = self.queues.iter_mut().filter_map(|(key, queue)| Some((key, queue.saving.take()?.0)));
        let saving: Vec<(Key, i64)> = saving.collect();
        for (key, position) in saving {
            if stored && let Some(queue) = self.queues.get_mut(key) {
                queue.saved = Some(position);
            }
            self.position_settled(cx, key, stored.then_some(position));
        }
    }

    /// It is time to load again.
    pub(super) fn on_load_timer(&mut self, cx: &mut Cx<'_>) {
        if self.local.table.is_none() {
            self.load(cx);
        }
    }

    /// Notes the position of a queue, and has the table kept.
    pub(super) fn save_local(&mut self, key: Key) -> bool {
        let Some(queue) = self.queues.get_mut(key) else { return false };
        let Some(position) = queue.goal() else { return false };
        let Some(table) = &mut self.local.table else { return false };
        table.insert((*queue.mq).clone(), position);
        queue.saving = Some((position, true));
        self.local.changed = true;
        if !self.local.busy {
            self.keep();
        }
        true
    }

    /// A queue goes: where it stood is kept.
    pub(super) fn leave_local(&mut self, key: Key) {
        if self.save_local(key)
            && let Some(queue) = self.queues.get_mut(key)
        {
            queue.saving = None;
        }
    }

    fn keep(&mut self) {
        self.local.busy = true;
        self.local.changed = false;
        self.local.to_ask = Some(Task::Keep);
    }
}
