//! `rocketry filter`: what a subscription lets through, evaluated here.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use rocketry_codec::filter::SqlExpression;
use rocketry_codec::tags::TagExpression;

use crate::args::FilterArgs;
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs) -> Result<(), Failure> {
    if let Some(text) = &args.sql {
        return sql(text, args.properties.as_deref().unwrap_or("{}"));
    }
    let text = args.tags.as_deref().unwrap_or_default();
    let expression = TagExpression::parse(text)
        .map_err(|error| Failure::Usage(format!("--tags does not compile at position 0: {error}")))?;
    writeln!(io::stdout(), "{}", expression.accepts(args.tag.as_deref()))?;
    Ok(())
}

/// Prints `true`, `false` or `null`; people are told on standard error what a broker would pass over in silence.
fn sql(text: &str, properties: &str) -> Result<(), Failure> {
    let expression =
        SqlExpression::parse(text).map_err(|error| Failure::Usage(format!("--sql does not compile {error}")))?;
    let properties: BTreeMap<String, String> = serde_json::from_str(properties)
        .map_err(|error| Failure::Usage(format!("--properties is no JSON object of strings: {error}")))?;
    if let Some(at) = expression.ignored() {
        eprintln!("rocketry: brokers ignore the text from position {at} on");
    }
    let value = expression.evaluate(|name| properties.get(name).map(String::as_str)).unwrap_or_else(|error| {
        eprintln!("rocketry: {error}: a broker does not deliver the message");
        Some(false)
    });
    writeln!(io::stdout(), "{}", value.map_or("null", |value| if value { "true" } else { "false" }))?;
    Ok(())
}
