//! `rocketry filter`: what a subscription lets through, evaluated here.

use std::io::{self, Write as _};

use rocketry_codec::tags::TagExpression;

use crate::args::FilterArgs;
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &FilterArgs) -> Result<(), Failure> {
    for (flag, is_given) in [("--sql", args.sql.is_some()), ("--properties", args.properties.is_some())] {
        if is_given {
            return Err(Failure::unavailable(flag));
        }
    }
    let text = args.tags.as_deref().unwrap_or_default();
    let expression = TagExpression::parse(text)
        .map_err(|error| Failure::Usage(format!("--tags does not compile at position 0: {error}")))?;
    writeln!(io::stdout(), "{}", expression.accepts(args.tag.as_deref()))?;
    Ok(())
}
