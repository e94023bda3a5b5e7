//! Child processes: their lines as they come, and their certain end.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Unavailable, guard};

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

/// A running child with all that it starts. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Behind a lock so that servers can be shared between threads.
    lines: Mutex<Receiver<String>>,
    tail: Arc<Mutex<Vec<String>>>,
}

const TAIL: usize = 60;

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Self, Unavailable> {
        let mut child = spawn(command)?;
        let (sender, lines) = channel();
        let tail = Arc::new(Mutex::new(Vec::new()));
        if let Some(stdout) = child.stdout.take() {
            follow(stdout, Some(sender), Arc::clone(&tail));
        }
        if let Some(stderr) = child.stderr.take() {
            follow(stderr, None, Arc::clone(&tail));
        }
        Ok(Self { child, lines: Mutex::new(lines), tail })
    }

    /// The next line of standard output; `None` at its end or when `limit` is over.
    pub(super) fn line(&self, limit: Duration) -> Option<String> {
        self.next_line(limit).ok()
    }

    /// Waits for a line of standard output that contains `text`.
    pub(super) fn wait_for(&self, text: &str, limit: Duration) -> Result<(), Unavailable> {
        let end = Instant::now() + limit;
        loop {
            match self.next_line(end.saturating_duration_since(Instant::now())) {
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

    fn next_line(&self, limit: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(limit)
    }

    /// Nobody reads its lines any more; they go no further than [`Process::tail`].
    pub(super) fn mute(&mut self) {
        self.lines = Mutex::new(channel().1);
    }

    /// The last lines that it printed.
    pub(super) fn tail(&self) -> String {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Ends it as `kill -9` does.
    pub(super) fn kill(&mut self) {
        if !self.has_ended() {
            guard::signal(self.child.id(), "KILL");
            self.wait();
        }
    }

    /// Asks it to end, waits, and kills it when it does not.
    pub(super) fn stop(&mut self, limit: Duration) {
        guard::signal(self.child.id(), "TERM");
        let end = Instant::now() + limit;
        // Its output ends when it does.
        while self.line(end.saturating_duration_since(Instant::now())).is_some() {}
        if Instant::now() < end {
            self.wait();
        } else {
            self.kill();
        }
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        let ended = !matches!(self.child.try_wait(), Ok(None));
        if ended {
            guard::ended(self.child.id());
        }
        ended
    }

    /// Whether it ended with 0; waits for the end.
    pub(super) fn wait(&mut self) -> bool {
        let status = self.child.wait();
        guard::ended(self.child.id());
        status.is_ok_and(|status| status.success())
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

/// Starts a child in a group of its own, known to the guard, with pipes for what it prints.
fn spawn(command: &mut Command) -> Result<Child, Unavailable> {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command
        .spawn()
        .map_err(|error| Unavailable(format!("{:?} cannot be started: {error}", command.get_program())))?;
    guard::started(child.id());
    Ok(child)
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> Result<Output, Unavailable> {
    let child = spawn(command)?;
    let group = child.id();
    let output = child.wait_with_output();
    guard::ended(group);
    let output = output.map_err(Unavailable::because)?;
    Ok(Output {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
