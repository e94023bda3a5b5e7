//! What identifies popped messages and recallable messages (wire 7.5, 7.6).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use core::str::FromStr;

use crate::base64::{self, Alphabet};
use crate::error::WireError;
use crate::names::{RETRY_PREFIX, pop_retry_topic_v1, pop_retry_topic_v2};

/// Revive queue id of a message that was popped in order.
pub const ORDERED_REVIVE_QUEUE: i32 = 999;

/// Which topic a popped message really is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RetryMark {
    /// The topic itself: `0`.
    Normal,
    /// `%RETRY%<group>_<topic>`: `1`.
    RetryV1,
    /// `%RETRY%<group>+<topic>`: `2`.
    RetryV2,
}

impl RetryMark {
    /// The mark of a topic, by its name.
    #[must_use]
    pub fn of_topic(topic: &str) -> Self {
        match topic.strip_prefix(RETRY_PREFIX) {
            Some(rest) if rest.contains('+') => Self::RetryV2,
            Some(_) => Self::RetryV1,
            None => Self::Normal,
        }
    }

    /// How the mark is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "0",
            Self::RetryV1 => "1",
            Self::RetryV2 => "2",
        }
    }

    /// Reads a mark.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "0" => Some(Self::Normal),
            "1" => Some(Self::RetryV1),
            "2" => Some(Self::RetryV2),
            _ => None,
        }
    }

    /// The topic a message of `topic` with this mark is in, for consumers of `group`.
    #[must_use]
    pub fn real_topic(self, group: &str, topic: &str) -> String {
        match self {
            Self::Normal => topic.into(),
            Self::RetryV1 => pop_retry_topic_v1(group, topic),
            Self::RetryV2 => pop_retry_topic_v2(group, topic),
        }
    }
}

/// A receipt handle: the `extraInfo` of ack and change-invisible requests, property `POP_CK` (wire 7.5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the handle has these eight parts and no others")]
pub struct ReceiptHandle {
    /// Start offset of the pop on that queue.
    pub check_point_offset: i64,
    /// When the message was popped, in milliseconds since 1970 by the broker's clock.
    pub pop_time: i64,
    /// For how long nobody else gets it, in milliseconds.
    pub invisible_time: i64,
    /// Queue of the broker's revive topic; [`ORDERED_REVIVE_QUEUE`] for ordered pops.
    pub revive_queue_id: i32,
    /// Which topic the message is really in.
    pub retry: RetryMark,
    /// Name of the broker. It must not contain spaces.
    pub broker_name: String,
    /// Queue of the message.
    pub queue_id: i32,
    /// Offset of the message in its queue.
    pub queue_offset: i64,
}

impl ReceiptHandle {
    /// When the message becomes visible again, in milliseconds since 1970 by the broker's clock.
    #[must_use]
    pub const fn visible_at(&self) -> i64 {
        self.pop_time.saturating_add(self.invisible_time)
    }
}

impl fmt::Display for ReceiptHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {} {} {} {} {}",
            self.check_point_offset,
            self.pop_time,
            self.invisible_time,
            self.revive_queue_id,
            self.retry.as_str(),
            self.broker_name,
            self.queue_id,
            self.queue_offset
        )
    }
}

impl FromStr for ReceiptHandle {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let mut parts = Parts::new(text, "receipt handle");
        let handle = Self {
            check_point_offset: parts.number()?,
            pop_time: parts.number()?,
            invisible_time: parts.number()?,
            revive_queue_id: parts.number()?,
            retry: parts.next(RetryMark::from_text)?,
            broker_name: parts.next(|name| (!name.is_empty()).then(|| String::from(name)))?,
            queue_id: parts.number()?,
            queue_offset: parts.number()?,
        };
        // Handles with a ninth part exist in proxies; what follows the eighth is not ours.
        Ok(handle)
    }
}

/// One entry of `startOffsetInfo`: where the pop of a queue began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the entry has these parts and no others")]
pub struct StartOffset {
    /// Topic the queue belongs to.
    pub retry: RetryMark,
    /// The queue.
    pub queue_id: i32,
    /// Its start offset.
    pub offset: i64,
}

/// One entry of `msgOffsetInfo`: the offsets of the popped messages of a queue, in body order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the entry has these parts and no others")]
pub struct MessageOffsets {
    /// Topic the queue belongs to.
    pub retry: RetryMark,
    /// The queue.
    pub queue_id: i32,
    /// Offsets of its messages.
    pub offsets: Vec<i64>,
}

/// One entry of `orderCountInfo`: how often messages of an ordered queue were popped before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the entry has these parts and no others")]
pub struct OrderCount {
    /// Topic the queue belongs to.
    pub retry: RetryMark,
    /// The queue.
    pub queue_id: i32,
    /// The one message meant; `None` for the whole queue.
    pub queue_offset: Option<i64>,
    /// The count.
    pub count: i32,
}

/// Reads `startOffsetInfo`.
///
/// # Errors
///
/// The first entry that is not `<retry> <queueId> <offset>`.
pub fn parse_start_offsets(text: &str) -> Result<Vec<StartOffset>, WireError> {
    entries(text, "startOffsetInfo", |parts| {
        Ok(StartOffset { retry: parts.next(RetryMark::from_text)?, queue_id: parts.number()?, offset: parts.number()? })
    })
}

/// Reads `msgOffsetInfo`.
///
/// # Errors
///
/// The first entry that is not `<retry> <queueId> <offset>,<offset>,...`.
pub fn parse_message_offsets(text: &str) -> Result<Vec<MessageOffsets>, WireError> {
    entries(text, "msgOffsetInfo", |parts| {
        Ok(MessageOffsets {
            retry: parts.next(RetryMark::from_text)?,
            queue_id: parts.number()?,
            offsets: parts.next(|list| list.split(',').map(|offset| offset.parse().ok()).collect())?,
        })
    })
}

/// Reads `orderCountInfo`.
///
/// # Errors
///
/// The first entry that is neither `<retry> <queueId> <count>` nor `<retry> qo<queueId>%<queueOffset> <count>`.
pub fn parse_order_counts(text: &str) -> Result<Vec<OrderCount>, WireError> {
    entries(text, "orderCountInfo", |parts| {
        let retry = parts.next(RetryMark::from_text)?;
        let (queue_id, queue_offset) = parts.next(|key| match key.strip_prefix("qo") {
            Some(pair) => {
                let (queue_id, offset) = pair.split_once('%')?;
                Some((queue_id.parse().ok()?, Some(offset.parse().ok()?)))
            }
            None => Some((key.parse().ok()?, None)),
        })?;
        Ok(OrderCount { retry, queue_id, queue_offset, count: parts.number()? })
    })
}

/// Writes `startOffsetInfo`.
#[must_use]
pub fn format_start_offsets(entries: &[StartOffset]) -> String {
    join(entries, |text, entry| write!(text, "{} {} {}", entry.retry.as_str(), entry.queue_id, entry.offset))
}

/// Writes `msgOffsetInfo`.
#[must_use]
pub fn format_message_offsets(entries: &[MessageOffsets]) -> String {
    join(entries, |text, entry| {
        write!(text, "{} {} ", entry.retry.as_str(), entry.queue_id)?;
        for (index, offset) in entry.offsets.iter().enumerate() {
            write!(text, "{}{offset}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    })
}

/// Writes `orderCountInfo`.
#[must_use]
pub fn format_order_counts(entries: &[OrderCount]) -> String {
    join(entries, |text, entry| match entry.queue_offset {
        Some(offset) => {
            write!(text, "{} qo{}%{offset} {}", entry.retry.as_str(), entry.queue_id, entry.count)
        }
        None => write!(text, "{} {} {}", entry.retry.as_str(), entry.queue_id, entry.count),
    })
}

/// What a broker returns for a timer message so that it can be recalled (wire 7.6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the handle has these parts and no others")]
pub struct RecallHandle {
    /// Topic of the message.
    pub topic: String,
    /// Broker that has it, and that the recall must go to.
    pub broker_name: String,
    /// Stored delivery time plus one, in milliseconds since 1970.
    pub timestamp: i64,
    /// The message's unique id.
    pub message_id: String,
}

impl fmt::Display for RecallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = alloc::format!("v1 {} {} {} {}", self.topic, self.broker_name, self.timestamp, self.message_id);
        f.write_str(&base64::encode(Alphabet::UrlSafe, plain.as_bytes()))
    }
}

impl FromStr for RecallHandle {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let invalid = WireError::invalid("recall handle", 0);
        let plain = base64::decode(Alphabet::UrlSafe, text).ok_or(invalid)?;
        let plain = core::str::from_utf8(&plain).map_err(|_| WireError::not_utf8("recall handle", 0))?;
        let mut parts = Parts::new(plain, "recall handle");
        let text = |part: &str| (!part.is_empty()).then(|| String::from(part));
        parts.next(|version| (version == "v1").then_some(()))?;
        let handle = Self {
            topic: parts.next(text)?,
            broker_name: parts.next(text)?,
            timestamp: parts.number()?,
            message_id: parts.next(text)?,
        };
        parts.end()?;
        Ok(handle)
    }
}

/// Space-separated parts of a text.
struct Parts<'a> {
    parts: core::str::Split<'a, char>,
    what: &'static str,
    index: usize,
}

impl<'a> Parts<'a> {
    fn new(text: &'a str, what: &'static str) -> Self {
        Self { parts: text.split(' '), what, index: 0 }
    }

    /// The next part, read by `read`. The error names the part's number as its place.
    fn next<T>(&mut self, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, WireError> {
        let part = self.parts.next().ok_or(WireError::truncated(self.what, self.index))?;
        let value = read(part).ok_or(WireError::invalid(self.what, self.index))?;
        self.index = self.index.saturating_add(1);
        Ok(value)
    }

    fn number<N: FromStr>(&mut self) -> Result<N, WireError> {
        self.next(|part| part.parse().ok())
    }

    fn end(&mut self) -> Result<(), WireError> {
        self.parts.next().map_or(Ok(()), |_| Err(WireError::invalid(self.what, self.index)))
    }
}

fn entries<T>(
    text: &str,
    what: &'static str,
    read: impl Fn(&mut Parts<'_>) -> Result<T, WireError>,
) -> Result<Vec<T>, WireError> {
    let mut list = Vec::new();
    for entry in text.split(';').filter(|entry| !entry.is_empty()) {
        let mut parts = Parts::new(entry, what);
        list.push(read(&mut parts)?);
        parts.end()?;
    }
    Ok(list)
}

fn join<T>(entries: &[T], write: impl Fn(&mut String, &T) -> fmt::Result) -> String {
    let mut text = String::new();
    for entry in entries {
        if !text.is_empty() {
            text.push(';');
        }
        // Writing to a string does not fail.
        write(&mut text, entry).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn receipt_handles() {
        let text = "46952649 1700000641102 60000 0 1 broker-2 2 52502";
        let handle: ReceiptHandle = text.parse().unwrap();
        assert_eq!(handle.queue_offset, 52_502);
        assert_eq!(handle.visible_at(), 1_700_000_701_102);
        assert_eq!(handle.to_string(), text);
        assert_eq!("1 2 3 4 0 b 6".parse::<ReceiptHandle>(), Err(WireError::truncated("receipt handle", 7)));
        assert_eq!("1 2 3 4 3 b 6 7".parse::<ReceiptHandle>(), Err(WireError::invalid("receipt handle", 4)));
        assert_eq!("1 2 3 4 0  6 7".parse::<ReceiptHandle>(), Err(WireError::invalid("receipt handle", 5)));
    }

    #[test]
    fn marks_follow_the_topic() {
        for (topic, mark) in
            [("t+x", RetryMark::Normal), ("%RETRY%g_t", RetryMark::RetryV1), ("%RETRY%g+t", RetryMark::RetryV2)]
        {
            assert_eq!(RetryMark::of_topic(topic), mark);
        }
        assert_eq!(RetryMark::RetryV2.real_topic("g", "t"), "%RETRY%g+t");
        assert_eq!(RetryMark::RetryV1.real_topic("g", "t"), "%RETRY%g_t");
        assert_eq!(RetryMark::Normal.real_topic("g", "t"), "t");
    }

    #[test]
    fn answers_of_pop() {
        let starts = parse_start_offsets("0 1 100;1 0 7").unwrap();
        assert_eq!(starts[1], StartOffset { retry: RetryMark::RetryV1, queue_id: 0, offset: 7 });
        assert_eq!(format_start_offsets(&starts), "0 1 100;1 0 7");
        let offsets = parse_message_offsets("0 1 100,101,105;2 3 9").unwrap();
        assert_eq!(offsets[0].offsets, vec![100, 101, 105]);
        assert_eq!(format_message_offsets(&offsets), "0 1 100,101,105;2 3 9");
        let counts = parse_order_counts("0 1 2;0 qo1%105 4").unwrap();
        assert_eq!(counts[1].queue_offset, Some(105));
        assert_eq!(format_order_counts(&counts), "0 1 2;0 qo1%105 4");
        assert_eq!(parse_start_offsets("").unwrap(), vec![]);
        for text in ["0 1", "0 1 2 3", "x 1 2", "0 1 y"] {
            assert!(parse_start_offsets(text).is_err(), "{text}");
        }
        assert!(parse_message_offsets("0 1 1,,2").is_err());
        assert!(parse_order_counts("0 qo1 2").is_err());
    }

    #[test]
    fn recall_handle_of_the_specification() {
        let text = "djEgVG9waWNUZXN0IGJyb2tlci1hIDE3MDAwMDAwMDAwMDAgMEEwMTAyMDNBQUFB";
        let handle: RecallHandle = text.parse().unwrap();
        assert_eq!(handle.broker_name, "broker-a");
        assert_eq!(handle.timestamp, 1_700_000_000_000);
        assert_eq!(handle.to_string(), text);
        for plain in ["v2 t b 1 id", "v1 t b 1", "v1 t b x id", "v1 t b 1 id more", "v1  b 1 id"] {
            let text = base64::encode(Alphabet::UrlSafe, plain.as_bytes());
            assert!(text.parse::<RecallHandle>().is_err(), "{plain}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[0-9a-z ;,%]{0,40}") {
            let _ = text.parse::<ReceiptHandle>();
            let _ = text.parse::<RecallHandle>();
            if let Ok(entries) = parse_message_offsets(&text) {
                prop_assert_eq!(parse_message_offsets(&format_message_offsets(&entries)), Ok(entries));
            }
            if let Ok(entries) = parse_order_counts(&text) {
                prop_assert_eq!(parse_order_counts(&format_order_counts(&entries)), Ok(entries));
            }
        }
    }
}
