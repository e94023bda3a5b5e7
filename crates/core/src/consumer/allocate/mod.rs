//! How the queues of a topic are divided among the members of a group (consumer.md 3.7).
//!
//! Every member computes the whole division and takes its part, so all must sort alike and compute alike: the results
//! equal Java's, queue for queue.

mod ring;
mod rooms;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

pub use rooms::Rooms;

use crate::api::MessageQueue;

/// How queues are divided among the members of a group. All members of a group must use the same one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Allocation {
    /// Neighbouring queues to each member; the first members take the remainder (`AVG`).
    #[default]
    Averagely,
    /// One queue to each member in turn (`AVG_BY_CIRCLE`).
    ByCircle,
    /// These queues, whatever the others have (`CONFIG`).
    Fixed(Arc<[MessageQueue]>),
    /// Averagely, and only queues of brokers in these machine rooms, whose names begin with `room@` (`MACHINE_ROOM`).
    MachineRoom(Arc<[String]>),
    /// Queues to members in the same machine room; those of rooms without member to all (`MACHINE_ROOM_NEARBY`).
    Nearby {
        /// How the queues of one room are divided.
        within: Box<Self>,
        /// Which room a queue or a member is in.
        rooms: Rooms,
    },
    /// By a ring of hashes, on which each member has this many places, so that few queues move when members come and go
    /// (`CONSISTENT_HASH`). Java's default is 10 places.
    ConsistentHash {
        /// Places of each member.
        virtual_nodes: u32,
    },
    /// A strategy of the application's.
    Custom(Arc<dyn Allocate>),
}

/// A strategy of the application's. It must give every queue to exactly one member, whichever member asks.
pub trait Allocate: fmt::Debug + Send + Sync {
    /// The part of `me`. Both lists are sorted and not empty; `me` is one of the members.
    fn divide(&self, queues: &[MessageQueue], members: &[String], me: &str) -> Vec<MessageQueue>;
}

/// Why a strategy gives no division.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocationError {
    /// The member has no id.
    NoMember,
    /// There are no queues.
    NoQueues,
    /// There are no members.
    NoMembers,
    /// Nothing says which room this queue or member is in.
    NoRoom(String),
    /// No strategy has this name.
    UnknownStrategy(String),
}

impl fmt::Display for AllocationError {
    /// Java's texts where Java has one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMember => f.write_str("currentCID is empty"),
            Self::NoQueues => f.write_str("mqAll is null or mqAll empty"),
            Self::NoMembers => f.write_str("cidAll is null or cidAll empty"),
            Self::NoRoom(whose) => write!(f, "Machine room is null for {whose}"),
            Self::UnknownStrategy(name) => write!(f, "no allocation strategy is called \"{name}\""),
        }
    }
}

impl core::error::Error for AllocationError {}

impl Allocation {
    /// The part of `me` among `members`. Queues and members are sorted here, in Java's order. A member that is not in
    /// the list gets nothing.
    ///
    /// # Errors
    /// What is missing for a division.
    pub fn divide(
        &self,
        queues: &[MessageQueue],
        members: &[String],
        me: &str,
    ) -> Result<Vec<MessageQueue>, AllocationError> {
        if let Self::Fixed(fixed) = self {
            return Ok(fixed.to_vec());
        }
        if me.is_empty() {
            return Err(AllocationError::NoMember);
        }
        if queues.is_empty() {
            return Err(AllocationError::NoQueues);
        }
        if members.is_empty() {
            return Err(AllocationError::NoMembers);
        }
        let (mut queues, mut members) = (queues.to_vec(), members.to_vec());
        queues.sort();
        members.sort_by(|one, other| java_order(one, other));
        let Some(place) = members.iter().position(|member| member == me) else { return Ok(Vec::new()) };
        Ok(match self {
            Self::Averagely => averagely(&queues, members.len(), place),
            Self::ByCircle => queues.into_iter().skip(place).step_by(members.len()).collect(),
            Self::MachineRoom(names) => rooms::machine_room(&queues, names, members.len(), place),
            Self::Nearby { within, rooms } => rooms.nearby(within, &queues, &members, me)?,
            Self::ConsistentHash { virtual_nodes } => ring::consistent_hash(&queues, &members, place, *virtual_nodes),
            Self::Custom(strategy) => strategy.divide(&queues, &members, me),
            Self::Fixed(fixed) => fixed.to_vec(),
        })
    }
}

/// Java's name of the strategy, with what it is configured with in brackets.
impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Averagely => f.write_str("AVG"),
            Self::ByCircle => f.write_str("AVG_BY_CIRCLE"),
            Self::Fixed(_) => f.write_str("CONFIG"),
            Self::MachineRoom(rooms) => write!(f, "MACHINE_ROOM({})", rooms.join(",")),
            Self::Nearby { within, .. } => write!(f, "MACHINE_ROOM_NEARBY-{within}"),
            Self::ConsistentHash { virtual_nodes } => write!(f, "CONSISTENT_HASH({virtual_nodes})"),
            Self::Custom(strategy) => write!(f, "{strategy:?}"),
        }
    }
}

impl FromStr for Allocation {
    type Err = AllocationError;

    /// Reads what [`Display`](fmt::Display) writes, except for fixed queues and the application's own. Rooms are then
    /// what stands before `@` in the name of a broker and before `-` in the id of a member.
    fn from_str(name: &str) -> Result<Self, AllocationError> {
        let unknown = || AllocationError::UnknownStrategy(name.into());
        if let Some(within) = name.strip_prefix("MACHINE_ROOM_NEARBY-") {
            return Ok(Self::Nearby { within: Box::new(within.parse()?), rooms: Rooms::by_prefix() });
        }
        let (word, setting) = match name.split_once('(') {
            Some((word, rest)) => (word, Some(rest.strip_suffix(')').ok_or_else(unknown)?)),
            None => (name, None),
        };
        match (word, setting) {
            ("AVG", None) => Ok(Self::Averagely),
            ("AVG_BY_CIRCLE", None) => Ok(Self::ByCircle),
            ("MACHINE_ROOM", Some(rooms)) => Ok(Self::MachineRoom(rooms.split(',').map(Into::into).collect())),
            ("CONSISTENT_HASH", None) => Ok(Self::ConsistentHash { virtual_nodes: 10 }),
            ("CONSISTENT_HASH", Some(count)) => {
                Ok(Self::ConsistentHash { virtual_nodes: count.parse().map_err(|_| unknown())? })
            }
            _ => Err(unknown()),
        }
    }
}

fn averagely(queues: &[MessageQueue], members: usize, place: usize) -> Vec<MessageQueue> {
    queues.get(share(queues.len(), members, place)).unwrap_or_default().to_vec()
}

/// Neighbouring queues to each member; the first members take one more when it does not come out even.
fn share(queues: usize, members: usize, place: usize) -> core::ops::Range<usize> {
    let rest = queues % members;
    let share = if queues <= members { 1 } else { queues / members + usize::from(place < rest) };
    let start = if rest > 0 && place < rest { place * share } else { place * share + rest };
    let end = (start + share).min(queues);
    start.min(end)..end
}

/// The order of Java's strings: by UTF-16 code units.
fn java_order(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn divide(queues: i32, members: usize, place: usize) -> Vec<i32> {
        let queues: Vec<MessageQueue> = (0..queues).rev().map(|id| MessageQueue::new("T", "b", id)).collect();
        let members: Vec<String> = (0..members).rev().map(|at| alloc::format!("c{at}")).collect();
        let me = alloc::format!("c{place}");
        let part = Allocation::Averagely.divide(&queues, &members, &me).expect("nothing is missing");
        part.into_iter().map(|queue| queue.id).collect()
    }

    /// The table of consumer.md 3.7.
    #[test]
    fn averagely_as_in_java() {
        for (queues, parts) in [
            (8, &[&[0, 1, 2][..], &[3, 4, 5], &[6, 7]][..]),
            (10, &[&[0, 1, 2, 3], &[4, 5, 6], &[7, 8, 9]]),
            (10, &[&[0, 1, 2], &[3, 4, 5], &[6, 7], &[8, 9]]),
            (3, &[&[0], &[1], &[2], &[], &[]]),
        ] {
            for (place, part) in parts.iter().enumerate() {
                assert_eq!(divide(queues, parts.len(), place), *part, "{queues} queues, member {place}");
            }
        }
    }

    #[test]
    fn reb_03_each_queue_has_exactly_one_owner() {
        for queues in 1..20 {
            for members in 1..25 {
                let mut all: Vec<i32> = (0..members).flat_map(|place| divide(queues, members, place)).collect();
                all.sort_unstable();
                assert_eq!(all, (0..queues).collect::<Vec<_>>(), "{queues} queues, {members} members");
            }
        }
    }

    #[test]
    fn what_is_missing_has_javas_text() {
        let queue = [MessageQueue::new("T", "b", 0)];
        let member = ["m".to_string()];
        let text = |result: Result<Vec<MessageQueue>, AllocationError>| result.map_err(|error| error.to_string());
        let strategy = Allocation::Averagely;
        assert_eq!(text(strategy.divide(&queue, &member, "")), Err("currentCID is empty".into()));
        assert_eq!(text(strategy.divide(&[], &member, "m")), Err("mqAll is null or mqAll empty".into()));
        assert_eq!(text(strategy.divide(&queue, &[], "m")), Err("cidAll is null or cidAll empty".into()));
        assert_eq!(text(strategy.divide(&queue, &member, "absent")), Ok(Vec::new()));
    }

    #[test]
    fn strategies_have_javas_names() {
        for name in
            ["AVG", "AVG_BY_CIRCLE", "MACHINE_ROOM(a,b)", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", "CONSISTENT_HASH(3)"]
        {
            assert_eq!(name.parse::<Allocation>().map(|strategy| strategy.to_string()), Ok(name.into()));
        }
        for name in ["avg", "AVG(1)", "MACHINE_ROOM", "CONSISTENT_HASH(-1)", "CONSISTENT_HASH(3", ""] {
            let error = AllocationError::UnknownStrategy(name.into());
            assert_eq!(name.parse::<Allocation>().map(|strategy| strategy.to_string()), Err(error));
        }
    }

    #[test]
    fn members_sort_by_utf_16() {
        assert_eq!(java_order("a\u{FFFF}", "a\u{10000}"), Ordering::Greater);
        assert_eq!(java_order("a", "ab"), Ordering::Less);
    }
}
