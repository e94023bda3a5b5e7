//! What the commands with clients print: one JSON object a line with `--json`, text for people otherwise; progress on standard error.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value};

use crate::output::Failure;

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    /// JSON lines, or text.
    pub(crate) const fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints one result. People see `name value` pairs.
    pub(crate) fn object(self, object: &Map<String, Value>) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let line = if self.json { Value::Object(object.clone()).to_string() } else { for_people(object) };
        // A reader that has gone away ends the command in order.
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::from)
    }

    /// Prints text for people; nothing with `--json`.
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Failure::from)
    }
}

fn for_people(object: &Map<String, Value>) -> String {
    let mut line = String::new();
    for (name, value) in object {
        if !line.is_empty() {
            line.push_str("  ");
        }
        line.push_str(name);
        line.push('=');
        match value {
            Value::String(text) => line.push_str(text),
            other => line.push_str(&other.to_string()),
        }
    }
    line
}

/// A progress bar on standard error, if that is a terminal; otherwise nothing is drawn.
pub(crate) fn progress(total: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total).with_prefix(what);
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:40} {pos}/{len} {per_sec} {eta}") {
        bar.set_style(style);
    }
    bar
}
