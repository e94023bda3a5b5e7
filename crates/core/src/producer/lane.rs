//! Accepted sends: where they are kept, how many there may be, and which of them wait for what.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use rocketry_machine::{ConnId, Credit, Key};

use super::send::Send;
use crate::api::{OpId, ProducerId, Topic};

/// All accepted sends. Kept beside the slots of the operation table: a look-up is an array index.
#[derive(Debug)]
pub(super) struct SendLane {
    slots: Vec<Option<(u32, Send)>>,
    count: Credit,
    bytes: Credit,
    for_route: BTreeMap<Topic, BTreeSet<OpId>>,
    for_room: BTreeMap<ConnId, VecDeque<OpId>>,
}

impl SendLane {
    pub(super) const fn new(sends: usize, bytes: u64) -> Self {
        Self {
            slots: Vec::new(),
            count: Credit::new(sends as u64),
            bytes: Credit::new(bytes),
            for_route: BTreeMap::new(),
            for_room: BTreeMap::new(),
        }
    }

    /// How many more sends are taken.
    pub(super) const fn room(&self) -> u64 {
        if self.bytes.used() > 0 && self.bytes.left() == 0 { 0 } else { self.count.left() }
    }

    /// Takes the budget of a send with so many bytes; says whether it fits.
    pub(super) const fn admit(&mut self, bytes: u64) -> bool {
        if self.count.left() == 0 || !self.bytes.charge_one(bytes) {
            return false;
        }
        self.count.charge(1)
    }

    pub(super) fn insert(&mut self, op: OpId, send: Send) {
        let key = Key::from(op);
        let index = key.index() as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some((key.generation(), send));
    }

    pub(super) fn get_mut(&mut self, op: OpId) -> Option<&mut Send> {
        let key = Key::from(op);
        match self.slots.get_mut(key.index() as usize)? {
            Some((generation, send)) if *generation == key.generation() => Some(send),
            _ => None,
        }
    }

    /// Takes a send out for good and returns its budget.
    pub(super) fn remove(&mut self, op: OpId) -> Option<Send> {
        let key = Key::from(op);
        let slot = self.slots.get_mut(key.index() as usize)?;
        if slot.as_ref().is_none_or(|(generation, _)| *generation != key.generation()) {
            return None;
        }
        let (_, send) = slot.take()?;
        self.count.give_back(1);
        self.bytes.give_back(send.bytes);
        Some(send)
    }

    /// The sends of one producer, in slot order.
    pub(super) fn of_producer(&self, producer: ProducerId) -> Vec<OpId> {
        let of = |(index, slot): (u32, &Option<(u32, Send)>)| {
            let (generation, send) = slot.as_ref()?;
            (send.producer == producer).then(|| OpId::from(Key::from_parts(index, *generation)))
        };
        (0u32..).zip(&self.slots).filter_map(of).collect()
    }

    pub(super) fn wait_for_route(&mut self, topic: &Topic, op: OpId) {
        self.for_route.entry(topic.clone()).or_default().insert(op);
    }

    /// The sends that waited for this route, in the order in which they were accepted.
    pub(super) fn take_for_route(&mut self, topic: &Topic) -> Vec<OpId> {
        let Some(waiting) = self.for_route.remove(topic) else { return Vec::new() };
        let mut waiting: Vec<(u64, OpId)> =
            waiting.into_iter().filter_map(|op| Some((self.get_mut(op)?.number, op))).collect();
        waiting.sort_unstable();
        waiting.into_iter().map(|(_, op)| op).collect()
    }

    pub(super) fn forget_route(&mut self, topic: &Topic, op: OpId) {
        if let Some(waiting) = self.for_route.get_mut(topic) {
            waiting.remove(&op);
            if waiting.is_empty() {
                self.for_route.remove(topic);
            }
        }
    }

    pub(super) fn wait_for_room(&mut self, conn: ConnId, op: OpId) {
        self.for_room.entry(conn).or_default().push_back(op);
    }

    /// Whether others wait for room on this link already: a new send queues up behind them.
    pub(super) fn someone_waits(&self, conn: ConnId) -> bool {
        !self.for_room.is_empty() && self.for_room.contains_key(&conn)
    }

    /// The sends that waited for room on this link, oldest first.
    pub(super) fn take_for_room(&mut self, conn: ConnId) -> VecDeque<OpId> {
        self.for_room.remove(&conn).unwrap_or_default()
    }

    /// Puts back those that still found no room.
    pub(super) fn put_back(&mut self, conn: ConnId, waiting: VecDeque<OpId>) {
        if !waiting.is_empty() {
            self.for_room.entry(conn).or_default().extend(waiting);
        }
    }
}
