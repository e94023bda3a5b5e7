use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::*;

fn head(text: &str) -> Vec<u8> {
    [&[0; 8], text.as_bytes()].concat()
}

fn read(text: &str) -> Result<Parsed, WireError> {
    parse(&head(text), &Limits::DEFAULT)
}

fn fields(text: &str) -> Vec<(String, String)> {
    let head = head(text);
    let parsed = parse(&head, &Limits::DEFAULT).unwrap();
    let block = parsed.fields.of(&head).unwrap_or_default();
    Fields::new(Encoding::Json, block, 0)
        .map(|field| (field.name.to_string(), field.value.text().to_string()))
        .collect()
}

#[test]
fn members_in_any_order_with_unknown_ones_between() {
    let parsed = read(
        " { \"version\" : 2147483647,\n\"x\":[1,{\"code\":9},\"]\"],\"opaque\":\"5\",\"language\":\"ZIG\",\
         \"flag\":7,\"code\":105,\"remark\":null } ",
    )
    .unwrap();
    assert_eq!((parsed.code, parsed.opaque, parsed.version, parsed.flag), (105, 5, i32::MAX, 7));
    assert_eq!(parsed.language, Language::UNNAMED);
    assert_eq!(language_text(&head("{\"x\":{\"language\":1},\"language\":\"Z\\u0049G\"} ")), "ZIG");
    assert_eq!(language_text(&head("{\"language\":null}")), "");
    assert_eq!((parsed.remark, parsed.fields), (Span::NONE, Span::NONE));
}

#[test]
fn absent_members_have_their_defaults() {
    let parsed = read("{}").unwrap();
    assert_eq!((parsed.code, parsed.opaque, parsed.version, parsed.flag), (0, 0, 0, 0));
    assert_eq!(parsed.language, Language::JAVA);
}

#[test]
fn the_last_of_equal_members_wins() {
    assert_eq!(read("{\"code\":1,\"code\":2}").unwrap().code, 2);
    assert_eq!(fields("{\"extFields\":{\"a\":\"1\"},\"extFields\":{\"b\":\"2\"}}"), [("b".into(), "2".into())]);
}

#[test]
fn field_values_of_every_type() {
    let found = fields(
        "{\"extFields\":{\"n\":1.50,\"t\":true,\"z\":null,\"o\":{\"k\":[1,2]},\"s\":\"\\u0001\\/\\ud834\\udd1e\\ud800x\"}}",
    );
    let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(found, [("n", "1.50"), ("t", "true"), ("o", "{\"k\":[1,2]}"), ("s", "\u{1}/\u{1d11e}\u{fffd}x")]);
}

#[test]
fn names_with_escapes_are_resolved() {
    assert_eq!(fields("{\"extFields\":{\"\\u0061b\":\"v\"}}"), [("ab".into(), "v".into())]);
}

#[test]
fn refused_headers() {
    for refused in [
        "",
        " ",
        "[]",
        "null",
        "1",
        "{",
        "{\"code\"",
        "{\"code\":",
        "{\"code\":1",
        "{\"code\":1}x",
        "{\"code\":1,}",
        "{\"code\":2147483648}",
        "{\"code\":-2147483649}",
        "{\"code\":1.0}",
        "{\"code\":true}",
        "{code:1}",
        "{'code':1}",
        "{\"extFields\":{0:\"z\"}}",
        "{\"extFields\":[]}",
        "{\"extFields\":{\"a\":\"\\x\"}}",
        "{\"extFields\":{\"a\":\"\\u12g4\"}}",
        "{\"extFields\":{\"a\"}}",
        "{\"extFields\":{\"a\":}}",
        "{\"language\":300}",
        "{\"x\":tru}",
        "{\"x\":[1 2]}",
        "{\"x\":{\"a\":1]}",
        "{\"remark\":{}}",
    ] {
        assert!(read(refused).is_err(), "{refused}");
    }
}

#[test]
fn depth_and_count_are_limited() {
    let nested = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(64)).is_ok());
    assert!(read(&nested(65)).is_err());
    assert!(read(&nested(100_000)).is_err());
    let many = |count: usize| format!("{{\"extFields\":{{{}}}}}", std::vec!["\"a\":\"1\""; count].join(","));
    assert!(read(&many(1024)).is_ok());
    assert!(read(&many(1025)).is_err());
}

#[test]
fn invalid_utf8_is_refused_with_its_place() {
    let mut bytes = head("{\"remark\":\"ab\"}");
    bytes[20] = 0xFF;
    assert_eq!(parse(&bytes, &Limits::DEFAULT), Err(WireError::not_utf8("JSON header", 20)));
}
