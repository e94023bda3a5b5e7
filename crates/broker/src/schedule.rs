//! Delivering delayed messages when they are due (`spec/broker.md` 3.7).
//!
//! A due message is stored again, in its real topic and queue, with a new store time and log offset. It keeps when and
//! where it was born and all its properties. A message that finds no room is tried again at the next tick, and holds up
//! those behind it; one whose topic was deleted is dropped.

use rocketry_codec::message::property_names as name;

use crate::append::{self, Message, Unstored};
use crate::delay::TICK;
use crate::shell::{Shell, Timer};
use crate::state::State;

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

#[cfg(test)]
mod tests {
    use crate::config::{DelayLevels, TopicSpec};
    use crate::testing::{START, World, bodies, long_pull, messages, properties as text, pull};
    use core::time::Duration;
    use rocketry_codec::request::{DeleteTopic, GetMaxOffset};
    use std::prelude::v1::*;
    use std::vec;

    fn world() -> World {
        World::with(|config| config.topics.push(TopicSpec::new("T", 2)))
    }

    #[test]
    fn a_level_delays_by_its_time() {
        let mut world = world();
        let client = world.connect();
        world.pass(Duration::from_millis(12_345));
        let sent = world.send(client, "T", 1, &text(&[("DELAY", "1"), ("TAGS", "a"), ("UNIQ_KEY", "U")]), "x");
        assert_eq!((sent.queue, sent.offset), (1, 0), "the user's queue, the level's offset");
        assert!(world.call(client, &long_pull("g", "T", 1, 0), "").is_none());
        world.pass(Duration::from_millis(1_000));
        assert!(world.take(client).is_empty());
        world.pass(Duration::from_millis(100));
        let delivered = messages(&world.take(client)[0]).remove(0);
        assert_eq!(delivered.store_timestamp(), START + 13_400, "the first tick after 13,345");
        assert_eq!((delivered.queue_id(), delivered.queue_offset()), (1, 0));
        for (name, value) in [("DELAY", "1"), ("REAL_TOPIC", "T"), ("REAL_QID", "1"), ("UNIQ_KEY", "U"), ("TAGS", "a")]
        {
            assert_eq!(delivered.properties().get(name), Some(value), "{name}");
        }
        assert_eq!(delivered.born_timestamp(), START);
        let waiting = messages(&world.ask(client, &pull("g", "SCHEDULE_TOPIC_XXXX", 0, 0), "")).remove(0);
        assert_ne!(waiting.offset_id(), delivered.offset_id());
    }

    #[test]
    fn levels_are_clamped_and_zero_is_none() {
        let mut world = World::with(|config| {
            config.delay_levels = DelayLevels::new(vec![Duration::from_secs(2), Duration::from_secs(3)]);
        });
        let client = world.connect();
        for level in ["0", "-4", "7"] {
            let pairs = [("DELAY", level), ("TIMER_DELAY_MS", "5")];
            world.send(client, "T", 0, &text(&pairs[..1 + usize::from(level == "7")]), level);
        }
        assert_eq!(bodies(&world.ask(client, &pull("g", "T", 0, 0), "")), ["0", "-4"]);
        world.pass(Duration::from_millis(3_100));
        let all = messages(&world.ask(client, &pull("g", "T", 0, 0), ""));
        assert_eq!(all[2].properties().get("DELAY"), Some("2"));
        assert_eq!(all[2].properties().get("TIMER_DELAY_MS"), None, "a level displaces a timer");
    }

    #[test]
    fn order_holds_within_a_level_and_a_deleted_topic_drops_its_messages() {
        let mut world = world();
        let client = world.connect();
        let delayed = text(&[("DELAY", "1")]);
        for n in 0..50 {
            world.send(client, "T", 0, &delayed, &format!("{n}"));
            world.send(client, "gone", 0, &delayed, "lost");
        }
        world.ask(client, &DeleteTopic { topic: "gone".into(), ..DeleteTopic::default() }, "");
        world.pass(Duration::from_secs(2));
        let expected: Vec<String> = (0..32).map(|n| format!("{n}")).collect();
        assert_eq!(bodies(&world.ask(client, &pull("g", "T", 0, 0), "")), expected);
        assert_eq!(world.ask(client, &pull("g", "gone", 0, 0), "").code(), 17);
    }

    #[test]
    fn a_full_store_holds_deliveries_up_until_there_is_room() {
        let mut world = World::with(|config| {
            config.topics.push(TopicSpec::new("T", 1));
            config.limits.store_bytes = 40_000;
            config.retention = Duration::from_secs(3);
        });
        let client = world.connect();
        let (late, filler) = ("l".repeat(1_000), "f".repeat(1_000));
        world.send(client, "T", 0, &text(&[("DELAY", "2")]), &late);
        world.pass(Duration::from_secs(4));
        while world.ask(client, &crate::testing::message("T", 0, ""), filler.clone()).code() == 0 {}
        let end = |world: &mut World| -> i64 {
            let max = GetMaxOffset { topic: "T".into(), ..GetMaxOffset::default() };
            let frame = world.ask(client, &max, "");
            frame.field("offset").and_then(|max| max.parse().ok()).expect("a number")
        };
        let full = end(&mut world);
        world.pass(Duration::from_millis(2_500));
        assert_eq!(end(&mut world), full, "due at 5 s, but there is no room");
        world.pass(Duration::from_secs(1));
        let max = end(&mut world);
        assert_eq!(max, full + 1);
        let last = messages(&world.ask(client, &pull("g", "T", 0, max - 1), ""));
        assert_eq!(last[0].body_bytes(), late.as_bytes());
    }
}
