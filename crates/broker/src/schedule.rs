//! Delivering delayed messages when they are due (`spec/broker.md` 3.7).
//!
//! A due message is stored again, in its real topic and queue, with a new store time and log offset. It keeps when and
//! where it was born and all its properties. A message that finds no room is tried again at the next tick, and holds up
//! those behind it; one whose topic was deleted is dropped.


use rocketry_codec::message::property_names as name;

use crate::append::{self, Message, Unstored};
use crate::state::State;
use crate::delay::TICK;
use crate::shell::{Shell, Timer};

/// The timer of a level fired.
pub(crate) fn on_level(state: &mut State, shell: &mut Shell, level: u8) {
    while let Some(queue_offset) = state.delay.pop_due(shell.now.at, level) {
        if deliver(state, shell, level, queue_offset) == Err(Unstored::Full) {
            state.delay.put_back(level, queue_offset, shell.now.at + TICK);
            break;
        }
    }
    if let Some(at) = state.delay.next(level) {
        shell.timers.set(shell.now.at, Timer::Delay(level), at);
    }
}

fn deliver(state: &mut State, shell: &mut Shell, level: u8, queue_offset: u64) -> Result<(), Unstored> {
    let queue = u32::from(level.saturating_sub(1));
    // Gone by retention: there is nothing to deliver.
    let found = state.store.message_of_queue(state.schedule_topic, queue, queue_offset);
    let Some(stored) = found else { return Ok(()) };
    let real = stored.properties().get(name::REAL_TOPIC).and_then(|topic| state.store.topics.find(topic));
    let queue = stored.properties().get_number::<u32>(name::REAL_QUEUE_ID);
    let (Some(topic), Some(queue)) = (real, queue) else { return Ok(()) };
    let mut text = state.take_scratch();
    text.push_str(core::str::from_utf8(stored.properties().as_bytes()).unwrap_or_default());
    let message = Message {
        topic,
        queue,
        flag: stored.flag(),
        sys_flag: stored.sys_flag().0,
        born_time: stored.born_timestamp(),
        born_host: stored.born_host(),
        reconsume_times: stored.reconsume_times(),
        prepared_offset: stored.prepared_transaction_offset(),
        tags: stored.properties().tags(),
        body: stored.body_bytes(),
        properties: &mut text,
        delay: None,
    };
    let place = append::append(state, shell, message);
    state.put_scratch(text);
    place.map(drop)
}

