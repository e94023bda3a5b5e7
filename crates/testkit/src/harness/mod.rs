//! The harness of suites that need real peers: `harness = false` tests whose cases can be *ignored with a reason*.
//!
//! `ROCKETRY_APACHE` decides: `auto` (default) runs the cases where Apache's pieces can be had, from the cache or through
//! Java and Maven, and reports each as ignored with its reason elsewhere; `require` fails each where a piece is missing;
//! `off` ignores all. Output and last line are those of `cargo test`.
//!
//! Cases run one after the other, since each has servers to itself or shares those that [`Ctx::apache`] keeps for the
//! whole run. A case that takes longer than its limit fails, and every process that the run has started ends with it; the
//! next case begins with new servers, as after any failure.
//!
//! The command line is that of `cargo test`'s programs, see [`Args`]; `--long` asks cases for their long form.

mod args;
mod ctx;

use std::fmt;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

pub use args::{Args, UnknownOption};
pub use ctx::Ctx;

use crate::peers;
use crate::peers::guard;

/// One case: its name and what it does. `Err` is a failure with its text.
#[derive(Clone)]
#[non_exhaustive]
pub struct Case {
    name: String,
    limit: Duration,
    only_long: bool,
    run: Arc<Work>,
}

type Work = dyn Fn(&Ctx) -> Result<(), Failure> + Send + Sync;

impl Case {
    /// A case with a limit of five minutes.
    pub fn new(name: impl Into<String>, run: impl Fn(&Ctx) -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), limit: Duration::from_secs(300), only_long: false, run: Arc::new(run) }
    }

    /// With another limit.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// For runs with `--long` alone; others count it as filtered out.
    #[must_use]
    pub const fn only_long(mut self) -> Self {
        self.only_long = true;
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

/// What becomes of the cases of this run.
enum Mode {
    Run,
    Ignore(String),
    Refuse(String),
}

impl Mode {
    fn of(wanted: Option<&str>, fetch: impl FnOnce() -> Result<(), peers::Unavailable>) -> Self {
        let wanted = wanted.unwrap_or("auto");
        if wanted == "off" {
            return Self::Ignore("ROCKETRY_APACHE=off".into());
        }
        if !matches!(wanted, "auto" | "require") {
            return Self::Refuse(format!("ROCKETRY_APACHE is \"{wanted}\"; it takes auto, require or off"));
        }
        match fetch() {
            Ok(()) => Self::Run,
            Err(missing) if wanted == "auto" => Self::Ignore(one_line(&missing.to_string())),
            Err(missing) => Self::Refuse(missing.to_string()),
        }
    }
}

/// Runs the cases that the command line chooses and prints what `cargo test` prints.
#[must_use]
pub fn main(cases: &[Case]) -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(wrong) => {
            say(&mut std::io::stderr(), &format!("error: {wrong}"));
            return ExitCode::from(2);
        }
    };
    let wanted = std::env::var("ROCKETRY_APACHE").ok();
    let mode = || Mode::of(wanted.as_deref(), peers::fetch);
    let run = Run { args, kill: guard::kill_all };
    if run.cases(cases, mode, &mut std::io::stdout()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A run of cases, apart from the process around it.
struct Run {
    args: Args,
    /// Ends what a case that found no end has started.
    kill: fn(),
}

impl Run {
    fn cases(&self, cases: &[Case], mode: impl FnOnce() -> Mode, out: &mut dyn Write) -> bool {
        let fits = |case: &&Case| self.args.choose(&case.name) && (self.args.long || !case.only_long);
        let chosen: Vec<&Case> = cases.iter().filter(fits).collect();
        if self.args.list {
            chosen.iter().for_each(|case| say(out, &format!("{}: test", case.name)));
            return true;
        }
        let begun = Instant::now();
        say(out, &format!("\nrunning {} test{}", chosen.len(), if chosen.len() == 1 { "" } else { "s" }));
        // Nothing is fetched for a run without cases.
        let mode = if chosen.is_empty() { Mode::Run } else { mode() };
        let mut ctx = Arc::new(Ctx::new(self.args.long));
        let (mut passed, mut ignored, mut failures) = (0, 0, Vec::new());
        for case in &chosen {
            let at = Instant::now();
            let result = match &mode {
                Mode::Ignore(reason) => {
                    ignored += 1;
                    say(out, &format!("test {} ... ignored, {reason}", case.name));
                    continue;
                }
                Mode::Refuse(reason) => Err(Failure(reason.clone())),
                Mode::Run => self.case(case, &ctx),
            };
            let word = if result.is_ok() { "ok" } else { "FAILED" };
            say(out, &format!("test {} ... {word} <{:.3}s>", case.name, at.elapsed().as_secs_f64()));
            match result {
                Ok(()) => passed += 1,
                Err(failure) => {
                    failures.push((case.name.as_str(), failure));
                    ctx = Arc::new(Ctx::new(self.args.long));
                }
            }
        }
        // Its servers end before the last line.
        drop(ctx);
        report_failures(&failures, out);
        say(
            out,
            &format!(
                "\ntest result: {}. {passed} passed; {} failed; {ignored} ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
                if failures.is_empty() { "ok" } else { "FAILED" },
                failures.len(),
                cases.len() - chosen.len(),
                begun.elapsed().as_secs_f64(),
            ),
        );
        failures.is_empty()
    }

    fn case(&self, case: &Case, ctx: &Arc<Ctx>) -> Result<(), Failure> {
        let (sender, receiver) = channel();
        let (work, ctx) = (Arc::clone(&case.run), Arc::clone(ctx));
        thread::spawn(move || {
            let result =
                catch_unwind(AssertUnwindSafe(|| work(&ctx))).unwrap_or_else(|panic| Err(Failure(text_of(&*panic))));
            // The servers are the run's again before the result is known.
            drop(ctx);
            // Whoever waited has given up when this fails.
            let _ = sender.send(result);
        });
        receiver.recv_timeout(case.limit).unwrap_or_else(|_| {
            (self.kill)();
            Err(Failure(format!("no end within {:?}", case.limit)))
        })
    }
}

fn report_failures(failures: &[(&str, Failure)], out: &mut dyn Write) {
    if failures.is_empty() {
        return;
    }
    say(out, "\nfailures:");
    for (name, failure) in failures {
        say(out, &format!("\n---- {name} ----\n{}", failure.0));
    }
    say(out, "\nfailures:");
    failures.iter().for_each(|(name, _)| say(out, &format!("    {name}")));
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}

/// A reason stands on the line of its case.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn say(out: &mut dyn Write, line: &str) {
    // Nobody reads any more: nothing to report to.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests;
