//! Child processes: their lines as they come, and their certain end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Unavailable;

/// What a finished process printed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Output {
    /// Whether it ended with 0.
    pub success: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A running child. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    lines: Receiver<String>,
    tail: Arc<Mutex<Vec<String>>>,
}

const TAIL: usize = 60;

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Self, Unavailable> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Unavailable(format!("{:?} cannot be started: {error}", command.get_program())))?;
        let (sender, lines) = channel();
        let tail = Arc::new(Mutex::new(Vec::new()));
        if let Some(stdout) = child.stdout.take() {
            follow(stdout, Some(sender), Arc::clone(&tail));
        }
        if let Some(stderr) = child.stderr.take() {
            follow(stderr, None, Arc::clone(&tail));
        }
        Ok(Self { child, lines, tail })
    }

    /// The next line of standard output; `None` at its end or when `limit` is over.
    pub(super) fn line(&self, limit: Duration) -> Option<String> {
        self.lines.recv_timeout(limit).ok()
    }

    /// Waits for a line of standard output that contains `text`.
    pub(super) fn wait_for(&self, text: &str, limit: Duration) -> Result<(), Unavailable> {
        let end = Instant::now() + limit;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return Ok(()),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Unavailable(format!("no \"{text}\" within {limit:?}; last lines:\n{}", self.tail())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Unavailable(format!("ended without \"{text}\"; last lines:\n{}", self.tail())));
                }
            }
        }
    }

    /// The last lines that it printed.
    pub(super) fn tail(&self) -> String {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Ends it as `kill -9` does.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, waits, and kills it when it does not.
    pub(super) fn stop(&mut self, limit: Duration) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        let end = Instant::now() + limit;
        while asked.is_ok() && Instant::now() < end {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(20)),
                _ => return,
            }
        }
        self.kill();
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether it ended with 0; waits for the end.
    pub(super) fn wait(&mut self) -> bool {
        self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn follow(pipe: impl Read + Send + 'static, sender: Option<Sender<String>>, tail: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            if tail.len() >= TAIL {
                tail.remove(0);
            }
            tail.push(line.clone());
            drop(tail);
            if let Some(sender) = &sender {
                // Nobody may be listening any more; the pipe is emptied all the same.
                let _ = sender.send(line);
            }
        }
    });
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> Result<Output, Unavailable> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Unavailable(format!("{:?} cannot be started: {error}", command.get_program())))?;
    Ok(Output {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
