//! Where typed headers put their fields.

use super::Fields;

/// Takes the extension fields of a header that is being written.
pub trait FieldSink {
    /// A text field. `name` needs no escape: it is one of the declared names.
    fn text(&mut self, name: &'static str, value: &str);
    /// An integer field, written in decimal.
    fn int(&mut self, name: &'static str, value: i64);
    /// A boolean field, written as `true` or `false`.
    fn boolean(&mut self, name: &'static str, value: bool);
    /// A field whose name was not declared, as hooks and raw calls add them.
    fn extra(&mut self, name: &str, value: &str);
    /// Takes the rest of a walk as it is if it is in the encoding of this sink; says whether it did.
    fn raw(&mut self, fields: Fields<'_>) -> bool {
        let _ = fields;
        false
    }
}

/// The decimal text of `value` at the end of `digits`.
pub(crate) fn decimal(value: i64, digits: &mut [u8; 20]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut at = digits.len();
    for (index, slot) in digits.iter_mut().enumerate().rev() {
        let [digit, ..] = (rest % 10).to_le_bytes();
        *slot = digit.wrapping_add(b'0');
        at = index;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at = at.saturating_sub(1);
        if let Some(slot) = digits.get_mut(at) {
            *slot = b'-';
        }
    }
    digits.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::decimal;
    use std::string::ToString;

    #[test]
    fn decimals_are_those_of_the_standard_library() {
        for value in [0, 7, -7, 10, -10, 1_234_567_890, i64::MAX, i64::MIN, i64::MIN + 1] {
            assert_eq!(decimal(value, &mut [0; 20]), value.to_string().as_bytes());
        }
    }
}
