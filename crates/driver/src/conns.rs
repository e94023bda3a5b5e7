//! A map from connection ids to what a driver keeps for them.

use rocketry_machine::{ConnId, Key};

/// Entries by slot index; the id stands beside its entry, so that a stale one finds nothing.
#[derive(Debug)]
pub(crate) struct ConnMap<T> {
    slots: Vec<Option<(ConnId, T)>>,
    len: usize,
}

impl<T> ConnMap<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }

    #[cfg(test)]
    const fn len(&self) -> usize {
        self.len
    }

    /// Stores an entry; one that a former connection left in the slot is given back.
    pub(crate) fn insert(&mut self, conn: ConnId, value: T) -> Option<T> {
        let index = Key::from(conn).index() as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        let before = self.slots[index].replace((conn, value));
        if before.is_none() {
            self.len += 1;
        }
        before.map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut T> {
        match self.slots.get_mut(Key::from(conn).index() as usize) {
            Some(Some((id, value))) if *id == conn => Some(value),
            _ => None,
        }
    }

    pub(crate) fn contains(&self, conn: ConnId) -> bool {
        matches!(self.slots.get(Key::from(conn).index() as usize), Some(Some((id, _))) if *id == conn)
    }

    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<T> {
        if !self.contains(conn) {
            return None;
        }
        self.len -= 1;
        self.slots[Key::from(conn).index() as usize].take().map(|(_, value)| value)
    }

    pub(crate) fn ids(&self) -> Vec<ConnId> {
        self.slots.iter().flatten().map(|(id, _)| *id).collect()
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_id_finds_nothing() {
        let (old, new) = (ConnId::from(Key::from_parts(3, 0)), ConnId::from(Key::from_parts(3, 1)));
        let mut map = ConnMap::new();
        assert_eq!(map.insert(old, "old"), None);
        assert_eq!(map.insert(new, "new"), Some("old"));
        assert_eq!(map.get_mut(old), None);
        assert_eq!(map.remove(old), None);
        assert_eq!((map.len(), map.ids()), (1, vec![new]));
        assert_eq!(map.remove(new), Some("new"));
        assert_eq!(map.len(), 0);
    }
}
