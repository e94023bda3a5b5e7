//! Property strings: the view's walk and its look-ups agree, and what was read is written so that it reads the same
//! (COD-15).

use std::collections::BTreeMap;

use rocketry_codec::message::{Properties, PropertiesView};

const SEPARATORS: [char; 2] = ['\u{1}', '\u{2}'];

/// Reads the input as an encoded property string.
///
/// # Panics
/// Where looking a name up and walking disagree, where the last separator matters, or where properties that were
/// written do not read the same.
pub fn properties(data: &[u8]) {
    let view = PropertiesView::new(data);
    let map: BTreeMap<&str, &str> = view.iter().collect();
    for (name, value) in &map {
        assert!(!name.is_empty() && !value.is_empty(), "an empty name or value counts");
        let bytes = view.get_bytes(name).expect("a name of the walk can be looked up");
        // A later value that is not text hides the earlier one from a look-up.
        if let Ok(text) = std::str::from_utf8(bytes) {
            assert_eq!((text, view.get(name)), (*value, Some(*value)), "the last value of {name:?} does not count");
        }
    }
    if let Some(without_last) = data.strip_suffix(&[2]) {
        assert!(PropertiesView::new(without_last).iter().eq(view.iter()), "the last separator matters");
    }
    let known = [view.tags(), view.unique_key()];
    assert!(known.into_iter().flatten().all(|value| !value.is_empty()), "an empty value counts");
    assert!(view.keys().all(|key| !key.is_empty() && !key.contains(' ')), "a key holds a blank");
    write_back(view);
}

fn write_back(view: PropertiesView<'_>) {
    let mut written = Properties::from(view);
    let mut names = Vec::new();
    for (name, value) in written.view() {
        assert!(!names.contains(&name), "{name:?} is written twice");
        assert!(!value.contains(SEPARATORS), "a separator was written");
        assert!(view.iter().any(|pair| pair == (name, value)), "{name:?} was not read");
        names.push(name);
    }
    assert!(view.iter().all(|(name, value)| value.contains(SEPARATORS) || names.contains(&name)), "a name was lost");
    assert_eq!(Properties::from(written.view()), written, "what was written is not stable");
    assert_eq!(written.encoded_len(), written.as_str().len());
    let names: Vec<String> = names.into_iter().map(String::from).collect();
    for name in names {
        assert!(written.set(&name, "\u{1}").is_err() && written.set(&name, "").is_err());
        assert!(written.set(&name, "v").is_ok());
        assert_eq!(written.get(&name), Some("v"), "what was set is not there");
        assert!(written.remove(&name), "what was set cannot be removed");
        assert_eq!(written.get(&name), None, "what was removed is there");
    }
    assert!(written.is_empty(), "something is left of removed properties");
}
