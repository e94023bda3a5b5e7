//! `rocketry sim`: cases of a cluster under troubles, in virtual time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rocketry_sim::plan::{Plan, draw, shrink};
use rocketry_sim::{Profile, Report, run as run_case};
use serde_json::{Map, Value, json};

use crate::args::Sim;
use crate::output::Failure;
use crate::report::{Output, progress};

/// Trials that making a plan smaller may cost.
const TRIALS: usize = 300;

/// Runs the command.
pub(crate) fn run(args: &Sim, out: Output) -> Result<(), Failure> {
    let profile = Profile::named(&args.profile)
        .ok_or_else(|| Failure::usage(format!("--profile: \"{}\" is none of standard, small", args.profile)))?;
    match &args.replay {
        Some(file) => replay(&profile, file, out),
        None => many(&profile, args, out),
    }
}

/// Replays the plan in a file.
fn replay(profile: &Profile, file: &Path, out: Output) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let plan: Plan = text.parse().map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let report = run_case(profile, &plan);
    for violation in &report.violations {
        out.text(&violation.to_string())?;
    }
    let mut sum = Sum::default();
    sum.add(&report);
    sum.print(out)
}

/// Runs drawn cases, on as many threads as there are processors; results are told in the order of the seeds.
fn many(profile: &Profile, args: &Sim, out: Output) -> Result<(), Failure> {
    let began = Instant::now();
    let bar = progress(args.cases, "cases");
    let (next, reports) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= args.cases {
                        return;
                    }
                    let seed = args.seed.wrapping_add(case);
                    let report = run_case(profile, &draw(seed));
                    reports.lock().unwrap_or_else(PoisonError::into_inner).insert(case, (seed, report));
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut sum = Sum::default();
    for (seed, report) in reports.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
        sum.add(&report);
        if let Some(first) = report.violations.first() {
            tell(profile, seed, &report, first.check, out)?;
        }
    }
    let (hours, real) = (sum.virtual_seconds / 3_600.0, began.elapsed().as_secs_f64());
    eprintln!("{hours:.1} virtual hours in {real:.1} s: {:.0} virtual hours for each real one", hours * 3_600.0 / real);
    sum.print(out)
}

/// Tells of a case that broke something, and keeps the smallest plan that does.
fn tell(profile: &Profile, seed: u64, report: &Report, check: &str, out: Output) -> Result<(), Failure> {
    let fails = |plan: &Plan| run_case(profile, plan).violations.iter().any(|violation| violation.check == check);
    let small = shrink(&draw(seed), TRIALS, fails);
    let file = PathBuf::from(format!("rocketry-sim-{}-{seed}.plan", profile.name));
    std::fs::write(&file, small.to_string())?;
    for violation in &report.violations {
        out.text(&format!("seed {seed}: {violation}"))?;
    }
    out.text(&format!("  rocketry sim --profile {} --replay {}", profile.name, file.display()))
}

/// What all cases came to.
#[derive(Default)]
struct Sum {
    cases: u64,
    violations: u64,
    virtual_seconds: f64,
    messages: u64,
    troubles: BTreeMap<&'static str, u64>,
}

impl Sum {
    fn add(&mut self, report: &Report) {
        self.cases += 1;
        self.violations += report.violations.len() as u64;
        self.virtual_seconds += report.virtual_time.as_secs_f64();
        self.messages += report.messages;
        for (kind, count) in &report.troubles {
            *self.troubles.entry(kind).or_default() += count;
        }
    }

    fn print(self, out: Output) -> Result<(), Failure> {
        let mut object = Map::new();
        object.insert("cases".into(), json!(self.cases));
        object.insert("violations".into(), json!(self.violations));
        object.insert("virtual_seconds".into(), json!(self.virtual_seconds.round()));
        object.insert("messages".into(), json!(self.messages));
        let faults: Map<String, Value> =
            self.troubles.into_iter().map(|(kind, count)| (kind.to_owned(), json!(count))).collect();
        object.insert("faults".into(), Value::Object(faults));
        out.object(&object)?;
        match self.violations {
            0 => Ok(()),
            broken => Err(Failure::operation(format!("{broken} violations"))),
        }
    }
}
