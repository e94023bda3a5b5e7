//! The writer: canonical text as fastjson 1.x writes it (wire 2.3, 5.1).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

/// Builds one JSON text. Members must be written in alphabetical order, which is fastjson's.
#[derive(Debug, Default)]
pub struct JsonWriter {
    text: String,
    standard: bool,
}

impl JsonWriter {
    /// An empty text in fastjson's own dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self { text: String::new(), standard: false }
    }

    /// An empty text in standard JSON, as name servers from 4.9.4 on write routes (wire 5.2) and JavaScript can read it:
    /// numbers in key position are quoted, objects there are strings, other characters than ASCII and `/` are escaped,
    /// and integers beyond 2^53 are strings.
    #[must_use]
    pub const fn standard() -> Self {
        Self { text: String::new(), standard: true }
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
        // A brace at the end is the object's own: a value never ends with it.
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
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
                '/' if self.standard => self.text.push_str("\\/"),
                '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => self.unicode(character),
                other if self.standard && !other.is_ascii() => self.unicode(other),
                other => self.text.push(other),
            }
        }
        self.text.push('"');
    }

    fn unicode(&mut self, character: char) {
        for unit in character.encode_utf16(&mut [0; 2]) {
            self.print(format_args!("\\u{unit:04X}"));
        }
    }

    /// Writes text as it is.
    pub(super) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn print(&mut self, value: core::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(value);
    }

    fn integer(&mut self, value: i64) {
        /// The largest integer that a JavaScript number tells from its neighbours.
        const EXACT: u64 = 9_007_199_254_740_991;
        if self.standard && value.unsigned_abs() > EXACT {
            self.print(format_args!("\"{value}\""));
        } else {
            self.print(format_args!("{value}"));
        }
    }

    fn integer_key(&mut self, value: i64) {
        if self.standard {
            self.print(format_args!("\"{value}\""));
        } else {
            self.print(format_args!("{value}"));
        }
    }

    /// Writes an object in key position: as it is, or in standard JSON as a string that holds its text.
    pub(crate) fn object_key(&mut self, key: &impl ToJson) {
        if self.standard {
            let mut inner = Self::new();
            key.write_json(&mut inner);
            self.string(&inner.text);
        } else {
            key.write_json(self);
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

    /// Writes a map: an object whose keys are values.
    pub(super) fn map<'a, K: ToJson + 'a, T: ToJson + 'a>(&mut self, entries: impl Iterator<Item = (&'a K, &'a T)>) {
        self.text.push('{');
        let mut first = true;
        for (key, value) in entries {
            if !core::mem::take(&mut first) {
                self.text.push(',');
            }
            key.write_key(self);
            self.text.push(':');
            value.write_json(self);
        }
        self.text.push('}');
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
        out.raw(if *self { "true" } else { "false" });
    }
}

impl ToJson for i32 {
    fn write_json(&self, out: &mut JsonWriter) {
        out.integer((*self).into());
    }

    fn write_key(&self, out: &mut JsonWriter) {
        out.integer_key((*self).into());
    }
}

impl ToJson for i64 {
    fn write_json(&self, out: &mut JsonWriter) {
        out.integer(*self);
    }

    fn write_key(&self, out: &mut JsonWriter) {
        out.integer_key(*self);
    }
}

impl ToJson for f64 {
    fn write_json(&self, out: &mut JsonWriter) {
        out.raw(&super::double::text(*self));
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
            None => out.raw("null"),
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
        out.map(self.iter());
    }
}
