//! Java's string hash and string order, which brokers and other clients rely on.

use core::cmp::Ordering;

/// `String.hashCode()` of the same text in Java: over UTF-16 code units, `h = 31 * h + unit`, wrapping in 32 bits.
///
/// Tag codes (wire 10.1) and hash-based queue selection depend on it.
#[must_use]
pub fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The order of two texts in Java's `String.compareTo`: by UTF-16 code unit.
///
/// It differs from the order of Rust strings only where a supplementary character meets one in U+E000..=U+FFFF.
/// Client ids and signed header fields are sorted this way (wire 7.3, 11.1).
#[must_use]
pub fn java_order(left: &str, right: &str) -> Ordering {
    if left.is_ascii() || right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_utf16_units() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("TagA"), 2_598_919);
        assert_eq!(java_hash("中文"), 646_394);
        assert_eq!(java_hash("😀"), 1_772_899);
        assert_eq!(java_hash("TAG_B_long_name_0123456789"), -528_688_456);
    }

    #[test]
    fn orders_by_utf16_units() {
        // U+1F600 starts with the surrogate D83D, below U+FF21, but is above it as a code point.
        assert_eq!(java_order("\u{1F600}", "\u{FF21}"), Ordering::Less);
        assert_eq!(java_order("A", "_"), Ordering::Less);
        assert_eq!(java_order("_", "a"), Ordering::Less);
        assert_eq!(java_order("a", "\u{1F600}"), Ordering::Less);
        assert_eq!(java_order("ab", "abc"), Ordering::Less);
    }
}
