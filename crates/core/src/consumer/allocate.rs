//! How the queues of a topic are divided among the members of a group (consumer.md 3.7).
//!
//! Every member computes the whole division and takes its part, so all must sort alike and compute alike: the results
//! equal Java's, queue for queue.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use crate::api::{Allocation, MessageQueue};

/// Why a strategy gives no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocationError {
    /// The member has no id.
    NoMember,
    /// There are no queues.
    NoQueues,
    /// There are no members.
    NoMembers,
}

impl fmt::Display for AllocationError {
    /// Java's texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoMember => "currentCID is empty",
            Self::NoQueues => "mqAll is null or mqAll empty",
            Self::NoMembers => "cidAll is null or cidAll empty",
        })
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
        if me.is_empty() {
            return Err(AllocationError::NoMember);
        }
        if queues.is_empty() {
            return Err(AllocationError::NoQueues);
        }
        if members.is_empty() {
            return Err(AllocationError::NoMembers);
        }
        let mut queues: Vec<&MessageQueue> = queues.iter().collect();
        queues.sort();
        let mut members: Vec<&str> = members.iter().map(String::as_str).collect();
        members.sort_by(|one, other| java_order(one, other));
        let Some(place) = members.iter().position(|member| *member == me) else { return Ok(Vec::new()) };
        let part = match self {
            Self::Averagely => averagely(queues.len(), members.len(), place),
        };
        Ok(queues.get(part).unwrap_or_default().iter().map(|queue| (*queue).clone()).collect())
    }
}

/// Neighbouring queues to each member; the first members take one more when it does not come out even.
fn averagely(queues: usize, members: usize, place: usize) -> core::ops::Range<usize> {
    let rest = queues % members;
    let share = if queues <= members { 1 } else { queues / members + usize::from(place < rest) };
    let start = if rest > 0 && place < rest { place * share } else { place * share + rest };
    let end = (start + share).min(queues);
    start.min(end)..end
}

/// The order of Java's strings: by UTF-16 code units.
pub(super) fn java_order(one: &str, other: &str) -> Ordering {
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
    fn members_sort_by_utf_16() {
        assert_eq!(java_order("a\u{FFFF}", "a\u{10000}"), Ordering::Greater);
        assert_eq!(java_order("a", "ab"), Ordering::Less);
    }
}
