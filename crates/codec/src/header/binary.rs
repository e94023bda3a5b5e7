//! The ROCKETMQ binary header (wire 2.4).

use alloc::borrow::Cow;

use bytes::{BufMut, BytesMut};
use nom::IResult;
use nom::Parser;
use nom::bytes::complete::take;
use nom::number::complete::{be_i16, be_i32, be_u8, be_u16, be_u32};

use super::{Field, FieldSink, FieldText, Parsed, Span};
use crate::codes::Language;
use crate::error::WireError;
use crate::limits::Limits;

/// Bytes before the remark's text: code, language, version, opaque, flag and the remark's length.
const FIXED: usize = 17;

type Step<'a, T> = IResult<&'a [u8], T, WireError>;

/// Parses the header behind the prefix and checks every entry of its field block.
pub(crate) fn parse(head: &[u8], limits: &Limits) -> Result<Parsed, WireError> {
    let at = |rest: &[u8]| head.len().saturating_sub(rest.len());
    let header = head.get(8..).unwrap_or_default();
    let (rest, (code, language, version, opaque, flag)) =
        fixed(header).map_err(|_| WireError::truncated("binary header", at(&[])))?;
    let (rest, remark_text) = counted(rest).map_err(|_| WireError::truncated("remark", at(rest)))?;
    let remark_end = at(rest);
    let (tail, block) = counted(rest).map_err(|_| WireError::truncated("extension fields", at(rest)))?;
    if !tail.is_empty() {
        return Err(WireError::invalid("length of the binary header", at(tail)));
    }
    if core::str::from_utf8(remark_text).is_err() {
        return Err(WireError::not_utf8("remark", FIXED.saturating_add(8)));
    }
    let block_at = head.len().saturating_sub(block.len());
    check_block(block, block_at, limits)?;
    let remark = if remark_text.is_empty() {
        Span::NONE
    } else {
        Span::new(remark_end.saturating_sub(remark_text.len()), remark_end)
    };
    let fields = if block.is_empty() { Span::NONE } else { Span::new(block_at, head.len()) };
    Ok(Parsed {
        code: code.into(),
        language: Language::from_byte(language),
        version: version.into(),
        opaque,
        flag,
        remark,
        fields,
    })
}

fn fixed(input: &[u8]) -> Step<'_, (i16, u8, i16, i32, i32)> {
    (be_i16, be_u8, be_i16, be_i32, be_i32).parse(input)
}

fn counted(input: &[u8]) -> Step<'_, &[u8]> {
    let (rest, length) = be_u32(input)?;
    take(length)(rest)
}

fn entry(input: &[u8]) -> Step<'_, (&[u8], &[u8])> {
    let (rest, length) = be_u16(input)?;
    let (rest, name) = take(length)(rest)?;
    let (rest, value) = counted(rest)?;
    Ok((rest, (name, value)))
}

fn check_block(block: &[u8], block_at: usize, limits: &Limits) -> Result<(), WireError> {
    let mut rest = block;
    let mut count = 0_usize;
    while !rest.is_empty() {
        let at = block_at.saturating_add(block.len().saturating_sub(rest.len()));
        let (next, (name, value)) = entry(rest).map_err(|_| WireError::truncated("extension field", at))?;
        // The length of a name is a signed 16-bit word for Java: above 32767 it is negative and refused.
        if name.len() > 0x7FFF {
            return Err(WireError::invalid("length of a field name", at));
        }
        if core::str::from_utf8(name).is_err() || core::str::from_utf8(value).is_err() {
            return Err(WireError::not_utf8("extension field", at));
        }
        count = count.saturating_add(1);
        if count > limits.header_fields {
            let (found, limit) = (count as u64, limits.header_fields as u64);
            return Err(WireError::too_large("number of header fields", found, limit, at));
        }
        rest = next;
    }
    Ok(())
}

/// The entry at the start of `block` and its size.
pub(super) fn next_field(block: &[u8], at: usize) -> Option<(Field<'_>, usize)> {
    if block.is_empty() {
        return None;
    }
    let (rest, (name, value)) = entry(block).ok()?;
    let used = block.len().saturating_sub(rest.len());
    let value_at = at.saturating_add(used).saturating_sub(value.len());
    let name = Cow::Borrowed(core::str::from_utf8(name).ok()?);
    let value = FieldText::plain(core::str::from_utf8(value).ok()?, value_at);
    Some((Field { name, value }, used))
}

/// Writes the fixed part and the remark; the length of the field block that follows is patched by [`finish`].
pub(crate) fn write_start(out: &mut BytesMut, parts: &crate::encoder::Parts<'_>) -> usize {
    // Parts that do not fit 16 bits were sent to the JSON form before.
    out.put_i16(i16::try_from(parts.code).unwrap_or(i16::MAX));
    out.put_u8(parts.language.to_byte());
    out.put_i16(i16::try_from(parts.version).unwrap_or(i16::MAX));
    out.put_i32(parts.opaque);
    out.put_i32(parts.flag);
    let remark = parts.remark.unwrap_or_default();
    out.put_u32(u32::try_from(remark.len()).unwrap_or(u32::MAX));
    out.put_slice(remark.as_bytes());
    let length_at = out.len();
    out.put_u32(0);
    length_at
}

/// Patches the length of the field block that began behind `length_at`.
pub(crate) fn finish(out: &mut BytesMut, length_at: usize) {
    let start = length_at.saturating_add(4);
    let length = u32::try_from(out.len().saturating_sub(start)).unwrap_or(u32::MAX);
    if let Some(word) = out.get_mut(length_at..start) {
        word.copy_from_slice(&length.to_be_bytes());
    }
}

/// Writes fields as binary entries.
pub(crate) struct BinaryFields<'b> {
    pub(crate) out: &'b mut BytesMut,
}

impl BinaryFields<'_> {
    fn entry(&mut self, name: &str, value: &[u8]) {
        let Ok(length) = i16::try_from(name.len()) else { return };
        let Ok(size) = i32::try_from(value.len()) else { return };
        self.out.put_i16(length);
        self.out.put_slice(name.as_bytes());
        self.out.put_i32(size);
        self.out.put_slice(value);
    }
}

impl FieldSink for BinaryFields<'_> {
    fn text(&mut self, name: &'static str, value: &str) {
        self.entry(name, value.as_bytes());
    }

    fn int(&mut self, name: &'static str, value: i64) {
        let mut digits = [0; 20];
        self.entry(name, super::sink::decimal(value, &mut digits));
    }

    fn boolean(&mut self, name: &'static str, value: bool) {
        self.entry(name, if value { b"true" } else { b"false" });
    }

    fn extra(&mut self, name: &str, value: &str) {
        self.entry(name, value.as_bytes());
    }

    fn raw(&mut self, fields: super::Fields<'_>) -> bool {
        let (encoding, bytes) = fields.raw();
        let same = encoding == super::Encoding::Binary;
        if same {
            self.out.put_slice(bytes);
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::WireErrorKind;
    use std::vec::Vec;

    fn head(fixed: [u8; 13], remark: &[u8], block: &[u8]) -> Vec<u8> {
        let mut head = std::vec![0; 8];
        head.extend_from_slice(&fixed);
        head.extend_from_slice(&u32::try_from(remark.len()).unwrap().to_be_bytes());
        head.extend_from_slice(remark);
        head.extend_from_slice(&u32::try_from(block.len()).unwrap().to_be_bytes());
        head.extend_from_slice(block);
        head
    }

    const FIXED_PART: [u8; 13] = [0, 10, 99, 1, 0xDF, 0, 0, 0, 7, 0, 0, 0, 4];

    #[test]
    fn unknown_language_and_flag_bits_are_kept() {
        let parsed = parse(&head(FIXED_PART, b"", b""), &Limits::DEFAULT).unwrap();
        assert_eq!(parsed.language.to_byte(), 99);
        assert_eq!((parsed.code, parsed.version, parsed.opaque, parsed.flag), (10, 479, 7, 4));
        assert_eq!((parsed.remark, parsed.fields), (Span::NONE, Span::NONE));
    }

    #[test]
    fn inner_lengths_must_fit() {
        let whole = head(FIXED_PART, b"why", b"\x00\x01k\x00\x00\x00\x01v");
        assert!(parse(&whole, &Limits::DEFAULT).is_ok());
        for cut in 8..whole.len() {
            assert!(parse(&whole[..cut], &Limits::DEFAULT).is_err(), "cut at {cut}");
        }
        let mut longer = whole;
        longer.push(0);
        let error = parse(&longer, &Limits::DEFAULT).unwrap_err();
        assert_eq!(error.kind, WireErrorKind::Invalid("length of the binary header"));
    }

    #[test]
    fn the_number_of_fields_is_limited() {
        let limits = Limits { header_fields: 2, ..Limits::DEFAULT };
        let one = b"\x00\x01k\x00\x00\x00\x00";
        assert!(parse(&head(FIXED_PART, b"", &one.repeat(2)), &limits).is_ok());
        assert!(parse(&head(FIXED_PART, b"", &one.repeat(3)), &limits).is_err());
    }
}
