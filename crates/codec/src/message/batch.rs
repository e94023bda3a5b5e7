//! The body of a batch send and of a stored inner batch (wire 6.5, 6.6).

use alloc::vec::Vec;

use bytes::Bytes;

use super::decode::{BadMessage, Part, StoredMessage};
use super::encode::{TooLong, fit};
use super::layout::Cursor;
use super::properties::{MAX_PROPERTIES_LEN, PropertiesView};
use super::sysflag::SysFlag;
use crate::error::WireError;

/// Bytes of a batch record with an empty body and no properties.
const FIXED_LEN: usize = 22;

/// One message of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a batch record has these fields and no others")]
pub struct BatchRecord {
    /// The user's flag.
    pub flag: i32,
    /// The body, never compressed by itself.
    pub body: Bytes,
    /// Encoded properties.
    pub properties: Bytes,
}

impl BatchRecord {
    /// The properties, read in place.
    #[must_use]
    pub fn view(&self) -> PropertiesView<'_> {
        PropertiesView::new(&self.properties)
    }
}

/// Builds a batch body: each message's body is copied once, into it.
#[derive(Debug, Clone, Default)]
pub struct BatchEncoder {
    out: Vec<u8>,
    count: usize,
}

impl BatchEncoder {
    /// An empty batch.
    #[must_use]
    pub const fn new() -> Self {
        Self { out: Vec::new(), count: 0 }
    }

    /// An empty batch with room for `bytes`.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes), count: 0 }
    }

    /// Bytes one message takes in a batch body.
    #[must_use]
    pub const fn record_len(body: usize, properties: usize) -> usize {
        FIXED_LEN.saturating_add(body).saturating_add(properties)
    }

    /// Appends a message. The words a broker computes itself (magic, checksum) are zero, as Java writes them.
    ///
    /// # Errors
    ///
    /// [`TooLong`] when a part does not fit its length field; nothing is appended then.
    pub fn push(&mut self, flag: i32, body: &[u8], properties: &[u8]) -> Result<(), TooLong> {
        let total = Self::record_len(body.len(), properties.len());
        let size = fit::<i32>("batch record", total, 0x7FFF_FFFF)?;
        let body_len = fit::<i32>("body", body.len(), 0x7FFF_FFFF)?;
        let properties_len = fit::<u16>("properties", properties.len(), MAX_PROPERTIES_LEN)?;
        self.out.reserve(total);
        self.out.extend_from_slice(&size.to_be_bytes());
        self.out.extend_from_slice(&[0; 8]);
        self.out.extend_from_slice(&flag.to_be_bytes());
        self.out.extend_from_slice(&body_len.to_be_bytes());
        self.out.extend_from_slice(body);
        self.out.extend_from_slice(&properties_len.to_be_bytes());
        self.out.extend_from_slice(properties);
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Messages so far.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Bytes so far.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.out.len()
    }

    /// The batch body.
    #[must_use]
    pub fn finish(self) -> Bytes {
        Bytes::from(self.out)
    }
}

/// Iterator over the messages of a batch body. Bodies and properties share its memory.
///
/// A record that cannot be decoded is reported and ends the walk only when its size is wrong.
#[derive(Debug, Clone)]
pub struct BatchRecords {
    rest: Bytes,
}

impl BatchRecords {
    /// A walk over `body`.
    #[must_use]
    pub const fn new(body: Bytes) -> Self {
        Self { rest: body }
    }
}

impl Iterator for BatchRecords {
    type Item = Result<BatchRecord, BadMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let fence = match Cursor::new(&self.rest).i32("record size").map(usize::try_from) {
            Ok(Ok(fence)) if fence >= 4 && fence <= self.rest.len() => fence,
            Ok(_) => return Some(Err(bad(WireError::invalid("record size", 0), core::mem::take(&mut self.rest)))),
            Err(reason) => return Some(Err(bad(reason, core::mem::take(&mut self.rest)))),
        };
        let record = self.rest.split_to(fence);
        Some(read(&record).map_err(|reason| bad(reason, record)))
    }
}

impl core::iter::FusedIterator for BatchRecords {}

fn read(record: &Bytes) -> Result<BatchRecord, WireError> {
    let mut cursor = Cursor::new(record);
    // Size, magic and checksum.
    cursor.take(12, "batch record")?;
    let flag = cursor.i32("flag")?;
    let body_len = cursor.len32("body length")?;
    let body = cursor.take(body_len, "body")?;
    let properties_len = cursor.len16("properties length")?;
    let properties = cursor.take(properties_len, "properties")?;
    if cursor.at() != record.len() {
        return Err(WireError::invalid("record size", 0));
    }
    Ok(BatchRecord { flag, body: record.slice_ref(body), properties: record.slice_ref(properties) })
}

/// A batch record carries neither queue nor offset.
const fn bad(reason: WireError, raw: Bytes) -> BadMessage {
    BadMessage { reason, queue_id: None, queue_offset: None, raw }
}

/// The messages of a batch that a broker stored as one record (wire 6.6).
///
/// Each takes topic, queue, hosts, timestamps and commit-log offset from the outer record, its queue offset counts on
/// from the outer one, and flag, body and properties are its own. The two inner-batch bits of the system flag are
/// cleared, so that an unpacked message is not taken for a batch again; the checksum stays that of the outer body.
#[derive(Debug, Clone)]
pub struct InnerBatch {
    outer: StoredMessage,
    records: BatchRecords,
    index: i64,
}

impl InnerBatch {
    /// Opens `outer`, whose body must be decompressed already. `None` when it is not an inner batch or still
    /// compressed.
    #[must_use]
    pub fn open(outer: &StoredMessage) -> Option<Self> {
        if !outer.is_inner_batch() || outer.sys_flag().has(SysFlag::COMPRESSED) {
            return None;
        }
        Some(Self { outer: outer.clone(), records: BatchRecords::new(outer.body()), index: 0 })
    }
}

impl Iterator for InnerBatch {
    type Item = Result<StoredMessage, BadMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        let queue_offset = self.outer.queue_offset.wrapping_add(self.index);
        self.index = self.index.wrapping_add(1);
        Some(match record {
            Ok(record) => Ok(StoredMessage {
                queue_offset,
                flag: record.flag,
                sys_flag: self.outer.sys_flag.without(SysFlag::INNER_BATCH | SysFlag::NEED_UNWRAP),
                body: Part::Own(record.body),
                properties: Part::Own(record.properties),
                ..self.outer.clone()
            }),
            Err(bad) => {
                Err(BadMessage { queue_id: Some(self.outer.queue_id), queue_offset: Some(queue_offset), ..bad })
            }
        })
    }
}

impl core::iter::FusedIterator for InnerBatch {}
