//! Divisions that know machine rooms (`MACHINE_ROOM`, `MACHINE_ROOM_NEARBY`).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Allocation, AllocationError};
use crate::api::MessageQueue;

/// Which room a queue and a member are in; `None` where nothing says so.
#[derive(Clone, Copy, Debug)]
pub struct Rooms {
    of_queue: fn(&MessageQueue) -> Option<&str>,
    of_member: fn(&str) -> Option<&str>,
}

impl Rooms {
    /// From two functions that read the room out of the names.
    #[must_use]
    pub const fn new(of_queue: fn(&MessageQueue) -> Option<&str>, of_member: fn(&str) -> Option<&str>) -> Self {
        Self { of_queue, of_member }
    }

    /// What stands before `@` in the name of a broker and before `-` in the id of a member.
    #[must_use]
    pub fn by_prefix() -> Self {
        Self::new(
            |queue| queue.broker.as_str().split_once('@').map(|(room, _)| room),
            |member| member.split_once('-').map(|(room, _)| room),
        )
    }

    pub(super) fn nearby(
        self,
        within: &Allocation,
        queues: &[MessageQueue],
        members: &[String],
        me: &str,
    ) -> Result<Vec<MessageQueue>, AllocationError> {
        let mut queues_in: BTreeMap<&str, Vec<MessageQueue>> = BTreeMap::new();
        for queue in queues {
            let room = (self.of_queue)(queue).filter(|room| !room.is_empty());
            let room = room.ok_or_else(|| AllocationError::NoRoom(alloc::format!("mq {queue}")))?;
            queues_in.entry(room).or_default().push(queue.clone());
        }
        let mut members_in: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for member in members {
            let room = (self.of_member)(member).filter(|room| !room.is_empty());
            let room = room.ok_or_else(|| AllocationError::NoRoom(alloc::format!("consumer id {member}")))?;
            members_in.entry(room).or_default().push(member.clone());
        }
        let mut mine = Vec::new();
        let my_room = (self.of_member)(me).unwrap_or_default();
        if let (Some(queues), Some(members)) = (queues_in.get(my_room), members_in.get(my_room)) {
            mine.extend(within.divide(queues, members, me)?);
        }
        for (room, queues) in &queues_in {
            if !members_in.contains_key(room) {
                mine.extend(within.divide(queues, members, me)?);
            }
        }
        Ok(mine)
    }
}

/// Divides the queues whose brokers are called `room@name` for one of these rooms.
pub(super) fn machine_room(
    queues: &[MessageQueue],
    rooms: &[String],
    members: usize,
    place: usize,
) -> Vec<MessageQueue> {
    let is_in = |queue: &&MessageQueue| {
        let mut parts = queue.broker.as_str().split('@');
        let room = parts.next();
        parts.next().is_some() && parts.next().is_none() && rooms.iter().any(|known| Some(known.as_str()) == room)
    };
    let ours: Vec<&MessageQueue> = queues.iter().filter(is_in).collect();
    let (share, rest) = (ours.len() / members, ours.len() % members);
    let whole = ours.iter().skip(share * place).take(share);
    let extra = ours.get(share * members + place).filter(|_| place < rest);
    whole.chain(extra).map(|queue| (*queue).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of consumer.md 3.7.
    #[test]
    fn machine_rooms_as_in_java() {
        let mut queues: Vec<MessageQueue> = (0..10).map(|id| MessageQueue::new("T", "room1@b", id)).collect();
        queues.push(MessageQueue::new("T", "room2@b", 0));
        queues.push(MessageQueue::new("T", "b", 0));
        let parts: [&[i32]; 4] = [&[0, 1, 8], &[2, 3, 9], &[4, 5], &[6, 7]];
        for (place, part) in parts.iter().enumerate() {
            let mine = machine_room(&queues, &["room1".into()], 4, place);
            assert_eq!(mine.iter().map(|queue| queue.id).collect::<Vec<_>>(), *part);
        }
    }

    #[test]
    fn nearby_rooms_as_in_java() {
        let queues: Vec<MessageQueue> = ["r1", "r2", "r3"]
            .iter()
            .flat_map(|room| (0..4).map(move |id| MessageQueue::new("T", alloc::format!("{room}@b"), id)))
            .collect();
        let members: Vec<String> = ["r1-c1", "r1-c2", "r2-c1"].map(Into::into).into();
        let part = |me: &str| -> Vec<String> {
            let mine =
                Rooms::by_prefix().nearby(&Allocation::Averagely, &queues, &members, me).expect("all have rooms");
            mine.iter().map(|queue| alloc::format!("{}:{}", &queue.broker.as_str()[..2], queue.id)).collect()
        };
        assert_eq!(part("r1-c1"), ["r1:0", "r1:1", "r3:0", "r3:1"]);
        assert_eq!(part("r1-c2"), ["r1:2", "r1:3", "r3:2"]);
        assert_eq!(part("r2-c1"), ["r2:0", "r2:1", "r2:2", "r2:3", "r3:3"]);
        let nowhere = ["nowhere".into()];
        let error = Rooms::by_prefix().nearby(&Allocation::Averagely, &queues, &nowhere, "nowhere");
        assert_eq!(error, Err(AllocationError::NoRoom("consumer id nowhere".into())));
    }
}
