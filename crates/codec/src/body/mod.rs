//! JSON bodies (wire section 5), each declared once.
//!
//! A body is decoded leniently, as Java's reader does it: unknown members are skipped, missing ones and those of a wrong
//! kind keep their default, entries of a list that cannot be are left out. It is written as fastjson writes it: members
//! sorted by name, those without a value left out.

pub mod admin;
pub mod assignment;
pub mod heartbeat;
pub mod lock;
pub mod offset;
pub mod packed;
pub mod queue;
pub mod registration;
pub mod route;
pub mod running;

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::WireError;
use crate::json::{self, FromJson, JsonWriter, ToJson};
use crate::limits::Limits;

/// A type that is the whole body of a command.
pub trait JsonBody: FromJson + ToJson + Default {
    /// Reads a body. An empty one is the default, as Java has no body at all then.
    ///
    /// # Errors
    /// Where the text is not JSON, or passes a limit, or is not an object.
    fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        Self::decode_within(bytes, &Limits::DEFAULT)
    }

    /// As [`JsonBody::decode`], within other limits.
    ///
    /// # Errors
    /// As [`JsonBody::decode`].
    fn decode_within(bytes: &[u8], limits: &Limits) -> Result<Self, WireError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        match json::read(bytes, limits)? {
            json::Value::Null => Ok(Self::default()),
            value => Self::from_json(&value).ok_or(WireError::invalid("body: not of its kind", 0)),
        }
    }

    /// The text that Java would write.
    fn encode(&self) -> String {
        let mut out = JsonWriter::new();
        self.write_json(&mut out);
        out.finish()
    }

    /// The same in standard JSON, as name servers from 4.9.4 on write routes when asked to (wire 5.2).
    fn encode_standard(&self) -> String {
        let mut out = JsonWriter::standard();
        self.write_json(&mut out);
        out.finish()
    }
}

/// A list of bodies is one too: users and access rules come so.
impl<B: JsonBody> JsonBody for Vec<B> {}

/// Declares a body: `body! { /// docs  pub struct Name { /// docs  field: Type = "wireName", } }`, members in the
/// alphabetical order of their wire names. A name that older peers write stands behind `|`, a default other than the
/// type's own behind `?`.
macro_rules! body {
    ($($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $wire:literal $(| $old:literal)? $(? $default:expr)?,)*
    })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::exhaustive_structs, missing_docs)] // built by literal; members are named by the protocol
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::body::body!(@default $($default)?),)* }
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: &$crate::json::Value<'_>) -> Option<Self> {
                let object = value.as_object()?;
                let mut body = Self::default();
                $(
                    let value = object.get($wire)$(.or_else(|| object.get($old)))?;
                    if let Some(value) = value.and_then($crate::json::FromJson::from_json) {
                        body.$field = value;
                    }
                )*
                Some(body)
            }
        }

        impl $crate::json::ToJson for $name {
            fn write_json(&self, out: &mut $crate::json::JsonWriter) {
                out.object(|out| { $(out.member($wire, &self.$field);)* });
            }
        }

        impl $crate::body::JsonBody for $name {}
    )+};
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

pub(crate) use body;
