//! The command line of the floor: read by hand, so that nothing but `std` stands behind the figures.

use std::str::FromStr;

use crate::Failure;
use crate::frames::Encoding;

/// What `floor --help` prints.
pub(crate) const HELP: &str = "\
Usage: floor send|consume (--broker HOST:PORT | --name-server HOST:PORT) --topic NAME --count N [options]

  --broker HOST:PORT       broker to talk to
  --name-server HOST:PORT  ask this name server for the topic's (or, for send, the default topic's) master
  --topic NAME             topic; send creates it with --queues queues (or changes it to that)
  --count N                messages to send or to consume
  --size BYTES             send: body size (default 128)
  --in-flight W            send: unanswered messages at most, 1 for a lone send (default 256)
  --queues N               queues written and read in turn (default 4)
  --batch N                consume: messages asked for in one pull (default 32)
  --group NAME             consume: group named in the pull (default floor)
  --header json|binary     header encoding of the requests (default json)

Prints one JSON object: ok, failed, seconds, rate, cpu_us_per_message, p50_us, p99_us (send), max_rss_kb,
reads_per_message, writes_per_message. Exit code 1 if anything failed, 2 for wrong usage.
";

/// What one run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Send `count` messages with at most `in_flight` unanswered.
    Send,
    /// Pull from offset 0 of each queue until `count` messages were seen.
    Consume,
}

/// The parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    pub(crate) broker: Option<String>,
    pub(crate) name_server: Option<String>,
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) count: u64,
    pub(crate) size: usize,
    pub(crate) in_flight: u32,
    pub(crate) queues: u32,
    pub(crate) batch: u32,
    pub(crate) encoding: Encoding,
}

impl Options {
    /// Reads the arguments after the program's name; `None` means that help was asked for.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Option<Self>, Failure> {
        let mut args = args;
        let mode = match args.next().as_deref() {
            Some("send") => Mode::Send,
            Some("consume") => Mode::Consume,
            Some("-h" | "--help") => return Ok(None),
            Some(other) => return Err(format!("unknown mode {other}").into()),
            None => return Err("a mode is needed: send or consume".into()),
        };
        let mut options = Self::with_defaults(mode);
        while let Some(name) = args.next() {
            if name == "-h" || name == "--help" {
                return Ok(None);
            }
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            options.set(&name, value)?;
        }
        options.check()?;
        Ok(Some(options))
    }

    fn with_defaults(mode: Mode) -> Self {
        Self {
            mode,
            broker: None,
            name_server: None,
            topic: String::new(),
            group: "floor".into(),
            count: 0,
            size: 128,
            in_flight: 256,
            queues: 4,
            batch: 32,
            encoding: Encoding::Json,
        }
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Failure> {
        match name {
            "--broker" => self.broker = Some(value),
            "--name-server" => self.name_server = Some(value),
            "--topic" => self.topic = value,
            "--group" => self.group = value,
            "--count" => self.count = number(name, &value)?,
            "--size" => self.size = number(name, &value)?,
            "--in-flight" => self.in_flight = number(name, &value)?,
            "--queues" => self.queues = number(name, &value)?,
            "--batch" => self.batch = number(name, &value)?,
            "--header" => {
                self.encoding = match value.as_str() {
                    "json" => Encoding::Json,
                    "binary" => Encoding::Binary,
                    other => return Err(format!("--header: {other} is neither json nor binary").into()),
                };
            }
            other => return Err(format!("unknown option {other}").into()),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        if self.broker.is_none() && self.name_server.is_none() {
            return Err("--broker or --name-server is needed".into());
        }
        // Names go into templates unescaped, so only characters that neither encoding escapes are taken.
        for (option, name) in [("--topic", &self.topic), ("--group", &self.group)] {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'%' | b'|');
            if name.is_empty() || name.len() > 127 || !name.bytes().all(plain) {
                return Err(format!("{option}: 1 to 127 letters, digits, - _ % | are needed").into());
            }
        }
        let counts = [self.count, self.size as u64, self.in_flight.into(), self.queues.into(), self.batch.into()];
        if counts.contains(&0) {
            return Err("--count, --size, --in-flight, --queues and --batch must be above 0".into());
        }
        if self.in_flight > 65_536 || self.queues > 10_000 || self.size > 4 << 20 {
            return Err("at most 65,536 in flight, 10,000 queues and 4 MiB of body".into());
        }
        Ok(())
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, Failure> {
    value.replace(['_', ','], "").parse().map_err(|_| format!("{name}: {value} is not a fitting number").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>, Failure> {
        Options::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn reads_a_full_line_and_keeps_defaults() {
        let options = parse("send --broker 127.0.0.1:10911 --topic T --count 1_000 --in-flight 1 --header binary")
            .unwrap()
            .unwrap();
        assert_eq!((options.mode, options.count, options.in_flight), (Mode::Send, 1000, 1));
        assert_eq!((options.size, options.queues, options.encoding), (128, 4, Encoding::Binary));
    }

    #[test]
    fn refuses_what_it_cannot_run() {
        for line in [
            "",
            "fly",
            "send --topic T --count 1",
            "send --broker b:1 --topic T",
            "send --broker b:1 --topic a\"b --count 1",
            "send --broker b:1 --topic T --count x",
            "consume --broker b:1 --topic T --count 1 --wings 2",
            "consume --broker b:1 --topic T --count",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!(parse("send --help").unwrap(), None);
    }
}
