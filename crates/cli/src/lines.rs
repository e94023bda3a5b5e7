//! Commands that turn lines into lines.

use std::io::{self, BufRead, BufReader, BufWriter, Write};

use rocketry_codec::WireError;
use serde::Serialize;

use crate::output::Failure;

/// Why a line could not be turned into another; printed in its place.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LineError {
    /// What was wrong.
    pub(crate) error: String,
    /// Where, in bytes: of what a hex line stands for, or of a JSON line itself.
    pub(crate) offset: usize,
}

impl LineError {
    pub(crate) fn new(error: impl Into<String>, offset: usize) -> Self {
        Self { error: error.into(), offset }
    }
}

impl From<WireError> for LineError {
    fn from(error: WireError) -> Self {
        Self::new(error.kind.to_string(), error.offset)
    }
}

/// What became of a part of a line.
pub(crate) type LineResult = Result<String, LineError>;

/// Runs `turn` over the lines of standard input; see [`over`].
pub(crate) fn over_stdin(turn: impl FnMut(&str) -> Vec<LineResult>) -> Result<(), Failure> {
    over(io::stdin().lock(), io::stdout().lock(), turn)
}

/// Runs `turn` over the lines of `input` but empty ones and prints what it gives. A line that fails is answered by a
/// [`LineError`] and the run goes on.
///
/// # Errors
/// When a line failed, at the end, and when reading or writing fails, at once.
fn over(
    input: impl io::Read,
    output: impl Write,
    mut turn: impl FnMut(&str) -> Vec<LineResult>,
) -> Result<(), Failure> {
    let mut input = BufReader::new(input);
    let mut output = BufWriter::new(output);
    let (mut line, mut all, mut failed) = (Vec::new(), 0_u64, 0_u64);
    loop {
        if input.buffer().is_empty() {
            // Nothing more is at hand: whoever sent the last line may wait for the answer.
            output.flush()?;
        }
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let results = match std::str::from_utf8(&line) {
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => turn(text.trim()),
            Err(error) => vec![Err(LineError::new("the line is not UTF-8", error.valid_up_to()))],
        };
        all += 1;
        failed += u64::from(results.iter().any(Result::is_err));
        for result in results {
            match result {
                Ok(text) => writeln!(output, "{text}")?,
                Err(error) => writeln!(output, "{}", json(&error))?,
            }
        }
    }
    output.flush()?;
    if failed == 0 { Ok(()) } else { Err(Failure::Operation(format!("{failed} of {all} lines failed"))) }
}

/// One line of JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    // The shapes printed here have text keys and finite numbers: they cannot fail.
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\",\"offset\":0}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: &[u8], turn: impl FnMut(&str) -> Vec<LineResult>) -> (String, Result<(), Failure>) {
        let mut output = Vec::new();
        let result = over(input, &mut output, turn);
        (String::from_utf8(output).unwrap(), result)
    }

    #[test]
    fn a_line_that_fails_leaves_its_neighbours_alone() {
        let turn = |line: &str| match line {
            "bad" => vec![Err(LineError::new("no \"good\"", 3))],
            "two" => vec![Ok("1".into()), Ok("2".into())],
            other => vec![Ok(other.into())],
        };
        let (output, result) = run(b"a\n\n bad \r\n\xff\ntwo\nlast", turn);
        let expected = "a\n{\"error\":\"no \\\"good\\\"\",\"offset\":3}\n{\"error\":\"the line is not UTF-8\",\"offset\":0}\n1\n2\nlast\n";
        assert_eq!(output, expected);
        assert!(matches!(result, Err(Failure::Operation(text)) if text == "2 of 5 lines failed"));
    }

    #[test]
    fn nothing_makes_nothing() {
        let (output, result) = run(b"", |_| vec![Ok("x".into())]);
        assert!(output.is_empty() && result.is_ok());
    }
}
