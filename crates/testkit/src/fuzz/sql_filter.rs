//! SQL92 expressions: what compiles is printed so that it compiles to the same, and means the same for every message.

use rocketry_codec::filter::{MAX_BYTES, SqlExpression};
use rocketry_codec::message::PropertiesView;

/// Reads the input as an expression, and what follows a NUL as the properties of a message.
///
/// # Panics
/// Where an error has no place in the text, where printing changes an expression or its value, or where a message
/// matches an expression that is not true for it.
pub fn sql_filter(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let Some(Ok(text)) = parts.next().map(std::str::from_utf8) else { return };
    let message = PropertiesView::new(parts.next().unwrap_or_default());
    let compiled = match SqlExpression::parse(text) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(text.is_char_boundary(error.position), "{error} in {text:?}");
            return;
        }
    };
    assert!(compiled.ignored().is_none_or(|at| at < text.len() && text.is_char_boundary(at)));
    let value = compiled.evaluate(|name| message.get(name));
    assert_eq!(compiled.matches(|name| message.get(name)), value == Ok(Some(true)));
    let printed = compiled.to_string();
    if printed.len() > MAX_BYTES {
        return;
    }
    let again =
        SqlExpression::parse(&printed).unwrap_or_else(|error| panic!("{text:?} is printed {printed:?}: {error}"));
    assert_eq!(again, compiled, "{text:?} is printed {printed:?}");
    assert_eq!(again.ignored(), None, "{text:?} is printed {printed:?}");
    assert_eq!(again.evaluate(|name| message.get(name)), value, "{text:?} is printed {printed:?}");
}
