//! `floor`: what the kernel and a broker allow on one thread and one blocking connection.
//!
//! It is the yardstick of the macro benchmarks, so it does as little as the protocol permits and shares nothing with
//! the client: frames are copied from templates made once, everything that may go leaves in one `write`, whatever is
//! there is taken in one `read`, and nothing ever pauses. It has no retries, no back-off and no reconnect: a run in
//! which anything is refused counts it in `failed` and exits with 1.

#![forbid(unsafe_code)]

mod args;
mod consume;
mod frames;
mod histogram;
mod link;
mod report;
mod send;
mod setup;
mod usage;

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

use args::{Mode, Options};
use report::Report;

/// Any failure of the floor: it has no caller that could act on a kind, only a person who reads it.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _ = stdout().lock().write_all(args::HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            let _ = writeln!(stderr().lock(), "floor: {reason}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(report) => {
            let _ = writeln!(stdout().lock(), "{}", report.to_json());
            if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(reason) => {
            let _ = writeln!(stderr().lock(), "floor: {reason}");
            ExitCode::from(1)
        }
    }
}

fn run(options: &Options) -> Result<Report, Failure> {
    let broker = setup::broker_address(options)?;
    match options.mode {
        Mode::Send => {
            setup::create_topic(options, &broker)?;
            send::run(options, &broker)
        }
        Mode::Consume => consume::run(options, &broker),
    }
}
