//! Generational ids: a slot index with a generation, so that a late event for a closed thing cannot hit its successor.

use core::fmt;

/// Where a thing lives in a [`Slab`](crate::Slab), and which of the things that lived there it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// A key from its parts, as a trace or a simulator reads them back.
    #[must_use]
    pub const fn from_parts(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }

    /// The slot.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many things lived in the slot before this one.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.generation
    }

    /// Both parts in one integer; unique within the slab that minted it.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        ((self.generation as u64) << 32) | self.index as u64
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", self.index, self.generation)
    }
}

/// Declares id newtypes over [`Key`]: `ids! { /// docs  pub ConnId }`.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $vis:vis $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name($crate::Key);

        impl From<$crate::Key> for $name {
            fn from(key: $crate::Key) -> Self {
                Self(key)
            }
        }

        impl From<$name> for $crate::Key {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }
    )+};
}

ids! {
    /// A connection, minted by the machine that asked for it or accepted it.
    pub ConnId,
}
