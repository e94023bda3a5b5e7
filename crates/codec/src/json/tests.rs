use std::borrow::ToOwned;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::error::{WireError, WireErrorKind};
use crate::limits::Limits;

fn again(text: &str) -> Result<String, WireError> {
    let value = read(text.as_bytes(), &Limits::DEFAULT)?;
    let mut out = JsonWriter::new();
    value.write_json(&mut out);
    Ok(out.finish())
}

fn refused(text: &str) -> WireError {
    read(text.as_bytes(), &Limits::DEFAULT).expect_err(text)
}

#[test]
fn what_fastjson_writes_is_read() {
    let texts = [
        r#"{"a":1,"b":-2,"c":1.5E10,"d":true,"e":null,"f":[],"g":{}}"#,
        r#"{{"queueId":1}:{"x":[1,[2]]},{{"y":1}:2}:3}"#,
        "[\"\\u0000\\u000B\\u007F\\u009F\\u2028\\b\\t\\n\\f\\r\\\"\\\\/é中😀\"]",
        "7",
        "\"text\"",
        "null",
    ];
    for text in texts {
        assert_eq!(again(text).as_deref(), Ok(text));
    }
}

#[test]
fn what_others_write_is_read_too() {
    let texts = [
        (" { \"a\" :\t1 ,\r\n\"b\": [ 1 , 2 ] } ", r#"{"a":1,"b":[1,2]}"#),
        ("{0:\"a\",-1:\"b\",1.5:\"c\"}", r#"{"0":"a","-1":"b","1.5":"c"}"#),
        ("{a:1,$b_c:2,'d':'e'}", r#"{"a":1,"$b_c":2,"d":"e"}"#),
        ("/* one */{/* two */\"a\"/**/:/* * / */1,}/*3*/", r#"{"a":1}"#),
        ("[,1,,2,]", "[1,2]"),
        (r#""\u00e9\uD83D\uDE00\/\'\0""#, "\"é😀/'\\u0000\""),
        (r#""\uD83D""#, "\"\u{fffd}\""),
        (r#""\uD83D\u0041""#, "\"\u{fffd}A\""),
        (r#""\uDE00x""#, "\"\u{fffd}x\""),
        ("\u{feff}{}", "{}"),
    ];
    for (text, expected) in texts {
        assert_eq!(again(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let invalid = [
        ("{} x", 3),
        ("{\"a\" 1}", 5),
        ("[1 2]", 3),
        ("tru", 0),
        ("-", 0),
        ("[01x]", 3),
        ("1.", 1),
        ("{\"a\":}", 5),
        ("\"\\q\"", 2),
        ("\"\\u12g4\"", 3),
        ("{:1}", 1),
        ("]", 0),
        ("[1}", 2),
    ];
    for (text, offset) in invalid {
        let error = refused(text);
        assert!(matches!(error.kind, WireErrorKind::Invalid(_)), "{text}: {error}");
        assert_eq!(error.offset, offset, "{text}: {error}");
    }
    for text in ["", " ", "{", "[", "[1", "{\"a\"", "{\"a\":", "{\"a\":1", "\"a", "\"a\\", "\"\\u12", "/* x", "{a"] {
        let error = refused(text);
        assert!(matches!(error.kind, WireErrorKind::Truncated(_)), "{text}: {error}");
        assert_eq!(error.offset, text.len() - if text == "/* x" { 4 } else { 0 }, "{text}: {error}");
    }
    assert_eq!(read(b"[\"\xff\"]", &Limits::DEFAULT), Err(WireError::not_utf8("json", 2)));
}

#[test]
fn depth_is_limited_in_every_form() {
    let limits = Limits { json_depth: 3, ..Limits::DEFAULT };
    for (within, beyond) in [
        ("[[[]]]", "[[[[]]]]"),
        ("{0:{0:{}}}", "{0:{0:{0:{}}}}"),
        ("{{{}:1}:1}", "{{{{}:1}:1}:1}"),
        ("[{{}:1}]", "[{{0:[]}:1}]"),
    ] {
        assert!(read(within.as_bytes(), &limits).is_ok(), "{within}");
        let kind = read(beyond.as_bytes(), &limits).expect_err(beyond).kind;
        assert_eq!(kind, WireErrorKind::TooLarge { what: "json depth", found: 4, limit: 3 });
    }
    // Whatever the limits say, the stack bears it.
    let limits = Limits { json_depth: usize::MAX, ..Limits::DEFAULT };
    let kind = read("[".repeat(100_000).as_bytes(), &limits).expect_err("too deep").kind;
    assert_eq!(kind, WireErrorKind::TooLarge { what: "json depth", found: 513, limit: 512 });
}

#[test]
fn values_are_limited_and_keys_count() {
    let limits = Limits { json_values: 5, ..Limits::DEFAULT };
    for (within, beyond) in
        [("[1,2,3,4]", "[1,2,3,4,5]"), ("{a:[1,2],b:3}", "{a:[1,2],b:3,c:4}"), ("{{}:1,{}:2}", "{{}:1,{}:2,{}:3}")]
    {
        assert!(read(within.as_bytes(), &limits).is_ok(), "{within}");
        let kind = read(beyond.as_bytes(), &limits).expect_err(beyond).kind;
        assert_eq!(kind, WireErrorKind::TooLarge { what: "json values", found: 6, limit: 5 });
    }
}

#[test]
fn the_last_of_equal_members_counts() {
    let value = read(br#"{"a":1,"a":2,{"b":1}:3}"#, &Limits::DEFAULT).expect("an object");
    assert_eq!(value.as_object().and_then(|object| object.get("a")), Some(&Value::Number("2")));
    assert_eq!(value.as_object().map(|object| object.members().len()), Some(3));
}

#[test]
fn numbers_are_taken_by_the_rule() {
    let number = |text: &str| i32::from_json(&read(text.as_bytes(), &Limits::DEFAULT).expect(text));
    for (text, expected) in [
        ("0", Some(0)),
        ("\"-5\"", Some(-5)),
        ("1.0", Some(1)),
        ("1e2", Some(100)),
        ("2147483647", Some(i32::MAX)),
        ("2147483648", None),
        ("1.5", None),
        ("\"x\"", None),
        ("\"\"", None),
        ("true", None),
        ("null", None),
        ("[1]", None),
        ("1e400", None),
    ] {
        assert_eq!(number(text), expected, "{text}");
    }
    let real = |text: &str| f64::from_json(&read(text.as_bytes(), &Limits::DEFAULT).expect(text));
    assert_eq!(real("\"1.5\""), Some(1.5));
    for text in ["\"NaN\"", "\"inf\"", "1e999"] {
        assert_eq!(real(text), None, "{text}");
    }
    assert_eq!(i64::from_json(&Value::Number("9007199254740993.0")), None);
    assert_eq!(i64::from_json(&Value::Number("9223372036854775807")), Some(i64::MAX));
}

#[test]
fn escapes_are_those_of_fastjson() {
    let written = |text: &str| {
        let mut out = JsonWriter::new();
        out.string(text);
        out.finish()
    };
    for code in (0..0x20).chain(0x7f..0xa0) {
        let character = char::from_u32(code).expect("a character");
        let short = match character {
            '\u{8}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{c}' => "\\f",
            '\r' => "\\r",
            _ => "",
        };
        let escape = if short.is_empty() { format!("\\u{code:04X}") } else { short.to_owned() };
        assert_eq!(written(&character.to_string()), format!("\"{escape}\""));
    }
    assert_eq!(written("\"\\\u{2028}\u{2029}"), r#""\"\\\u2028\u2029""#);
    let plain = "/'<>&éÿ\u{a0}\u{2027}中😀";
    assert_eq!(written(plain), format!("\"{plain}\""));
}

#[test]
fn the_standard_form_is_that_of_the_name_server() {
    let text = r#"{{"b":"/"}:"a/é中😀\u007F<>'&"}"#;
    let value = read(text.as_bytes(), &Limits::DEFAULT).expect("an object");
    let mut out = JsonWriter::standard();
    value.write_json(&mut out);
    assert_eq!(out.finish(), r#"{"{\"b\":\"\/\"}":"a\/\u00E9\u4E2D\uD83D\uDE00\u007F<>'&"}"#);
    let mut out = JsonWriter::standard();
    let exact = 9_007_199_254_740_991_i64;
    Vec::from([exact, -exact, exact + 1, -exact - 1]).write_json(&mut out);
    assert_eq!(out.finish(), r#"[9007199254740991,-9007199254740991,"9007199254740992","-9007199254740992"]"#);
}
