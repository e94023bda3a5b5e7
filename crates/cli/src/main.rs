//! The `rocketry` command.
//!
//! [`args`] says what can be asked for, a module per command does it, [`output`] says how results and failures leave the
//! process: data on standard output, everything else on standard error, exit code 0 when all was done, 1 when an
//! operation failed, 2 for wrong usage.
#![forbid(unsafe_code)]

mod args;
mod decode;
mod encode;
mod filter;
mod hex;
mod lines;
mod output;
mod shape;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};
use output::Failure;

fn main() -> ExitCode {
    // Wrong usage ends here with exit code 2, help and version with 0.
    let cli = Cli::parse();
    output::exit(run(cli))
}

fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Decode(args) => decode::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Filter(args) => filter::run(&args),
    }
}
