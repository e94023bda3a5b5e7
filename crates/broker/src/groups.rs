//! The configuration of consumer groups (`spec/broker.md` 6.6). Membership is in [`crate::clients`].

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use rocketry_codec::names;
use rocketry_machine::UnixMillis;

use crate::topics::Version;

/// What a group is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupConfig {
    pub(crate) consume_enable: bool,
    pub(crate) consume_from_min: bool,
    pub(crate) broadcast_enable: bool,
    pub(crate) orderly: bool,
    pub(crate) retry_queues: i32,
    pub(crate) retry_max: i32,
    pub(crate) broker_id: i64,
    pub(crate) slow_broker_id: i64,
    pub(crate) notify_changes: bool,
    pub(crate) sys_flag: i32,
    pub(crate) consume_timeout_minutes: i32,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            consume_enable: true,
            consume_from_min: true,
            broadcast_enable: true,
            orderly: false,
            retry_queues: 1,
            retry_max: 16,
            broker_id: 0,
            slow_broker_id: 1,
            notify_changes: true,
            sys_flag: 0,
            consume_timeout_minutes: 15,
        }
    }
}

/// The groups of a broker.
#[derive(Debug)]
pub(crate) struct Groups {
    configs: BTreeMap<Arc<str>, GroupConfig>,
    version: Version,
    auto_create: bool,
    limit: usize,
}

impl Groups {
    pub(crate) const fn new(auto_create: bool, limit: usize) -> Self {
        Self { configs: BTreeMap::new(), version: Version::new(), auto_create, limit }
    }

    pub(crate) fn get(&self, group: &str) -> Option<&GroupConfig> {
        self.configs.get(group)
    }

    /// The group's configuration, made from the defaults where that is allowed.
    pub(crate) fn find_or_create(&mut self, wall: UnixMillis, group: &str) -> Option<&GroupConfig> {
        if !self.configs.contains_key(group) && self.auto_create && names::check_group(group).is_ok() {
            self.put(wall, group, GroupConfig::default());
        }
        self.configs.get(group)
    }

    /// Stores a configuration; false when the table is full.
    pub(crate) fn put(&mut self, wall: UnixMillis, group: &str, config: GroupConfig) -> bool {
        if let Some(known) = self.configs.get_mut(group) {
            if *known != config {
                *known = config;
                self.version.bump(wall);
            }
            return true;
        }
        if self.configs.len() >= self.limit {
            return false;
        }
        self.configs.insert(group.into(), config);
        self.version.bump(wall);
        true
    }

    pub(crate) fn remove(&mut self, wall: UnixMillis, group: &str) -> bool {
        let known = self.configs.remove(group).is_some();
        if known {
            self.version.bump(wall);
        }
        known
    }

    pub(crate) const fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &GroupConfig)> {
        self.configs.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: UnixMillis = UnixMillis::new(7);

    #[test]
    fn groups_come_from_defaults_only_where_allowed() {
        let mut groups = Groups::new(true, 1);
        assert_eq!(groups.find_or_create(WALL, "g"), Some(&GroupConfig::default()));
        assert_eq!(groups.find_or_create(WALL, "h"), None, "the table is full");
        assert_eq!(groups.find_or_create(WALL, "bad name"), None);
        let mut groups = Groups::new(false, 10);
        assert_eq!(groups.find_or_create(WALL, "g"), None);
        assert!(groups.put(WALL, "g", GroupConfig { retry_max: 3, ..GroupConfig::default() }));
        assert_eq!(groups.find_or_create(WALL, "g").map(|config| config.retry_max), Some(3));
        assert!(groups.remove(WALL, "g"));
        assert_eq!(groups.find_or_create(WALL, "g"), None);
    }
}
