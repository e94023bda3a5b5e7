//! Apache's Java client, run by a small program of ours that reads its orders from the command line and prints JSON lines.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::apache_options::ApacheVersion;
use super::process::{self, Process};
use super::{Unavailable, maven};

/// A release of the Java client, compiled with the driver program.
#[derive(Clone, Debug)]
pub struct JavaClient {
    version: ApacheVersion,
    classpath: String,
    properties: Vec<String>,
}

/// The driver's sources.
const DRIVER: [(&str, &str); 4] = [
    ("Driver.java", include_str!("../../java/Driver.java")),
    ("Line.java", include_str!("../../java/Line.java")),
    ("Produce.java", include_str!("../../java/Produce.java")),
    ("Consume.java", include_str!("../../java/Consume.java")),
];

/// Orders that only newer releases can be given.
const NEWER: [(&str, &str); 1] = [("Poll.java", include_str!("../../java/Poll.java"))];

impl JavaClient {
    /// Fetches the client of this release and compiles the driver against it.
    ///
    /// # Errors
    /// What is missing, or what the compiler said.
    pub fn new(version: ApacheVersion) -> Result<Self, Unavailable> {
        super::tools()?;
        let jars = maven::jars(&format!("client-{version}"), &["rocketmq-client"], version.text())?;
        let classes = Self::compile(version, &jars)?;
        Ok(Self {
            version,
            classpath: format!("{}:{}", classes.display(), jars.join("*").display()),
            properties: Vec::new(),
        })
    }

    /// The same with a system property of the JVM, for example `rocketmq.serialize.type` = `ROCKETMQ`.
    #[must_use]
    pub fn property(mut self, name: &str, value: &str) -> Self {
        self.properties.push(format!("-D{name}={value}"));
        self
    }

    /// Runs the driver with these words: an order, as the classes in `java/` tell of themselves.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn run(&self, words: &[&str]) -> Result<JavaRun, Unavailable> {
        let mut command = Command::new("java");
        command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]);
        // A member whose first division found no broker yet asks again after two seconds instead of twenty.
        command.args(["-Drocketmq.client.logLevel=ERROR", "-Drocketmq.client.rebalance.waitInterval=2000"]);
        command.args(self.version.module_flags()).args(&self.properties);
        command.arg("-cp").arg(&self.classpath).arg("Driver").args(words);
        Ok(JavaRun { process: Process::start(&mut command)?, words: words.join(" ") })
    }

    fn compile(version: ApacheVersion, jars: &std::path::Path) -> Result<PathBuf, Unavailable> {
        let mut hasher = DefaultHasher::new();
        let newer = if version == ApacheVersion::V4_2_0 { &[][..] } else { &NEWER };
        (DRIVER, newer).hash(&mut hasher);
        let kept = maven::cache()?.join(format!("driver-{version}-{:016x}", hasher.finish()));
        if kept.join("Driver.class").is_file() {
            return Ok(kept);
        }
        let work = super::apache::scratch("driver")?;
        let mut command = Command::new("javac");
        command.arg("-cp").arg(jars.join("*")).arg("-d").arg(work.join("classes"));
        for (name, text) in DRIVER.iter().chain(newer) {
            let source = work.join(name);
            fs::write(&source, text).map_err(Unavailable::because)?;
            command.arg(source);
        }
        let output = process::run(&mut command)?;
        if !output.success {
            return Err(Unavailable(format!("the Java driver does not compile: {}", output.stderr)));
        }
        if fs::rename(work.join("classes"), &kept).is_err() && !kept.join("Driver.class").is_file() {
            copy(&work.join("classes"), &kept)?;
        }
        let _ = fs::remove_dir_all(&work);
        Ok(kept)
    }
}

/// Folders on different file systems cannot be renamed.
fn copy(from: &std::path::Path, to: &std::path::Path) -> Result<(), Unavailable> {
    fs::create_dir_all(to).map_err(Unavailable::because)?;
    for entry in fs::read_dir(from).map_err(Unavailable::because)?.flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).map_err(Unavailable::because)?;
    }
    Ok(())
}

/// A running driver.
#[derive(Debug)]
pub struct JavaRun {
    process: Process,
    words: String,
}

impl JavaRun {
    /// The next JSON line; `None` when the driver has ended.
    ///
    /// # Errors
    /// No line within `limit`, or one that is an error of the driver.
    pub fn next(&mut self, limit: Duration) -> Result<Option<Value>, Unavailable> {
        let end = Instant::now() + limit;
        while let Some(line) = self.process.line(end.saturating_duration_since(Instant::now())) {
            // The client's own logging goes to standard output now and then.
            if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(&line) {
                return match value.get("error") {
                    Some(error) => Err(Unavailable(format!("java {}: {error}", self.words))),
                    None => Ok(Some(value)),
                };
            }
        }
        if Instant::now() < end {
            return Ok(None);
        }
        Err(Unavailable(format!("java {}: no line within {limit:?}; last lines:\n{}", self.words, self.process.tail())))
    }

    /// All lines to the end of the driver.
    ///
    /// # Errors
    /// As [`JavaRun::next`], and when the driver does not end well.
    pub fn all(mut self, limit: Duration) -> Result<Vec<Value>, Unavailable> {
        let end = Instant::now() + limit;
        let mut lines = Vec::new();
        while let Some(line) = self.next(end.saturating_duration_since(Instant::now()))? {
            lines.push(line);
        }
        if self.process.wait() {
            return Ok(lines);
        }
        Err(Unavailable(format!("java {}: it failed; last lines:\n{}", self.words, self.process.tail())))
    }

    /// Ends it in order, as Ctrl-C does.
    pub fn stop(mut self) {
        self.process.stop(Duration::from_secs(20));
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) {
        self.process.kill();
    }
}
