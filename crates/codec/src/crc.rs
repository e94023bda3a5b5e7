//! Checksums of message bodies (wire 6.3).
//!
//! RocketMQ keeps the low 31 bits of the usual CRC-32 so that the value is never negative in a signed word.

/// Standard CRC-32 (IEEE) of `bytes` with the top bit cleared, as stored beside a message body.
///
/// The checksum of a stored message covers the body as stored, compressed or not.
#[must_use]
pub fn body_crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes) & 0x7FFF_FFFF
}

/// Number of characters of a [`crc_property`] value.
pub const CRC_PROPERTY_LEN: usize = 10;

/// The value of the `__CRC32#` property for a checksum: ten decimal digits, least significant first, padded with `0`.
#[must_use]
pub fn crc_property(crc: u32) -> [u8; CRC_PROPERTY_LEN] {
    let mut rest = crc;
    let mut text = [b'0'; CRC_PROPERTY_LEN];
    for digit in &mut text {
        *digit = b'0'.wrapping_add((rest % 10).to_le_bytes()[0]);
        rest /= 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_to_31_bits() {
        assert_eq!(body_crc(b"hello"), 907_060_870);
        assert_eq!(body_crc(b""), 0);
        assert_eq!(body_crc(b"a"), 0xE8B7_BE43 & 0x7FFF_FFFF);
    }

    #[test]
    fn property_is_least_significant_digit_first() {
        assert_eq!(&crc_property(907_060_870), b"0780607090");
        assert_eq!(&crc_property(7), b"7000000000");
    }
}
