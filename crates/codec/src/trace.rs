//! Message-trace records: what became of a message, as text in the body of a message to the trace topic (wire 13,
//! producer.md 8.2).
//!
//! Fields are joined by U+0001 and records end with U+0002; a missing text is written as `null`. Older writers leave
//! trailing fields out, newer ones may add some: both are read.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// Between two fields.
const FIELD: char = '\u{1}';
/// Behind a record.
const RECORD: char = '\u{2}';
/// The text of what is missing.
const NULL: &str = "null";

/// What a traced message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TracedKind {
    /// A message like any other.
    Normal,
    /// A half message.
    Half,
    /// The end of a transaction.
    Commit,
    /// A delayed message.
    Delay,
    /// A message with an order.
    Order,
}

impl TracedKind {
    const ALL: [Self; 5] = [Self::Normal, Self::Half, Self::Commit, Self::Delay, Self::Order];

    const fn ordinal(self) -> u8 {
        match self {
            Self::Normal => 0,
            Self::Half => 1,
            Self::Commit => 2,
            Self::Delay => 3,
            Self::Order => 4,
        }
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // built by literal
pub enum TraceRecord<'a> {
    /// A message was sent.
    Published {
        /// When the send began, in wall milliseconds.
        timestamp_ms: i64,
        /// The broker's region.
        region: Option<&'a str>,
        /// The producer group.
        group: &'a str,
        /// The topic.
        topic: &'a str,
        /// The unique id.
        message_id: &'a str,
        /// The tag.
        tags: Option<&'a str>,
        /// The keys, joined by blanks.
        keys: Option<&'a str>,
        /// The address of the broker.
        store_host: &'a str,
        /// The body's size on the wire, in bytes.
        body_length: i32,
        /// From the send to its answer, in milliseconds.
        cost_ms: i32,
        /// What was sent.
        kind: TracedKind,
        /// The broker's id of the record.
        offset_message_id: Option<&'a str>,
        /// Whether the broker has it.
        success: bool,
    },
    /// A handler begins with a message.
    Consuming {
        /// When, in wall milliseconds.
        timestamp_ms: i64,
        /// The broker's region.
        region: Option<&'a str>,
        /// The consumer group.
        group: &'a str,
        /// What joins it with its [`Consumed`](Self::Consumed).
        request_id: &'a str,
        /// The unique id.
        message_id: &'a str,
        /// How often it was delivered in vain.
        redeliveries: i32,
        /// The keys, joined by blanks.
        keys: Option<&'a str>,
    },
    /// A handler is done with a message.
    Consumed {
        /// What joins it with its [`Consuming`](Self::Consuming).
        request_id: &'a str,
        /// The unique id.
        message_id: &'a str,
        /// How long the handler took, in milliseconds.
        cost_ms: i32,
        /// Whether it succeeded.
        success: bool,
        /// The keys, joined by blanks.
        keys: Option<&'a str>,
        /// 0 success, 1 timed out, 2 exception, 3 no answer, 4 failed.
        context_code: i32,
        /// When it ended, in wall milliseconds, and the group; not in the cloud's form.
        ended: Option<(i64, &'a str)>,
    },
    /// A transaction was ended.
    EndedTransaction {
        /// When, in wall milliseconds.
        timestamp_ms: i64,
        /// The broker's region.
        region: Option<&'a str>,
        /// The producer group.
        group: &'a str,
        /// The topic.
        topic: &'a str,
        /// The unique id.
        message_id: &'a str,
        /// The tag.
        tags: Option<&'a str>,
        /// The keys, joined by blanks.
        keys: Option<&'a str>,
        /// The address of the broker.
        store_host: &'a str,
        /// What is told of: usually [`TracedKind::Commit`].
        kind: TracedKind,
        /// The transaction.
        transaction_id: Option<&'a str>,
        /// `COMMIT_MESSAGE`, `ROLLBACK_MESSAGE` or `UNKNOW`.
        state: &'a str,
        /// Whether the broker had asked.
        from_check: bool,
    },
    /// A timed message was recalled.
    Recalled {
        /// When, in wall milliseconds.
        timestamp_ms: i64,
        /// The broker's region.
        region: Option<&'a str>,
        /// The producer group.
        group: &'a str,
        /// The topic.
        topic: &'a str,
        /// The unique id.
        message_id: &'a str,
        /// Whether the broker did it.
        success: bool,
    },
}

impl<'a> TraceRecord<'a> {
    /// Appends the record's text.
    pub fn encode(&self, out: &mut String) {
        let mut row = Row { out, first: true };
        match *self {
            Self::Published {
                timestamp_ms,
                region,
                group,
                topic,
                message_id,
                tags,
                keys,
                store_host,
                body_length,
                cost_ms,
                kind,
                offset_message_id,
                success,
            } => {
                row.text("Pub").put(timestamp_ms).maybe(region).text(group).text(topic).text(message_id);
                row.maybe(tags).maybe(keys).text(store_host).put(body_length).put(cost_ms).put(kind.ordinal());
                row.maybe(offset_message_id).put(success)
            }
            Self::Consuming { timestamp_ms, region, group, request_id, message_id, redeliveries, keys } => {
                row.text("SubBefore").put(timestamp_ms).maybe(region).text(group).text(request_id);
                row.text(message_id).put(redeliveries).maybe(keys)
            }
            Self::Consumed { request_id, message_id, cost_ms, success, keys, context_code, ended } => {
                row.text("SubAfter").text(request_id).text(message_id).put(cost_ms).put(success);
                row.maybe(keys).put(context_code);
                match ended {
                    Some((timestamp_ms, group)) => row.put(timestamp_ms).text(group),
                    // The cloud's form keeps the separator.
                    None => row.text(""),
                }
            }
            Self::EndedTransaction {
                timestamp_ms,
                region,
                group,
                topic,
                message_id,
                tags,
                keys,
                store_host,
                kind,
                transaction_id,
                state,
                from_check,
            } => {
                row.text("EndTransaction").put(timestamp_ms).maybe(region).text(group).text(topic).text(message_id);
                row.maybe(tags).maybe(keys).text(store_host).put(kind.ordinal()).maybe(transaction_id);
                row.text(state).put(from_check)
            }
            Self::Recalled { timestamp_ms, region, group, topic, message_id, success } => {
                row.text("Recall").put(timestamp_ms).maybe(region).text(group).text(topic).text(message_id);
                row.put(success)
            }
        };
        out.push(RECORD);
    }

    /// Reads the records of a body; those that cannot be read are told in their places.
    pub fn decode_all(text: &'a str) -> impl Iterator<Item = Result<Self, TraceError>> {
        let records = text.split(RECORD).filter(|record| !record.is_empty());
        records.enumerate().map(|(at, record)| Self::decode(record).ok_or(TraceError { record: at }))
    }

    fn decode(record: &'a str) -> Option<Self> {
        let columns = Columns(record.split(FIELD).collect());
        match columns.text(0)? {
            "Pub" => columns.published(),
            "SubBefore" => columns.consuming(),
            "SubAfter" => columns.consumed(),
            "EndTransaction" => columns.ended_transaction(),
            "Recall" => columns.recalled(),
            _ => None,
        }
    }
}

/// The fields of a record that is being read.
struct Columns<'a>(Vec<&'a str>);

impl<'a> Columns<'a> {
    fn text(&self, at: usize) -> Option<&'a str> {
        self.0.get(at).copied()
    }

    fn maybe(&self, at: usize) -> Option<&'a str> {
        self.text(at).filter(|text| *text != NULL)
    }

    fn number<N: core::str::FromStr>(&self, at: usize) -> Option<N> {
        self.text(at)?.parse().ok()
    }

    fn flag(&self, at: usize) -> Option<bool> {
        Some(self.text(at)? == "true")
    }

    fn kind(&self, at: usize) -> Option<TracedKind> {
        TracedKind::ALL.get(self.number::<usize>(at)?).copied()
    }

    fn published(&self) -> Option<TraceRecord<'a>> {
        // 13 columns have no offset id.
        let has_offset_id = self.0.len() > 13;
        Some(TraceRecord::Published {
            timestamp_ms: self.number(1)?,
            region: self.maybe(2),
            group: self.text(3)?,
            topic: self.text(4)?,
            message_id: self.text(5)?,
            tags: self.maybe(6),
            keys: self.maybe(7),
            store_host: self.text(8)?,
            body_length: self.number(9)?,
            cost_ms: self.number(10)?,
            kind: self.kind(11)?,
            offset_message_id: if has_offset_id { self.maybe(12) } else { None },
            success: self.flag(if has_offset_id { 13 } else { 12 })?,
        })
    }

    fn consuming(&self) -> Option<TraceRecord<'a>> {
        Some(TraceRecord::Consuming {
            timestamp_ms: self.number(1)?,
            region: self.maybe(2),
            group: self.text(3)?,
            request_id: self.text(4)?,
            message_id: self.text(5)?,
            redeliveries: self.number(6)?,
            keys: self.maybe(7),
        })
    }

    fn consumed(&self) -> Option<TraceRecord<'a>> {
        Some(TraceRecord::Consumed {
            request_id: self.text(1)?,
            message_id: self.text(2)?,
            cost_ms: self.number(3)?,
            success: self.flag(4)?,
            keys: self.maybe(5),
            context_code: if self.0.len() > 6 { self.number(6)? } else { 0 },
            ended: if self.0.len() > 8 { Some((self.number(7)?, self.text(8)?)) } else { None },
        })
    }

    fn ended_transaction(&self) -> Option<TraceRecord<'a>> {
        Some(TraceRecord::EndedTransaction {
            timestamp_ms: self.number(1)?,
            region: self.maybe(2),
            group: self.text(3)?,
            topic: self.text(4)?,
            message_id: self.text(5)?,
            tags: self.maybe(6),
            keys: self.maybe(7),
            store_host: self.text(8)?,
            kind: self.kind(9)?,
            transaction_id: self.maybe(10),
            state: self.text(11)?,
            from_check: self.flag(12)?,
        })
    }

    fn recalled(&self) -> Option<TraceRecord<'a>> {
        Some(TraceRecord::Recalled {
            timestamp_ms: self.number(1)?,
            region: self.maybe(2),
            group: self.text(3)?,
            topic: self.text(4)?,
            message_id: self.text(5)?,
            success: self.flag(6)?,
        })
    }
}

/// A record that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceError {
    /// Its number in the body, from 0.
    pub record: usize,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace record {} has an unknown type or fields that are missing or no numbers", self.record)
    }
}

impl core::error::Error for TraceError {}

struct Row<'o> {
    out: &'o mut String,
    first: bool,
}

impl Row<'_> {
    fn put(&mut self, value: impl fmt::Display) -> &mut Self {
        if !core::mem::take(&mut self.first) {
            self.out.push(FIELD);
        }
        // Writing into a String cannot fail.
        let _ = write!(self.out, "{value}");
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.put(text)
    }

    fn maybe(&mut self, text: Option<&str>) -> &mut Self {
        self.put(text.unwrap_or(NULL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_told_and_its_neighbours_survive() {
        let text = "Nonsense\u{1}1\u{2}Recall\u{1}5\u{1}null\u{1}g\u{1}t\u{1}id\u{1}true\u{2}Pub\u{1}x\u{2}";
        let read: Vec<_> = TraceRecord::decode_all(text).collect();
        let recalled = TraceRecord::Recalled {
            timestamp_ms: 5,
            region: None,
            group: "g",
            topic: "t",
            message_id: "id",
            success: true,
        };
        assert_eq!(read, [Err(TraceError { record: 0 }), Ok(recalled), Err(TraceError { record: 2 })]);
    }

    #[test]
    fn older_writers_leave_fields_out() {
        let text = "SubAfter\u{1}r\u{1}id\u{1}3\u{1}false\u{1}null\u{2}";
        let old = TraceRecord::Consumed {
            request_id: "r",
            message_id: "id",
            cost_ms: 3,
            success: false,
            keys: None,
            context_code: 0,
            ended: None,
        };
        assert_eq!(TraceRecord::decode_all(text).collect::<Vec<_>>(), [Ok(old)]);
    }

    #[test]
    fn the_form_of_the_cloud_keeps_its_last_separator() {
        let cloud = TraceRecord::Consumed {
            request_id: "r",
            message_id: "id",
            cost_ms: 3,
            success: true,
            keys: Some("k"),
            context_code: 0,
            ended: None,
        };
        let mut text = String::new();
        cloud.encode(&mut text);
        assert_eq!(text, "SubAfter\u{1}r\u{1}id\u{1}3\u{1}true\u{1}k\u{1}0\u{1}\u{2}");
        assert_eq!(TraceRecord::decode_all(&text).collect::<Vec<_>>(), [Ok(cloud)]);
    }
}
