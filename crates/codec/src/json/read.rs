//! The reader: one pass, bounded in depth and in the number of values; a second one where the text holds references.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use nom::IResult;
use nom::Parser;
use nom::bytes::complete::take_while;
use nom::character::complete::digit0;
use nom::combinator::opt;
use nom::error::{Error, ErrorKind};

use super::reference;
use super::value::{Key, Member, Object, Value};
use crate::error::WireError;
use crate::limits::Limits;

/// Reads one JSON value; nothing but white space and comments may follow it. References are resolved (wire 5.1).
///
/// # Errors
/// The offset of the first byte that cannot be, or the limit that was passed: [`Limits::json_depth`],
/// [`Limits::json_values`] or [`Limits::json_references`].
pub fn read<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Value<'a>, WireError> {
    let text = core::str::from_utf8(bytes).map_err(|error| WireError::not_utf8("json", error.valid_up_to()))?;
    let depth = limits.json_depth.min(DEEPEST);
    let mut reader =
        Reader { whole: text, rest: text, limits: *limits, values: limits.json_values, has_references: false };
    let value = reader.value(depth)?;
    reader.blank()?;
    if !reader.rest.is_empty() {
        return Err(reader.invalid("json: text behind the value"));
    }
    if reader.has_references { reference::resolve(&value, limits.json_references, depth) } else { Ok(value) }
}

/// What the call stack of a small thread bears, whatever the limits say.
const DEEPEST: usize = 512;

struct Reader<'a> {
    whole: &'a str,
    rest: &'a str,
    limits: Limits,
    /// How many values may still come.
    values: usize,
    has_references: bool,
}

impl<'a> Reader<'a> {
    fn offset(&self) -> usize {
        self.whole.len().saturating_sub(self.rest.len())
    }

    fn invalid(&self, what: &'static str) -> WireError {
        WireError::invalid(what, self.offset())
    }

    fn peek(&self) -> Option<u8> {
        self.rest.as_bytes().first().copied()
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.skip(1);
        }
        found
    }

    /// White space and comments.
    fn blank(&mut self) -> Result<(), WireError> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']);
            let Some(comment) = self.rest.strip_prefix("/*") else { return Ok(()) };
            let Some((_, rest)) = comment.split_once("*/") else {
                return Err(WireError::truncated("json: comment", self.offset()));
            };
            self.rest = rest;
        }
    }

    /// One more value.
    fn count(&mut self) -> Result<(), WireError> {
        let most = self.limits.json_values as u64;
        let left = self.values.checked_sub(1);
        self.values = left.ok_or(WireError::too_large("json values", most.saturating_add(1), most, self.offset()))?;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, WireError> {
        self.blank()?;
        self.count()?;
        match self.peek() {
            Some(b'{') => Ok(Value::Object(self.object(depth)?)),
            Some(b'[') => self.array(depth),
            Some(b'"' | b'\'') => Ok(Value::Text(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.number()?)),
            Some(_) => Err(self.invalid("json value")),
            None => Err(WireError::truncated("json", self.offset())),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, WireError> {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                Ok(value)
            }
            None => Err(self.invalid("json word")),
        }
    }

    fn number(&mut self) -> Result<&'a str, WireError> {
        let Ok((behind, ())) = number(self.rest) else { return Err(self.invalid("json number")) };
        // By length: at the end of the text nom's rest is an empty slice from elsewhere, which `recognize` trips over.
        let number = self.rest.get(..self.rest.len().saturating_sub(behind.len())).unwrap_or_default();
        self.rest = behind;
        Ok(number)
    }

    fn deeper(&self, depth: usize) -> Result<usize, WireError> {
        let most = self.limits.json_depth.min(DEEPEST) as u64;
        depth.checked_sub(1).ok_or(WireError::too_large("json depth", most.saturating_add(1), most, self.offset()))
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, WireError> {
        let depth = self.deeper(depth)?;
        self.skip(1);
        let mut items = Vec::new();
        loop {
            self.blank()?;
            if self.accept(b']') {
                return Ok(Value::Array(items));
            }
            if self.accept(b',') {
                continue;
            }
            items.push(self.value(depth)?);
            self.blank()?;
            if !matches!(self.peek(), Some(b',' | b']')) {
                return Err(self.unfinished("json array"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Object<'a>, WireError> {
        let depth = self.deeper(depth)?;
        self.skip(1);
        let mut members = Vec::new();
        loop {
            self.blank()?;
            if self.accept(b'}') {
                return Ok(Object::new(members));
            }
            if self.accept(b',') {
                continue;
            }
            let key = self.key(depth)?;
            self.blank()?;
            if !self.accept(b':') {
                return Err(self.unfinished("json member"));
            }
            let value = self.value(depth)?;
            members.push(Member { key, value });
            self.blank()?;
            if !matches!(self.peek(), Some(b',' | b'}')) {
                return Err(self.unfinished("json object"));
            }
        }
    }

    fn key(&mut self, depth: usize) -> Result<Key<'a>, WireError> {
        match self.peek() {
            Some(b'{') => {
                self.count()?;
                Ok(Key::Object(self.object(depth)?))
            }
            Some(b'"' | b'\'') => {
                let text = self.string()?;
                self.has_references |= text == reference::NAME;
                Ok(Key::Text(text))
            }
            _ => match word(self.rest) {
                Ok((rest, word)) if !word.is_empty() => {
                    self.rest = rest;
                    Ok(Key::Text(Cow::Borrowed(word)))
                }
                _ => Err(self.unfinished("json key")),
            },
        }
    }

    fn unfinished(&self, what: &'static str) -> WireError {
        if self.rest.is_empty() { WireError::truncated(what, self.offset()) } else { self.invalid(what) }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, WireError> {
        let quote = if self.peek() == Some(b'\'') { '\'' } else { '"' };
        self.skip(1);
        let Some(end) = self.rest.find([quote, '\\']) else {
            return Err(WireError::truncated("json string", self.whole.len()));
        };
        let plain = self.rest.get(..end).unwrap_or_default();
        self.skip(end);
        if self.accept(if quote == '"' { b'"' } else { b'\'' }) {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = String::from(plain);
        loop {
            let Some(end) = self.rest.find([quote, '\\']) else {
                return Err(WireError::truncated("json string", self.whole.len()));
            };
            text.push_str(self.rest.get(..end).unwrap_or_default());
            self.skip(end);
            if self.peek() != Some(b'\\') {
                self.skip(1);
                return Ok(Cow::Owned(text));
            }
            self.skip(1);
            self.escape(&mut text)?;
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), WireError> {
        let Some(byte) = self.peek() else { return Err(WireError::truncated("json escape", self.offset())) };
        let plain = match byte {
            b'b' => '\u{8}',
            b't' => '\t',
            b'n' => '\n',
            b'f' => '\u{c}',
            b'r' => '\r',
            b'0' => '\0',
            b'"' | b'\\' | b'/' | b'\'' => char::from(byte),
            b'u' => {
                self.skip(1);
                return self.unicode(text);
            }
            _ => return Err(self.invalid("json escape")),
        };
        text.push(plain);
        self.skip(1);
        Ok(())
    }

    /// Four hexadecimal digits; a pair of surrogates is one character, a lone one becomes U+FFFD.
    fn unicode(&mut self, text: &mut String) -> Result<(), WireError> {
        let high = self.hex()?;
        let pair = (0xD800..0xDC00).contains(&high).then(|| self.rest.strip_prefix("\\u")).flatten();
        if let Some(rest) = pair {
            let before = self.rest;
            self.rest = rest;
            let low = self.hex()?;
            let both = char::decode_utf16([high, low]).next().and_then(Result::ok);
            if let Some(character) = both {
                text.push(character);
                return Ok(());
            }
            self.rest = before;
        }
        text.push(char::from_u32(u32::from(high)).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }

    fn hex(&mut self) -> Result<u16, WireError> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) else {
            let is_cut = self.rest.len() < 4;
            let error = if is_cut { WireError::truncated } else { WireError::invalid };
            return Err(error("json escape", if is_cut { self.whole.len() } else { self.offset() }));
        };
        self.skip(4);
        Ok(value)
    }
}

/// A number as JSON has it; leading zeros are let through.
fn number(input: &str) -> IResult<&str, ()> {
    let exponent = (one_of_e, opt(sign), digits);
    (opt(minus), digits, opt((dot, digits)), opt(exponent)).map(|_| ()).parse_complete(input)
}

fn minus(input: &str) -> IResult<&str, char> {
    nom::character::complete::char('-')(input)
}

fn dot(input: &str) -> IResult<&str, char> {
    nom::character::complete::char('.')(input)
}

fn sign(input: &str) -> IResult<&str, char> {
    nom::character::complete::one_of("+-")(input)
}

fn one_of_e(input: &str) -> IResult<&str, char> {
    nom::character::complete::one_of("eE")(input)
}

fn digits(input: &str) -> IResult<&str, &str> {
    let (rest, digits) = digit0(input)?;
    if digits.is_empty() { Err(nom::Err::Error(Error::new(input, ErrorKind::Digit))) } else { Ok((rest, digits)) }
}

/// A key without quotes: a number, or a name.
fn word(input: &str) -> IResult<&str, &str> {
    take_while(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$' | '.'))(input)
}
