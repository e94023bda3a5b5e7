//! Putting one message into the store: the single way in for sends, retries, dead letters and delayed deliveries.
//!
//! A message with a delay level goes to its level's queue of `SCHEDULE_TOPIC_XXXX` with its real place among its
//! properties (`spec/broker.md` 3.7); any other goes to its queue and wakes the pulls that wait there.

use alloc::format;
use alloc::string::String;
use core::net::SocketAddr;

use rocketry_codec::hash::java_hash;
use rocketry_codec::message::{MAX_PROPERTIES_LEN, RecordVersion, StoredRecord, SysFlag, property_names as name};
use rocketry_machine::invariant;

use crate::event::Event;
use crate::properties;
use crate::shell::{Shell, Timer};
use crate::state::State;
use crate::store::{AppendError, Place};
use crate::topics::TopicId;

/// A message that is to be stored.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) topic: TopicId,
    pub(crate) queue: u32,
    pub(crate) flag: i32,
    pub(crate) sys_flag: i32,
    pub(crate) born_time: i64,
    pub(crate) born_host: SocketAddr,
    pub(crate) reconsume_times: i32,
    pub(crate) prepared_offset: i64,
    pub(crate) tags: Option<&'a str>,
    pub(crate) body: &'a [u8],
    /// All properties to store; a delay adds to them.
    pub(crate) properties: &'a mut String,
    pub(crate) delay: Option<u8>,
}

/// Why a message was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unstored {
    /// The body or the properties are too large.
    Illegal,
    /// The store has no room.
    Full,
    /// The topic cannot be stored to.
    NoTopic,
}

impl From<AppendError> for Unstored {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Full => Self::Full,
            AppendError::NoQueue => Self::NoTopic,
        }
    }
}

/// Stores a message and says where it lies; a delayed one lies in its level's queue.
pub(crate) fn append(state: &mut State, shell: &mut Shell, message: Message<'_>) -> Result<Place, Unstored> {
    match message.delay.and_then(|level| Some((level, state.config.delay_levels.delay(level)?))) {
        None => {
            let code = message.tags.map_or(0, |tags| i64::from(java_hash(tags)));
            let place = put(state, shell, &message, message.topic, message.queue, code)?;
            state.news(shell, message.topic, message.queue);
            Ok(place)
        }
        Some((level, delay)) => {
            let real =
                state.store.topics.get(message.topic).map(|topic| topic.name.clone()).ok_or(Unstored::NoTopic)?;
            properties::push(message.properties, name::REAL_TOPIC, &real);
            properties::push(message.properties, name::REAL_QUEUE_ID, &format!("{}", message.queue));
            // The index of a level's queue holds the due time where others hold the hash of the tag.
            let due = shell.now.wall.get().saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
            let (topic, queue) = (state.schedule_topic, u32::from(level) - 1);
            let place = put(state, shell, &message, topic, queue, due)?;
            state.delay.push(level, place.queue_offset, shell.now.at + delay);
            if let Some(at) = state.delay.next(level) {
                shell.timers.set(shell.now.at, Timer::Delay(level), at);
            }
            state.news(shell, topic, queue);
            Ok(place)
        }
    }
}

fn put(
    state: &mut State,
    shell: &mut Shell,
    message: &Message<'_>,
    topic: TopicId,
    queue: u32,
    code: i64,
) -> Result<Place, Unstored> {
    if message.body.len() > state.config.limits.message_bytes || message.properties.len() > MAX_PROPERTIES_LEN {
        return Err(Unstored::Illegal);
    }
    let topic_name = state.store.topics.get(topic).map(|topic| topic.name.clone()).ok_or(Unstored::NoTopic)?;
    let mut record = StoredRecord {
        version: RecordVersion::for_topic(&topic_name),
        queue_id: i32::try_from(queue).unwrap_or(i32::MAX),
        flag: message.flag,
        queue_offset: 0,
        commit_log_offset: 0,
        sys_flag: SysFlag(message.sys_flag),
        born_timestamp: message.born_time,
        born_host: message.born_host,
        store_timestamp: 0,
        store_host: state.config.address,
        reconsume_times: message.reconsume_times,
        prepared_transaction_offset: message.prepared_offset,
        body: message.body,
        topic: &topic_name,
        properties: message.properties.as_bytes(),
    };
    let size = record.encoded_len();
    let mut fits = true;
    let place = state.store.append(shell.now, topic, queue, code, size, |place, out| {
        record.queue_offset = place.queue_offset.cast_signed();
        record.commit_log_offset = place.log_offset.cast_signed();
        record.store_timestamp = place.store_time;
        fits = record.encode(out).is_ok();
    });
    // Body, properties and topic were held against limits that are stricter than those of the record.
    invariant!(shell.health, fits, "a message within the limits fits into a record");
    if place == Err(AppendError::Full) {
        if !core::mem::replace(&mut state.full, true) {
            shell.event(Event::StoreFull);
        }
    } else {
        state.full = false;
    }
    Ok(place?)
}
