//! One walk over the extension fields of both encodings.

use alloc::borrow::Cow;

use super::{Encoding, binary, json};
use crate::error::WireError;

/// The extension fields of a header, in the order of the wire, duplicates included.
///
/// Walking allocates nothing but the text of names and values that carry JSON escapes. Fields whose value is JSON
/// `null` are passed over (wire 2.3). The header was checked when it was decoded, so the walk cannot fail; should the
/// bytes be wrong all the same, it ends.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    rest: Rest<'a>,
    /// Offset of `rest` from the start of the frame.
    at: usize,
}

#[derive(Debug, Clone, Copy)]
enum Rest<'a> {
    Json(&'a str),
    Binary(&'a [u8]),
}

/// One extension field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field<'a> {
    /// Its name, escapes resolved.
    pub name: Cow<'a, str>,
    /// Its value as it stands in the header.
    pub value: FieldText<'a>,
}

/// The text of a value as it stands in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldText<'a> {
    pub(super) raw: &'a str,
    pub(super) escaped: bool,
    pub(super) at: usize,
}

impl<'a> Fields<'a> {
    /// No fields.
    pub const EMPTY: Fields<'static> = Fields { rest: Rest::Binary(&[]), at: 0 };

    /// The fields in `block`: the inside of the JSON object, or the binary entries.
    pub(crate) fn new(encoding: Encoding, block: &'a [u8], at: usize) -> Self {
        let rest = match encoding {
            Encoding::Json => Rest::Json(core::str::from_utf8(block).unwrap_or_default()),
            Encoding::Binary => Rest::Binary(block),
        };
        Self { rest, at }
    }

    /// The bytes that are still to be walked, in their encoding.
    pub(crate) const fn raw(&self) -> (Encoding, &'a [u8]) {
        match self.rest {
            Rest::Json(text) => (Encoding::Json, text.as_bytes()),
            Rest::Binary(bytes) => (Encoding::Binary, bytes),
        }
    }

    /// The value of `name`; of several the last one, as Java's map would have it.
    #[must_use]
    pub fn get(self, name: &str) -> Option<FieldText<'a>> {
        self.filter(|field| field.name == name).last().map(|field| field.value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let (field, used) = match &mut self.rest {
            Rest::Json(text) => {
                let (field, used) = json::next_field(text, self.at)?;
                *text = text.get(used..).unwrap_or_default();
                (field, used)
            }
            Rest::Binary(bytes) => {
                let (field, used) = binary::next_field(bytes, self.at)?;
                *bytes = bytes.get(used..).unwrap_or_default();
                (field, used)
            }
        };
        self.at = self.at.saturating_add(used);
        Some(field)
    }
}

impl<'a> FieldText<'a> {
    pub(super) const fn plain(raw: &'a str, at: usize) -> Self {
        Self { raw, escaped: false, at }
    }

    /// The text, escapes resolved; borrowed when there are none.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(json::unescape(self.raw)) } else { Cow::Borrowed(self.raw) }
    }

    /// Reads an `i32` as Java's `parseInt` does (wire 2.2).
    ///
    /// # Errors
    /// Names the field `name` when the text is not such a number.
    pub fn i32(self, name: &'static str) -> Result<i32, WireError> {
        self.number().and_then(|value| i32::try_from(value).ok()).ok_or(WireError::invalid(name, self.at))
    }

    /// Reads an `i64` as Java's `parseLong` does (wire 2.2).
    ///
    /// # Errors
    /// Names the field `name` when the text is not such a number.
    pub fn i64(self, name: &'static str) -> Result<i64, WireError> {
        self.number().ok_or(WireError::invalid(name, self.at))
    }

    /// Whether the text is `true` in any case; everything else is false, as for Java's `parseBoolean`.
    #[must_use]
    pub fn is_true(self) -> bool {
        if self.escaped { self.text().eq_ignore_ascii_case("true") } else { self.raw.eq_ignore_ascii_case("true") }
    }

    /// Where the value stands, in bytes from the start of the frame.
    #[must_use]
    pub const fn offset(self) -> usize {
        self.at
    }

    fn number(self) -> Option<i64> {
        if self.escaped { number(self.text().as_bytes()) } else { number(self.raw.as_bytes()) }
    }
}

/// One optional sign, then decimal digits, nothing else, in the range of `i64`.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Counted downwards: the range of i64 reaches one further there.
        value = value.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_follow_parse_long() {
        assert_eq!(number(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(number(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(number(b"+7"), Some(7));
        assert_eq!(number(b"007"), Some(7));
        for refused in ["9223372036854775808", "-9223372036854775809", "", "-", "+", " 1", "1 ", "1.0", "1e2", "0x1"] {
            assert_eq!(number(refused.as_bytes()), None, "{refused}");
        }
    }
}
