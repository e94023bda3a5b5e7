//! Stored messages and batches: every record stays within its fence and never hides its neighbours (COD-13, COD-14).

use bytes::Bytes;
use rocketry_codec::ids::OffsetId;
use rocketry_codec::message::{
    BadMessage, BatchEncoder, BatchRecords, CrcCheck, InnerBatch, Messages, PropertiesView, StoredMessage, StoredRecord,
};

/// Bytes of a record's checksum: a writer computes it, a reader may have been told another.
const CHECKSUM: std::ops::Range<usize> = 8..12;

/// Walks the input as the body of a pull answer and as that of a batch send.
///
/// # Panics
/// Where a record reaches beyond its fence, decodes differently without its neighbours, is copied, or is not written
/// with the bytes that it was read from.
pub fn message_batch(data: &[u8]) {
    let body = Bytes::copy_from_slice(data);
    let mut at = 0;
    let mut walk = Messages::new(body.clone());
    while let Some(result) = walk.next() {
        let raw = match &result {
            Ok(message) => message.record().clone(),
            Err(bad) => bad.raw.clone(),
        };
        assert_eq!(raw, body.slice(at..at + raw.len()), "a record is not where it stood");
        assert!(!raw.is_empty(), "a record took no bytes");
        at += raw.len();
        assert_eq!(body.len() - at, walk.rest().len(), "the walk lost its place");
        alone(&raw, &result);
        if let Ok(message) = &result {
            whole(message, &body);
        }
    }
    assert!(walk.next().is_none(), "the walk went on after its end");
    batch(&body);
}

/// Neighbours do not matter, and checking the checksum refuses exactly what does not match.
fn alone(raw: &Bytes, result: &Result<StoredMessage, BadMessage>) {
    let again = Messages::new(raw.clone()).next().expect("one record");
    assert_eq!(shown(&again), shown(result), "a record reads differently without its neighbours");
    let checked = Messages::new(raw.clone()).crc(CrcCheck::Verify).next().expect("one record");
    let matches = result.as_ref().is_ok_and(StoredMessage::crc_matches);
    assert_eq!(checked.is_ok(), matches, "the checksum decides otherwise");
    if let Err(bad) = result {
        assert!(!bad.to_string().is_empty());
        assert!(bad.reason.offset <= raw.len(), "an error lies beyond its record");
    }
}

fn shown(result: &Result<StoredMessage, BadMessage>) -> String {
    match result {
        Ok(message) => format!("{message:?}"),
        Err(bad) => format!("{bad:?}"),
    }
}

fn whole(message: &StoredMessage, block: &Bytes) {
    let within = block.as_ptr_range();
    for part in [message.body(), message.properties_bytes()] {
        let range = part.as_ptr_range();
        assert!(part.is_empty() || within.start <= range.start && range.end <= within.end, "a part was copied");
    }
    let mut written = Vec::new();
    record(message).encode(&mut written).expect("what was read has lengths that fit");
    let mut read = message.record().to_vec();
    if let (Some(to), Some(from)) = (read.get_mut(CHECKSUM), written.get(CHECKSUM)) {
        assert_eq!(to == from, message.crc_matches(), "the checksum is computed in two ways");
        to.copy_from_slice(from);
    }
    assert_eq!(written, read, "a record is not what was read");
    let id = message.offset_id();
    assert_eq!(id.to_string().parse::<OffsetId>(), Ok(id), "an offset id does not read back");
    let copy = Bytes::copy_from_slice(message.record());
    let moved = message.moved_to(copy).expect("a copy is a copy");
    assert_eq!(format!("{moved:?}"), format!("{message:?}"), "moving changed a message");
    read_properties(message.properties());
    inner(message);
}

fn record(message: &StoredMessage) -> StoredRecord<'_> {
    StoredRecord {
        version: message.version(),
        queue_id: message.queue_id(),
        flag: message.flag(),
        queue_offset: message.queue_offset(),
        commit_log_offset: message.commit_log_offset(),
        sys_flag: message.sys_flag(),
        born_timestamp: message.born_timestamp(),
        born_host: message.born_host(),
        store_timestamp: message.store_timestamp(),
        store_host: message.store_host(),
        reconsume_times: message.reconsume_times(),
        prepared_transaction_offset: message.prepared_transaction_offset(),
        body: message.body_bytes(),
        topic: message.topic(),
        properties: message.properties().as_bytes(),
    }
}

/// What a consumer reads of every message.
fn read_properties(properties: PropertiesView<'_>) {
    let known = [properties.tags(), properties.unique_key()];
    assert!(known.into_iter().flatten().all(|value| !value.is_empty()), "an empty value counts");
    assert!(properties.keys().all(|key| !key.is_empty()), "an empty key counts");
}

fn inner(message: &StoredMessage) {
    let Some(batch) = InnerBatch::open(message) else { return };
    for (index, inner) in batch.enumerate() {
        let Ok(inner) = inner else { continue };
        assert_eq!(inner.topic(), message.topic());
        assert!(!inner.is_inner_batch(), "an unpacked message is a batch again");
        let offset = message.queue_offset().wrapping_add(i64::try_from(index).expect("fewer records than bytes"));
        assert_eq!(inner.queue_offset(), offset);
        read_properties(inner.properties());
    }
}

/// The input as the body of a batch send; a record that was read is written with its own bytes but for the two words
/// that the broker computes.
fn batch(body: &Bytes) {
    let mut at = 0;
    for result in BatchRecords::new(body.clone()) {
        match result {
            Ok(record) => {
                let mut encoder = BatchEncoder::new();
                encoder
                    .push(record.flag, &record.body, &record.properties)
                    .expect("what was read has lengths that fit");
                let written = encoder.finish();
                let end = at + written.len();
                let mut read = body.slice(at..end).to_vec();
                if let Some(words) = read.get_mut(4..12) {
                    words.fill(0);
                }
                assert_eq!(written, read, "a batch record is not what was read");
                at = end;
            }
            Err(bad) => at += bad.raw.len(),
        }
    }
    assert_eq!(at, body.len(), "bytes of a batch were lost");
}
