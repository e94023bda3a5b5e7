//! The harness on cases without servers.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::peers::Unavailable;

/// Runs cases and gives the verdict and what was printed, without the times.
fn run(cases: &[Case], words: &str, mode: impl FnOnce() -> Mode) -> (bool, String) {
    let args = Args::parse(words.split_whitespace().map(str::to_owned)).expect("known options");
    let mut out = Vec::new();
    let good = Run { args, kill: || {} }.cases(cases, mode, &mut out);
    let text = String::from_utf8(out).expect("text");
    let lines = text.lines().map(|line| line.split(" <").next().unwrap_or_default());
    let lines: Vec<&str> = lines.map(|line| line.split("; finished in").next().unwrap_or_default()).collect();
    (good, lines.join("\n"))
}

fn three() -> Vec<Case> {
    vec![
        Case::new("passes", |_| Ok(())),
        Case::new("fails", |_| ensure(1 + 1 == 3, || "it is 2".into())),
        Case::new("panics", |_| panic!("out of range")),
    ]
}

fn missing() -> Result<(), Unavailable> {
    Err(Unavailable("mvn is not\non the PATH".into()))
}

#[test]
fn failures_and_panics_are_told_and_counted() {
    let (good, text) = run(&three(), "", || Mode::Run);
    assert!(!good);
    for line in [
        "running 3 tests",
        "test passes ... ok",
        "test fails ... FAILED",
        "test panics ... FAILED",
        "---- fails ----",
        "it is 2",
        "panicked: out of range",
        "    panics",
        "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
    ] {
        assert!(text.lines().any(|printed| printed == line), "no {line:?} in:\n{text}");
    }
}

#[test]
fn words_choose_cases_and_the_rest_is_counted() {
    let (good, text) = run(&three(), "pass", || Mode::Run);
    assert!(good);
    assert!(text.contains("\nrunning 1 test\n"), "{text}");
    assert!(text.contains("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out"), "{text}");
    let (good, text) = run(&three(), "--list --skip fails", || panic!("listing fetches nothing"));
    assert!(good);
    assert_eq!(text, "passes: test\npanics: test");
    let (good, text) = run(&three(), "nothing_of_this_name", || panic!("no case, nothing to fetch"));
    assert!(good && text.contains("0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out"), "{text}");
}

#[test]
fn long_cases_wait_for_a_long_run() {
    let cases =
        [Case::new("short", |_| Ok(())), Case::new("long", |ctx| ensure(ctx.long(), || "short".into())).only_long()];
    let (good, text) = run(&cases, "", || Mode::Run);
    assert!(good && text.contains("1 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out"), "{text}");
    let (good, text) = run(&cases, "--long", || Mode::Run);
    assert!(good && text.contains("2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"), "{text}");
}

#[test]
fn a_missing_piece_ignores_or_fails_and_never_passes() {
    let (good, text) = run(&three(), "", || Mode::of(None, missing));
    assert!(good);
    assert!(text.contains("test passes ... ignored, mvn is not on the PATH\n"), "{text}");
    assert!(text.contains("test result: ok. 0 passed; 0 failed; 3 ignored;"), "{text}");
    let (good, text) = run(&three(), "", || Mode::of(Some("require"), missing));
    assert!(!good && text.contains("0 passed; 3 failed; 0 ignored;"), "{text}");
    let (good, text) = run(&three(), "", || Mode::of(Some("off"), || panic!("off fetches nothing")));
    assert!(good && text.contains("test fails ... ignored, ROCKETRY_APACHE=off\n"), "{text}");
    let (good, _) = run(&three(), "", || Mode::of(Some("yes"), || Ok(())));
    assert!(!good, "a misspelt value must not run anything");
}

#[test]
fn a_case_without_an_end_fails_and_what_it_started_is_killed() {
    static KILLED: AtomicU32 = AtomicU32::new(0);
    let (hold, held) = channel::<()>();
    let held = std::sync::Mutex::new(held);
    let endless = Case::new("endless", move |_| {
        let held = held.lock().expect("the receiver");
        // The sender outlives the case.
        held.recv().map_err(|_| Failure("released".into()))
    });
    let cases = [endless.within(Duration::from_millis(20)), Case::new("next", |_| Ok(()))];
    let mut out = Vec::new();
    let kill = || {
        KILLED.fetch_add(1, Ordering::Relaxed);
    };
    let run = Run { args: Args::default(), kill };
    assert!(!run.cases(&cases, || Mode::Run, &mut out));
    let text = String::from_utf8(out).expect("text");
    assert!(text.contains("no end within 20ms"), "{text}");
    assert!(text.contains("test next ... ok"), "{text}");
    assert_eq!(KILLED.load(Ordering::Relaxed), 1);
    drop(hold);
}

#[test]
fn names_do_not_meet_and_a_failure_brings_new_surroundings() {
    let first = Case::new("first", |ctx| ensure(ctx.name("t") == "t-0" && ctx.name("t") == "t-1", || "met".into()));
    let second = Case::new("second", |ctx| Err(Failure(ctx.name("t"))));
    let third = Case::new("third", |ctx| ensure(ctx.name("t") == "t-0" && !ctx.long(), || "not new".into()));
    let (good, text) = run(&[first, second, third], "", || Mode::Run);
    assert!(!good);
    assert!(text.contains("\nt-2\n") && text.contains("2 passed; 1 failed"), "{text}");
}
