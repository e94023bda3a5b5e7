//! QUERY_MESSAGE: messages by their keys or unique key (`spec/broker.md` 10.5).
//!
//! There is no index: the newest messages of the topic within the time are looked through, which costs nothing while
//! nobody asks. Unlike Apache's index of hashes this never returns a message with another key.

use alloc::vec::Vec;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::message::{StoredMessage, property_names as name};
use rocketry_codec::reply::QueryMessageReply;
use rocketry_codec::request::QueryMessage;

use crate::shell::{Call, Shell};
use crate::state::State;

/// Most messages in an answer.
const MOST: usize = 64;
/// Most messages in the answer to a search for a unique key.
const MOST_UNIQUE: usize = 32;
/// How many of the newest messages of a topic are looked through.
const SEARCHED: usize = 100_000;

/// QUERY_MESSAGE.
pub(super) fn by_key(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<QueryMessage<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let most = if request.unique_key == Some(true) {
        MOST_UNIQUE
    } else {
        usize::try_from(request.max_num).unwrap_or(0).min(MOST)
    };
    let key = &*request.key;
    let wanted = |message: &StoredMessage| {
        message.unique_key() == Some(key)
            || message.properties().get(name::KEYS).is_some_and(|keys| keys.split(' ').any(|one| one == key))
    };
    // Times are compared by the second.
    let begin = request.begin_timestamp.div_euclid(1_000).saturating_mul(1_000);
    let end = request.end_timestamp.div_euclid(1_000).saturating_mul(1_000).saturating_add(999);
    let newest = state.store.newest(&request.topic, begin, end);
    let mut found: Vec<(u64, StoredMessage)> = newest
        .into_iter()
        .take(SEARCHED)
        .filter_map(|at| Some((at, state.store.message_at(at.cast_signed())?)))
        .filter(|(_, message)| wanted(message))
        .take(most)
        .collect();
    found.sort_unstable_by_key(|(at, _)| *at);
    let mut body = Vec::new();
    for (_, message) in &found {
        body.extend_from_slice(message.record());
    }
    let (time, offset) = state.store.progress();
    let reply = QueryMessageReply { index_last_update_timestamp: time, index_last_update_phyoffset: offset };
    let (code, remark) = if found.is_empty() {
        (ResponseCode::QUERY_NOT_FOUND, Some("can not find message, maybe time range not correct"))
    } else {
        (ResponseCode::SUCCESS, None)
    };
    shell.respond(call.to, code, remark, &reply, Bytes::from(body));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{START, World, bodies, properties as text};
    use core::time::Duration;
    use std::prelude::v1::*;

    fn query<'a>(key: &'a str, max: i32, seconds: (i64, i64)) -> QueryMessage<'a> {
        QueryMessage {
            topic: "T".into(),
            key: key.into(),
            max_num: max,
            begin_timestamp: START + seconds.0 * 1_000,
            end_timestamp: START + seconds.1 * 1_000,
            ..QueryMessage::default()
        }
    }

    #[test]
    fn messages_are_found_by_every_key_within_the_time() {
        let mut world = World::new();
        let client = world.connect();
        for n in 0..10 {
            let sent = text(&[("KEYS", &format!("all k{n} x")), ("UNIQ_KEY", &format!("U{n}"))]);
            world.send(client, "T", n % 4, &sent, &format!("{n}"));
            world.pass(Duration::from_secs(1));
        }
        world.send(client, "other", 0, &text(&[("KEYS", "k3")]), "other");
        let mut find = |query: &QueryMessage<'_>| {
            let frame = world.ask(client, query, "");
            let reply = frame.read::<QueryMessageReply>().expect("always there");
            assert!(reply.index_last_update_timestamp >= START && reply.index_last_update_phyoffset > 0);
            (frame.code(), bodies(&frame))
        };
        assert_eq!(find(&query("k3", 32, (0, 99))), (0, vec!["3".to_string()]));
        assert_eq!(find(&query("all", 3, (0, 99))).1, ["7", "8", "9"], "the newest, oldest first");
        assert_eq!(find(&query("all", 64, (2, 4))).1, ["2", "3", "4"]);
        assert_eq!(find(&query("k", 32, (0, 99))), (22, Vec::new()));
        assert_eq!(find(&query("k3", 0, (0, 99))).0, 22);
        let unique = QueryMessage { unique_key: Some(true), ..query("U5", 0, (0, 99)) };
        assert_eq!(find(&unique).1, ["5"]);
    }
}
