//! JSON values as they were read, and how typed bodies take them.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

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
            Value::Text(text) => Some(text.eq_ignore_ascii_case("true")),
            _ => None,
        }
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl FromJson for $type {
            fn from_json(value: &Value<'_>) -> Option<Self> {
                match value {
                    Value::Number(text) => text.parse().ok(),
                    // Java reads a number from a string too.
                    Value::Text(text) => text.parse().ok(),
                    _ => None,
                }
            }
        }
    )+};
}

numbers!(i32, i64, f64);

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
                let inner = super::read(text.as_bytes(), &crate::limits::Limits::DEFAULT).ok()?;
                Self::from_json(&inner)
            }),
            Key::Object(object) => Self::from_json(&Value::Object(object.clone())),
        }
    }
}
