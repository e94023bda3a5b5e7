//! The only container that mints ids.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::Key;

/// A vector of slots that hands out generational ids of type `K`. Free slots are reused oldest first, so that a
/// generation takes as long as possible to come round again.
#[derive(Clone, Debug)]
pub struct Slab<K, T> {
    slots: Vec<Slot<T>>,
    free: VecDeque<u32>,
    len: usize,
    kind: PhantomData<fn() -> K>,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<K: From<Key> + Into<Key> + Copy, T> Slab<K, T> {
    /// An empty slab.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: VecDeque::new(), len: 0, kind: PhantomData }
    }

    /// How many things live here.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing lives here.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Stores `value` and mints its id.
    pub fn insert(&mut self, value: T) -> K {
        self.insert_with(|_| value)
    }

    /// Stores what `make` builds from the id that it will have.
    ///
    /// # Panics
    /// Never in practice: after 2^32 slots, which is more memory than a value of one byte would fit.
    pub fn insert_with(&mut self, make: impl FnOnce(K) -> T) -> K {
        let index = match self.free.pop_front() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
                self.slots.push(Slot { generation: 0, value: None });
                index
            }
        };
        let slot = &mut self.slots[index as usize];
        let key = K::from(Key::from_parts(index, slot.generation));
        slot.value = Some(make(key));
        self.len += 1;
        key
    }

    /// Takes the thing out; its id is dead from here on.
    pub fn remove(&mut self, id: K) -> Option<T> {
        let key: Key = id.into();
        let slot = self.slots.get_mut(key.index() as usize)?;
        if slot.generation != key.generation() {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push_back(key.index());
        self.len -= 1;
        Some(value)
    }

    /// The thing with this id, unless it is gone.
    #[must_use]
    pub fn get(&self, id: K) -> Option<&T> {
        let key: Key = id.into();
        let slot = self.slots.get(key.index() as usize)?;
        if slot.generation == key.generation() { slot.value.as_ref() } else { None }
    }

    /// The thing with this id, to change, unless it is gone.
    pub fn get_mut(&mut self, id: K) -> Option<&mut T> {
        let key: Key = id.into();
        let slot = self.slots.get_mut(key.index() as usize)?;
        if slot.generation == key.generation() { slot.value.as_mut() } else { None }
    }

    /// Whether the thing with this id still lives here.
    #[must_use]
    pub fn contains(&self, id: K) -> bool {
        self.get(id).is_some()
    }

    /// All things in slot order, which is deterministic.
    pub fn iter(&self) -> impl Iterator<Item = (K, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let key = Key::from_parts(u32::try_from(index).ok()?, slot.generation);
            Some((K::from(key), slot.value.as_ref()?))
        })
    }

    /// All things in slot order, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (K, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, slot)| {
            let key = Key::from_parts(u32::try_from(index).ok()?, slot.generation);
            Some((K::from(key), slot.value.as_mut()?))
        })
    }

    /// The ids of all things, in slot order.
    #[must_use]
    pub fn ids(&self) -> Vec<K> {
        self.iter().map(|(id, _)| id).collect()
    }
}

impl<K: From<Key> + Into<Key> + Copy, T> Default for Slab<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_id_never_finds_the_successor() {
        let mut slab: Slab<Key, &str> = Slab::new();
        let first = slab.insert("first");
        assert_eq!(slab.remove(first), Some("first"));
        let second = slab.insert("second");
        assert_eq!(second.index(), first.index());
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&"second"));
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn free_slots_are_reused_oldest_first() {
        let mut slab: Slab<Key, u32> = Slab::new();
        let ids: Vec<Key> = (0..3).map(|n| slab.insert(n)).collect();
        slab.remove(ids[1]);
        slab.remove(ids[0]);
        assert_eq!(slab.insert(9).index(), 1);
        assert_eq!(slab.insert(9).index(), 0);
    }
}
