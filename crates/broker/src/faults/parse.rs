//! Rules as text, as the command line gives them: `code=310,topic=t,after=2,times=5,answer=2:too busy`.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use rocketry_codec::codes::{RequestCode, ResponseCode};

use super::{Fault, FaultRule};

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultSyntax {
    /// A part has a name that no rule has.
    Unknown(String),
    /// A part's value cannot be read.
    Value(String),
    /// The rule says nothing, or more than one thing, about what happens.
    Outcome,
}

impl fmt::Display for FaultSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(part) => write!(f, "`{part}` is not part of a fault"),
            Self::Value(part) => write!(f, "the value of `{part}` cannot be read"),
            Self::Outcome => f.write_str(
                "exactly one of delay=MILLISECONDS, close=before, close=after, drop, answer=CODE[:REMARK], half-open is \
                 expected",
            ),
        }
    }
}

impl core::error::Error for FaultSyntax {}

/// Parts are separated by commas, so remarks and topics hold none.
impl FromStr for FaultRule {
    type Err = FaultSyntax;

    fn from_str(text: &str) -> Result<Self, FaultSyntax> {
        let mut rule = Self::new(Fault::DropAnswer);
        let mut outcome = None;
        for part in text.split(',').map(str::trim) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "code" => rule.code = Some(RequestCode(number(part, value)?)),
                "topic" if !value.is_empty() => rule.topic = Some(value.into()),
                "after" => rule.after = number(part, value)?,
                "times" => rule.times = Some(number(part, value)?),
                "topic" => return Err(FaultSyntax::Value(part.to_string())),
                _ => {
                    if outcome.replace(fault(part, name, value)?).is_some() {
                        return Err(FaultSyntax::Outcome);
                    }
                }
            }
        }
        rule.fault = outcome.ok_or(FaultSyntax::Outcome)?;
        Ok(rule)
    }
}

fn fault(part: &str, name: &str, value: &str) -> Result<Fault, FaultSyntax> {
    match (name, value) {
        ("delay", millis) => Ok(Fault::Delay(Duration::from_millis(number(part, millis)?))),
        ("close", "before") => Ok(Fault::CloseBefore),
        ("close", "after") => Ok(Fault::CloseAfter),
        ("drop", "") => Ok(Fault::DropAnswer),
        ("half-open", "") => Ok(Fault::HalfOpen),
        ("answer", answer) => {
            let (code, remark) = answer.split_once(':').unwrap_or((answer, ""));
            Ok(Fault::Answer { code: ResponseCode(number(part, code)?), remark: Arc::from(remark) })
        }
        ("close" | "drop" | "half-open", _) => Err(FaultSyntax::Value(part.to_string())),
        _ => Err(FaultSyntax::Unknown(part.to_string())),
    }
}

fn number<N: FromStr>(part: &str, value: &str) -> Result<N, FaultSyntax> {
    value.parse().map_err(|_| FaultSyntax::Value(part.to_string()))
}
