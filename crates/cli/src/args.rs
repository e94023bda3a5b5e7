//! The command line. Every flag says its unit and its default.

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use crate::client_args::*;

/// Produce, consume, inspect, measure and serve RocketMQ.
#[derive(Debug, Parser)]
#[command(name = "rocketry", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print JSON, one object a line (decode, encode and filter always do)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The runtime that carries clients and servers
    #[arg(long, global = true, value_enum, default_value_t = Runtime::Tokio)]
    pub(crate) runtime: Runtime,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands, a module each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send and consume in one process over an embedded broker, to see that nothing is lost
    Demo(Demo),
    /// Run the embedded name server and broker on loopback
    Serve(Serve),
    /// Send messages and wait for the brokers' answers
    Produce(Box<Produce>),
    /// Consume messages, a line for each
    Consume(Box<Consume>),
    /// Measure sending or consuming, and what it costs this process
    Bench(Bench),
    /// Divide queues among consumers: JSON lines on standard input to JSON arrays
    Allocate(Allocate),
    /// Hex lines on standard input to JSON lines
    Decode(DecodeArgs),
    /// JSON lines on standard input to hex lines
    Encode(EncodeArgs),
    /// Evaluate a message filter here, without a broker
    Filter(FilterArgs),
    /// Run a cluster under troubles in virtual time, and check that it keeps its promises
    Sim(Sim),
}

/// `decode`.
#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    /// What each line holds
    #[arg(value_enum)]
    pub(crate) what: Decodable,
}

/// What can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decodable {
    /// One whole frame a line, its length word included
    Frames,
    /// Stored messages as they stand in a pull body, one or more a line; bodies come out decompressed
    Messages,
    /// The property string of a message
    Properties,
}

/// `encode`.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// What each line describes
    #[arg(value_enum)]
    pub(crate) what: Encodable,
}

/// What can be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encodable {
    /// One frame a line, in the shape that `decode frames` prints
    Frames,
}

/// `filter`.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Tag expression such as `created || paid`; `*` or nothing lets everything through
    #[arg(long, value_name = "EXPR", required_unless_present = "sql")]
    pub(crate) tags: Option<String>,
    /// The message's tag [default: a message without a tag]
    #[arg(long, value_name = "TAG", conflicts_with = "sql")]
    pub(crate) tag: Option<String>,
    /// SQL92 expression over the message's properties, such as `price > 5 AND region IN ('eu', 'us')`
    #[arg(long, value_name = "EXPR", conflicts_with = "tags")]
    pub(crate) sql: Option<String>,
    /// The message's properties as a JSON object of strings, for --sql [default: a message without properties]
    #[arg(long, value_name = "JSON", conflicts_with = "tags")]
    pub(crate) properties: Option<String>,
}

/// `sim`.
#[derive(Debug, Args)]
pub(crate) struct Sim {
    /// The seed of the first case; the next ones follow it
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many cases
    #[arg(long, default_value_t = 100)]
    pub(crate) cases: u64,
    /// Replay the plan in this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "cases"])]
    pub(crate) replay: Option<std::path::PathBuf>,
    /// The size of the cluster and of its work: standard or small
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) profile: String,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_every_flag_has_help() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        command.build();
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
        }
    }
}
