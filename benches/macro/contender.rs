//! Who runs: the floor and `rocketry bench` on each runtime, as child processes that print one JSON object.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::args::Options;
use crate::{Failure, note};

/// The fields of a run's JSON object, all of them numbers (`cli.md`).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    /// Reads the last line of a child's standard output.
    pub(crate) fn parse(output: &str) -> Result<Self, Failure> {
        let line = output.lines().rfind(|line| !line.trim().is_empty()).ok_or("the run printed nothing")?;
        let object: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(line).map_err(|error| format!("the run printed {line}: {error}"))?;
        Ok(Self(object.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()))
    }

    /// A figure by name, where the run printed it.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

/// One of those who run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `benches/floor`.
    Floor(PathBuf),
    /// `rocketry bench` on a runtime.
    Rocketry { command: PathBuf, runtime: String },
}

impl Contender {
    /// What the table calls it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Floor(_) => "floor".into(),
            Self::Rocketry { runtime, .. } => format!("rocketry, {runtime}"),
        }
    }

    /// Runs it to its end, at most `limit`, and reads what it measured.
    ///
    /// # Errors
    ///
    /// Where it cannot be started, takes too long, exits with anything but 0 or reports a failed message.
    pub(crate) fn run(&self, args: &[String], limit: Duration) -> Result<Figures, Failure> {
        let mut command = match self {
            Self::Floor(path) => Command::new(path),
            Self::Rocketry { command, runtime } => {
                let mut command = Command::new(command);
                command.args(["bench", "--json", "--runtime", runtime]);
                command
            }
        };
        let line = format!("{} {}", self.name(), args.join(" "));
        let mut child = command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{line}: cannot be started: {error}"))?;
        let mut pipe = child.stdout.take().ok_or("no standard output")?;
        let (sender, receiver) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            let outcome = pipe.read_to_string(&mut text).map(|_| text);
            let _ = sender.send(outcome);
        });
        let output = receiver.recv_timeout(limit);
        if output.is_err() {
            let _ = child.kill();
        }
        let status = child.wait()?;
        let _ = reader.join();
        let output = output.map_err(|_| format!("{line}: no end within {limit:?}"))??;
        if !status.success() {
            return Err(format!("{line}: {status}; it printed {}", output.trim()).into());
        }
        let figures = Figures::parse(&output)?;
        match figures.get("failed") {
            Some(0.0) => Ok(figures),
            _ => Err(format!("{line}: not every message went well: {}", output.trim()).into()),
        }
    }
}

/// The floor, then rocketry on each runtime asked for; builds what is missing in release form.
pub(crate) fn all(options: &Options) -> Result<Vec<Contender>, Failure> {
    let folder = env::current_exe()?.parent().ok_or("the runner has no folder")?.to_owned();
    let name = |stem: &str| format!("{stem}{}", env::consts::EXE_SUFFIX);
    let floor = folder.join(name("floor"));
    build(&["-p", "rocketry-benches", "--bin", "floor"])?;
    let mut contenders = vec![Contender::Floor(existing(&floor)?)];
    if options.runtimes.is_empty() {
        return Ok(contenders);
    }
    let command = match &options.rocketry {
        Some(path) => path.clone(),
        None => {
            build(&["-p", "rocketry-cli", "--bin", "rocketry"])?;
            folder.join(name("rocketry"))
        }
    };
    let command = existing(&command)?;
    for runtime in &options.runtimes {
        contenders.push(Contender::Rocketry { command: command.clone(), runtime: runtime.clone() });
    }
    Ok(contenders)
}

fn existing(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The runner itself was built by cargo; the same cargo and folder build the rest, in the profile of the figures.
fn build(what: &[&str]) -> Result<(), Failure> {
    note(&format!("building {}", what.join(" ")));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet"])
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("cargo build {}: {status}", what.join(" ")).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_read() {
        let figures =
            Figures::parse("starting\n{\"ok\":5,\"failed\":0,\"rate\":12.5,\"runtime\":\"tokio\"}\n\n").unwrap();
        assert_eq!((figures.get("ok"), figures.get("rate"), figures.get("p50_us")), (Some(5.0), Some(12.5), None));
        assert!(Figures::parse("").is_err());
        assert!(Figures::parse("done").is_err());
    }

    #[test]
    fn a_child_that_fails_hangs_or_lies_is_an_error() {
        let shell = Contender::Floor("/bin/sh".into());
        let run = |script: &str, limit| shell.run(&["-c".into(), script.into()], Duration::from_millis(limit));
        assert!(run("echo '{\"ok\":1,\"failed\":0}'", 60_000).is_ok());
        assert!(run("echo '{\"ok\":1,\"failed\":1}'", 60_000).is_err());
        assert!(run("echo '{\"ok\":1,\"failed\":0}'; exit 3", 60_000).is_err());
        assert!(run("exec sleep 600", 50).is_err());
        assert!(Contender::Floor("/nowhere/floor".into()).run(&[], Duration::from_secs(1)).is_err());
    }
}
