//! The property string of a message (wire 6.4): `name` 0x01 `value` 0x02, repeated.
//!
//! Reading is lazy: [`PropertiesView`] scans the bytes where they are, so that a message whose properties nobody asks
//! for costs nothing. Writing goes through [`Properties`], which keeps the encoded text itself and refuses what cannot
//! be written without changing its meaning, since the format has no escaping.

use alloc::string::String;
use core::fmt;

use super::property_names;

/// Stands between a name and its value.
pub const NAME_VALUE_SEPARATOR: char = '\u{1}';
/// Ends a property.
pub const PROPERTY_SEPARATOR: char = '\u{2}';

const NAME_END: u8 = 1;
const PIECE_END: u8 = 2;

/// Most bytes of an encoded property string: its length is a signed 16-bit word.
pub const MAX_PROPERTIES_LEN: usize = 32_767;

/// The encoded properties of a message, read in place.
///
/// The rules are Java's: pieces end at 0x02 (the last one may lack it), the first 0x01 of a piece separates name from
/// value, pieces without it or with an empty name or value do not count, and a repeated name means its last value.
/// Names and values that are not UTF-8 are invisible to [`get`](Self::get) and [`iter`](Self::iter) and visible to
/// [`get_bytes`](Self::get_bytes).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PropertiesView<'a> {
    bytes: &'a [u8],
}

impl<'a> PropertiesView<'a> {
    /// A view of an encoded property string.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The encoded bytes as they came.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The value of `name`. `None` when it is absent, empty, or not UTF-8.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a str> {
        core::str::from_utf8(self.get_bytes(name)?).ok()
    }

    /// The value of `name` as bytes. `None` when it is absent or empty.
    #[must_use]
    pub fn get_bytes(self, name: &str) -> Option<&'a [u8]> {
        // From the back, so that the first hit is the value that counts.
        let mut rest = self.bytes;
        while !rest.is_empty() {
            let (before, piece) = match memchr::memrchr(PIECE_END, rest) {
                Some(at) => {
                    let (before, piece) = rest.split_at(at);
                    (before, piece.get(1..).unwrap_or_default())
                }
                None => (&[][..], rest),
            };
            if let Some(value) = value_in(piece, name.as_bytes()) {
                return Some(value);
            }
            rest = before;
        }
        None
    }

    /// The value of `name` as a decimal number; `None` when it is absent or not one.
    #[must_use]
    pub fn get_number<N: core::str::FromStr>(self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }

    /// The message's tag.
    #[must_use]
    pub fn tags(self) -> Option<&'a str> {
        self.get(property_names::TAGS)
    }

    /// The message's index keys: the `KEYS` property split at spaces.
    pub fn keys(self) -> impl Iterator<Item = &'a str> {
        self.get(property_names::KEYS)
            .unwrap_or_default()
            .split(property_names::KEY_SEPARATOR)
            .filter(|key| !key.is_empty())
    }

    /// The unique message id.
    #[must_use]
    pub fn unique_key(self) -> Option<&'a str> {
        self.get(property_names::UNIQUE_KEY)
    }

    /// Names and values in the order they were written. A repeated name shows up each time.
    #[must_use]
    pub const fn iter(self) -> PropertiesIter<'a> {
        PropertiesIter { rest: self.bytes }
    }
}

impl<'a> IntoIterator for PropertiesView<'a> {
    type Item = (&'a str, &'a str);
    type IntoIter = PropertiesIter<'a>;

    fn into_iter(self) -> PropertiesIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for PropertiesView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Iterator over the names and values of a [`PropertiesView`].
#[derive(Debug, Clone)]
pub struct PropertiesIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for PropertiesIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let (piece, rest) = match memchr::memchr(PIECE_END, self.rest) {
                Some(at) => {
                    let (piece, rest) = self.rest.split_at(at);
                    (piece, rest.get(1..).unwrap_or_default())
                }
                None => (self.rest, &[][..]),
            };
            self.rest = rest;
            if let Some(pair) = split_piece(piece) {
                return Some(pair);
            }
        }
        None
    }
}

/// The non-empty value of a piece that has this name.
fn value_in<'a>(piece: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    if name.is_empty() {
        return None;
    }
    let (separator, value) = piece.strip_prefix(name)?.split_first()?;
    // The separator must be the first one of the piece, so a name that contains one never matches.
    (*separator == NAME_END && !value.is_empty() && !name.contains(&NAME_END)).then_some(value)
}

/// Name and value of a piece that counts.
fn split_piece(piece: &[u8]) -> Option<(&str, &str)> {
    let at = memchr::memchr(NAME_END, piece)?;
    let (name, value) = piece.split_at(at);
    let value = value.get(1..)?;
    if name.is_empty() || value.is_empty() {
        return None;
    }
    Some((core::str::from_utf8(name).ok()?, core::str::from_utf8(value).ok()?))
}

/// Properties being built, in the order they were set, held in their encoded form.
///
/// A name is held once: setting it again replaces its value in place.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Properties {
    text: String,
}

/// Why a property was not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PropertyError {
    /// The name is empty, or blank where an application sets it.
    EmptyName,
    /// The value is empty, or blank where an application sets it. A reader would drop the property.
    EmptyValue,
    /// The name contains 0x01 or 0x02, which cannot be escaped.
    SeparatorInName,
    /// The value contains 0x01 or 0x02, which cannot be escaped.
    SeparatorInValue,
    /// The name belongs to the protocol.
    Reserved,
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyName => "the name of a property must not be blank",
            Self::EmptyValue => "the value of a property must not be blank",
            Self::SeparatorInName => "the name of a property must not contain U+0001 or U+0002",
            Self::SeparatorInValue => "the value of a property must not contain U+0001 or U+0002",
            Self::Reserved => "the name of the property is reserved for the protocol",
        })
    }
}

impl core::error::Error for PropertyError {}

impl Properties {
    /// No properties.
    #[must_use]
    pub const fn new() -> Self {
        Self { text: String::new() }
    }

    /// No properties, with room for `bytes` of encoded text.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
    }

    /// Sets a property, replacing its value when it is there.
    ///
    /// # Errors
    ///
    /// An empty name or value, or a separator in either; nothing is changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), PropertyError> {
        check(name, PropertyError::EmptyName, PropertyError::SeparatorInName)?;
        check(value, PropertyError::EmptyValue, PropertyError::SeparatorInValue)?;
        if let Some((start, end)) = self.find(name) {
            self.text.replace_range(start..end, value);
        } else {
            self.text.reserve(name.len().saturating_add(value.len()).saturating_add(2));
            self.text.push_str(name);
            self.text.push(NAME_VALUE_SEPARATOR);
            self.text.push_str(value);
            self.text.push(PROPERTY_SEPARATOR);
        }
        Ok(())
    }

    /// Sets a property on behalf of an application: also refuses blank texts and the names of the protocol, as Java's
    /// `putUserProperty` does.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set), and [`PropertyError::Reserved`].
    pub fn set_user(&mut self, name: &str, value: &str) -> Result<(), PropertyError> {
        if name.trim().is_empty() {
            return Err(PropertyError::EmptyName);
        }
        if value.trim().is_empty() {
            return Err(PropertyError::EmptyValue);
        }
        if property_names::is_reserved(name) {
            return Err(PropertyError::Reserved);
        }
        self.set(name, value)
    }

    /// Removes a property and says whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some((start, end)) = self.find(name) else {
            return false;
        };
        let start = start.saturating_sub(name.len()).saturating_sub(1);
        self.text.replace_range(start..end.saturating_add(1), "");
        true
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.view().get(name)
    }

    /// A reader of these properties.
    #[must_use]
    pub const fn view(&self) -> PropertiesView<'_> {
        PropertiesView::new(self.text.as_bytes())
    }

    /// The encoded text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The encoded text, without copying it.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }

    /// Bytes of the encoded text.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.text.len()
    }

    /// Whether nothing is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Where the value of `name` starts and ends in the text.
    fn find(&self, name: &str) -> Option<(usize, usize)> {
        let mut start: usize = 0;
        for piece in self.text.split_terminator(PROPERTY_SEPARATOR) {
            let end = start.saturating_add(piece.len());
            if let Some(value) = value_in(piece.as_bytes(), name.as_bytes()) {
                return Some((end.saturating_sub(value.len()), end));
            }
            start = end.saturating_add(1);
        }
        None
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

/// Properties of a received message that are to be sent again: what counts is kept, in order, each name once.
impl From<PropertiesView<'_>> for Properties {
    fn from(view: PropertiesView<'_>) -> Self {
        let mut properties = Self::with_capacity(view.as_bytes().len());
        for (name, value) in view {
            // A value that came with a separator inside would change its meaning when written: it is left out.
            properties.set(name, value).ok();
        }
        properties
    }
}

fn check(text: &str, empty: PropertyError, separator: PropertyError) -> Result<(), PropertyError> {
    if text.is_empty() {
        return Err(empty);
    }
    if memchr::memchr2(NAME_END, PIECE_END, text.as_bytes()).is_some() {
        return Err(separator);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The reader's rules once more, written from the rules and not from the reader.
    fn by_the_rules(bytes: &[u8]) -> BTreeMap<&[u8], &[u8]> {
        let mut map = BTreeMap::new();
        for piece in bytes.split(|byte| *byte == 2) {
            let mut parts = piece.splitn(2, |byte| *byte == 1);
            if let (Some(name), Some(value)) = (parts.next(), parts.next())
                && !name.is_empty()
                && !value.is_empty()
            {
                map.insert(name, value);
            }
        }
        map
    }

    #[test]
    fn reads_as_java_does() {
        let view = PropertiesView::new(b"A\x011\x02B\x01\x02");
        assert_eq!(view.iter().collect::<Vec<_>>(), [("A", "1")]);
        assert_eq!(view.get("B"), None);
        assert_eq!(PropertiesView::new(b"A\x011").get("A"), Some("1"));
        assert_eq!(PropertiesView::new(b"A\x011\x012\x02").get("A"), Some("1\u{1}2"));
        assert_eq!(PropertiesView::new(b"A\x011\x02A\x012\x02").get("A"), Some("2"));
        assert_eq!(PropertiesView::new(b"A\x011\x02A\x01\x02").get("A"), Some("1"));
        assert_eq!(PropertiesView::new(b"\x01v\x02").get(""), None);
        assert_eq!(PropertiesView::new(b"AB\x011\x02").get("A"), None);
        assert_eq!(PropertiesView::new(b"A\x011\x012").get("A\x011"), None);
    }

    #[test]
    fn text_that_is_not_utf8_is_kept_as_bytes() {
        let view = PropertiesView::new(b"A\x01\xFF\x02B\x01b\x02");
        assert_eq!(view.get("A"), None);
        assert_eq!(view.get_bytes("A"), Some(&b"\xFF"[..]));
        assert_eq!(view.iter().collect::<Vec<_>>(), [("B", "b")]);
    }

    #[test]
    fn shortcuts() {
        let view = PropertiesView::new(b"KEYS\x01k1  k2\x02TAGS\x01t\x02UNIQ_KEY\x01u\x02DELAY\x013\x02");
        assert_eq!(view.keys().collect::<Vec<_>>(), ["k1", "k2"]);
        assert_eq!(view.tags(), Some("t"));
        assert_eq!(view.unique_key(), Some("u"));
        assert_eq!(view.get_number::<u32>("DELAY"), Some(3));
        assert_eq!(view.get_number::<u32>("TAGS"), None);
        assert_eq!(PropertiesView::new(b"").keys().count(), 0);
    }

    #[test]
    fn refuses_what_cannot_be_written() {
        let mut properties = Properties::new();
        assert_eq!(properties.set("", "v"), Err(PropertyError::EmptyName));
        assert_eq!(properties.set("n", ""), Err(PropertyError::EmptyValue));
        assert_eq!(properties.set("n\u{1}", "v"), Err(PropertyError::SeparatorInName));
        assert_eq!(properties.set("n", "v\u{2}"), Err(PropertyError::SeparatorInValue));
        assert_eq!(properties.set_user("n", " "), Err(PropertyError::EmptyValue));
        assert_eq!(properties.set_user("\t", "v"), Err(PropertyError::EmptyName));
        assert_eq!(properties.set_user("KEYS", "v"), Err(PropertyError::Reserved));
        assert!(properties.is_empty());
        assert_eq!(PropertyError::Reserved.to_string(), "the name of the property is reserved for the protocol");
    }

    #[test]
    fn sets_replaces_and_removes_in_place() {
        let mut properties = Properties::new();
        properties.set("a", "1").unwrap();
        properties.set("bb", "2").unwrap();
        properties.set("c", "3").unwrap();
        properties.set("bb", "longer").unwrap();
        assert_eq!(properties.as_str(), "a\u{1}1\u{2}bb\u{1}longer\u{2}c\u{1}3\u{2}");
        assert!(properties.remove("a"));
        assert!(!properties.remove("a"));
        assert!(properties.remove("c"));
        assert_eq!(properties.as_str(), "bb\u{1}longer\u{2}");
        assert_eq!(properties.get("bb"), Some("longer"));
        assert_eq!(properties.encoded_len(), 10);
    }

    proptest! {
        #[test]
        fn lazy_reader_follows_the_rules(bytes in proptest::collection::vec(prop_oneof![Just(1_u8), Just(2), Just(b'a'), Just(b'b')], 0..40)) {
            let view = PropertiesView::new(&bytes);
            let expected = by_the_rules(&bytes);
            for name in ["a", "b", "aa", "ab", "ba"] {
                prop_assert_eq!(view.get_bytes(name), expected.get(name.as_bytes()).copied());
            }
            let read: BTreeMap<&[u8], &[u8]> = view.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let view = PropertiesView::new(&bytes);
            for (name, value) in view {
                prop_assert!(!name.is_empty() && !value.is_empty());
                prop_assert!(view.get_bytes(name).is_some());
            }
        }

        #[test]
        fn what_is_set_is_read(pairs in proptest::collection::btree_map("[^\u{1}\u{2}]{1,6}", "[^\u{1}\u{2}]{1,6}", 0..8)) {
            let mut properties = Properties::new();
            for (name, value) in &pairs {
                properties.set(name, value).unwrap();
            }
            let read: BTreeMap<_, _> = properties.view().iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
            prop_assert_eq!(&read, &pairs);
            let again = Properties::from(PropertiesView::new(properties.as_str().as_bytes()));
            prop_assert_eq!(again, properties);
        }
    }
}
