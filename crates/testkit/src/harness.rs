//! The harness of suites that need real peers: `harness = false` tests whose cases can be *ignored with a reason*.
//!
//! `ROCKETRY_APACHE` decides: `auto` (default) runs the cases where Java and Maven are found and reports each as ignored
//! elsewhere, `require` fails where a piece is missing, `off` ignores all. Output and last line are those of `cargo test`.
//! Words on the command line choose cases by name; `--list` lists them; `--exact`, `--nocapture` and the like are taken
//! and mean nothing here. A case that takes longer than its limit fails, and its process with it.

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::peers;

/// One case: its name and what it does. `Err` is a failure with its text.
#[derive(Clone)]
#[non_exhaustive]
pub struct Case {
    name: String,
    limit: Duration,
    run: std::sync::Arc<dyn Fn() -> Result<(), Failure> + Send + Sync>,
}

impl Case {
    /// A case with a limit of five minutes.
    pub fn new(name: impl Into<String>, run: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), limit: Duration::from_secs(300), run: std::sync::Arc::new(run) }
    }

    /// With another limit.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a case failed.
#[derive(Clone, Debug)]
pub struct Failure(String);

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// What a case expects; the text says what was found instead.
///
/// # Errors
/// The text, when the condition does not hold.
pub fn ensure(condition: bool, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if condition { Ok(()) } else { Err(Failure(text())) }
}

enum Mode {
    Run,
    Ignore(String),
    Refuse(String),
}

fn mode() -> Mode {
    let wanted = std::env::var("ROCKETRY_APACHE").unwrap_or_else(|_| "auto".into());
    match (wanted.as_str(), peers::tools()) {
        ("off", _) => Mode::Ignore("ROCKETRY_APACHE=off".into()),
        ("auto" | "require", Ok(())) => Mode::Run,
        ("auto", Err(missing)) => Mode::Ignore(missing.to_string()),
        ("require", Err(missing)) => Mode::Refuse(missing.to_string()),
        (other, _) => Mode::Refuse(format!("ROCKETRY_APACHE is \"{other}\"; it takes auto, require or off")),
    }
}

/// Runs the cases one after the other and prints what `cargo test` prints.
#[must_use]
pub fn main(cases: &[Case]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let chosen: Vec<&Case> = cases
        .iter()
        .filter(|case| filters.is_empty() || filters.iter().any(|filter| case.name.contains(*filter)))
        .collect();
    if words.iter().any(|word| word == "--list") {
        chosen.iter().for_each(|case| say(&format!("{}: test", case.name)));
        return ExitCode::SUCCESS;
    }
    let begun = Instant::now();
    let mode = mode();
    say(&format!("\nrunning {} tests", chosen.len()));
    let (mut passed, mut ignored, mut failures) = (0, 0, Vec::new());
    for case in &chosen {
        let result = match &mode {
            Mode::Ignore(reason) => {
                ignored += 1;
                say(&format!("test {} ... ignored, {reason}", case.name));
                continue;
            }
            Mode::Refuse(reason) => Err(Failure(reason.clone())),
            Mode::Run => run(case),
        };
        match result {
            Ok(()) => {
                passed += 1;
                say(&format!("test {} ... ok", case.name));
            }
            Err(failure) => {
                say(&format!("test {} ... FAILED", case.name));
                failures.push((case.name.clone(), failure));
            }
        }
    }
    for (name, failure) in &failures {
        say(&format!("\n---- {name} ----\n{}", failure.0));
    }
    let verdict = if failures.is_empty() { "ok" } else { "FAILED" };
    say(&format!(
        "\ntest result: {verdict}. {passed} passed; {} failed; {ignored} ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        failures.len(),
        cases.len() - chosen.len(),
        begun.elapsed().as_secs_f64(),
    ));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(case: &Case) -> Result<(), Failure> {
    let (sender, receiver) = channel();
    let work = std::sync::Arc::clone(&case.run);
    thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work())).unwrap_or_else(|panic| Err(Failure(text_of(&*panic))));
        // Whoever waited has given up when this fails.
        let _ = sender.send(result);
    });
    receiver.recv_timeout(case.limit).unwrap_or_else(|_| Err(Failure(format!("no end within {:?}", case.limit))))
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody reads any more: nothing to report to.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
