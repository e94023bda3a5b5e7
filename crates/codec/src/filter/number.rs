//! Numbers as Java reads them from a property, and their order.

use core::cmp::Ordering;

/// A text as a 32-bit or 64-bit integer: digits with one sign at most, and nothing else.
pub(super) fn integer<N: core::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

/// A text as a 64-bit floating-point number: blanks around it, a sign, `NaN`, `Infinity` and a type letter at the end are
/// taken, as Java does.
pub(super) fn double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|character| character <= ' ');
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, text.get(1..)?),
        Some(b'+') => (1.0, text.get(1..)?),
        _ => (1.0, text),
    };
    match digits {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(sign * f64::INFINITY),
        _ => {}
    }
    let digits = digits.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(digits);
    // What is left may hold nothing of the other names that Rust takes.
    let is_plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_plain || digits.starts_with(['+', '-']) {
        return None;
    }
    digits.parse::<f64>().ok().map(|value| sign * value)
}

/// Java's order of floating-point numbers: -0.0 is below 0.0, and NaN is equal to itself and above everything.
pub(super) fn compare(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => left.total_cmp(&right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_as_in_java() {
        for (text, value) in [("1", 1.0), (" 1.5\t", 1.5), (".5", 0.5), ("5.", 5.0), ("-1e3d", -1000.0), ("+2f", 2.0)] {
            assert_eq!(double(text), Some(value), "{text}");
        }
        assert_eq!(double("-Infinity"), Some(f64::NEG_INFINITY));
        assert!(double("-NaN").is_some_and(f64::is_nan));
        for text in ["", " ", "inf", "nan", "infinity", "+-1", "1e", "1 2", ".", "e5", "abc", "--1", "1ff"] {
            assert_eq!(double(text), None, "{text}");
        }
    }

    #[test]
    fn integers_as_in_java() {
        assert_eq!(integer::<i32>("+5"), Some(5));
        assert_eq!(integer::<i32>("-2147483648"), Some(i32::MIN));
        for text in ["", "+", " 1", "1.0", "2147483648", "1l"] {
            assert_eq!(integer::<i32>(text), None, "{text}");
        }
    }

    #[test]
    fn order_of_odd_numbers() {
        assert_eq!(compare(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(compare(1.0, f64::NAN), Ordering::Less);
        assert_eq!(compare(-0.0, 0.0), Ordering::Less);
    }
}
