//! How a command ends and what it prints.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An operation failed: exit code 1.
    Operation(String),
    /// The command line or the configuration is wrong: exit code 2.
    Usage(String),
    /// Input or output failed: exit code 1, unless it was the reader of the output who left.
    Io(io::Error),
}

impl Failure {
    /// An operation that failed.
    pub(crate) fn operation(error: impl Display) -> Self {
        Self::Operation(error.to_string())
    }

    /// Wrong usage.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// Refuses a flag whose feature does not exist, if it is given.
    pub(crate) fn refuse(flag: &str, is_given: bool) -> Result<(), Self> {
        if is_given { Err(Self::unavailable(flag)) } else { Ok(()) }
    }

    /// A flag whose feature does not exist, refused by name.
    pub(crate) fn unavailable(flag: impl Display) -> Self {
        Self::Usage(format!("{flag} is not available in this version"))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Tells people on standard error what failed, and the shell by the exit code.
pub(crate) fn exit(result: Result<(), Failure>) -> ExitCode {
    let (code, text) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        // As with `| head`: whoever read the output has enough.
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(Failure::Io(error)) => (1, error.to_string()),
        Err(Failure::Operation(text)) => (1, text),
        Err(Failure::Usage(text)) => (2, text),
    };
    eprintln!("rocketry: {text}");
    ExitCode::from(code)
}
