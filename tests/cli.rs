//! The `rocketry` binary from outside: what it prints and how it exits.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};

use rocketry_testkit::vectors;
use serde_json::{Value, json};

/// Runs the binary with lines on its standard input.
fn rocketry(args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocketry"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("its input");
    let input = input.to_owned();
    // From a thread of its own: it answers while it reads. One that refuses its arguments reads nothing.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
    let output = child.wait_with_output().expect("its end");
    writer.join().expect("the writer");
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The JSON lines that a run printed, and its exit code.
fn run(args: &[&str], input: &str) -> (Vec<Value>, i32) {
    let output = rocketry(args, input);
    let lines = text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    (lines, output.status.code().expect("an exit code"))
}

/// A golden line without what the command does not print.
fn expected(line: &Value) -> Value {
    let mut line = line.clone();
    let members = line.as_object_mut().expect("an object");
    members.remove("frame");
    members.remove("header");
    line
}

fn join<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn frames_decode_to_the_golden_values_and_back() {
    let vectors = vectors::load("commands.jsonl");
    let frames = join(vectors.iter().map(|line| line["frame"].as_str().expect("a frame")));
    let (decoded, code) = run(&["decode", "frames"], &frames);
    assert_eq!(code, 0);
    assert_eq!(decoded.len(), vectors.len());
    for (found, line) in decoded.iter().zip(&vectors) {
        assert_eq!(*found, expected(line));
    }
    let shapes: Vec<String> = vectors.iter().map(Value::to_string).collect();
    let encoded = rocketry(&["encode", "frames"], &join(shapes.iter().map(String::as_str)));
    assert_eq!(encoded.status.code(), Some(0), "{}", text(&encoded.stderr));
    let (again, code) = run(&["decode", "frames"], text(&encoded.stdout));
    assert_eq!(code, 0);
    assert_eq!(again, decoded);
    // Where Java's order of fields is the alphabetical one, the bytes are Java's.
    let equal = text(&encoded.stdout).lines().zip(frames.lines()).filter(|(ours, java)| ours == java).count();
    assert!(equal > vectors.len() / 8, "only {equal} frames are equal to the byte");
}

#[test]
fn encoded_fields_stand_in_alphabetical_order() {
    let shape =
        r#"{"serialize":"JSON","code":10,"opaque":1,"extFields":{"b":"2","a":1,"c":true,"B":"\u0001"},"body":"00ff"}"#;
    let output = rocketry(&["encode", "frames"], shape);
    let frame = vectors::hex(&Value::String(text(&output.stdout).trim().to_owned()));
    let header = concat!(
        r#"{"code":10,"extFields":{"B":"\u0001","a":"1","b":"2","c":"true"},"flag":0,"language":"JAVA","opaque":1,"#,
        r#""serializeTypeCurrentRPC":"JSON","version":0}"#
    );
    assert_eq!(text(&frame[8..frame.len() - 2]), header);
    assert_eq!(frame[frame.len() - 2..], [0, 255]);
}

#[test]
fn messages_decode_to_the_golden_values() {
    let vectors = vectors::load("messages.jsonl");
    let hex = |line: &Value| line["bytes"].as_str().expect("bytes").to_owned();
    let lines: Vec<String> = vectors.iter().map(hex).collect();
    let (decoded, code) = run(&["decode", "messages"], &join(lines.iter().map(String::as_str)));
    assert_eq!((decoded.len(), code), (vectors.len(), 0));
    for (found, line) in decoded.iter().zip(&vectors) {
        assert_eq!(*found, line["message"]);
    }
    // A whole pull body in one line, with a record in it whose body is not what its flag says.
    let size = lines[1].len() / 2;
    let broken = lines[1].replacen("785e", "ffff", 1);
    assert_ne!(broken, lines[1], "the second message is compressed with zlib");
    let (decoded, code) = run(&["decode", "messages"], &[&*lines[1], &*broken, &*lines[2]].concat());
    assert_eq!((decoded.len(), code), (3, 1));
    assert_eq!(decoded[0], vectors[1]["message"]);
    assert_eq!(decoded[1], json!({"error": "the body is not zlib", "offset": size}));
    assert_eq!(decoded[2], vectors[2]["message"]);
}

#[test]
fn properties_decode_to_the_golden_values() {
    let vectors = vectors::load("properties.jsonl");
    let hex = |line: &Value| {
        let bytes = line["string"].as_str().expect("a string").bytes();
        bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let told: Vec<(String, &Value)> =
        vectors.iter().map(|line| (hex(line), line)).filter(|(hex, _)| !hex.is_empty()).collect();
    let (decoded, code) = run(&["decode", "properties"], &join(told.iter().map(|(hex, _)| hex.as_str())));
    assert_eq!((decoded.len(), code), (told.len(), 0));
    for (found, (_, line)) in decoded.iter().zip(&told) {
        assert_eq!(*found, json!({"properties": line["map"]}));
    }
}

#[test]
fn a_bad_line_is_answered_in_its_place_and_the_run_goes_on() {
    let good = vectors::load("commands.jsonl")[0]["frame"].as_str().expect("a frame").to_owned();
    let cut = &good[..good.len() - 2];
    let foreign = "474554202f20485454502f312e310d0a0d0a";
    let input = [&*good, "", cut, "0", "zz", "00000004ff000000", foreign, &*good].join("\n");
    let (lines, code) = run(&["decode", "frames"], &input);
    assert_eq!((lines.len(), code), (7, 1));
    assert_eq!(lines[0], lines[6]);
    for (index, offset) in [(1, cut.len() / 2), (2, 0), (3, 0), (4, 4), (5, 0)] {
        assert_eq!(lines[index]["offset"], json!(offset), "{}", lines[index]);
        assert_eq!(lines[index].as_object().map(serde_json::Map::len), Some(2));
    }
    assert!(lines[5]["error"].as_str().expect("a reason").contains("HTTP"), "{}", lines[5]);
    let shapes = [
        r#"{"serialize":"ROCKETMQ","code":200051}"#,
        r#"{"serialize":"JSON","code":1,"language":"ZIG"}"#,
        r#"{"serialize":"JSON"}"#,
        r#"{"serialize":"JSON","code":1,"body":"0"}"#,
        r#"{"serialize":"JSON","code":1,"extFields":{"a":[1]}}"#,
        "[",
        r#"{"serialize":"ROCKETMQ","code":105,"language":99}"#,
    ];
    let output = rocketry(&["encode", "frames"], &join(shapes.iter().copied()));
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), shapes.len());
    assert!(lines[..6].iter().all(|line| line.starts_with("{\"error\":")), "{lines:?}");
    assert_eq!(run(&["decode", "frames"], lines[6]).0[0]["language"], json!(99));
    assert!(text(&output.stderr).contains("6 of 7 lines failed"));
}

#[test]
fn answers_come_before_the_input_ends() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocketry"));
    let mut child =
        command.args(["decode", "properties"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a start");
    let (mut input, mut output) = (child.stdin.take().expect("input"), child.stdout.take().expect("output"));
    for _ in 0..2 {
        input.write_all(b"610162\n").expect("a reader");
        let mut answer = [0; 25];
        output.read_exact(&mut answer).expect("an answer");
        assert_eq!(text(&answer), "{\"properties\":{\"a\":\"b\"}}\n");
    }
    drop(input);
    assert!(child.wait().expect("an end").success());
}

#[test]
fn tags_filter_as_in_java() {
    for line in vectors::load("tags.jsonl") {
        let expression = line["expression"].as_str().unwrap_or_default();
        let flag = format!("--tags={expression}");
        if line["error"].is_string() {
            let output = rocketry(&["filter", &flag], "");
            assert_eq!(output.status.code(), Some(2));
            assert!(text(&output.stderr).contains("position 0: subString split error"));
            assert!(output.stdout.is_empty());
            continue;
        }
        let tags: Vec<&str> = line["tags"].as_array().expect("tags").iter().filter_map(Value::as_str).collect();
        for tag in tags.iter().copied().chain(["another"]) {
            let passes = tags.is_empty() || tags.contains(&tag);
            let output = run(&["filter", &flag, &format!("--tag={tag}")], "");
            assert_eq!(output, (vec![json!(passes)], 0), "{expression} {tag}");
        }
        assert_eq!(run(&["filter", &flag], ""), (vec![json!(tags.is_empty())], 0), "{expression}");
    }
}

#[test]
fn sql_filters_as_in_java() {
    for line in vectors::load("sql92.jsonl") {
        let expression = line["expression"].as_str().expect("an expression");
        let flag = format!("--sql={expression}");
        for case in line["cases"].as_array().into_iter().flatten().take(3) {
            let properties = case["properties"].to_string();
            // No broker delivers a message whose values cannot be compared.
            let result = if case["result"].is_string() { json!(false) } else { case["result"].clone() };
            let output = run(&["filter", &flag, "--properties", &properties], "");
            assert_eq!(output, (vec![result], 0), "{expression} {properties}");
        }
        if line["compileError"] == json!(true) {
            let output = rocketry(&["filter", &flag], "");
            assert_eq!(output.status.code(), Some(2), "{expression}");
            assert!(text(&output.stderr).contains("does not compile at position"), "{expression}");
        }
    }
    let ignored = rocketry(&["filter", "--sql", "a LIKE 'x'"], "");
    assert!(text(&ignored.stderr).contains("position 2"), "{}", text(&ignored.stderr));
}

#[test]
fn wrong_usage_is_refused_by_name() {
    let refused = |args: &[&str]| {
        let output = rocketry(args, "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        text(&output.stderr).to_owned()
    };
    assert!(refused(&["filter", "--sql", "a > 5 AND"]).contains("--sql does not compile at position 9"));
    assert!(refused(&["filter", "--sql", "a = 1", "--properties", "[1]"]).contains("--properties"));
    assert!(refused(&["filter", "--tags", "a", "--properties", "{}"]).contains("--properties"));
    assert!(refused(&["filter"]).contains("--tags"));
    assert!(refused(&["decode"]).contains("WHAT"));
    assert!(refused(&["decode", "bodies"]).contains("bodies"));
    assert!(refused(&["decode", "frames", "--fast"]).contains("--fast"));
    assert!(refused(&["fly"]).contains("fly"));
    assert!(refused(&[]).contains("decode"));
    assert_eq!(rocketry(&["--version"], "").status.code(), Some(0));
    assert_eq!(rocketry(&["--json", "filter", "--tags", "*"], "").status.code(), Some(0));
}

#[test]
fn sim_is_deterministic_and_replays() {
    let args = ["sim", "--profile", "small", "--cases", "6", "--seed", "40", "--json"];
    let (first, second) = (rocketry(&args, ""), rocketry(&args, ""));
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stdout));
    assert_eq!(first.stdout, second.stdout, "the same seed prints the same bytes");
    let sum: Value = serde_json::from_slice(&first.stdout).expect("one object");
    assert_eq!((&sum["cases"], &sum["violations"]), (&json!(6), &json!(0)));
    assert!(sum["messages"].as_u64() > Some(0) && sum["faults"].is_object() && sum["virtual_seconds"].is_number());
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/regressions/ghost-of-a-vanished-member.plan");
    let (replayed, code) = run(&["sim", "--replay", plan, "--json"], "");
    assert_eq!((code, &replayed[0]["faults"]["vanish"]), (0, &json!(1)));
    assert_eq!(run(&["sim", "--replay", "/nowhere.plan"], "").1, 2);
    assert_eq!(rocketry(&["sim", "--profile", "huge"], "").status.code(), Some(2));
}
