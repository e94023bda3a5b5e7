//! The writer: canonical text as fastjson 1.x writes it (wire 2.3, 5.1).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Builds one JSON text. Members must be written in alphabetical order, which is fastjson's.
#[derive(Debug, Default)]
pub struct JsonWriter {
    text: String,
}

impl JsonWriter {
    /// An empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self { text: String::new() }
    }

    /// The text so far.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    /// Writes an object; `members` writes its members with [`JsonWriter::member`].
    pub fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.text.push('{');
        members(self);
        self.text.push('}');
    }

    /// Writes a member of the object that was begun last.
    pub fn member(&mut self, name: &str, value: &(impl ToJson + ?Sized)) {
        if value.is_absent() {
            return;
        }
        self.next();
        self.string(name);
        self.text.push(':');
        value.write_json(self);
    }

    /// Writes a string with fastjson's escapes.
    pub fn string(&mut self, value: &str) {
        self.text.push('"');
        for character in value.chars() {
            match character {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\u{8}' => self.text.push_str("\\b"),
                '\t' => self.text.push_str("\\t"),
                '\n' => self.text.push_str("\\n"),
                '\u{c}' => self.text.push_str("\\f"),
                '\r' => self.text.push_str("\\r"),
                '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                    self.number(format_args!("\\u{:04X}", u32::from(character)));
                }
                other => self.text.push(other),
            }
        }
        self.text.push('"');
    }

    fn number(&mut self, value: core::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(value);
    }

    /// A comma, unless this is the first in its array or object.
    fn next(&mut self) {
        if !self.text.ends_with(['{', '[']) || self.text.is_empty() {
            self.text.push(',');
        }
    }

    fn array<'a, T: ToJson + 'a>(&mut self, items: impl Iterator<Item = &'a T>) {
        self.text.push('[');
        let mut first = true;
        for item in items {
            if !core::mem::take(&mut first) {
                self.text.push(',');
            }
            item.write_json(self);
        }
        self.text.push(']');
    }
}

/// A type that writes itself as JSON.
pub trait ToJson {
    /// Writes the value.
    fn write_json(&self, out: &mut JsonWriter);

    /// Whether the member is left out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Writes the value in key position: numbers bare, objects as they are (wire 5.1).
    fn write_key(&self, out: &mut JsonWriter) {
        self.write_json(out);
    }
}

impl ToJson for bool {
    fn write_json(&self, out: &mut JsonWriter) {
        out.number(format_args!("{self}"));
    }
}

impl ToJson for i32 {
    fn write_json(&self, out: &mut JsonWriter) {
        out.number(format_args!("{self}"));
    }
}

impl ToJson for i64 {
    fn write_json(&self, out: &mut JsonWriter) {
        out.number(format_args!("{self}"));
    }
}

impl ToJson for f64 {
    fn write_json(&self, out: &mut JsonWriter) {
        out.number(format_args!("{self:?}"));
    }
}

impl ToJson for str {
    fn write_json(&self, out: &mut JsonWriter) {
        out.string(self);
    }
}

impl ToJson for String {
    fn write_json(&self, out: &mut JsonWriter) {
        out.string(self);
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write_json(&self, out: &mut JsonWriter) {
        match self {
            Some(value) => value.write_json(out),
            None => out.text.push_str("null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write_json(&self, out: &mut JsonWriter) {
        out.array(self.iter());
    }
}

impl<T: ToJson> ToJson for BTreeSet<T> {
    fn write_json(&self, out: &mut JsonWriter) {
        out.array(self.iter());
    }
}

impl<K: ToJson, T: ToJson> ToJson for BTreeMap<K, T> {
    fn write_json(&self, out: &mut JsonWriter) {
        out.text.push('{');
        let mut first = true;
        for (key, value) in self {
            if !core::mem::take(&mut first) {
                out.text.push(',');
            }
            key.write_key(out);
            out.text.push(':');
            value.write_json(out);
        }
        out.text.push('}');
    }
}
