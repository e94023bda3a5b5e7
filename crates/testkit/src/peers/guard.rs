//! No child outlives the test program, in whatever way that ends.
//!
//! A shell reads names of process groups and folders from a pipe whose other end only this program holds. When the pipe
//! closes, be it by an orderly end, Ctrl-C or `kill -9`, the shell kills the groups that are left and removes the folders.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

const SCRIPT: &str = r#"
groups=
while read -r what value; do
  case $what in
    started) groups="$groups $value" ;;
    ended)
      left=
      for group in $groups; do [ "$group" = "$value" ] || left="$left $group"; done
      groups=$left ;;
    folder) set -- "$@" "$value" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
for folder; do rm -rf -- "$folder"; done
"#;

/// The shell and what it has been told.
#[derive(Debug)]
struct Guard {
    pipe: Option<ChildStdin>,
    groups: BTreeSet<u32>,
    _shell: Option<Child>,
}

impl Guard {
    fn new() -> Self {
        // A group of its own: Ctrl-C must not reach it before it has done its work.
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut shell = shell.ok();
        Self { pipe: shell.as_mut().and_then(|shell| shell.stdin.take()), groups: BTreeSet::new(), _shell: shell }
    }

    fn tell(&mut self, what: &str, value: impl std::fmt::Display) {
        if let Some(pipe) = &mut self.pipe {
            // Without a guard the orderly ways to end still hold.
            let _ = writeln!(pipe, "{what} {value}");
        }
    }

    fn started(&mut self, group: u32) {
        self.groups.insert(group);
        self.tell("started", group);
    }

    fn ended(&mut self, group: u32) {
        if self.groups.remove(&group) {
            self.tell("ended", group);
        }
    }
}

fn with<T>(act: impl FnOnce(&mut Guard) -> T) -> T {
    static GUARD: OnceLock<Mutex<Guard>> = OnceLock::new();
    let guard = GUARD.get_or_init(|| Mutex::new(Guard::new()));
    act(&mut guard.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A process group has begun; its leader's id names it.
pub(super) fn started(group: u32) {
    with(|guard| guard.started(group));
}

/// The group's leader has ended and has been waited for, so that its id may come again.
pub(super) fn ended(group: u32) {
    with(|guard| guard.ended(group));
}

/// A folder that goes with this program.
pub(super) fn folder(path: &Path) {
    with(|guard| guard.tell("folder", path.display()));
}

/// Kills every group that is running: the way out of a case that found no end.
pub(crate) fn kill_all() {
    for group in with(|guard| guard.groups.clone()) {
        signal(group, "KILL");
    }
}

/// Sends a signal to a group. The shell's own `kill` is there even where no such program is.
pub(super) fn signal(group: u32, name: &str) {
    let script = "kill -s \"$1\" -- \"-$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", name, &group.to_string()]).stdin(Stdio::null());
    // A group that has just ended is no error.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn sleeper() -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().expect("sleep runs")
    }

    #[test]
    fn what_is_left_dies_with_the_program() {
        let (mut left, mut done) = (sleeper(), sleeper());
        let folder = std::env::temp_dir().join(format!("rocketry guard {}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).expect("a folder");
        let mut guard = Guard::new();
        guard.started(left.id());
        guard.started(done.id());
        guard.ended(done.id());
        guard.tell("folder", folder.display());
        drop(guard.pipe.take());
        assert_eq!(left.wait().expect("it ends").signal(), Some(9));
        guard._shell.take().expect("a shell").wait().expect("it ends");
        assert!(!folder.exists());
        assert!(done.try_wait().expect("a state").is_none(), "it was reported as ended and must be left alone");
        done.kill().expect("it still runs");
        done.wait().expect("it ends");
    }

    #[test]
    fn a_signal_reaches_the_whole_group() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo; wait"]).process_group(0).stdout(Stdio::piped());
        let mut shell = command.spawn().expect("sh runs");
        let mut pipe = shell.stdout.take().expect("a pipe");
        std::io::Read::read_exact(&mut pipe, &mut [0]).expect("its line");
        signal(shell.id(), "KILL");
        shell.wait().expect("it ends");
        // The inner process holds the pipe too: its end shows that both are gone.
        std::io::Read::read_to_end(&mut pipe, &mut Vec::new()).expect("the end");
    }
}
