//! Stored messages, batches and properties (wire section 6).
//!
//! A pull, pop, view or query answer carries stored messages back to back. [`Messages`] walks such a body: each record
//! is fenced by its own size, so one that cannot be decoded is reported as [`BadMessage`] and its neighbours are still
//! delivered. A decoded [`StoredMessage`] shares the memory of the body it came from; nothing is copied.
//!
//! [`StoredRecord`] writes such records, [`BatchRecord`] the body of a batch send, [`InnerBatch`] opens a stored batch.

mod batch;
mod decode;
mod encode;
mod layout;
mod peek;
mod properties;
pub mod property_names;
mod sysflag;

pub use batch::{BatchEncoder, BatchRecord, BatchRecords, InnerBatch};
pub use decode::{BadMessage, CrcCheck, Messages, StoredMessage};
pub use encode::{StoredRecord, TooLong};
pub use layout::{MAX_TOPIC_LEN_V1, RecordVersion};
pub use peek::record_properties;
pub use properties::{
    MAX_PROPERTIES_LEN, NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, Properties, PropertiesIter, PropertiesView,
    PropertyError,
};
pub use sysflag::{Compression, SysFlag, Transaction};
