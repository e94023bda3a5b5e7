//! The topics of a broker: configuration, and the queue indexes that belong to it.
//!
//! A topic is created by configuration, by an admin request, by a send that names a template (`spec/broker.md` 3.3),
//! or by the broker itself for retries, dead letters and its internal queues. Each change bumps the data version and
//! is remembered until it has been announced to the name servers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rocketry_machine::{Slab, UnixMillis};

use crate::config::{TopicSpec, perm};
use crate::log::Queue;

rocketry_machine::ids! {
    /// A topic of this broker, while it is not deleted.
    pub(crate) TopicId,
}

/// What a topic is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicConfig {
    pub(crate) read_queues: u32,
    pub(crate) write_queues: u32,
    pub(crate) perm: u32,
    pub(crate) sys_flag: i32,
    pub(crate) order: bool,
    pub(crate) multi_tag: bool,
    pub(crate) attributes: BTreeMap<Arc<str>, Arc<str>>,
}

impl TopicConfig {
    /// As many read as write queues, and nothing special.
    pub(crate) const fn new(queues: u32, perm: u32) -> Self {
        Self {
            read_queues: queues,
            write_queues: queues,
            perm,
            sys_flag: 0,
            order: false,
            multi_tag: false,
            attributes: BTreeMap::new(),
        }
    }

    pub(crate) const fn readable(&self) -> bool {
        self.perm & perm::READ != 0
    }

    pub(crate) const fn writable(&self) -> bool {
        self.perm & perm::WRITE != 0
    }
}

impl From<&TopicSpec> for TopicConfig {
    fn from(spec: &TopicSpec) -> Self {
        Self { read_queues: spec.read_queues, write_queues: spec.write_queues, ..Self::new(0, spec.perm) }
    }
}

/// A topic: its settings and its queues.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    pub(crate) config: TopicConfig,
    /// Grown on the first append; never shrunk, so that queues that were configured away keep their messages.
    pub(crate) queues: Vec<Queue>,
}

impl Topic {
    /// The topic in Apache's words, which some refusals quote.
    pub(crate) fn describe(&self) -> String {
        let TopicConfig { read_queues, write_queues, perm, sys_flag, order, multi_tag, .. } = &self.config;
        let filter = if *multi_tag { "MULTI_TAG" } else { "SINGLE_TAG" };
        let bit = |bit: u32, letter: char| if perm & bit != 0 { letter } else { '-' };
        format!(
            "TopicConfig [topicName={}, readQueueNums={read_queues}, writeQueueNums={write_queues}, perm={}{}{}, \
             topicFilterType={filter}, topicSysFlag={sys_flag}, order={order}, attributes={{}}]",
            self.name,
            bit(perm::READ, 'R'),
            bit(perm::WRITE, 'W'),
            bit(perm::INHERIT, 'X'),
        )
    }

    /// A queue that something was ever written to.
    pub(crate) fn queue(&self, queue: u32) -> Option<&Queue> {
        self.queues.get(queue as usize)
    }

    /// A queue to append to.
    pub(crate) fn queue_mut(&mut self, queue: u32) -> Option<&mut Queue> {
        let wanted = queue as usize + 1;
        if self.queues.len() < wanted {
            self.queues.resize_with(wanted, Queue::default);
        }
        self.queues.get_mut(queue as usize)
    }
}

/// Which state of the topic table something was computed from (`spec/wire.md` 5.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) counter: i64,
    pub(crate) timestamp: i64,
    pub(crate) state: i64,
}

impl Version {
    pub(crate) const fn new() -> Self {
        Self { counter: 0, timestamp: 0, state: 0 }
    }

    pub(crate) const fn bump(&mut self, wall: UnixMillis) {
        self.counter = self.counter.wrapping_add(1);
        self.timestamp = wall.get();
    }
}

/// All topics of a broker.
#[derive(Debug)]
pub(crate) struct Topics {
    slab: Slab<TopicId, Topic>,
    by_name: BTreeMap<Arc<str>, TopicId>,
    version: Version,
    changed: BTreeSet<TopicId>,
    limit: usize,
}

impl Topics {
    pub(crate) fn new(limit: usize, wall: UnixMillis) -> Self {
        Self {
            slab: Slab::new(),
            by_name: BTreeMap::new(),
            version: Version { counter: 0, timestamp: wall.get(), state: 0 },
            changed: BTreeSet::new(),
            limit,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<TopicId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn get(&self, id: TopicId) -> Option<&Topic> {
        self.slab.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: TopicId) -> Option<&mut Topic> {
        self.slab.get_mut(id)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Topic> {
        self.slab.get(self.find(name)?)
    }

    /// All topics, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Topic> {
        self.by_name.values().filter_map(|id| self.slab.get(*id))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Topic> {
        self.slab.iter_mut().map(|(_, topic)| topic)
    }

    pub(crate) const fn version(&self) -> Version {
        self.version
    }

    /// Creates a topic or changes its settings; an equal setting changes nothing. `None` when the table is full.
    pub(crate) fn put(&mut self, wall: UnixMillis, name: &str, config: TopicConfig) -> Option<TopicId> {
        if let Some(id) = self.find(name) {
            let topic = self.slab.get_mut(id)?;
            if topic.config != config {
                topic.config = config;
                self.version.bump(wall);
                self.changed.insert(id);
            }
            return Some(id);
        }
        if self.slab.len() >= self.limit { None } else { Some(self.insert(wall, name, config)) }
    }

    /// Creates one of the topics that a broker has from the start, whatever the bound says.
    pub(crate) fn put_own(&mut self, wall: UnixMillis, name: &str, config: TopicConfig) -> TopicId {
        self.find(name).unwrap_or_else(|| self.insert(wall, name, config))
    }

    fn insert(&mut self, wall: UnixMillis, name: &str, config: TopicConfig) -> TopicId {
        let name: Arc<str> = name.into();
        let id = self.slab.insert(Topic { name: name.clone(), config, queues: Vec::new() });
        self.by_name.insert(name, id);
        self.version.bump(wall);
        self.changed.insert(id);
        id
    }

    /// Deletes a topic with its queues; offsets restart at 0 if it comes back.
    pub(crate) fn remove(&mut self, wall: UnixMillis, name: &str) -> Option<Topic> {
        let id = self.by_name.remove(name)?;
        self.changed.remove(&id);
        self.version.bump(wall);
        self.slab.remove(id)
    }

    /// The topics that changed since they were last announced.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<TopicId> {
        core::mem::take(&mut self.changed)
    }

    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: UnixMillis = UnixMillis::new(1_000);

    #[test]
    fn equal_settings_change_nothing() {
        let mut topics = Topics::new(10, WALL);
        let id = topics.put(WALL, "T", TopicConfig::new(4, 6)).expect("room");
        let version = topics.version();
        assert_eq!(topics.take_changed().into_iter().collect::<Vec<_>>(), [id]);
        assert_eq!(topics.put(WALL, "T", TopicConfig::new(4, 6)), Some(id));
        assert_eq!((topics.version(), topics.has_changed()), (version, false));
        assert_eq!(topics.put(WALL, "T", TopicConfig::new(8, 6)), Some(id));
        assert_eq!(topics.version().counter, version.counter + 1);
        assert!(topics.has_changed());
    }

    #[test]
    fn the_table_is_bounded() {
        let mut topics = Topics::new(1, WALL);
        assert!(topics.put(WALL, "A", TopicConfig::new(1, 6)).is_some());
        assert_eq!(topics.put(WALL, "B", TopicConfig::new(1, 6)), None);
        assert!(topics.put(WALL, "A", TopicConfig::new(2, 6)).is_some(), "a known topic can still change");
        assert!(topics.remove(WALL, "A").is_some());
        assert!(topics.put(WALL, "B", TopicConfig::new(1, 6)).is_some());
    }
}
