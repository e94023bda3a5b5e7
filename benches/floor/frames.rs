//! Frames as templates: a request is built once with fixed-width numbers, later only digits are overwritten.
//!
//! Written apart from `rocketry-codec` on purpose: a floor that shares the candidate's code would move with it.
//! Layouts: wire 1.1 (frame), 2.3 (JSON header), 2.4 (binary header).

use crate::Failure;

/// The largest frame that a Java peer accepts or sends by default, without its length word.
const FRAME_LIMIT: usize = 16_777_212;
/// JSON numbers allow no leading zeros; an `opaque` from here on has ten digits as long as an `i32` holds it.
pub(crate) const FIRST_OPAQUE: u32 = 1_000_000_000;

/// How the header of a request is written. Answers come as the broker likes and are read by their type byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Binary,
}

/// One request, ready to be copied.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    encoding: Encoding,
    opaque_at: usize,
}

impl Template {
    /// Builds the request `code` with these fields and body; its `opaque` is [`FIRST_OPAQUE`].
    pub(crate) fn new(encoding: Encoding, code: u16, fields: &[(&str, &str)], body: &[u8]) -> Result<Self, Failure> {
        let header = match encoding {
            Encoding::Json => json_header(code, fields),
            Encoding::Binary => binary_header(code, fields)?,
        };
        let total = 4 + header.len() + body.len();
        if total > FRAME_LIMIT {
            return Err("the request is larger than a frame may be".into());
        }
        let mut bytes = Vec::with_capacity(total + 4);
        bytes.extend_from_slice(&u32::try_from(total)?.to_be_bytes());
        let kind = if encoding == Encoding::Binary { 1 << 24 } else { 0 };
        bytes.extend_from_slice(&(kind | u32::try_from(header.len())?).to_be_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(body);
        let opaque_at = match encoding {
            Encoding::Json => find(&bytes, b"\"opaque\":").ok_or("no opaque")? + 9,
            Encoding::Binary => 8 + 5,
        };
        Ok(Self { bytes, encoding, opaque_at })
    }

    /// The whole frame.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the digits that were given as `marker` stand.
    pub(crate) fn spot(&self, marker: &str) -> Result<usize, Failure> {
        find(&self.bytes, marker.as_bytes()).ok_or_else(|| format!("{marker} is not in the template").into())
    }

    /// Overwrites the `opaque`.
    pub(crate) fn set_opaque(&mut self, opaque: u32) {
        match self.encoding {
            Encoding::Json => decimal(&mut self.bytes[self.opaque_at..self.opaque_at + 10], opaque.into()),
            Encoding::Binary => self.bytes[self.opaque_at..self.opaque_at + 4].copy_from_slice(&opaque.to_be_bytes()),
        }
    }

    /// Overwrites `width` bytes from `at` with `value` in decimal, zeros in front.
    pub(crate) fn set_decimal(&mut self, at: usize, width: usize, value: u64) {
        decimal(&mut self.bytes[at..at + width], value);
    }

    /// Overwrites 8 bytes from `at` with `value` in upper-case hexadecimal.
    pub(crate) fn set_hex(&mut self, at: usize, value: u32) {
        for (digit, shift) in self.bytes[at..at + 8].iter_mut().zip((0..8).rev()) {
            *digit = b"0123456789ABCDEF"[(value >> (shift * 4) & 0xF) as usize];
        }
    }
}

fn json_header(code: u16, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("{{\"code\":{code},\"extFields\":{{");
    for (index, (name, value)) in fields.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Names are checked to be plain; only the separators of properties need an escape.
        let value = value.replace('\u{1}', "\\u0001").replace('\u{2}', "\\u0002");
        text.push_str(&format!("{comma}\"{name}\":\"{value}\""));
    }
    text.push_str(&format!(
        "}},\"flag\":0,\"language\":\"RUST\",\"opaque\":{FIRST_OPAQUE},\
         \"serializeTypeCurrentRPC\":\"JSON\",\"version\":479}}"
    ));
    text.into_bytes()
}

fn binary_header(code: u16, fields: &[(&str, &str)]) -> Result<Vec<u8>, Failure> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend_from_slice(&u16::try_from(name.len())?.to_be_bytes());
        block.extend_from_slice(name.as_bytes());
        block.extend_from_slice(&u32::try_from(value.len())?.to_be_bytes());
        block.extend_from_slice(value.as_bytes());
    }
    let mut header = Vec::with_capacity(21 + block.len());
    header.extend_from_slice(&code.to_be_bytes());
    header.push(12);
    header.extend_from_slice(&479_u16.to_be_bytes());
    header.extend_from_slice(&FIRST_OPAQUE.to_be_bytes());
    header.extend_from_slice(&[0; 8]);
    header.extend_from_slice(&u32::try_from(block.len())?.to_be_bytes());
    header.extend_from_slice(&block);
    Ok(header)
}

fn decimal(digits: &mut [u8], value: u64) {
    let mut rest = value;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// One answer of the broker, as far as the floor looks into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) code: u32,
    pub(crate) opaque: u32,
    pub(crate) header: &'a [u8],
    pub(crate) body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Takes the first whole frame off `bytes`; `None` as long as it is not all there.
    pub(crate) fn take(bytes: &mut &'a [u8]) -> Result<Option<Self>, Failure> {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if !(4..=FRAME_LIMIT).contains(&length) {
            return Err(format!("a frame of {length} bytes was announced").into());
        }
        if rest.len() < length {
            return Ok(None);
        }
        let (frame, rest) = rest.split_at(length);
        *bytes = rest;
        let kind = frame[0];
        let header_length = u32::from_be_bytes([0, frame[1], frame[2], frame[3]]) as usize;
        if header_length > length - 4 {
            return Err("a header is longer than its frame".into());
        }
        let (header, body) = frame[4..].split_at(header_length);
        let (code, opaque) = match kind {
            0 => json_code(header),
            1 => binary_code(header),
            _ => None,
        }
        .ok_or_else(|| format!("an answer cannot be read: {}", String::from_utf8_lossy(header)))?;
        Ok(Some(Self { code, opaque, header, body }))
    }

    /// The value of a field of the header as text, where it is plain.
    pub(crate) fn field(&self, name: &str) -> Option<&'a str> {
        let name_at = find(self.header, name.as_bytes())? + name.len();
        let rest = &self.header[name_at..];
        let value = match rest.strip_prefix(b"\":\"") {
            Some(value) => &value[..value.iter().position(|b| *b == b'"')?],
            None => {
                let (length, value) = rest.split_first_chunk::<4>()?;
                value.get(..u32::from_be_bytes(*length) as usize)?
            }
        };
        std::str::from_utf8(value).ok()
    }

    /// What to tell a person about an answer that was not expected.
    pub(crate) fn complaint(&self) -> String {
        format!("the peer answered {}: {}", self.code, String::from_utf8_lossy(self.header))
    }
}

/// Java writes members in alphabetical order: `code` is the first, `opaque` is near the end.
fn json_code(header: &[u8]) -> Option<(u32, u32)> {
    let code = digits(header.strip_prefix(b"{\"code\":")?)?;
    let marker = b"\"opaque\":";
    let at = header.windows(marker.len()).rposition(|window| window == marker)?;
    Some((code, digits(&header[at + marker.len()..])?))
}

fn binary_code(header: &[u8]) -> Option<(u32, u32)> {
    let code = u16::from_be_bytes(*header.first_chunk::<2>()?);
    let opaque = header.get(5..9)?.first_chunk::<4>()?;
    Some((code.into(), u32::from_be_bytes(*opaque)))
}

fn digits(bytes: &[u8]) -> Option<u32> {
    let count = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    if count == 0 {
        return None;
    }
    bytes[..count].iter().try_fold(0_u32, |sum, digit| sum.checked_mul(10)?.checked_add(u32::from(digit - b'0')))
}

/// The first place of `needle` in `hay`.
pub(crate) fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_reads_back_with_what_was_overwritten() {
        for encoding in [Encoding::Json, Encoding::Binary] {
            let fields = [("topic", "T"), ("queueOffset", "7777777"), ("key", "FFFFFFFF")];
            let mut template = Template::new(encoding, 11, &fields, b"body").unwrap();
            let (offset, key) = (template.spot("7777777").unwrap(), template.spot("FFFFFFFF").unwrap());
            template.set_decimal(offset, 7, 42);
            template.set_hex(key, 0xAB);
            template.set_opaque(FIRST_OPAQUE + 9);
            let mut bytes = template.bytes();
            let answer = Answer::take(&mut bytes).unwrap().unwrap();
            assert!(bytes.is_empty());
            assert_eq!((answer.code, answer.opaque, answer.body), (11, FIRST_OPAQUE + 9, &b"body"[..]));
            assert_eq!(answer.field("queueOffset"), Some("0000042"));
            assert_eq!(answer.field("key"), Some("000000AB"));
        }
    }

    #[test]
    fn a_real_answer_of_5_3_3_is_read() {
        let header = b"{\"code\":0,\"extFields\":{\"queueId\":\"3\",\"queueOffset\":\"17\"},\"flag\":1,\
                       \"language\":\"JAVA\",\"opaque\":1000000012,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":479}";
        let mut frame = u32::try_from(header.len() + 4).unwrap().to_be_bytes().to_vec();
        frame.extend_from_slice(&u32::try_from(header.len()).unwrap().to_be_bytes());
        frame.extend_from_slice(header);
        let mut bytes = &frame[..];
        let answer = Answer::take(&mut bytes).unwrap().unwrap();
        assert_eq!((answer.code, answer.opaque, answer.field("queueOffset")), (0, 1_000_000_012, Some("17")));
    }

    #[test]
    fn a_part_of_a_frame_waits_and_nonsense_is_refused() {
        let whole = Template::new(Encoding::Json, 10, &[], b"").unwrap();
        for length in 0..whole.bytes().len() {
            assert_eq!(Answer::take(&mut &whole.bytes()[..length]).unwrap(), None);
        }
        for bad in [&b"HTTP/1.1 400"[..], &[0, 0, 0, 3, 0], &[0, 0, 0, 4, 0, 0, 0, 9], &[0, 0, 0, 5, 2, 0, 0, 1, 0]] {
            assert!(Answer::take(&mut &bad[..]).is_err(), "{bad:?}");
        }
    }
}
