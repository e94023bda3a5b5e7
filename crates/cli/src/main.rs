//! The `rocketry` command.
//!
//! [`args`] says what can be asked for, a module per command does it, [`output`] says how results and failures leave the
//! process: data on standard output, everything else on standard error, exit code 0 when all was done, 1 when an
//! operation failed, 2 for wrong usage.
#![forbid(unsafe_code)]

mod allocate;
mod args;
mod bench;
mod client_args;
mod consume;
mod decode;
mod demo;
mod encode;
mod filter;
mod hex;
mod lines;
mod output;
mod produce;
mod report;
mod serve;
mod session;
mod shape;
mod sim;
mod usage;

use std::process::ExitCode;

use clap::Parser as _;

use args::{BenchCommand, Cli, Command, Runtime};
use output::Failure;
use report::Output;
use session::Interrupt;

fn main() -> ExitCode {
    // Wrong usage ends here with exit code 2, help and version with 0.
    let cli = Cli::parse();
    output::exit(run(cli))
}

/// Runs a command on the runtime that was chosen. One thread carries everything: the work of a client is done by whoever
/// has an input, and a second thread would only be woken in between.
macro_rules! on_runtime {
    ($runtime:expr, $($command:ident)::+ ($($argument:expr),*)) => {
        match $runtime {
            Runtime::Tokio => tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(Failure::operation)?
                .block_on($($command)::+::<rocketry_tokio::Tokio>($($argument),*)),
            Runtime::Smol => smol::block_on($($command)::+::<rocketry_smol::Smol>($($argument),*)),
        }
    };
}

fn run(cli: Cli) -> Result<(), Failure> {
    let out = Output::new(cli.json);
    match cli.command {
        Command::Demo(args) => on_runtime!(cli.runtime, demo::run(&args, out, &Interrupt::install()?)),
        Command::Serve(args) => on_runtime!(cli.runtime, serve::run(&args, out, &Interrupt::install()?)),
        Command::Produce(args) => on_runtime!(cli.runtime, produce::run(&args, out, &Interrupt::install()?)),
        Command::Consume(args) => on_runtime!(cli.runtime, consume::run(&args, out, &Interrupt::install()?)),
        Command::Bench(args) => match &args.what {
            BenchCommand::Produce(args) => on_runtime!(cli.runtime, bench::produce(args, out, &Interrupt::install()?)),
            BenchCommand::Consume(args) => on_runtime!(cli.runtime, bench::consume(args, out, &Interrupt::install()?)),
        },
        Command::Allocate(args) => allocate::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Encode(args) => encode::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::Sim(args) => sim::run(&args, out),
    }
}
