//! The command line of the runner.

use std::path::PathBuf;

use crate::{Failure, Work};

/// What `macro --help` prints.
pub(crate) const HELP: &str = "\
Usage: macro [options]

  --rounds N                rounds of each work (default 5)
  --seconds S               how long the floor should take for one run (default 10)
  --smoke                   one short round of everything: shows that it runs, not how fast
  --work LIST               of send, lone, consume (default all)
  --runtime LIST            of tokio, smol, none (default tokio,smol; none runs the floor alone)
  --size BYTES              body size (default 128)
  --queues N                queues of each topic (default 4)
  --rocketry PATH           the command to measure (default: built in release form)
  --broker HOST:PORT        use a running broker instead of starting Apache 5.3.3; needs --name-server
  --name-server HOST:PORT   its name server

Prints Markdown on standard output and progress on standard error. Exit code 1 where any run failed, 2 for wrong usage.
";

/// The parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) smoke: bool,
    pub(crate) works: Vec<Work>,
    pub(crate) runtimes: Vec<String>,
    pub(crate) size: usize,
    pub(crate) queues: u32,
    pub(crate) rocketry: Option<PathBuf>,
    pub(crate) servers: Option<(String, String)>,
}

impl Options {
    /// Reads the arguments after the program's name; `None` means that help was asked for.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Option<Self>, Failure> {
        let mut args = args;
        let mut options = Self {
            rounds: 5,
            seconds: 10.0,
            smoke: false,
            works: Work::ALL.to_vec(),
            runtimes: vec!["tokio".into(), "smol".into()],
            size: 128,
            queues: 4,
            rocketry: None,
            servers: None,
        };
        let (mut broker, mut name_server) = (None, None);
        while let Some(name) = args.next() {
            match name.as_str() {
                "-h" | "--help" => return Ok(None),
                "--smoke" => {
                    options.smoke = true;
                    continue;
                }
                _ => {}
            }
            let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--broker" => broker = Some(value),
                "--name-server" => name_server = Some(value),
                _ => options.set(&name, value)?,
            }
        }
        options.servers = match (broker, name_server) {
            (Some(broker), Some(name_server)) => Some((broker, name_server)),
            (None, None) => None,
            _ => return Err("--broker and --name-server belong together".into()),
        };
        if options.smoke {
            (options.rounds, options.seconds) = (1, 1.0);
        }
        if options.rounds == 0 || !(0.1..=600.0).contains(&options.seconds) || options.size == 0 || options.queues == 0
        {
            return Err("--rounds, --size, --queues must be above 0, --seconds between 0.1 and 600".into());
        }
        Ok(Some(options))
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Failure> {
        let wrong = || format!("{name}: {value} does not fit");
        match name {
            "--rounds" => self.rounds = value.parse().map_err(|_| wrong())?,
            "--seconds" => self.seconds = value.parse().map_err(|_| wrong())?,
            "--size" => self.size = value.parse().map_err(|_| wrong())?,
            "--queues" => self.queues = value.parse().map_err(|_| wrong())?,
            "--rocketry" => self.rocketry = Some(value.into()),
            "--work" => self.works = value.split(',').map(Work::named).collect::<Option<_>>().ok_or_else(wrong)?,
            "--runtime" if value == "none" => self.runtimes.clear(),
            "--runtime" => {
                self.runtimes = value.split(',').map(String::from).collect();
                if !self.runtimes.iter().all(|name| name == "tokio" || name == "smol") {
                    return Err(wrong().into());
                }
            }
            other => return Err(format!("unknown option {other}").into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Options>, Failure> {
        Options::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn defaults_and_choices() {
        let all = parse("").unwrap().unwrap();
        assert_eq!((all.rounds, all.works.len(), all.runtimes.len()), (5, 3, 2));
        let some = parse("--work lone --runtime none --broker b:1 --name-server n:1 --smoke").unwrap().unwrap();
        assert_eq!((some.rounds, some.works, some.runtimes.len()), (1, vec![Work::Lone], 0));
        assert_eq!(some.servers, Some(("b:1".into(), "n:1".into())));
    }

    #[test]
    fn refuses_what_it_cannot_run() {
        for line in
            ["--broker b:1", "--rounds", "--rounds 0", "--work fly", "--runtime green", "--what 1", "--seconds 0"]
        {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!(parse("--help").unwrap(), None);
    }
}
