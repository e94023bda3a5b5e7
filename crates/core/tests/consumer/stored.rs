//! What the broker of these tests has stored.

use rocketry_core::codec::message::{Properties, RecordVersion, StoredRecord, SysFlag};

/// A stored message, before it is written as a record.
#[derive(Clone, Debug)]
pub struct Stored {
    pub offset: i64,
    pub body: Vec<u8>,
    pub tag: Option<String>,
    pub properties: Vec<(&'static str, String)>,
    pub reconsume_times: i32,
    pub broken: bool,
}

#[derive(Debug, Default)]
pub struct Queue {
    pub min: i64,
    pub messages: Vec<Stored>,
}

impl Queue {
    pub fn max(&self) -> i64 {
        self.messages.last().map_or(self.min, |last| last.offset + 1)
    }
}

/// A message as a broker stores it.
pub fn record(topic: &str, queue: i32, message: &Stored) -> Vec<u8> {
    let mut properties = Properties::new();
    let id = format!("ID{:08}", message.offset);
    properties.set("UNIQ_KEY", &id).expect("a property");
    if let Some(tag) = &message.tag {
        properties.set("TAGS", tag).expect("a property");
    }
    for (name, value) in &message.properties {
        properties.set(name, value).expect("a property");
    }
    let host = std::net::SocketAddr::from(([10, 0, 0, 9], 10_911));
    let stored = StoredRecord {
        version: RecordVersion::V1,
        queue_id: queue,
        flag: 0,
        queue_offset: message.offset,
        commit_log_offset: 1_000 + message.offset,
        sys_flag: SysFlag(0),
        born_timestamp: 1,
        born_host: host,
        store_timestamp: 2,
        store_host: host,
        reconsume_times: message.reconsume_times,
        prepared_transaction_offset: 0,
        body: &message.body,
        topic,
        properties: properties.as_str().as_bytes(),
    };
    let mut out = Vec::new();
    stored.encode(&mut out).expect("it fits");
    if message.broken {
        // The length of the body is wrong: the record's own size still fences it.
        out[84] ^= 0x40;
    }
    out
}
