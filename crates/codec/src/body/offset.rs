//! Offset tables (wire 5.5).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::queue::QueueName;
use super::registration::DataVersion;
use super::{JsonBody, body};
use crate::json::{FromJson, JsonWriter, ToJson, Value};

/// New positions for the queues of a group (request 220, answers of 222). Read in Java's form, a map, and in the C++ form,
/// a list; written as a map. A local offset file has the same shape (consumer.md A.2).
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

    /// All stored positions of a broker, by `topic@group` and queue id (answer of 43).
    pub struct StoredOffsets {
        data_version: Option<DataVersion> = "dataVersion",
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

    /// How far all groups of a broker have come (answer of 317), by group.
    pub struct ConsumeStatsList {
        broker_address: Option<String> = "brokerAddr",
        groups: Vec<BTreeMap<String, Vec<ConsumeStats>>> = "consumeStatsList",
        /// Messages that no group has consumed yet, over all groups.
        total_lag: i64 = "totalDiff",
        /// Messages that were delivered and not acknowledged.
        total_in_flight: i64 = "totalInflightDiff",
    }

    /// The positions that a group should go back to, by queue id (answer of 308).
    pub struct CorrectionOffsets {
        offsets: BTreeMap<i32, i64> = "correctionOffsets",
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

impl ResetOffsets {
    /// The text in the C++ form, for an admin client that asked for it with `language=CPP` (wire 5.5).
    #[must_use]
    pub fn encode_as_list(&self) -> String {
        let list: Vec<QueueOffset> = self.offsets.iter().map(QueueOffset::from_pair).collect();
        let mut out = JsonWriter::new();
        out.object(|out| out.member("offsetTable", &list));
        out.finish()
    }
}

impl QueueOffset {
    fn from_pair((queue, offset): (&QueueName, &i64)) -> Self {
        let QueueName { topic, broker_name, queue_id } = queue.clone();
        Self { broker_name, offset: *offset, queue_id, topic }
    }

    fn into_pair(self) -> (QueueName, i64) {
        let Self { broker_name, offset, queue_id, topic } = self;
        (QueueName { topic, broker_name, queue_id }, offset)
    }
}
