//! Reading the JSON header (wire 2.3), tuned for the handful of flat members that it has.
//!
//! Accepted beyond what Java writes: any order and whitespace, unknown members of any type, numbers given as strings,
//! `null` for the remark and the fields, scalar and nested values in the fields (their JSON text counts, as for
//! fastjson), a member given twice (the last wins), a missing `code`, `flag`, `version` or `opaque` (0) or `language`
//! (JAVA), a language by ordinal. Refused: anything after the object, numbers outside `i32` or with a fraction or an
//! exponent, comments, names without double quotes.

use alloc::borrow::Cow;
use alloc::string::String;

use super::fields::number;
use super::{Encoding, Field, FieldText, Fields, Parsed, Span};
use crate::codes::Language;
use crate::error::WireError;
use crate::limits::Limits;

/// Parses the header behind the prefix and checks every member.
pub(crate) fn parse(head: &[u8], limits: &Limits) -> Result<Parsed, WireError> {
    let header = head.get(8..).unwrap_or_default();
    if let Err(error) = core::str::from_utf8(header) {
        return Err(WireError::not_utf8("JSON header", error.valid_up_to().saturating_add(8)));
    }
    let mut cursor = Cursor { bytes: head, at: 8, limits };
    let mut parsed = Parsed {
        code: 0,
        language: Language::JAVA,
        version: 0,
        opaque: 0,
        flag: 0,
        remark: Span::NONE,
        fields: Span::NONE,
    };
    cursor.skip_space();
    cursor.expect(b'{', "JSON header")?;
    cursor.skip_space();
    if !cursor.eat(b'}') {
        loop {
            cursor.member(&mut parsed)?;
            cursor.skip_space();
            if cursor.eat(b'}') {
                break;
            }
            cursor.expect(b',', "JSON header")?;
            cursor.skip_space();
        }
    }
    cursor.skip_space();
    if cursor.at < head.len() {
        return Err(WireError::invalid("text after the JSON header", cursor.at));
    }
    Ok(parsed)
}

/// The text of the member `language` of a checked header; empty if it is no string.
pub(crate) fn language_text(head: &[u8]) -> Cow<'_, str> {
    let inside = head.get(8..).and_then(|header| core::str::from_utf8(header).ok()).unwrap_or_default();
    let inside = inside.trim_ascii().strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    Fields::new(Encoding::Json, inside.as_bytes(), 0).get("language").map(FieldText::text).unwrap_or_default()
}

/// The next member of the object whose inside is `text`, and the bytes used up by it.
pub(super) fn next_field(text: &str, at: usize) -> Option<(Field<'_>, usize)> {
    let mut cursor = Cursor { bytes: text.as_bytes(), at: 0, limits: &Limits::DEFAULT };
    loop {
        while cursor.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',') {
            cursor.bump();
        }
        cursor.peek()?;
        let (name, name_escaped) = cursor.string("name").ok()?;
        cursor.skip_space();
        cursor.expect(b':', "member").ok()?;
        cursor.skip_space();
        let quoted = cursor.peek() == Some(b'"');
        let (value, escaped) = if quoted {
            cursor.string("value").ok()?
        } else {
            let start = cursor.at;
            cursor.skip_value(0).ok()?;
            (Span2 { start, end: cursor.at }, false)
        };
        let raw = text.get(value.start..value.end)?;
        if !quoted && raw == "null" {
            continue;
        }
        let raw_name = text.get(name.start..name.end)?;
        let name = if name_escaped { Cow::Owned(unescape(raw_name)) } else { Cow::Borrowed(raw_name) };
        let value = FieldText { raw, escaped, at: at.saturating_add(value.start) };
        return Some((Field { name, value }, cursor.at));
    }
}

/// A range inside the bytes of a cursor; unlike [`Span`] it may start at 0.
#[derive(Clone, Copy)]
struct Span2 {
    start: usize,
    end: usize,
}

#[derive(Clone, Copy)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    limits: &'a Limits,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), WireError> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    fn unexpected(&self, what: &'static str) -> WireError {
        if self.at < self.bytes.len() { WireError::invalid(what, self.at) } else { WireError::truncated(what, self.at) }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.bump();
        }
    }

    fn slice(&self, span: Span2) -> &'a [u8] {
        self.bytes.get(span.start..span.end).unwrap_or_default()
    }

    /// One member of the header, with the colon but without the comma.
    fn member(&mut self, parsed: &mut Parsed) -> Result<(), WireError> {
        let (name, _) = self.string("name of a JSON header member")?;
        self.skip_space();
        self.expect(b':', "JSON header")?;
        self.skip_space();
        match self.slice(name) {
            b"code" => parsed.code = self.int("code")?,
            b"opaque" => parsed.opaque = self.int("opaque")?,
            b"flag" => parsed.flag = self.int("flag")?,
            b"version" => parsed.version = self.int("version")?,
            b"language" => parsed.language = self.language()?,
            b"remark" => parsed.remark = self.remark()?,
            b"extFields" => parsed.fields = self.fields()?,
            _ => self.skip_value(0)?,
        }
        Ok(())
    }

    /// A string from its opening quote to behind its closing one; the text between, and whether it has escapes.
    fn string(&mut self, what: &'static str) -> Result<(Span2, bool), WireError> {
        self.expect(b'"', what)?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(run) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err(WireError::truncated(what, self.bytes.len()));
            };
            self.at = self.at.saturating_add(run);
            if self.eat(b'"') {
                return Ok((Span2 { start, end: self.at.saturating_sub(1) }, escaped));
            }
            escaped = true;
            self.bump();
            self.escape(what)?;
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, what: &'static str) -> Result<(), WireError> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.bump(),
            Some(b'u') => {
                self.bump();
                for _ in 0..4 {
                    if !self.peek().is_some_and(|digit| digit.is_ascii_hexdigit()) {
                        return Err(self.unexpected(what));
                    }
                    self.bump();
                }
            }
            _ => return Err(self.unexpected(what)),
        }
        Ok(())
    }

    /// An `i32`, bare or in quotes; `null` counts as 0.
    fn int(&mut self, what: &'static str) -> Result<i32, WireError> {
        let at = self.at;
        let digits = if self.peek() == Some(b'"') {
            let (span, _) = self.string(what)?;
            self.slice(span)
        } else {
            let span = self.bare(what)?;
            let text = self.slice(span);
            if text == b"null" {
                return Ok(0);
            }
            text
        };
        number(digits).and_then(|value| i32::try_from(value).ok()).ok_or(WireError::invalid(what, at))
    }

    /// A run of bytes that a number, `true`, `false` or `null` may have.
    fn bare(&mut self, what: &'static str) -> Result<Span2, WireError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')) {
            self.bump();
        }
        if self.at == start { Err(self.unexpected(what)) } else { Ok(Span2 { start, end: self.at }) }
    }

    fn language(&mut self) -> Result<Language, WireError> {
        if self.peek() == Some(b'"') {
            let (span, _) = self.string("language")?;
            return Ok(Language::from_name(self.slice(span)));
        }
        let at = self.at;
        let span = self.bare("language")?;
        let text = self.slice(span);
        if text == b"null" {
            return Ok(Language::UNNAMED);
        }
        let ordinal = number(text).and_then(|ordinal| u8::try_from(ordinal).ok());
        ordinal.map(Language::from_byte).ok_or(WireError::invalid("language", at))
    }

    fn remark(&mut self) -> Result<Span, WireError> {
        if self.peek() == Some(b'"') {
            let (span, _) = self.string("remark")?;
            return Ok(Span::new(span.start, span.end));
        }
        let span = self.bare("remark")?;
        Ok(if self.slice(span) == b"null" { Span::NONE } else { Span::new(span.start, span.end) })
    }

    /// The extension fields: checked, and the inside of their object returned.
    fn fields(&mut self) -> Result<Span, WireError> {
        const WHAT: &str = "extFields";
        if self.peek() != Some(b'{') {
            let at = self.at;
            let span = self.bare(WHAT)?;
            return if self.slice(span) == b"null" { Ok(Span::NONE) } else { Err(WireError::invalid(WHAT, at)) };
        }
        self.bump();
        let start = self.at;
        self.skip_space();
        let mut count = 0_usize;
        if !self.eat(b'}') {
            loop {
                count = count.saturating_add(1);
                if count > self.limits.header_fields {
                    let (found, limit) = (count as u64, self.limits.header_fields as u64);
                    return Err(WireError::too_large("number of header fields", found, limit, self.at));
                }
                self.string("name of an extension field")?;
                self.skip_space();
                self.expect(b':', WHAT)?;
                self.skip_space();
                self.skip_value(1)?;
                self.skip_space();
                if self.eat(b'}') {
                    break;
                }
                self.expect(b',', WHAT)?;
                self.skip_space();
            }
        }
        Ok(Span::new(start, self.at.saturating_sub(1)))
    }

    /// Any JSON value, below `depth` others.
    fn skip_value(&mut self, depth: usize) -> Result<(), WireError> {
        const WHAT: &str = "JSON value";
        match self.peek() {
            Some(b'"') => self.string(WHAT).map(|_| ()),
            Some(open @ (b'{' | b'[')) => {
                if depth >= self.limits.json_depth {
                    let limit = self.limits.json_depth as u64;
                    return Err(WireError::too_large(
                        "depth of the JSON header",
                        limit.saturating_add(1),
                        limit,
                        self.at,
                    ));
                }
                self.bump();
                self.skip_container(open == b'{', depth.saturating_add(1))
            }
            _ => {
                let at = self.at;
                let span = self.bare(WHAT)?;
                let text = self.slice(span);
                let literal = matches!(text, b"true" | b"false" | b"null");
                if literal || is_json_number(text) { Ok(()) } else { Err(WireError::invalid(WHAT, at)) }
            }
        }
    }

    fn skip_container(&mut self, object: bool, depth: usize) -> Result<(), WireError> {
        const WHAT: &str = "JSON value";
        let close = if object { b'}' } else { b']' };
        self.skip_space();
        if self.eat(close) {
            return Ok(());
        }
        loop {
            if object {
                self.string(WHAT)?;
                self.skip_space();
                self.expect(b':', WHAT)?;
                self.skip_space();
            }
            self.skip_value(depth)?;
            self.skip_space();
            if self.eat(close) {
                return Ok(());
            }
            self.expect(b',', WHAT)?;
            self.skip_space();
        }
    }
}

fn is_json_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
}

/// Resolves the escapes of a checked string. A lone surrogate becomes U+FFFD.
pub(crate) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((run, tail)) = rest.split_once('\\') {
        text.push_str(run);
        let mut chars = tail.chars();
        match chars.next() {
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let (character, used) = unicode(tail);
                text.push(character);
                rest = tail.get(used..).unwrap_or_default();
                continue;
            }
            Some(other) => text.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    text.push_str(rest);
    text
}

/// The character of an escape `uXXXX`, with its low half behind another backslash if it needs one, and the bytes used.
fn unicode(tail: &str) -> (char, usize) {
    const LONE: char = char::REPLACEMENT_CHARACTER;
    let unit = |from: usize| {
        let digits = tail.get(from..from.saturating_add(4))?;
        u32::from_str_radix(digits, 16).ok()
    };
    match unit(1) {
        Some(high @ 0xD800..=0xDBFF) => match unit(7) {
            Some(low @ 0xDC00..=0xDFFF) if tail.get(5..7) == Some("\\u") => {
                let scalar = 0x1_0000_u32.wrapping_add((high & 0x3FF) << 10).wrapping_add(low & 0x3FF);
                (char::from_u32(scalar).unwrap_or(LONE), 11)
            }
            _ => (LONE, 5),
        },
        Some(unit) => (char::from_u32(unit).unwrap_or(LONE), 5),
        None => (LONE, 1),
    }
}

#[cfg(test)]
mod tests;
