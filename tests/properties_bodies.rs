//! JSON bodies of every kind under any input: nothing is lost, nothing panics, and the limits hold.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rocketry_codec::WireErrorKind;
use rocketry_codec::body::packed;
use rocketry_codec::json::{self, JsonWriter, Key, ToJson, Value};
use rocketry_codec::limits::Limits;
use rocketry_testkit::bodies::{self, Kind};
use rocketry_testkit::{fuzz, vectors};

/// A kind of body and a text of it.
fn samples() -> Vec<(Kind, String)> {
    let lines = vectors::load("bodies.jsonl").into_iter().chain(vectors::load("body-samples.jsonl"));
    let samples: Vec<(Kind, String)> = lines
        .filter_map(|line| {
            let class = line["type"].as_str()?.trim_end_matches("ForC");
            Some((bodies::kind(class)?, line["text"].as_str()?.to_owned()))
        })
        .collect();
    assert!(bodies::ALL.iter().all(|kind| samples.iter().any(|(sample, _)| sample.class == kind.class)));
    samples
}

/// Draws numbers from a seed, so that one seed gives one text.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 33)
    }

    fn text(&mut self) -> String {
        const PARTS: &[&str] =
            &["a", "\u{0}", "\"", "\\", "é", "中", "😀", "/", "{", ":", "$", "\u{2028}", "\u{7f}", " "];
        // The number makes it differ from all others, so that sets keep their size.
        let mut text = self.next().to_string();
        for _ in 0..self.next() % 8 {
            text.push_str(PARTS[usize::try_from(self.next()).unwrap_or(0) % PARTS.len()]);
        }
        text
    }
}

/// The same shape with other leaves: numbers, texts and truth values are drawn, members and entries stay.
fn redraw(value: &Value<'_>, draw: &mut Draw, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(_) => out.push_str(if draw.next().is_multiple_of(2) { "true" } else { "false" }),
        Value::Number(old) if old.contains('.') => {
            let number = f64::from_bits(draw.next());
            let mut text = JsonWriter::new();
            if number.is_finite() { number } else { 0.25 }.write_json(&mut text);
            out.push_str(&text.finish());
        }
        Value::Number(_) => out.push_str(&draw.next().cast_signed().wrapping_rem(1 << 31).to_string()),
        Value::Text(_) => {
            let mut text = JsonWriter::new();
            text.string(&draw.text());
            out.push_str(&text.finish());
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                redraw(item, draw, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (index, member) in object.members().iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                match &member.key {
                    // A name, or the key of a map, which cannot be told apart here.
                    Key::Text(name) if name.parse::<i64>().is_ok() => out.push_str(name),
                    Key::Text(name) => out.push_str(&format!("{name:?}")),
                    Key::Object(key) => redraw(&Value::Object(key.clone()), draw, out),
                }
                out.push(':');
                redraw(&member.value, draw, out);
            }
            out.push('}');
        }
    }
}

/// The value with its arrays sorted: most stand for sets.
fn sorted(value: &Value<'_>) -> String {
    match value {
        Value::Array(items) => {
            let mut items: Vec<String> = items.iter().map(sorted).collect();
            items.sort();
            format!("[{}]", items.join(","))
        }
        Value::Object(object) => {
            let key = |key: &Key<'_>| match key {
                Key::Text(text) => text.to_string(),
                Key::Object(object) => sorted(&Value::Object(object.clone())),
            };
            let mut members: Vec<String> = object
                .members()
                .iter()
                .map(|member| format!("{}:{}", key(&member.key), sorted(&member.value)))
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        other => format!("{other:?}"),
    }
}

/// Texts that look like bodies: parts of samples, names, brackets.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "0",
        "-1",
        "1e9",
        "null",
        "true",
        "\"",
        "\"a\"",
        "{\"$ref\":\"$\"}",
        "\"$ref\"",
        "\"$.offsetTable\"",
        "\"offsetTable\"",
        "\"brokerDatas\"",
        "\"brokerName\"",
        "\"queueId\"",
        "\"topic\"",
        "\"mqTable\"",
        "\"brokerAddrs\"",
        "\"queueDatas\"",
        "\"perm\"",
        "2147483647",
        "/*",
        "*/",
        "\\u",
        "é",
        " ",
    ];
    let cut = (select(samples()), any::<prop::sample::Index>()).prop_map(|((_, text), at)| {
        let at = at.index(text.len());
        text.as_bytes()[..at].to_vec()
    });
    let part = prop_oneof![8 => select(PARTS).prop_map(|part| part.as_bytes().to_vec()), 1 => cut, 1 => vec(any::<u8>(), 0..4)];
    vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn nothing_of_a_body_is_lost((kind, text) in select(samples()), seed in any::<u64>()) {
        let sample = json::read(text.as_bytes(), &Limits::DEFAULT).expect("a sample");
        let mut drawn = String::new();
        redraw(&sample, &mut Draw(seed), &mut drawn);
        let again = (kind.transcode)(drawn.as_bytes(), &Limits::DEFAULT);
        let again = again.unwrap_or_else(|error| panic!("{}: {error} in {drawn}", kind.class));
        let mut wanted = json::read(drawn.as_bytes(), &Limits::DEFAULT).map(|value| sorted(&value)).expect("what was drawn");
        let mut found = json::read(again.as_bytes(), &Limits::DEFAULT).map(|value| sorted(&value)).expect("what was written");
        if kind.class == "ResetOffsetBody" {
            // Read as a list too, written as a map always.
            for text in [&mut wanted, &mut found] {
                let mut leaves: Vec<&str> = text.split(['{', '}', ',', '[', ']']).collect();
                leaves.retain(|leaf| leaf.contains("Text("));
                leaves.sort_unstable();
                *text = leaves.join(",");
            }
        }
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn any_bytes_are_read_or_refused(kind in select(bodies::ALL), bytes in vec(any::<u8>(), 0..256)) {
        if let Ok(text) = (kind.transcode)(&bytes, &Limits::DEFAULT) {
            prop_assert!(json::read(text.as_bytes(), &Limits::DEFAULT).is_ok());
        }
    }

    #[test]
    fn texts_that_are_nearly_bodies_are_read_or_refused(first in any::<u8>(), text in nearly_json()) {
        let mut data = vec![first];
        data.extend_from_slice(&text);
        fuzz::json_body(&data);
        fuzz::route_body(&text);
    }

    #[test]
    fn a_packed_registration_is_read_or_refused(cut in any::<prop::sample::Index>(), change in any::<u8>()) {
        let line = vectors::load("body-samples.jsonl").into_iter().find(|line| line["type"] == "RegisterBrokerBody.packed");
        let mut bytes = vectors::hex(&line.expect("a sample")["bytes"]);
        let at = cut.index(bytes.len());
        if let Ok(body) = packed::decode(&bytes[..at], &Limits::DEFAULT) {
            // Cut where brokers before 5.0 end.
            prop_assert_eq!(body.topics.mapping_info, None);
        }
        bytes[at] ^= change;
        if let Ok(body) = packed::decode(&bytes, &Limits::DEFAULT) {
            let again = Bytes::from(packed::encode(&body));
            prop_assert_eq!(packed::decode(&again, &Limits::DEFAULT), Ok(body));
        }
    }
}

/// The smallest limit with which a body is read; one less must be refused for that reason.
fn holds(kind: &Kind, text: &str, what: &'static str, limit_of: impl Fn(&mut Limits) -> &mut usize) {
    let reads = |limit| {
        let mut limits = Limits::DEFAULT;
        *limit_of(&mut limits) = limit;
        (kind.transcode)(text.as_bytes(), &limits)
    };
    let smallest = (0..10_000).find(|limit| reads(*limit).is_ok()).expect("a limit that is large enough");
    assert!(smallest > 0, "{}: nothing is limited", kind.class);
    for limit in 0..smallest {
        let error = reads(limit).expect_err("below what is needed").kind;
        let expected = WireErrorKind::TooLarge { what, found: limit as u64 + 1, limit: limit as u64 };
        assert_eq!(error, expected, "{}", kind.class);
    }
}

#[test]
fn every_body_is_read_at_its_limits_and_refused_one_below() {
    for (kind, text) in samples() {
        holds(&kind, &text, "json depth", |limits| &mut limits.json_depth);
        holds(&kind, &text, "json values", |limits| &mut limits.json_values);
    }
}
