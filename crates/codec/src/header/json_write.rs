//! Writing the JSON header exactly as fastjson does (wire 2.3).

use bytes::{BufMut, BytesMut};

use super::sink::decimal;
use super::{Encoding, FieldSink, Fields, Span};
use crate::encoder::Parts;

/// Writes fields as members of a JSON object; opens the object with the first of them.
pub(crate) struct JsonFields<'b> {
    pub(crate) out: &'b mut BytesMut,
    /// Where the inside of the object begins; 0 before the first field.
    pub(crate) start: usize,
}

impl JsonFields<'_> {
    fn name(&mut self, name: &'static str) {
        self.comma();
        self.out.put_u8(b'"');
        self.out.put_slice(name.as_bytes());
        self.out.put_slice(b"\":\"");
    }

    fn comma(&mut self) {
        if self.start == 0 {
            self.out.put_slice(b",\"extFields\":{");
            self.start = self.out.len();
        } else {
            self.out.put_u8(b',');
        }
    }
}

impl FieldSink for JsonFields<'_> {
    fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        escape(self.out, value);
        self.out.put_u8(b'"');
    }

    fn int(&mut self, name: &'static str, value: i64) {
        self.name(name);
        put_decimal(self.out, value);
        self.out.put_u8(b'"');
    }

    fn boolean(&mut self, name: &'static str, value: bool) {
        self.name(name);
        self.out.put_slice(if value { b"true\"" } else { b"false\"" });
    }

    fn extra(&mut self, name: &str, value: &str) {
        self.comma();
        self.out.put_u8(b'"');
        escape(self.out, name);
        self.out.put_slice(b"\":\"");
        escape(self.out, value);
        self.out.put_u8(b'"');
    }

    fn raw(&mut self, fields: Fields<'_>) -> bool {
        let (encoding, bytes) = fields.raw();
        if encoding != Encoding::Json {
            return false;
        }
        let bytes = bytes.trim_ascii();
        if !bytes.is_empty() {
            self.comma();
            self.out.put_slice(bytes);
        }
        true
    }
}

/// Writes the header up to the point where the extension fields go.
pub(crate) fn write_start(out: &mut BytesMut, parts: &Parts<'_>) {
    out.put_slice(b"{\"code\":");
    put_decimal(out, parts.code.into());
}

/// Writes what follows the extension fields and returns where the remark lies.
pub(crate) fn write_end(out: &mut BytesMut, parts: &Parts<'_>) -> Span {
    out.put_slice(b",\"flag\":");
    put_decimal(out, parts.flag.into());
    out.put_slice(b",\"language\":\"");
    out.put_slice(parts.language.name().unwrap_or("OTHER").as_bytes());
    out.put_slice(b"\",\"opaque\":");
    put_decimal(out, parts.opaque.into());
    let remark = parts.remark.map_or(Span::NONE, |remark| {
        out.put_slice(b",\"remark\":\"");
        let start = out.len();
        escape(out, remark);
        let span = Span::new(start, out.len());
        out.put_u8(b'"');
        span
    });
    out.put_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    put_decimal(out, parts.version.into());
    out.put_u8(b'}');
    remark
}

fn put_decimal(out: &mut BytesMut, value: i64) {
    out.put_slice(decimal(value, &mut [0; 20]));
}

/// What a byte asks of the writer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    /// Escaped on its own: controls, quote, backslash, delete.
    Special,
    /// First byte of a character that may need an escape: U+0080 to U+009F, U+2028, U+2029.
    Lead,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Plain; 256];
    let mut byte = 0_u8;
    loop {
        let class = match byte {
            0..=0x1F | b'"' | b'\\' | 0x7F => Class::Special,
            0xC2 | 0xE2 => Class::Lead,
            _ => Class::Plain,
        };
        #[allow(clippy::indexing_slicing)] // evaluated at compile time
        {
            classes[byte as usize] = class;
        }
        if byte == 255 {
            break;
        }
        byte = byte.wrapping_add(1);
    }
    classes
};

/// Writes `text` with the escapes that fastjson writes, without quotes around it.
pub(crate) fn escape(out: &mut BytesMut, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let plain = rest.iter().position(|byte| CLASSES.get(usize::from(*byte)) != Some(&Class::Plain));
        let Some((run, special)) = plain.and_then(|at| rest.split_at_checked(at)) else {
            out.put_slice(rest);
            return;
        };
        out.put_slice(run);
        let used = escape_one(out, special);
        rest = special.get(used..).unwrap_or_default();
    }
}

/// Writes the character at the start of `bytes`, escaped if it must be, and returns its size.
fn escape_one(out: &mut BytesMut, bytes: &[u8]) -> usize {
    match bytes {
        [0xC2, second @ 0x80..=0x9F, ..] => {
            unicode(out, b"00", *second);
            2
        }
        [0xE2, 0x80, third @ 0xA8..=0xA9, ..] => {
            unicode(out, b"20", third.wrapping_sub(0x80));
            3
        }
        [lead @ (0xC2 | 0xE2), ..] => {
            out.put_u8(*lead);
            1
        }
        [byte, ..] => {
            match byte {
                b'"' => out.put_slice(b"\\\""),
                b'\\' => out.put_slice(b"\\\\"),
                0x08 => out.put_slice(b"\\b"),
                b'\t' => out.put_slice(b"\\t"),
                b'\n' => out.put_slice(b"\\n"),
                0x0C => out.put_slice(b"\\f"),
                b'\r' => out.put_slice(b"\\r"),
                byte => unicode(out, b"00", *byte),
            }
            1
        }
        [] => 0,
    }
}

fn unicode(out: &mut BytesMut, high: &[u8; 2], low: u8) {
    out.put_slice(b"\\u");
    out.put_slice(high);
    for nibble in [low >> 4, low & 0xF] {
        out.put_u8(if nibble < 10 { nibble.wrapping_add(b'0') } else { nibble.wrapping_add(b'A' - 10) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_fastjson() {
        let mut out = BytesMut::new();
        escape(
            &mut out,
            "a\"\\\u{8}\t\n\u{c}\r\u{1}\u{b}\u{1f}\u{7f}\u{80}\u{9f}\u{a0}\u{2028}\u{2029}\u{202a}/\u{4e2d}\u{1d11e}",
        );
        let expected = "a\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u000B\\u001F\\u007F\\u0080\\u009F\u{a0}\\u2028\\u2029\u{202a}/\u{4e2d}\u{1d11e}";
        assert_eq!(core::str::from_utf8(&out).unwrap(), expected);
    }
}
