//! Bytes as hexadecimal text.

use crate::lines::LineError;

/// The bytes of a text; the offset of an error counts in bytes of the result.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, LineError> {
    let digits = text.as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.chunks(2) {
        let value = match pair {
            [high, low] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
            _ => return Err(LineError::new("an odd number of hexadecimal digits", bytes.len())),
        };
        bytes.push(value.ok_or_else(|| LineError::new("not a hexadecimal digit", bytes.len()))?);
    }
    Ok(bytes)
}

fn digit(character: u8) -> Option<u8> {
    char::from(character).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The text of bytes, in lower case.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        assert_eq!(decode("00ffA5"), Ok(vec![0, 255, 0xa5]));
        assert_eq!(encode(&[0, 255, 0xa5]), "00ffa5");
        assert_eq!(decode(""), Ok(Vec::new()));
        assert_eq!(decode("00f").unwrap_err().offset, 1);
        assert_eq!(decode("00fg00").unwrap_err().offset, 1);
        assert_eq!(decode("é0").unwrap_err().offset, 0);
    }
}
