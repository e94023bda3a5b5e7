//! Decoding stored messages (wire 6.1).
//!
//! What this module decides: where one record ends and the next begins (by the record's own size, never by what is
//! inside), and which records are whole. A record whose content does not fill its size exactly is refused: one of its
//! lengths is wrong, and the topic, body or properties read from it would be another field's bytes.

use core::fmt;
use core::net::SocketAddr;

use bytes::Bytes;

use super::layout::{self, Cursor, RecordVersion};
use super::properties::PropertiesView;
use super::sysflag::{Compression, SysFlag};
use crate::crc::body_crc;
use crate::error::{WireError, WireErrorKind};
use crate::ids::OffsetId;

/// A decoded message that shares the memory of the body it came in.
///
/// Cloning counts a reference. Topic, body and properties are ranges of one record; only a body that was replaced
/// ([`with_body`](Self::with_body)) and the parts of an unpacked inner batch are separate.
#[derive(Clone)]
pub struct StoredMessage {
    pub(super) record: Bytes,
    pub(super) queue_offset: i64,
    pub(super) commit_log_offset: i64,
    pub(super) born_timestamp: i64,
    pub(super) store_timestamp: i64,
    pub(super) prepared_transaction_offset: i64,
    pub(super) topic: Span,
    pub(super) body: Part,
    pub(super) properties: Part,
    pub(super) body_crc: u32,
    pub(super) queue_id: i32,
    pub(super) flag: i32,
    pub(super) sys_flag: SysFlag,
    pub(super) reconsume_times: i32,
    pub(super) version: RecordVersion,
}

/// A range of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

/// Where a part of a message is.
#[derive(Debug, Clone)]
pub(super) enum Part {
    InRecord(Span),
    Own(Bytes),
}

/// Whether to compare a body with its checksum while decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrcCheck {
    /// Trust the transport, as Java does by default.
    #[default]
    Skip,
    /// Refuse a record whose body does not match.
    Verify,
}

/// A record that could not be decoded. Its neighbours are not affected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMessage {
    /// What was wrong; the offset counts from the start of `raw`.
    pub reason: WireError,
    /// Queue id, where it could be read.
    pub queue_id: Option<i32>,
    /// Offset in the queue, where it could be read.
    pub queue_offset: Option<i64>,
    /// The record as it came: up to its fence, or to the end of the body when the size itself was wrong.
    pub raw: Bytes,
}

impl fmt::Display for BadMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("undecodable message")?;
        if let Some(queue_id) = self.queue_id {
            write!(f, " in queue {queue_id}")?;
        }
        if let Some(offset) = self.queue_offset {
            write!(f, " at offset {offset}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl core::error::Error for BadMessage {}

/// Iterator over the stored messages of a pull, pop, view or query body.
///
/// It ends at the end of the body, at an end-of-file filler, and after a size word that cannot be a record's, which is
/// reported first: beyond it nothing says where a record begins.
#[derive(Debug, Clone)]
pub struct Messages {
    rest: Bytes,
    crc: CrcCheck,
}

impl Messages {
    /// A walk over `body` that does not look at checksums.
    #[must_use]
    pub const fn new(body: Bytes) -> Self {
        Self { rest: body, crc: CrcCheck::Skip }
    }

    /// The same walk, checking bodies or not.
    #[must_use]
    pub fn crc(self, crc: CrcCheck) -> Self {
        Self { crc, ..self }
    }

    /// What has not been walked yet.
    #[must_use]
    pub const fn rest(&self) -> &Bytes {
        &self.rest
    }

    /// Gives up the rest of the body because of `reason`.
    fn give_up(&mut self, reason: WireError) -> BadMessage {
        BadMessage::new(reason, core::mem::take(&mut self.rest))
    }
}

impl Iterator for Messages {
    type Item = Result<StoredMessage, BadMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut head = Cursor::new(&self.rest);
        let size = match head.i32("record size") {
            Ok(size) => size,
            Err(reason) => return Some(Err(self.give_up(reason))),
        };
        if head.u32("magic") == Ok(layout::MAGIC_FILLER) {
            self.rest = Bytes::new();
            return None;
        }
        let fence = match usize::try_from(size) {
            Ok(fence) if fence >= 4 => fence,
            _ => return Some(Err(self.give_up(WireError::invalid("record size", 0)))),
        };
        if fence > self.rest.len() {
            return Some(Err(self.give_up(WireError::truncated("record", 0))));
        }
        Some(StoredMessage::decode_fenced(self.rest.split_to(fence), self.crc))
    }
}

impl core::iter::FusedIterator for Messages {}

impl StoredMessage {
    /// Decodes the one record that `record` consists of.
    ///
    /// # Errors
    ///
    /// [`BadMessage`] when it is not exactly one whole record.
    pub fn decode(record: Bytes) -> Result<Self, BadMessage> {
        let mut walk = Messages::new(record);
        let first =
            walk.next().unwrap_or_else(|| Err(BadMessage::new(WireError::truncated("record", 0), Bytes::new())))?;
        if walk.rest.is_empty() {
            Ok(first)
        } else {
            let at = first.record.len();
            Err(BadMessage::new(WireError::invalid("bytes after the record", at), walk.rest))
        }
    }

    fn decode_fenced(record: Bytes, crc: CrcCheck) -> Result<Self, BadMessage> {
        // The record moves into the message only once it is known to be whole.
        match Parts::read(&record, crc) {
            Ok(parts) => Ok(parts.into_message(record)),
            Err(reason) => Err(BadMessage::new(reason, record)),
        }
    }

    /// The topic as stored. A message from a retry topic names its own topic in the property `RETRY_TOPIC`.
    #[must_use]
    pub fn topic(&self) -> &str {
        // Checked when the record was decoded.
        core::str::from_utf8(self.topic.of(&self.record)).unwrap_or_default()
    }

    /// The body, as stored until it is replaced. Shares memory.
    #[must_use]
    pub fn body(&self) -> Bytes {
        self.body.share(&self.record)
    }

    /// The body, borrowed.
    #[must_use]
    pub fn body_bytes(&self) -> &[u8] {
        self.body.of(&self.record)
    }

    /// The properties, read in place.
    #[must_use]
    pub fn properties(&self) -> PropertiesView<'_> {
        PropertiesView::new(self.properties.of(&self.record))
    }

    /// The encoded properties. Shares memory.
    #[must_use]
    pub fn properties_bytes(&self) -> Bytes {
        self.properties.share(&self.record)
    }

    /// Queue the message is in.
    #[must_use]
    pub const fn queue_id(&self) -> i32 {
        self.queue_id
    }

    /// Offset in its queue.
    #[must_use]
    pub const fn queue_offset(&self) -> i64 {
        self.queue_offset
    }

    /// Physical offset in the broker's commit log.
    #[must_use]
    pub const fn commit_log_offset(&self) -> i64 {
        self.commit_log_offset
    }

    /// The user's flag.
    #[must_use]
    pub const fn flag(&self) -> i32 {
        self.flag
    }

    /// The system flag.
    #[must_use]
    pub const fn sys_flag(&self) -> SysFlag {
        self.sys_flag
    }

    /// When the producer made the message, in milliseconds since 1970 by its clock.
    #[must_use]
    pub const fn born_timestamp(&self) -> i64 {
        self.born_timestamp
    }

    /// When the broker stored the message, in milliseconds since 1970 by its clock.
    #[must_use]
    pub const fn store_timestamp(&self) -> i64 {
        self.store_timestamp
    }

    /// How often the message was consumed before.
    #[must_use]
    pub const fn reconsume_times(&self) -> i32 {
        self.reconsume_times
    }

    /// Commit-log offset of the half message this one concludes.
    #[must_use]
    pub const fn prepared_transaction_offset(&self) -> i64 {
        self.prepared_transaction_offset
    }

    /// Checksum of the stored body, as the record states it (wire 6.3).
    #[must_use]
    pub const fn body_crc(&self) -> u32 {
        self.body_crc
    }

    /// Layout of the record.
    #[must_use]
    pub const fn version(&self) -> RecordVersion {
        self.version
    }

    /// Address of the producer as the broker saw it.
    #[must_use]
    pub fn born_host(&self) -> SocketAddr {
        self.host(layout::BORN_HOST_AT, SysFlag::BORN_HOST_V6)
    }

    /// Address of the broker that stored the message.
    #[must_use]
    pub fn store_host(&self) -> SocketAddr {
        let born_v6 = self.sys_flag.has(SysFlag::BORN_HOST_V6);
        self.host(layout::store_host_at(born_v6), SysFlag::STORE_HOST_V6)
    }

    /// The offset message id: where the message is stored (wire 7.1).
    #[must_use]
    pub fn offset_id(&self) -> OffsetId {
        OffsetId { host: self.store_host(), offset: self.commit_log_offset }
    }

    /// The unique id the producer gave, property `UNIQ_KEY`.
    #[must_use]
    pub fn unique_key(&self) -> Option<&str> {
        self.properties().unique_key()
    }

    /// How the body is compressed at the moment; `None` when it is plain.
    ///
    /// # Errors
    ///
    /// [`WireErrorKind::Unsupported`] for a compression type nobody defined.
    pub const fn compression(&self) -> Result<Option<Compression>, WireError> {
        self.sys_flag.compression()
    }

    /// Whether the body is an inner batch, to be opened with [`InnerBatch`](super::InnerBatch).
    #[must_use]
    pub const fn is_inner_batch(&self) -> bool {
        self.sys_flag.has(SysFlag::INNER_BATCH | SysFlag::NEED_UNWRAP)
    }

    /// Whether the body matches its checksum. Only meaningful for the body as stored, before decompression.
    #[must_use]
    pub fn crc_matches(&self) -> bool {
        body_crc(self.body_bytes()) == self.body_crc
    }

    /// The message with its decompressed body: the compressed bit is cleared, as Java does.
    #[must_use]
    pub fn with_body(self, body: Bytes) -> Self {
        let sys_flag = self.sys_flag.without(SysFlag::COMPRESSED);
        Self { body: Part::Own(body), sys_flag, ..self }
    }

    /// The message with other encoded properties, as a pop consumer needs that adds a receipt handle.
    #[must_use]
    pub fn with_properties(self, encoded: Bytes) -> Self {
        Self { properties: Part::Own(encoded), ..self }
    }

    /// The record as it came. Its length is what the message adds to a block of messages.
    #[must_use]
    pub const fn record(&self) -> &Bytes {
        &self.record
    }

    /// The same message on a copy of its record, so that the block it came in can be freed. `None` when `record` is
    /// not a copy of [`record`](Self::record).
    #[must_use]
    pub fn moved_to(&self, record: Bytes) -> Option<Self> {
        (record == self.record).then(|| Self { record, ..self.clone() })
    }

    fn host(&self, at: usize, v6: i32) -> SocketAddr {
        let bytes = self.record.get(at..).unwrap_or_default();
        // Checked when the record was decoded.
        let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
        Cursor::new(bytes).host(self.sys_flag.has(v6), "host").unwrap_or(unspecified)
    }
}

impl fmt::Debug for StoredMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredMessage")
            .field("topic", &self.topic())
            .field("queue_id", &self.queue_id)
            .field("queue_offset", &self.queue_offset)
            .field("commit_log_offset", &self.commit_log_offset)
            .field("flag", &self.flag)
            .field("sys_flag", &format_args!("{:#x}", self.sys_flag.0))
            .field("reconsume_times", &self.reconsume_times)
            .field("body_len", &self.body_bytes().len())
            .field("properties", &self.properties())
            .finish_non_exhaustive()
    }
}

impl BadMessage {
    /// A bad record; what identifies it is read from where it would be.
    fn new(reason: WireError, raw: Bytes) -> Self {
        let known = raw.get(4..8).and_then(|magic| magic.try_into().ok()).map(u32::from_be_bytes);
        let (queue_id, queue_offset) = match known.and_then(RecordVersion::from_magic) {
            Some(_) => (
                raw.get(12..16).and_then(|id| id.try_into().ok()).map(i32::from_be_bytes),
                raw.get(20..28).and_then(|offset| offset.try_into().ok()).map(i64::from_be_bytes),
            ),
            None => (None, None),
        };
        Self { reason, queue_id, queue_offset, raw }
    }
}

impl Span {
    /// `None` only for a range beyond 4 GiB, which no record has.
    pub(super) fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }

    fn range(self) -> core::ops::Range<usize> {
        usize::try_from(self.start).unwrap_or_default()..usize::try_from(self.end).unwrap_or_default()
    }

    pub(super) fn of(self, record: &[u8]) -> &[u8] {
        record.get(self.range()).unwrap_or_default()
    }
}

impl Part {
    fn of<'a>(&'a self, record: &'a [u8]) -> &'a [u8] {
        match self {
            Self::InRecord(span) => span.of(record),
            Self::Own(bytes) => bytes,
        }
    }

    fn share(&self, record: &Bytes) -> Bytes {
        match self {
            // Spans were cut from this record or from an equal copy of it.
            Self::InRecord(span) if span.range().end <= record.len() => record.slice(span.range()),
            Self::InRecord(_) => Bytes::new(),
            Self::Own(bytes) => bytes.clone(),
        }
    }
}

/// The content of a record before it is joined with the bytes it points into.
struct Parts {
    queue_offset: i64,
    commit_log_offset: i64,
    born_timestamp: i64,
    store_timestamp: i64,
    prepared_transaction_offset: i64,
    topic: Span,
    body: Span,
    properties: Span,
    body_crc: u32,
    queue_id: i32,
    flag: i32,
    sys_flag: SysFlag,
    reconsume_times: i32,
    version: RecordVersion,
}

impl Parts {
    fn read(record: &[u8], check: CrcCheck) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(record);
        cursor.take(4, "record size")?;
        let version = RecordVersion::from_magic(cursor.u32("magic")?).ok_or(WireError::invalid("magic", 4))?;
        let body_crc = cursor.u32("body checksum")?;
        let queue_id = cursor.i32("queue id")?;
        let flag = cursor.i32("flag")?;
        let queue_offset = cursor.i64("queue offset")?;
        let commit_log_offset = cursor.i64("commit-log offset")?;
        let sys_flag = SysFlag(cursor.i32("system flag")?);
        let born_timestamp = cursor.i64("born timestamp")?;
        cursor.host(sys_flag.has(SysFlag::BORN_HOST_V6), "born host")?;
        let store_timestamp = cursor.i64("store timestamp")?;
        cursor.host(sys_flag.has(SysFlag::STORE_HOST_V6), "store host")?;
        let reconsume_times = cursor.i32("reconsume times")?;
        let prepared_transaction_offset = cursor.i64("prepared transaction offset")?;
        let body_len = cursor.len32("body length")?;
        let body = span(&mut cursor, body_len, "body")?;
        let topic_len = match version {
            RecordVersion::V1 => usize::from(cursor.u8("topic length")?),
            RecordVersion::V2 => cursor.len16("topic length")?,
        };
        let topic = span(&mut cursor, topic_len, "topic")?;
        let properties_len = cursor.len16("properties length")?;
        let properties = span(&mut cursor, properties_len, "properties")?;
        if cursor.at() != record.len() {
            return Err(WireError::invalid("record size", 0));
        }
        if core::str::from_utf8(topic.of(record)).is_err() {
            return Err(WireError::not_utf8("topic", topic.range().start));
        }
        if check == CrcCheck::Verify && crate::crc::body_crc(body.of(record)) != body_crc {
            return Err(WireError::new(WireErrorKind::Checksum("body"), 8));
        }
        Ok(Self {
            queue_offset,
            commit_log_offset,
            born_timestamp,
            store_timestamp,
            prepared_transaction_offset,
            topic,
            body,
            properties,
            body_crc,
            queue_id,
            flag,
            sys_flag,
            reconsume_times,
            version,
        })
    }

    fn into_message(self, record: Bytes) -> StoredMessage {
        StoredMessage {
            record,
            queue_offset: self.queue_offset,
            commit_log_offset: self.commit_log_offset,
            born_timestamp: self.born_timestamp,
            store_timestamp: self.store_timestamp,
            prepared_transaction_offset: self.prepared_transaction_offset,
            topic: self.topic,
            body: Part::InRecord(self.body),
            properties: Part::InRecord(self.properties),
            body_crc: self.body_crc,
            queue_id: self.queue_id,
            flag: self.flag,
            sys_flag: self.sys_flag,
            reconsume_times: self.reconsume_times,
            version: self.version,
        }
    }
}

/// Takes `len` bytes and says where they were.
fn span(cursor: &mut Cursor<'_>, len: usize, what: &'static str) -> Result<Span, WireError> {
    let start = cursor.at();
    cursor.take(len, what)?;
    Span::new(start, cursor.at()).ok_or(WireError::invalid(what, start))
}

#[cfg(test)]
mod tests;
