//! What a server says to its owner.

use alloc::sync::Arc;

/// Something that happened. All of it is information: a server works the same when nobody looks.
///
/// A durable store will add requests here, which the owner must answer; see `design.md` 3.16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A topic exists that did not before.
    TopicCreated {
        /// Its name.
        topic: Arc<str>,
    },
    /// A name server answered a registration.
    Registered {
        /// Its address, as configured.
        name_server: Arc<str>,
        /// Whether it took the registration.
        accepted: bool,
    },
    /// A name server cannot be reached; it is tried again.
    NameServerLost {
        /// Its address, as configured.
        name_server: Arc<str>,
    },
    /// A message was buried in a dead-letter topic.
    DeadLetter {
        /// The group that gave up.
        group: Arc<str>,
    },
    /// The store refused a message because it is full.
    StoreFull,
}
