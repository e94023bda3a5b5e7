//! Base64 with padding in the two alphabets the protocol uses: standard for signatures and bit sets, URL-safe for
//! recall handles.

use alloc::string::String;
use alloc::vec::Vec;

/// Which characters stand for 62 and 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`.
    Standard,
    /// `-` and `_`.
    UrlSafe,
}

/// The text of `bytes`, padded with `=` to a multiple of four characters.
#[must_use]
pub fn encode(alphabet: Alphabet, bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
        match chunk.len() {
            3 => push(&mut text, alphabet, word, 4),
            2 => push(&mut text, alphabet, word << 8, 3),
            _ => push(&mut text, alphabet, word << 16, 2),
        }
    }
    text
}

/// The bytes of a padded text in `alphabet`; `None` for any character, length or padding that [`encode`] cannot have
/// written. Padding may be missing altogether, as some senders strip it.
#[must_use]
pub fn decode(alphabet: Alphabet, text: &str) -> Option<Vec<u8>> {
    let text = match text.strip_suffix('=') {
        Some(cut) if text.len().is_multiple_of(4) => cut.strip_suffix('=').unwrap_or(cut),
        Some(_) => return None,
        None => text,
    };
    let mut bytes = Vec::with_capacity(text.len().div_ceil(4).saturating_mul(3));
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for character in chunk {
            word = (word << 6) | value(alphabet, *character)?;
        }
        let [_, first, second, third] = match chunk.len() {
            4 => word,
            3 if word & 0x3 == 0 => word << 6,
            2 if word & 0xF == 0 => word << 12,
            _ => return None,
        }
        .to_be_bytes();
        bytes.push(first);
        if chunk.len() > 2 {
            bytes.push(second);
        }
        if chunk.len() > 3 {
            bytes.push(third);
        }
    }
    Some(bytes)
}

/// Writes the top `count` of the four six-bit groups of a 24-bit word, then padding.
fn push(text: &mut String, alphabet: Alphabet, word: u32, count: usize) {
    for (index, shift) in [18_u32, 12, 6, 0].into_iter().enumerate() {
        text.push(if index < count { character(alphabet, (word >> shift) & 0x3F) } else { '=' });
    }
}

fn character(alphabet: Alphabet, value: u32) -> char {
    const SHARED: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    match (value, alphabet) {
        (62, Alphabet::Standard) => '+',
        (63, Alphabet::Standard) => '/',
        (62, Alphabet::UrlSafe) => '-',
        (63, Alphabet::UrlSafe) => '_',
        _ => usize::try_from(value).ok().and_then(|at| SHARED.get(at)).map_or('=', |byte| char::from(*byte)),
    }
}

fn value(alphabet: Alphabet, character: u8) -> Option<u32> {
    let value = match (character, alphabet) {
        (b'A'..=b'Z', _) => character.wrapping_sub(b'A'),
        (b'a'..=b'z', _) => character.wrapping_sub(b'a').wrapping_add(26),
        (b'0'..=b'9', _) => character.wrapping_sub(b'0').wrapping_add(52),
        (b'+', Alphabet::Standard) | (b'-', Alphabet::UrlSafe) => 62,
        (b'/', Alphabet::Standard) | (b'_', Alphabet::UrlSafe) => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_known_texts() {
        assert_eq!(encode(Alphabet::Standard, b""), "");
        assert_eq!(encode(Alphabet::Standard, b"f"), "Zg==");
        assert_eq!(encode(Alphabet::Standard, b"fo"), "Zm8=");
        assert_eq!(encode(Alphabet::Standard, b"foo"), "Zm9v");
        assert_eq!(encode(Alphabet::Standard, &[0x09, 0x02]), "CQI=");
        assert_eq!(encode(Alphabet::Standard, &[0xFB, 0xFF]), "+/8=");
        assert_eq!(encode(Alphabet::UrlSafe, &[0xFB, 0xFF]), "-_8=");
    }

    #[test]
    fn refuses_what_it_cannot_have_written() {
        for text in ["Z", "Zg=", "Zh==", "Zm9=", "Z===", "=", "Zg==Zg==", "Zm 8", "+/8="] {
            assert_eq!(decode(Alphabet::UrlSafe, text), None, "{text}");
        }
        assert_eq!(decode(Alphabet::UrlSafe, "Zg").as_deref(), Some(&b"f"[..]));
    }

    proptest! {
        #[test]
        fn round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..100), url in any::<bool>()) {
            let alphabet = if url { Alphabet::UrlSafe } else { Alphabet::Standard };
            prop_assert_eq!(decode(alphabet, &encode(alphabet, &bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_read_without_panic(text in ".*") {
            if let Some(bytes) = decode(Alphabet::Standard, &text) {
                prop_assert!(encode(Alphabet::Standard, &bytes).starts_with(text.trim_end_matches('=')));
            }
        }
    }
}
