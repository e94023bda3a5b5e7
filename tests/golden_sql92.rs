//! SQL92 expressions against the values of Apache's own parser and evaluation.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use rocketry_codec::filter::{SqlErrorKind, SqlExpression};
use rocketry_testkit::vectors::load;
use serde_json::{Value, json};

#[test]
fn every_expression_compiles_and_evaluates_as_in_java() {
    let (mut refused, mut evaluated) = (0, 0);
    for line in load("sql92.jsonl") {
        let text = line["expression"].as_str().expect("an expression");
        let compiled = SqlExpression::parse(text);
        if line["compileError"] == json!(true) {
            let error = compiled.expect_err(text);
            assert!(error.position <= text.len() && text.is_char_boundary(error.position), "{text}: {error}");
            refused += 1;
            continue;
        }
        let compiled = compiled.unwrap_or_else(|error| panic!("{text}: {error}"));
        let again = SqlExpression::parse(&compiled.to_string()).expect(text);
        assert_eq!(again, compiled, "{text} is printed as {compiled}");
        for case in line["cases"].as_array().expect(text) {
            let properties = &case["properties"];
            let result = match compiled.evaluate(|name| properties[name].as_str()) {
                Ok(result) => json!(result),
                Err(_) => json!("non-boolean:error"),
            };
            assert_eq!(result, case["result"], "{text} of {properties}");
            let matches = compiled.matches(|name| properties[name].as_str());
            assert_eq!(Value::from(matches), json!(case["result"] == json!(true)), "{text} of {properties}");
            evaluated += 1;
        }
    }
    assert!(refused > 15 && evaluated > 500, "{refused} refused, {evaluated} evaluated");
}

#[test]
fn errors_have_a_position_and_a_reason() {
    let cases = [
        ("", 0, SqlErrorKind::Empty),
        (" /* nothing */ ", 0, SqlErrorKind::Empty),
        ("a = 'x", 4, SqlErrorKind::Character('\'')),
        ("a ＞ 5", 2, SqlErrorKind::Character('＞')),
        ("a > 5 AND", 9, SqlErrorKind::Expected("a value, a property or a parenthesis")),
        ("b IN ('x',)", 10, SqlErrorKind::Expected("a text in single quotes")),
        ("a > 9223372036854775808", 4, SqlErrorKind::IntegerRange),
        ("a > 0.0", 4, SqlErrorKind::FloatRange),
        ("a > 1e999", 4, SqlErrorKind::FloatRange),
        ("a = NULL", 4, SqlErrorKind::NullCompared),
        ("a > 'x'", 4, SqlErrorKind::NoOrder),
        ("(a = 1) > 5", 1, SqlErrorKind::NoOrder),
        ("a BETWEEN 10 AND 0", 10, SqlErrorKind::Bounds),
        ("NOT a IN ('x')", 0, SqlErrorKind::InNeedsProperty),
        ("5", 0, SqlErrorKind::NotBoolean),
        ("a = 1 AND 'x'", 10, SqlErrorKind::NotBoolean),
    ];
    for (text, position, reason) in cases {
        let error = SqlExpression::parse(text).expect_err(text);
        assert_eq!((error.position, error.reason), (position, reason), "{text}: {error}");
    }
}

#[test]
fn what_brokers_ignore_is_told() {
    assert_eq!(SqlExpression::parse("a LIKE 'x%'").unwrap().ignored(), Some(2));
    assert_eq!(SqlExpression::parse("a = 1 b").unwrap().ignored(), Some(6));
    assert_eq!(SqlExpression::parse("a = 1 -- b\n").unwrap().ignored(), None);
}

#[test]
fn length_and_depth_are_bounded() {
    let nested = |depth: usize| format!("{}a = 1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(SqlExpression::parse(&nested(127)).is_ok());
    let reason = |text: &str| SqlExpression::parse(text).map(|_| ()).map_err(|error| error.reason);
    assert_eq!(reason(&nested(128)), Err(SqlErrorKind::TooDeep));
    assert_eq!(reason(&"(".repeat(60_000)), Err(SqlErrorKind::TooDeep));
    assert_eq!(reason(&"NOT ".repeat(10_000)), Err(SqlErrorKind::TooDeep));
    assert_eq!(reason(&format!("a{}", " IS NULL".repeat(129))), Err(SqlErrorKind::TooDeep));
    // Beside each other, operands are no deeper.
    let long = format!("a = 1{}", " OR b = 22".repeat(6_000));
    assert!(SqlExpression::parse(&long).is_ok());
    let spaces = |count: usize| format!("a = 1{}", " ".repeat(count));
    assert_eq!(reason(&spaces(65_536 - 5)), Ok(()));
    assert_eq!(reason(&spaces(65_536 - 4)), Err(SqlErrorKind::TooLong));
}
