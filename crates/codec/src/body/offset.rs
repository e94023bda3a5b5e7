//! Offset tables (wire 5.5).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::queue::QueueName;
use super::{JsonBody, body};
use crate::json::{FromJson, JsonWriter, ToJson, Value};

/// New positions for the queues of a group (request 220, answers of 222). Read in Java's form, a map, and in the C++ form,
/// a list; written as a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // the protocol's one member
pub struct ResetOffsets {
    /// The new position of each queue.
    pub offsets: BTreeMap<QueueName, i64>,
}

impl FromJson for ResetOffsets {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        let offsets = match value.as_object()?.get("offsetTable") {
            Some(list @ Value::Array(_)) => {
                let entries = Vec::<QueueOffset>::from_json(list)?;
                entries.into_iter().map(QueueOffset::into_pair).collect()
            }
            Some(map) => BTreeMap::from_json(map)?,
            None => BTreeMap::new(),
        };
        Some(Self { offsets })
    }
}

impl ToJson for ResetOffsets {
    fn write_json(&self, out: &mut JsonWriter) {
        out.object(|out| out.member("offsetTable", &self.offsets));
    }
}

impl JsonBody for ResetOffsets {}

body! {
    /// One entry of the C++ form of [`ResetOffsets`].
    pub struct QueueOffset {
        broker_name: String = "brokerName",
        offset: i64 = "offset",
        queue_id: i32 = "queueId",
        topic: String = "topic",
    }

    /// The positions of a group's members (answer of 221 and 223).
    pub struct ConsumerStatus {
        consumers: BTreeMap<String, BTreeMap<QueueName, i64>> = "consumerTable",
        queues: BTreeMap<QueueName, i64> = "messageQueueTable",
    }

    /// All stored positions of a broker, by `topic@group` and queue id.
    pub struct StoredOffsets {
        offsets: BTreeMap<String, BTreeMap<i32, i64>> = "offsetTable",
    }

    /// How far a group has come in each queue (answer of 208).
    pub struct ConsumeStats {
        consume_tps: f64 = "consumeTps",
        queues: BTreeMap<QueueName, QueueProgress> = "offsetTable",
    }

    /// One queue of [`ConsumeStats`].
    pub struct QueueProgress {
        broker_offset: i64 = "brokerOffset",
        consumer_offset: i64 = "consumerOffset",
        last_timestamp_ms: i64 = "lastTimestamp",
        pull_offset: i64 = "pullOffset",
    }

    /// The bounds of each queue of a topic (answer of 202).
    pub struct TopicStats {
        queues: BTreeMap<QueueName, QueueBounds> = "offsetTable",
        put_tps: f64 = "topicPutTps",
    }

    /// One queue of [`TopicStats`].
    pub struct QueueBounds {
        last_update_ms: i64 = "lastUpdateTimestamp",
        max_offset: i64 = "maxOffset",
        min_offset: i64 = "minOffset",
    }
}

impl QueueOffset {
    fn into_pair(self) -> (QueueName, i64) {
        let Self { broker_name, offset, queue_id, topic } = self;
        (QueueName { topic, broker_name, queue_id }, offset)
    }
}
