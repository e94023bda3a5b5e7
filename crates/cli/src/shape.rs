//! What decoded things look like as JSON: the members of the golden values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A frame.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommandShape {
    /// How the header is written.
    pub(crate) serialize: Serialization,
    /// Code of the request or of the response.
    pub(crate) code: i32,
    /// Language of the sender.
    #[serde(default)]
    pub(crate) language: LanguageShape,
    /// Version ordinal of the sender.
    #[serde(default)]
    pub(crate) version: i32,
    /// Correlation id.
    #[serde(default)]
    pub(crate) opaque: i32,
    /// Flag bits.
    #[serde(default)]
    pub(crate) flag: i32,
    /// Text for people.
    #[serde(default)]
    pub(crate) remark: Option<String>,
    /// The extension fields; `null` where the header has none at all. A value is `null` where Java has none: in the
    /// binary form, when it is empty.
    #[serde(default, rename = "extFields")]
    pub(crate) ext_fields: Option<BTreeMap<String, Option<FieldShape>>>,
    /// The body in hexadecimal digits; `null` when it is empty.
    #[serde(default)]
    pub(crate) body: Option<String>,
}

/// How a header is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Serialization {
    /// As JSON.
    Json,
    /// In the binary form.
    RocketMq,
}

/// A language by name, or where it has none by its byte.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum LanguageShape {
    /// Its name.
    Name(String),
    /// Its byte in a binary header.
    Byte(u8),
}

impl Default for LanguageShape {
    /// As in Java, which takes an absent one for its own.
    fn default() -> Self {
        Self::Name("JAVA".into())
    }
}

/// The value of an extension field: always text; numbers and truth values are taken as their text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum FieldShape {
    /// Text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A truth value.
    Bool(bool),
}

/// A stored message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageShape<'a> {
    /// The topic as stored.
    pub(crate) topic: &'a str,
    /// The queue.
    pub(crate) queue_id: i32,
    /// The user's flag.
    pub(crate) flag: i32,
    /// The system flag; the compressed bit is cleared, since the body is not compressed here.
    pub(crate) sys_flag: i32,
    /// Offset in the queue.
    pub(crate) queue_offset: i64,
    /// Offset in the commit log.
    pub(crate) commit_log_offset: i64,
    /// When it was made, in milliseconds since 1970.
    pub(crate) born_timestamp: i64,
    /// Who made it: address, space, port.
    pub(crate) born_host: String,
    /// When it was stored, in milliseconds since 1970.
    pub(crate) store_timestamp: i64,
    /// Who stored it.
    pub(crate) store_host: String,
    /// How often it was consumed before.
    pub(crate) reconsume_times: i32,
    /// Commit-log offset of the half message that it concludes.
    pub(crate) prepared_transaction_offset: i64,
    /// Checksum of the stored body.
    #[serde(rename = "bodyCRC")]
    pub(crate) body_crc: u32,
    /// The body, decompressed, in hexadecimal digits; `null` when none is stored.
    pub(crate) body: Option<String>,
    /// The properties; `null` when none are stored.
    pub(crate) properties: Option<BTreeMap<&'a str, &'a str>>,
    /// The offset message id.
    pub(crate) msg_id: String,
    /// How the stored body is compressed.
    pub(crate) compression: Option<&'static str>,
}

/// The properties of a message.
#[derive(Debug, Serialize)]
pub(crate) struct PropertiesShape<'a> {
    /// Name and value; of equal names the last counts.
    pub(crate) properties: BTreeMap<&'a str, &'a str>,
}
