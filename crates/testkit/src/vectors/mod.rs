//! Golden values: the JSON lines under `crates/testkit/data/`.
//!
//! The files are a copy of the project's specification folder (`../shared` beside the project, when it is there), so
//! that a clone alone passes its tests. [`shared`] finds the originals for the test that compares the two.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The lines of `name`, such as `commands.jsonl` or `captures/java-client-with-5.3.3.jsonl`, one value each.
///
/// # Panics
/// When the file is not there or a line is not JSON: a test cannot go on then.
#[must_use]
pub fn load(name: &str) -> Vec<Value> {
    let path = data().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let values: Vec<Value> = lines
        .enumerate()
        .map(|(line, text)| serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}:{}: {error}", line + 1)))
        .collect();
    assert!(!values.is_empty(), "{name} is empty");
    values
}

/// The folder of the copies.
#[must_use]
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// The original of a copied file, if the specification folder is there.
#[must_use]
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?.join("../shared");
    let original = if name.starts_with("captures/") { root.join(name) } else { root.join("vectors").join(name) };
    original.exists().then_some(original)
}

/// Names of all copied files, as [`load`] takes them.
///
/// # Panics
/// When the folder cannot be read.
#[must_use]
pub fn names() -> Vec<String> {
    let mut names = Vec::new();
    for (folder, prefix) in [(data(), ""), (data().join("captures"), "captures/")] {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let files = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.extend(files.filter(|name| name.ends_with(".jsonl")).map(|name| format!("{prefix}{name}")));
    }
    names.sort();
    names
}

/// The bytes of a member that holds hexadecimal text; `null` and an absent member are no bytes.
///
/// # Panics
/// When the text is not hexadecimal.
#[must_use]
pub fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or_default();
    assert!(text.len().is_multiple_of(2) && text.is_ascii(), "an odd number of digits or other characters: {text}");
    let digits = (0..text.len()).step_by(2).filter_map(|at| text.get(at..at + 2));
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap_or_else(|error| panic!("{pair}: {error}"))).collect()
}

/// A number that may be written as a number or as text.
#[must_use]
pub fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
