//! JSON values as they were read, and how typed bodies take them.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::write::{JsonWriter, ToJson};
use crate::limits::Limits;

/// A JSON value; texts without escapes are slices of the input.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::exhaustive_enums)] // JSON has no more kinds
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as its text.
    Number(&'a str),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Self>),
    /// An object.
    Object(Object<'a>),
}

/// The members of an object, in the order of the input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object<'a> {
    members: Vec<Member<'a>>,
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::exhaustive_structs)] // a pair
pub struct Member<'a> {
    /// The key.
    pub key: Key<'a>,
    /// The value.
    pub value: Value<'a>,
}

/// The key of a member: text, or a number without quotes (as its text), or an object (wire 5.1).
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::exhaustive_enums)] // fastjson writes no other
pub enum Key<'a> {
    /// Text, or a number's text.
    Text(Cow<'a, str>),
    /// An object in key position.
    Object(Object<'a>),
}

impl<'a> Object<'a> {
    pub(crate) const fn new(members: Vec<Member<'a>>) -> Self {
        Self { members }
    }

    /// The members, in the order of the input.
    #[must_use]
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The value of a member; the last one of that name counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        let is = |member: &&Member<'a>| matches!(&member.key, Key::Text(text) if text == name);
        self.members.iter().rfind(is).map(|member| &member.value)
    }
}

impl<'a> Value<'a> {
    /// The object, if this is one.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

/// A type that takes a JSON value. A value of the wrong kind, or one that does not fit, is `None`: the member then keeps
/// its default, as Java's reader has it for missing members.
pub trait FromJson: Sized {
    /// Takes the value.
    fn from_json(value: &Value<'_>) -> Option<Self>;
}

impl FromJson for bool {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            // Java reads these too.
            Value::Text(text) => Some(text.eq_ignore_ascii_case("true")),
            Value::Number(text) => Some(*text == "1"),
            _ => None,
        }
    }
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl FromJson for $type {
            fn from_json(value: &Value<'_>) -> Option<Self> {
                let text = number(value)?;
                text.parse().ok().or_else(|| whole(text)?.try_into().ok())
            }
        }
    )+};
}

integers!(i32, i64);

impl FromJson for f64 {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        number(value)?.parse().ok().filter(|value: &Self| value.is_finite())
    }
}

/// The text of a number; Java reads numbers from strings too.
fn number<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    match value {
        Value::Number(text) => Some(text),
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// A whole number that is written with a point or an exponent, such as `1.0` or `1e2`.
#[allow(clippy::cast_possible_truncation, reason = "the bound and the comparison keep out what does not fit")]
fn whole(text: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let value: f64 = text.parse().ok()?;
    let cut = if value.abs() <= EXACT { value as i64 } else { return None };
    (cut as f64 == value).then_some(cut)
}

impl FromJson for String {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_string()),
            Value::Number(text) => Some((*text).to_string()),
            Value::Bool(value) => Some(value.to_string()),
            _ => None,
        }
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        Some(T::from_json(value))
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        match value {
            // Entries that cannot be, `null` among them, are left out.
            Value::Array(items) => Some(items.iter().filter_map(T::from_json).collect()),
            _ => None,
        }
    }
}

impl<T: FromJson + Ord> FromJson for BTreeSet<T> {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Array(items) => Some(items.iter().filter_map(T::from_json).collect()),
            _ => None,
        }
    }
}

impl<K: FromJson + Ord, T: FromJson> FromJson for BTreeMap<K, T> {
    fn from_json(value: &Value<'_>) -> Option<Self> {
        let entry = |member: &Member<'_>| Some((K::from_key(&member.key)?, T::from_json(&member.value)?));
        Some(value.as_object()?.members().iter().filter_map(entry).collect())
    }
}

/// Keys are values in another place.
trait FromKey: Sized {
    fn from_key(key: &Key<'_>) -> Option<Self>;
}

impl<T: FromJson> FromKey for T {
    fn from_key(key: &Key<'_>) -> Option<Self> {
        match key {
            Key::Text(text) => Self::from_json(&Value::Text(Cow::Borrowed(text))).or_else(|| {
                // An object's JSON as a string in key position.
                let inner = text.starts_with('{').then(|| super::read(text.as_bytes(), &KEY_LIMITS))?;
                Self::from_json(&inner.ok()?)
            }),
            Key::Object(object) => Self::from_json(&Value::Object(object.clone())),
        }
    }
}

/// Objects in key position name queues: three flat members.
const KEY_LIMITS: Limits = Limits { json_depth: 8, json_values: 256, json_references: 0, ..Limits::DEFAULT };

impl ToJson for Value<'_> {
    fn write_json(&self, out: &mut JsonWriter) {
        match self {
            Self::Null => out.raw("null"),
            Self::Bool(value) => value.write_json(out),
            Self::Number(text) => out.raw(text),
            Self::Text(text) => out.string(text),
            Self::Array(items) => items.write_json(out),
            Self::Object(object) => object.write_json(out),
        }
    }
}

impl ToJson for Object<'_> {
    fn write_json(&self, out: &mut JsonWriter) {
        out.map(self.members.iter().map(|member| (&member.key, &member.value)));
    }
}

impl ToJson for Key<'_> {
    fn write_json(&self, out: &mut JsonWriter) {
        match self {
            Self::Text(text) => out.string(text),
            Self::Object(object) => object.write_json(out),
        }
    }

    fn write_key(&self, out: &mut JsonWriter) {
        match self {
            Self::Text(text) => out.string(text),
            Self::Object(object) => out.object_key(object),
        }
    }
}
