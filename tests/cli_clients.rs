//! The commands that run clients and servers, from outside: what they print and how they exit.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use rocketry_testkit::vectors;
use serde_json::Value;

const RUNTIMES: [&str; 2] = ["tokio", "smol"];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocketry"));
    command.args(args).env_remove("NAMESRV_ADDR").stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The JSON lines that a run printed, and its exit code.
fn run(args: &[&str]) -> (Vec<Value>, i32) {
    let output = command(args).output().expect("the binary runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    (lines, output.status.code().expect("an exit code"))
}

/// The JSON lines of a run that must end well.
fn good(args: &[&str]) -> Vec<Value> {
    let (lines, code) = run(args);
    assert_eq!(code, 0, "{args:?}: {lines:?}");
    lines
}

/// `serve` on free ports.
struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
    name_server: String,
}

impl Served {
    fn start(runtime: &str) -> Self {
        let free = "127.0.0.1:0";
        let args = ["--json", "--runtime", runtime, "serve", "--name-server-listen", free, "--broker-listen", free];
        let args = [&args[..], &["--topic", "orders:4", "--topic", "speed:4"]].concat();
        let mut child = command(&args).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("its first line");
        let ready: Value = serde_json::from_str(&line).expect(&line);
        Self { child, stdout, name_server: ready["name_server"].as_str().expect("an address").to_owned() }
    }

    /// Ends it as an operator does.
    fn stop(mut self) {
        let kill = Command::new("sh").args(["-c", "kill -s TERM \"$1\"", "sh", &self.child.id().to_string()]).status();
        assert!(kill.expect("sh runs").success());
        let status = self.child.wait().expect("it ends");
        let rest: Vec<String> = self.stdout.by_ref().lines().map_while(Result::ok).collect();
        assert_eq!((status.code(), rest), (Some(0), Vec::new()), "an orderly end");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has ended already, unless the test is failing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text<'a>(line: &'a Value, member: &str) -> &'a str {
    line[member].as_str().unwrap_or_else(|| panic!("{member} of {line}"))
}

#[test]
fn the_demo_loses_nothing() {
    for runtime in RUNTIMES {
        let lines = good(&["--json", "--runtime", runtime, "demo", "--messages", "3000"]);
        let [result] = lines.as_slice() else { panic!("one object: {lines:?}") };
        for (member, number) in [("sent", 3000), ("acknowledged", 3000), ("consumed", 3000), ("lost", 0)] {
            assert_eq!(result[member], number, "{member} on {runtime}: {result}");
        }
    }
}

#[test]
fn what_is_produced_is_consumed() {
    for runtime in RUNTIMES {
        let served = Served::start(runtime);
        let of = ["--json", "--runtime", runtime];
        let at = ["-n", &served.name_server, "-t", "orders", "--header", "binary"];
        let what = ["--tag", "created", "--key", "42", "--property", "colour=#00f", "--body", "hello", "--count", "40"];
        let sent = good(&[&of[..], &["produce"], &at, &what, &["--in-flight", "8", "--compress", "zstd"]].concat());
        let read = good(&[&of[..], &["consume"], &at, &["-g", "billing", "--from", "first", "--count", "40"]].concat());
        let place =
            |line: &Value| (text(line, "msgId").to_owned(), line["queueId"].clone(), line["queueOffset"].clone());
        let [mut sent, mut back] = [&sent, &read].map(|lines| lines.iter().map(place).collect::<Vec<_>>());
        sent.sort_by(|one, other| one.0.cmp(&other.0));
        back.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(sent.len(), 40);
        assert_eq!(sent, back);
        for line in &read {
            let seen =
                (text(line, "tags"), text(line, "keys"), text(line, "body"), text(&line["properties"], "colour"));
            assert_eq!(seen, ("created", "42", "hello", "#00f"));
            assert_eq!(line["reconsumeTimes"], 0);
        }
        served.stop();
    }
}

#[test]
fn what_fails_first_comes_again() {
    let served = Served::start("tokio");
    let at = ["-n", &served.name_server, "-t", "orders"];
    good(&[&["--json", "produce"], &at[..], &["--body", "again", "--count", "5"]].concat());
    let what = ["-g", "failing", "--from", "first", "--fail-first", "1", "--count", "5"];
    let read = good(&[&["--json", "consume"], &at[..], &what].concat());
    let times: Vec<&Value> = read.iter().map(|line| &line["reconsumeTimes"]).collect();
    assert_eq!(times, [1; 5]);
    assert!(read.iter().all(|line| text(line, "topic") == "orders"), "{read:?}");
    served.stop();
}

#[test]
fn the_benchmarks_count_what_they_did() {
    let served = Served::start("smol");
    let at = ["-n", &served.name_server, "-t", "speed", "--count", "500"];
    for more in [&["--in-flight", "32"], &["--in-flight", "1"]] {
        let lines = good(&[&["--json", "bench", "produce"], &at[..], more].concat());
        assert_eq!((&lines[0]["ok"], &lines[0]["failed"]), (&500.into(), &0.into()), "{lines:?}");
        for member in ["seconds", "rate", "cpu_us_per_message", "p50_us", "p99_us", "max_rss_kb"] {
            assert!(lines[0][member].is_number(), "{member}: {lines:?}");
        }
    }
    let lines = good(&[&["--json", "bench", "consume"], &at[..], &["-g", "fast"]].concat());
    // Handlers that had begun when the count was reached are counted too.
    assert!(lines[0]["ok"].as_u64().is_some_and(|ok| ok >= 500), "{lines:?}");
    served.stop();
}

#[test]
fn failures_have_their_exit_codes() {
    // Nobody listens on the discard port of loopback.
    let nobody = ["-n", "127.0.0.1:9", "-t", "orders"];
    assert_eq!(run(&[&["--json", "produce"], &nobody[..], &["--body", "x"]].concat()).1, 1);
    let served = Served::start("tokio");
    let at = ["-n", &served.name_server, "-t", "orders", "-g", "g"];
    assert_eq!(run(&[&["consume"], &at[..], &["--pop"]].concat()).1, 2, "--pop has no feature yet");
    assert_eq!(run(&["produce", "-t", "orders"]).1, 2, "no name server is named");
    served.stop();
}

#[test]
fn allocate_divides_as_java_does() {
    let mut by_strategy: BTreeMap<String, (String, Vec<Value>)> = BTreeMap::new();
    for case in vectors::load("allocate.jsonl") {
        for (strategy, result) in case["result"].as_object().expect("results") {
            if result.is_array() {
                let (input, results) = by_strategy.entry(strategy.clone()).or_default();
                input.push_str(&format!("{case}\n"));
                results.push(result.clone());
            }
        }
    }
    assert!(by_strategy.contains_key("AVG"));
    for (strategy, (input, results)) in by_strategy {
        let mut child = command(&["allocate", "--strategy", &strategy])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("its input");
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
        let output = child.wait_with_output().expect("its end");
        assert!(writer.join().expect("the writer"), "{strategy} does not read its input");
        let printed = String::from_utf8(output.stdout).expect("text");
        let printed: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert_eq!((output.status.code(), printed), (Some(0), results), "{strategy}");
    }
}
