//! The command line of the commands that run clients or servers.

use clap::{Args, Subcommand, ValueEnum};

/// Which runtime carries the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Runtime {
    /// tokio.
    Tokio,
    /// smol.
    Smol,
}

/// The encoding of the headers that are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Header {
    /// JSON, which every broker reads.
    Json,
    /// The binary form.
    Binary,
}

/// How bodies are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// Not at all.
    None,
    /// zlib.
    Zlib,
    /// LZ4 frame; brokers and readers from 5.0 on.
    Lz4,
    /// ZSTD; brokers and readers from 5.0 on.
    Zstd,
}

/// Where and how to connect.
#[derive(Clone, Debug, Args)]
pub(crate) struct Connect {
    /// Name servers, `host:port`, separated by `;`.
    #[arg(short = 'n', long, env = "NAMESRV_ADDR", value_name = "ADDRESSES")]
    pub(crate) name_server: String,

    /// The encoding of the headers that are sent.
    #[arg(long, value_enum, default_value_t = Header::Json)]
    pub(crate) header: Header,
}

/// `demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// How many messages.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) messages: u64,
}

/// `serve`
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where the name server listens; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:9876", value_name = "ADDRESS")]
    pub(crate) name_server_listen: std::net::SocketAddr,

    /// Where the broker listens; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:10911", value_name = "ADDRESS")]
    pub(crate) broker_listen: std::net::SocketAddr,

    /// A topic to create at the start, `NAME:QUEUES`; may be given several times.
    #[arg(long, value_name = "NAME:QUEUES")]
    pub(crate) topic: Vec<String>,

    /// A fault: `code=N`, `topic=T`, `after=N`, `times=N` (all optional) and one of `delay=MS`, `close=before`,
    /// `close=after`, `drop`, `answer=CODE[:REMARK]`, `half-open`, separated by commas; may be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) fault: Vec<rocketry_broker::FaultRule>,

    /// A directory that keeps everything across restarts.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<std::path::PathBuf>,
}

/// `produce`
#[derive(Debug, Args)]
pub(crate) struct Produce {
    #[command(flatten)]
    pub(crate) connect: Connect,

    /// The topic.
    #[arg(short, long)]
    pub(crate) topic: String,

    /// The producer group.
    #[arg(short, long, default_value = "rocketry-produce")]
    pub(crate) group: String,

    /// The tag of every message.
    #[arg(long)]
    pub(crate) tag: Option<String>,

    /// The key of every message.
    #[arg(long)]
    pub(crate) key: Option<String>,

    /// A property of every message, `name=value`; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) property: Vec<String>,

    /// How many messages; not with bodies from standard input.
    #[arg(long, default_value_t = 1)]
    pub(crate) count: u64,

    /// The size of generated bodies, in bytes.
    #[arg(long, value_name = "BYTES", conflicts_with = "body")]
    pub(crate) size: Option<usize>,

    /// The body of every message. Without it and `--size`, each line of standard input is one.
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,

    /// How many sends may wait for an answer at once.
    #[arg(long, default_value_t = 1, value_name = "SENDS")]
    pub(crate) in_flight: usize,

    /// Gather sends into batches.
    #[arg(long)]
    pub(crate) batch: bool,

    /// All messages go to the queue of this key.
    #[arg(long, value_name = "KEY")]
    pub(crate) order_key: Option<String>,

    /// Visible after this delay level, 1 to 18.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) delay_level: Option<u8>,

    /// Visible at this time, in milliseconds since 1970.
    #[arg(long, value_name = "UNIX_MS")]
    pub(crate) deliver_at: Option<i64>,

    /// Do not wait for answers.
    #[arg(long)]
    pub(crate) oneway: bool,

    /// How bodies are compressed.
    #[arg(long, value_enum, default_value_t = Compress::None)]
    pub(crate) compress: Compress,
}

/// `consume`
#[derive(Debug, Args)]
pub(crate) struct Consume {
    #[command(flatten)]
    pub(crate) connect: Connect,

    /// The topic.
    #[arg(short, long)]
    pub(crate) topic: String,

    /// The consumer group.
    #[arg(short, long)]
    pub(crate) group: String,

    /// Where a group without stored position begins: `first`, `last`, or a time in milliseconds since 1970.
    #[arg(long, default_value = "last", value_name = "first|last|UNIX_MS")]
    pub(crate) from: String,

    /// Only messages with these tags, for example `a || b`.
    #[arg(long, value_name = "EXPR", conflicts_with = "sql")]
    pub(crate) tags: Option<String>,

    /// Only messages for which this SQL92 expression holds.
    #[arg(long, value_name = "EXPR")]
    pub(crate) sql: Option<String>,

    /// One message of a queue at a time, in order.
    #[arg(long)]
    pub(crate) orderly: bool,

    /// Every member gets every message.
    #[arg(long)]
    pub(crate) broadcast: bool,

    /// By POP, without queue ownership.
    #[arg(long)]
    pub(crate) pop: bool,

    /// Refuse each message so many times before it is accepted, to show retry.
    #[arg(long, default_value_t = 0, value_name = "TIMES")]
    pub(crate) fail_first: u32,

    /// Stop after so many accepted messages.
    #[arg(long)]
    pub(crate) count: Option<u64>,

    /// Stop after so many seconds without a message.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_exit: Option<u64>,

    /// How many handlers run at once.
    #[arg(long, default_value_t = 20, value_name = "HANDLERS")]
    pub(crate) concurrency: u32,
}

/// `bench`
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: BenchCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Measure sending.
    Produce(BenchProduce),
    /// Measure consuming, from the first offset.
    Consume(BenchConsume),
}

/// `bench produce`
#[derive(Debug, Args)]
pub(crate) struct BenchProduce {
    #[command(flatten)]
    pub(crate) connect: Connect,

    /// The topic.
    #[arg(short, long)]
    pub(crate) topic: String,

    /// How many messages.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) count: u64,

    /// The size of a body, in bytes.
    #[arg(long, default_value_t = 128, value_name = "BYTES")]
    pub(crate) size: usize,

    /// How many sends may wait for an answer at once; 1 is one at a time.
    #[arg(long, default_value_t = 256, value_name = "SENDS")]
    pub(crate) in_flight: usize,

    /// Gather sends into batches.
    #[arg(long)]
    pub(crate) batch: bool,
}

/// `bench consume`
#[derive(Debug, Args)]
pub(crate) struct BenchConsume {
    #[command(flatten)]
    pub(crate) connect: Connect,

    /// The topic.
    #[arg(short, long)]
    pub(crate) topic: String,

    /// The consumer group.
    #[arg(short, long)]
    pub(crate) group: String,

    /// How many messages.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) count: u64,

    /// How many handlers run at once.
    #[arg(long, default_value_t = 20, value_name = "HANDLERS")]
    pub(crate) concurrency: u32,
}

/// `allocate`
#[derive(Debug, Args)]
pub(crate) struct Allocate {
    /// The strategy, as the vectors name it, for example `AVG`.
    #[arg(long, value_name = "NAME")]
    pub(crate) strategy: String,
}
