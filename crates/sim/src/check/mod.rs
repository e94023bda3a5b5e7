//! What must hold in every case, a file for each (design 3.15, `cases.md` 18).
//!
//! | check | what must hold |
//! |---|---|
//! | `committed` | a saved position is never above a message whose handler has not ended |
//! | `delivered` | every acknowledged message is handled at least once, with its own topic |
//! | `duplicates` | without any trouble, exactly once |
//! | `owners` | after convergence each queue has one owner |
//! | `membership` | brokers know exactly the members that are there |
//! | `idle` | a cluster with nothing to do sends little |
//! | `farewell` | a stop ends in time and leaves no call, handler or position behind |
//! | `saved` | when everybody has left in order, every position is saved |
//! | `sound` | no machine has found a fault in itself |
//! | `outcomes` | each operation ends once (noted by the applications) |
//! | `converges` | all of this is reached in time after the last trouble |

mod committed;
mod delivered;
mod farewell;
mod idle;
mod membership;
mod owners;
mod saved;
mod sound;

use std::fmt;

pub(crate) use committed::committed;
pub(crate) use delivered::{duplicates, undelivered};
pub(crate) use farewell::{farewell, nothing_left};
pub(crate) use idle::idle;
pub(crate) use membership::{forgotten, membership};
pub(crate) use owners::owners;
pub(crate) use saved::saved;
pub(crate) use sound::sound;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The check that found it.
    pub check: &'static str,
    /// What it found.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.check, self.what)
    }
}
