//! What becomes of popped messages that nobody acknowledged in time (`spec/broker.md` 9.6).
//!
//! They are copied to the retry topic of their group and topic, once more tried than before. One that finds no room is
//! tried again, later and later; only one whose record or topic is gone is dropped. The broker buries nothing: whoever
//! pops decides by the count.

use alloc::collections::BTreeSet;
use alloc::format;

use rocketry_codec::message::property_names as name;
use rocketry_codec::names;

use crate::append::{self, Message, Unstored};
use crate::config::perm;
use crate::properties;
use crate::shell::Shell;
use crate::state::State;
use crate::topics::{TopicConfig, TopicId};

use super::Place;

/// Revives everything whose time is over.
pub(super) fn all(state: &mut State, shell: &mut Shell) {
    while let Some((id, mut checkpoint)) = state.pop.invisible.take_due(shell.now.at) {
        let mut left = BTreeSet::new();
        for offset in core::mem::take(&mut checkpoint.offsets) {
            if !revive(state, shell, &id.place, id.pop_time, offset) {
                left.insert(offset);
            }
        }
        if !left.is_empty() {
            checkpoint.offsets = left;
            state.pop.invisible.put_back(shell.now.at, id, checkpoint);
        }
    }
}

/// Copies one message; false if it has to be tried again.
fn revive(state: &mut State, shell: &mut Shell, place: &Place, pop_time: i64, offset: i64) -> bool {
    let found = state.store.topics.find(&place.topic).and_then(|topic| {
        let queue = u32::try_from(place.queue).ok()?;
        state.store.message_of_queue(topic, queue, u64::try_from(offset).ok()?)
    });
    let Some(stored) = found else { return true };
    let Some(topic) = retry_topic(state, shell, place) else { return false };
    let mut text = state.take_scratch();
    properties::copy_without(&mut text, stored.properties().as_bytes(), &[]);
    if stored.properties().get(name::FIRST_POP_TIME).is_none() {
        properties::push(&mut text, name::FIRST_POP_TIME, &format!("{pop_time}"));
    }
    let message = Message {
        topic,
        queue: 0,
        flag: stored.flag(),
        sys_flag: stored.sys_flag().0,
        born_time: stored.born_timestamp(),
        born_host: stored.born_host(),
        reconsume_times: stored.reconsume_times().saturating_add(1),
        prepared_offset: 0,
        tags: stored.properties().tags(),
        body: stored.body_bytes(),
        properties: &mut text,
        delay: None,
    };
    let stored = append::append(state, shell, message);
    state.put_scratch(text);
    stored != Err(Unstored::Full)
}

/// Where the messages of a place go: those of a retry topic stay in it.
fn retry_topic(state: &mut State, shell: &mut Shell, place: &Place) -> Option<TopicId> {
    if names::is_retry_topic(&place.topic) {
        return state.store.topics.find(&place.topic);
    }
    let name = if state.config.pop_retry_v2 {
        names::pop_retry_topic_v2(&place.group, &place.topic)
    } else {
        names::pop_retry_topic_v1(&place.group, &place.topic)
    };
    state.create_topic(shell, &name, TopicConfig::new(1, perm::READ_WRITE))
}
