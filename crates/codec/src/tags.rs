//! Tag expressions (wire 10.1).
//!
//! A broker compares hashes of tags only, so a consumer compares the tags themselves once more.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::hash::java_hash;

/// The expression that lets everything through.
pub const ALL: &str = "*";

/// A parsed tag expression: everything, or a few literal tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagExpression {
    text: Box<str>,
    tags: Vec<Box<str>>,
    codes: Vec<i32>,
}

/// The expression has separators but no tag. Java's text for it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoTags;

impl fmt::Display for NoTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("subString split error")
    }
}

impl core::error::Error for NoTags {}

impl TagExpression {
    /// The expression that lets everything through.
    #[must_use]
    pub fn all() -> Self {
        Self { text: ALL.into(), tags: Vec::new(), codes: Vec::new() }
    }

    /// Reads `a || b || c`; empty or `*` mean everything. Repeated tags count once.
    ///
    /// # Errors
    ///
    /// [`NoTags`] when nothing but separators and blanks is there. Java accepts some of these and then receives
    /// nothing at all from brokers.
    pub fn parse(text: &str) -> Result<Self, NoTags> {
        if text.is_empty() || text == ALL {
            return Ok(Self::all());
        }
        let mut tags: Vec<Box<str>> = Vec::new();
        for tag in text.split("||").map(str::trim).filter(|tag| !tag.is_empty()) {
            if !tags.iter().any(|known| **known == *tag) {
                tags.push(tag.into());
            }
        }
        if tags.is_empty() {
            return Err(NoTags);
        }
        let mut codes: Vec<i32> = tags.iter().map(|tag| java_hash(tag)).collect();
        codes.sort_unstable();
        codes.dedup();
        Ok(Self { text: text.into(), tags, codes })
    }

    /// The text a broker is told (`subString`).
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether everything passes.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.tags.is_empty()
    }

    /// The tags, in the order they were written (`tagsSet`).
    pub fn tags(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tags.iter().map(|tag| &**tag)
    }

    /// Hashes of the tags, ascending (`codeSet`).
    #[must_use]
    pub fn codes(&self) -> &[i32] {
        &self.codes
    }

    /// Whether a message with this tag passes. One without a tag passes only when everything does.
    #[must_use]
    pub fn accepts(&self, tag: Option<&str>) -> bool {
        self.is_all() || tag.is_some_and(|tag| self.tags.iter().any(|known| **known == *tag))
    }

    /// Whether a broker passes a message whose tag has this code, hash collisions included.
    #[must_use]
    pub fn accepts_code(&self, code: i64) -> bool {
        // Brokers keep the code in 64 bits and compare its low half.
        let [low @ .., _, _, _, _] = code.to_le_bytes();
        self.is_all() || self.codes.binary_search(&i32::from_le_bytes(low)).is_ok()
    }
}

impl fmt::Display for TagExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The code a broker keeps for a message: the hash of its tag, 0 when it has none.
#[must_use]
pub fn tags_code(tag: Option<&str>) -> i64 {
    tag.map_or(0, |tag| i64::from(java_hash(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything() {
        for text in ["", "*"] {
            let expression = TagExpression::parse(text).unwrap();
            assert!(expression.is_all() && expression.accepts(None) && expression.accepts_code(7));
            assert_eq!(expression.as_str(), "*");
        }
    }

    #[test]
    fn tags_are_literal() {
        let expression = TagExpression::parse(" TagA || TagB||TagA ").unwrap();
        assert_eq!(expression.tags().collect::<Vec<_>>(), ["TagA", "TagB"]);
        assert_eq!(expression.codes(), [2_598_919, 2_598_920]);
        assert!(expression.accepts(Some("TagA")) && !expression.accepts(Some("TagC")) && !expression.accepts(None));
        assert_eq!(TagExpression::parse("|| ||"), Err(NoTags));
        assert!(TagExpression::parse("*||a").unwrap().accepts(Some("*")));
    }

    #[test]
    fn equal_hashes_pass_the_broker_and_not_the_client() {
        // "Aa" and "BB" have the same hash in Java.
        let expression = TagExpression::parse("Aa").unwrap();
        assert!(expression.accepts_code(tags_code(Some("BB"))));
        assert!(!expression.accepts(Some("BB")));
        assert!(!expression.accepts_code(tags_code(None)));
        let negative = TagExpression::parse("orders").unwrap();
        assert!(negative.accepts_code(tags_code(Some("orders"))));
    }
}
