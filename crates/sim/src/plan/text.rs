//! Plans as text: a line for the seed, a line for each trouble. Files of this kind are kept and replayed.
//!
//! ```text
//! seed 17
//! 12500 4000 stall member1 broker0
//! 60000 0 wall-jump member2 -3600000
//! ```
//!
//! A trouble's line holds its beginning and its length in milliseconds, its kind, and what the kind needs. What follows a
//! `#` is for people.

use std::fmt;
use std::str::{FromStr, SplitWhitespace};
use std::time::Duration;

use super::{Part, Plan, Trouble, What};

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names => f.write_str("names"),
            Self::Broker(number) => write!(f, "broker{number}"),
            Self::Member(number) => write!(f, "member{number}"),
            Self::Sender => f.write_str("sender"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Self::Reset(a, b) | Self::Stall(a, b) | Self::Silence(a, b) | Self::Swallow(a, b) | Self::Refuse(a, b) => {
                write!(f, " {a} {b}")
            }
            Self::Slow(a, b, ms) => write!(f, " {a} {b} {ms}"),
            Self::Crumble(a, b, bytes) => write!(f, " {a} {b} {bytes}"),
            Self::Crash(part) | Self::Vanish(part) | Self::Kill(part) | Self::Pause(part) | Self::Hostile(part) => {
                write!(f, " {part}")
            }
            Self::WallJump(part, ms) => write!(f, " {part} {ms}"),
            Self::Join => Ok(()),
            Self::Leave(member) | Self::Twin(member) | Self::StuckHandlers(member) | Self::FailingHandlers(member) => {
                write!(f, " {member}")
            }
            Self::SlowHandlers(member, ms) => write!(f, " {member} {ms}"),
            Self::Answer(part, request, with) => write!(f, " {part} {request} {with}"),
            Self::LoseRequest(part, code) | Self::LoseAnswer(part, code) | Self::DoubleAnswer(part, code) => {
                write!(f, " {part} {code}")
            }
            Self::LateAnswer(part, code, ms) => write!(f, " {part} {code} {ms}"),
            Self::Trim(broker) => write!(f, " {broker}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        for Trouble { at, lasts, what } in &self.troubles {
            writeln!(f, "{} {} {what}", at.as_millis(), lasts.as_millis())?;
        }
        Ok(())
    }
}

/// A line of a plan that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for PlanError {}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<u8>().ok();
        match text {
            "names" => Ok(Self::Names),
            "sender" => Ok(Self::Sender),
            _ => number("broker")
                .map(Self::Broker)
                .or_else(|| number("member").map(Self::Member))
                .ok_or_else(|| format!("\"{text}\" is none of names, sender, brokerN, memberN")),
        }
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let mut plan = Self { seed: 0, troubles: Vec::new() };
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default().trim();
            let error = |reason| PlanError { line, reason };
            if content.is_empty() {
            } else if let Some(seed) = content.strip_prefix("seed ") {
                plan.seed = seed.trim().parse().map_err(|_| error(format!("\"{seed}\" is no seed")))?;
            } else {
                plan.troubles.push(trouble(content).map_err(error)?);
            }
        }
        Ok(plan)
    }
}

fn trouble(line: &str) -> Result<Trouble, String> {
    let mut words = line.split_whitespace();
    let at = Duration::from_millis(word(&mut words, "when it begins")?);
    let lasts = Duration::from_millis(word(&mut words, "how long it lasts")?);
    let kind = words.next().ok_or("the kind is missing")?;
    let what = what(kind, &mut words)?;
    match words.next() {
        Some(more) => Err(format!("\"{more}\" is too much")),
        None => Ok(Trouble { at, lasts, what }),
    }
}

fn word<T: FromStr>(words: &mut SplitWhitespace<'_>, what: &str) -> Result<T, String> {
    let text = words.next().ok_or_else(|| format!("{what} is missing"))?;
    text.parse().map_err(|_| format!("\"{text}\" cannot be read as {what}"))
}

fn part(words: &mut SplitWhitespace<'_>) -> Result<Part, String> {
    word(words, "a part")
}

fn number<T: FromStr>(words: &mut SplitWhitespace<'_>) -> Result<T, String> {
    word(words, "a number")
}

fn what(kind: &str, words: &mut SplitWhitespace<'_>) -> Result<What, String> {
    Ok(match kind {
        "reset" => What::Reset(part(words)?, part(words)?),
        "stall" => What::Stall(part(words)?, part(words)?),
        "silence" => What::Silence(part(words)?, part(words)?),
        "swallow" => What::Swallow(part(words)?, part(words)?),
        "refuse" => What::Refuse(part(words)?, part(words)?),
        "slow" => What::Slow(part(words)?, part(words)?, number(words)?),
        "crumble" => What::Crumble(part(words)?, part(words)?, number(words)?),
        "crash" => What::Crash(part(words)?),
        "vanish" => What::Vanish(part(words)?),
        "kill" => What::Kill(part(words)?),
        "pause" => What::Pause(part(words)?),
        "wall-jump" => What::WallJump(part(words)?, number(words)?),
        "leave" => What::Leave(number(words)?),
        "join" => What::Join,
        "twin" => What::Twin(number(words)?),
        "slow-handlers" => What::SlowHandlers(number(words)?, number(words)?),
        "stuck-handlers" => What::StuckHandlers(number(words)?),
        "failing-handlers" => What::FailingHandlers(number(words)?),
        "answer" => What::Answer(part(words)?, number(words)?, number(words)?),
        "lose-request" => What::LoseRequest(part(words)?, number(words)?),
        "lose-answer" => What::LoseAnswer(part(words)?, number(words)?),
        "late-answer" => What::LateAnswer(part(words)?, number(words)?, number(words)?),
        "double-answer" => What::DoubleAnswer(part(words)?, number(words)?),
        "trim" => What::Trim(number(words)?),
        "hostile" => What::Hostile(part(words)?),
        other => return Err(format!("\"{other}\" is no kind of trouble")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::draw;
    use super::*;

    #[test]
    fn every_plan_is_read_as_it_was_written() {
        for seed in 0..200 {
            let plan = draw(seed);
            assert_eq!(plan.to_string().parse::<Plan>(), Ok(plan));
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        for (text, line, part) in [
            ("seed x", 1, "no seed"),
            ("seed 1\n\n# a remark\n5 6 stall member1", 4, "a part is missing"),
            ("5 6 stall member1 nobody", 1, "nobody"),
            ("5 6 sneeze", 1, "sneeze"),
            ("5 6 join now", 1, "too much"),
            ("soon 6 join", 1, "soon"),
        ] {
            let error = text.parse::<Plan>().expect_err(text);
            assert_eq!(error.line, line);
            assert!(error.reason.contains(part), "{error}");
        }
    }
}
