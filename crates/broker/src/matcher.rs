//! Which messages a pull or pop wants, from what a request or a heartbeat says (`spec/broker.md` 4.2, 4.5).

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rocketry_codec::codes::ResponseCode;
use rocketry_codec::filter::{self, SqlExpression};
use rocketry_codec::tags::{self, TagExpression};

use crate::pull::Refusal;
use crate::store::Filter;

/// Apache's text where no compiled filter is known.
const FILTER_MISSING: &str = "The broker's consumer filter data is not exist!Your expression may be wrong!";
const PARSE_FAILED: &str = "parse the consumer's subscription failed";

/// Which messages a pull wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matcher {
    All,
    Codes(Vec<i32>),
    Sql(Arc<SqlExpression>),
}

impl Matcher {
    pub(crate) fn filter(&self) -> Filter<'_> {
        match self {
            Self::All => Filter::All,
            Self::Codes(codes) => Filter::Codes(codes),
            Self::Sql(expression) => Filter::Sql(expression),
        }
    }
}

/// What a pull or pop wants that brings its subscription along; `by_properties` says whether SQL92 is taken.
pub(crate) fn matcher_of(expression: &str, kind: Option<&str>, by_properties: bool) -> Result<Matcher, Refusal> {
    if !filter::is_tag_type(kind) {
        if expression.is_empty() {
            return Err(Refusal::new(ResponseCode::SUBSCRIPTION_PARSE_FAILED, PARSE_FAILED));
        }
        if !by_properties {
            return Err(unsupported_filter(kind));
        }
        // Apache delivers everything where the text does not compile; a message that nobody asked for helps nobody.
        let compiled = (kind == Some(filter::SQL92)).then(|| SqlExpression::parse(expression).ok());
        let compiled = compiled.flatten().ok_or(Refusal::new(ResponseCode::SUBSCRIPTION_PARSE_FAILED, PARSE_FAILED))?;
        return Ok(Matcher::Sql(Arc::new(compiled)));
    }
    if matches!(expression, "" | tags::ALL) {
        return Ok(Matcher::All);
    }
    match TagExpression::parse(expression) {
        Ok(parsed) => Ok(Matcher::Codes(parsed.codes().to_vec())),
        // Java's split drops empty pieces at the end: nothing but separators is an error, blanks between them are not,
        // and match nothing.
        Err(_) if expression.split("||").any(|piece| !piece.is_empty()) => Ok(Matcher::Codes(Vec::new())),
        Err(_) => Err(Refusal::new(ResponseCode::SUBSCRIPTION_PARSE_FAILED, PARSE_FAILED)),
    }
}

/// What a pull wants whose expression came with a heartbeat and was compiled then, if it did compile.
pub(crate) fn of_compiled(
    compiled: Option<&Arc<SqlExpression>>,
    kind: Option<&str>,
    by_properties: bool,
) -> Result<Matcher, Refusal> {
    let compiled = compiled.ok_or(Refusal::new(ResponseCode::FILTER_DATA_NOT_EXIST, FILTER_MISSING))?;
    if by_properties { Ok(Matcher::Sql(Arc::clone(compiled))) } else { Err(unsupported_filter(kind)) }
}

/// Without property filters the answer is Apache's of `enablePropertyFilter=false`.
fn unsupported_filter(kind: Option<&str>) -> Refusal {
    let kind = kind.unwrap_or("SQL92");
    let remark = format!("The broker does not support consumer to filter message by {kind}");
    Refusal::new(ResponseCode::SYSTEM_ERROR, remark)
}
