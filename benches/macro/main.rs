//! `macro`: rocketry on both runtimes beside the floor, on one real broker, in alternation.
//!
//! Each work is run in rounds: in every round the floor and each contender once, one after the other, so that what
//! the machine does meanwhile touches all of them alike. Figures of a contender count only as ratios to the floor of
//! the same round; the table shows their medians and spread. Everything runs in processes of its own, since processor
//! time and peak memory belong to a process.

#![forbid(unsafe_code)]

mod args;
mod contender;
mod servers;
mod table;
mod work;

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

use args::Options;
use contender::Figures;
use work::Work;

/// Any failure of the runner: a person reads it.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _ = stdout().lock().write_all(args::HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            let _ = writeln!(stderr().lock(), "macro: {reason}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let _ = writeln!(stderr().lock(), "macro: {reason}");
            ExitCode::from(1)
        }
    }
}

/// The figures of one round, in the order of the contenders; the floor is the first.
type Round = Vec<Figures>;

fn run(options: &Options) -> Result<(), Failure> {
    let contenders = contender::all(options)?;
    let servers = servers::start(options)?;
    let mut out = stdout().lock();
    writeln!(out, "{}", table::heading(options, servers.description()))?;
    for work in &options.works {
        let plan = work::prepare(*work, options, &contenders, servers.addresses())?;
        let mut rounds: Vec<Round> = Vec::new();
        for round in 1..=options.rounds {
            let mut figures = Vec::new();
            for contender in &contenders {
                note(&format!("{} {round}/{}: {}", work.name(), options.rounds, contender.name()));
                figures.push(plan.run(contender, round, servers.addresses())?);
            }
            rounds.push(figures);
        }
        writeln!(out, "{}", table::of_work(*work, plan.count(), &contenders, &rounds))?;
    }
    Ok(())
}

/// Progress goes to standard error; the table alone is on standard output.
fn note(text: &str) {
    let _ = writeln!(stderr().lock(), "macro: {text}");
}
