//! A message queue as bodies name it (wire 5.4).

use alloc::string::String;

use crate::json::{FromJson, JsonWriter, ToJson, Value};

/// A queue: topic, broker name, queue id. Orders as Java's `MessageQueue`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_structs)] // the protocol's three members
pub struct QueueName {
    /// The topic.
    pub topic: String,
    /// The broker's name.
    pub broker_name: String,
    /// The number of the queue on that broker.
    pub queue_id: i32,
}

impl FromJson for QueueName {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        let object = value.as_object()?;
        Some(Self {
            topic: String::from_json(object.get("topic")?)?,
            broker_name: String::from_json(object.get("brokerName")?)?,
            queue_id: i32::from_json(object.get("queueId")?)?,
        })
    }
}

impl ToJson for QueueName {
    fn write_json(&self, out: &mut JsonWriter) {
        out.object(|out| {
            out.member("brokerName", &self.broker_name);
            out.member("queueId", &self.queue_id);
            out.member("topic", &self.topic);
        });
    }

    fn write_key(&self, out: &mut JsonWriter) {
        out.object_key(self);
    }
}
