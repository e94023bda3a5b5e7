//! Floating-point numbers as Java's `Double.toString` writes them.

use alloc::format;
use alloc::string::String;

/// The text of a number: plain from 10^-3 up to 10^7, with an exponent elsewhere, always with a digit behind the point.
/// What is no number is `null`, as fastjson has it.
pub(super) fn text(value: f64) -> String {
    if !value.is_finite() {
        return String::from("null");
    }
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    // Rust writes 1.5e10 and 1e10 where Java writes 1.5E10 and 1.0E10; both take the shortest digits that read back.
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_java() {
        // Each text is what `Double.toString` gives.
        let texts = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.5, "1.5"),
            (100.0, "100.0"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (123_456_789.125, "1.23456789125E8"),
            (1e-3, "0.001"),
            (9.99e-4, "9.99E-4"),
            (1e21, "1.0E21"),
            (2e23, "2.0E23"),
            (f64::MAX, "1.7976931348623157E308"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
        ];
        for (value, expected) in texts {
            assert_eq!(text(value), expected);
        }
    }
}
