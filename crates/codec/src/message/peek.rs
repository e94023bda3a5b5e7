//! Looking into a record without decoding it.

use super::layout::{BORN_HOST_AT, Cursor, RecordVersion, store_host_at};
use super::properties::PropertiesView;
use super::sysflag::SysFlag;
use crate::error::WireError;

/// Where the magic word of a record stands.
const MAGIC_AT: usize = 4;
/// Where the system flags stand.
const SYS_FLAG_AT: usize = 36;
/// Reconsume times and prepared transaction offset, between the store host and the body.
const BEFORE_BODY: usize = 12;

/// The properties of a stored record, where they lie: nothing is copied, and nothing else is read but what leads there.
///
/// For brokers that filter by properties; a record that comes from a peer is decoded in full.
///
/// # Errors
/// [`WireError`] when the record is cut or is no record.
pub fn record_properties(record: &[u8]) -> Result<PropertiesView<'_>, WireError> {
    let mut cursor = Cursor::new(record);
    cursor.take(MAGIC_AT, "record")?;
    let magic = cursor.u32("magic")?;
    let version = RecordVersion::from_magic(magic).ok_or(WireError::invalid("magic", MAGIC_AT))?;
    cursor.take(SYS_FLAG_AT.saturating_sub(cursor.at()), "record")?;
    let flags = SysFlag(cursor.i32("system flags")?);
    let store_host = store_host_at(flags.has(SysFlag::BORN_HOST_V6));
    cursor.take(store_host.saturating_sub(cursor.at()), "hosts")?;
    cursor.host(flags.has(SysFlag::STORE_HOST_V6), "store host")?;
    cursor.take(BEFORE_BODY, "record")?;
    let body = cursor.len32("body")?;
    cursor.take(body, "body")?;
    let topic = match version {
        RecordVersion::V1 => usize::from(cursor.u8("topic")?),
        RecordVersion::V2 => cursor.len16("topic")?,
    };
    cursor.take(topic, "topic")?;
    let properties = cursor.len16("properties")?;
    Ok(PropertiesView::new(cursor.take(properties, "properties")?))
}

const _: () = assert!(SYS_FLAG_AT < BORN_HOST_AT);
