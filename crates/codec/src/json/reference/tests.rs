use std::string::ToString;

use super::super::{JsonWriter, ToJson, read};
use super::*;
use crate::error::WireErrorKind;
use crate::limits::Limits;

fn resolved(text: &str) -> String {
    let value = read(text.as_bytes(), &Limits::DEFAULT).expect(text);
    let mut out = JsonWriter::new();
    value.write_json(&mut out);
    out.finish()
}

fn refused(text: &str, limits: &Limits) -> WireErrorKind {
    read(text.as_bytes(), limits).expect_err("a refusal").kind
}

#[test]
fn a_repeated_value_is_written_out() {
    let text = r#"{"statsDay":{"sum":1},"statsHour":{"$ref":"$.statsDay"}}"#;
    assert_eq!(resolved(text), r#"{"statsDay":{"sum":1},"statsHour":{"sum":1}}"#);
    assert_eq!(resolved(r#"[[{"a":1}],{"$ref":"$[0][0]"}]"#), r#"[[{"a":1}],{"a":1}]"#);
    assert_eq!(resolved(r#"{"a":[{"b":[7]}],"c":{"$ref":"$.a[0].b"}}"#), r#"{"a":[{"b":[7]}],"c":[7]}"#);
}

#[test]
fn names_with_other_characters_are_found_with_and_without_escapes() {
    let client = r#""10.0.0.1@12#3""#;
    for path in [r"$.t.10\\.0\\.0\\.1\\@12\\#3", "$.t.10.0.0.1@12#3"] {
        let text = format!(r#"{{"t":{{"10":{{}},{client}:{{"x":1}}}},"u":{{"$ref":"{path}"}}}}"#);
        assert!(resolved(&text).ends_with(r#""u":{"x":1}}"#), "{text}");
    }
}

#[test]
fn a_queue_in_key_position_is_found_by_its_text() {
    // As Java writes a table of two queues with the same value.
    let first = r#"{"brokerName":"b","queueId":2,"topic":"t"}"#;
    let second = r#"{"brokerName":"b","queueId":1,"topic":"t"}"#;
    let path = r"$.offsetTable.MessageQueue\\ \\[topic\\=t\\,\\ brokerName\\=b\\,\\ queueId\\=2\\]";
    let text = format!(r#"{{"offsetTable":{{{first}:{{"maxOffset":9}},{second}:{{"$ref":"{path}"}}}}}}"#);
    let expected = format!(r#"{{"offsetTable":{{{first}:{{"maxOffset":9}},{second}:{{"maxOffset":9}}}}}}"#);
    assert_eq!(resolved(&text), expected);
}

#[test]
fn a_key_that_is_a_reference_is_found_where_only_one_can_be_meant() {
    let one = r#"{"mqPopTable":{{"queueId":1}:{}},"mqTable":{{"$ref":"$.mqPopTable.null"}:5}}"#;
    assert_eq!(resolved(one), r#"{"mqPopTable":{{"queueId":1}:{}},"mqTable":{{"queueId":1}:5}}"#);
    let two = r#"{"mqPopTable":{{"queueId":1}:{},{"queueId":2}:{}},"mqTable":{{"$ref":"$.mqPopTable.null"}:5}}"#;
    assert_eq!(resolved(two), r#"{"mqPopTable":{{"queueId":1}:{},{"queueId":2}:{}},"mqTable":{}}"#);
    // A member of that name is not taken for one.
    assert_eq!(resolved(r#"{"a":{"null":[1]},"b":{"$ref":"$.a.null"}}"#), r#"{"a":{"null":[1]},"b":[1]}"#);
}

#[test]
fn what_leads_nowhere_is_null() {
    for path in ["$.x", "$[0]", "$.a[1]", "$.a[x]", "$.a.b", "..", "@", "", "$a", "$.n", r"$.\\"] {
        let text = format!(r#"{{"a":[1],"n":7,"r":{{"$ref":"{path}"}}}}"#);
        assert_eq!(resolved(&text), r#"{"a":[1],"n":7,"r":null}"#, "{path}");
    }
    assert_eq!(resolved(r#"{"a":{"$ref":7}}"#), r#"{"a":{"$ref":7}}"#);
}

#[test]
fn a_text_that_contains_itself_is_refused() {
    for text in [r#"{"a":{"$ref":"$"}}"#, r#"{"a":{"$ref":"$.b"},"b":{"$ref":"$.a"}}"#, r#"{"$ref":"$"}"#] {
        assert_eq!(
            refused(text, &Limits::DEFAULT),
            WireErrorKind::TooLarge { what: "json depth", found: 65, limit: 64 }
        );
    }
    let wide = r#"[{"$ref":"$"},{"$ref":"$"},{"$ref":"$"}]"#;
    assert!(matches!(refused(wide, &Limits::DEFAULT), WireErrorKind::TooLarge { .. }));
}

#[test]
fn references_add_up_to_their_limit_and_no_more() {
    let mut text = r#"{"a":["0123456789"]"#.to_string();
    for name in ["b", "c", "d"] {
        text.push_str(&format!(r#","{name}":{{"$ref":"$.a"}}"#));
    }
    text.push('}');
    // A reference: one step, four members looked through, an array and a text of ten bytes.
    let cost = 3 * (1 + 4 + 16 + 16 + 10);
    let limits = |json_references| Limits { json_references, ..Limits::DEFAULT };
    assert!(read(text.as_bytes(), &limits(cost)).is_ok());
    let what = "json references";
    let kind = WireErrorKind::TooLarge { what, found: cost as u64, limit: cost as u64 - 1 };
    assert_eq!(refused(&text, &limits(cost - 1)), kind);
}

#[test]
fn references_to_references_do_not_multiply_beyond_the_limit() {
    let mut text = r#"{"a0":[1,2,3,4]"#.to_string();
    for level in 1..40 {
        let of = level - 1;
        text.push_str(&format!(r#","a{level}":[{{"$ref":"$.a{of}"}},{{"$ref":"$.a{of}"}}]"#));
    }
    text.push('}');
    assert!(matches!(refused(&text, &Limits::DEFAULT), WireErrorKind::TooLarge { what: "json references", .. }));
}
