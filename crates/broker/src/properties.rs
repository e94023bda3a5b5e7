//! The properties of a message on their way into the store (`spec/broker.md` 3.1, `spec/wire.md` 6.4).
//!
//! A sent property text is read once. What the broker decides by (tag, unique id, delay, transaction, timer) is noted on
//! the way, and whether the text can be stored as it is. It can in the ordinary case, so that storing a message copies
//! its properties and appends the broker's own; only a text with pieces that no reader would take, or with names that
//! the broker itself sets, is rewritten.

use alloc::string::String;

use rocketry_codec::message::property_names as name;
use rocketry_codec::message::{NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, PropertiesView};

/// What the broker wants to know of the properties of a sent message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent<'a> {
    text: &'a str,
    /// The text can be stored as it is.
    clean: bool,
    pub(crate) tags: Option<&'a str>,
    pub(crate) unique: Option<&'a str>,
    pub(crate) delay: Option<&'a str>,
    pub(crate) transaction: bool,
    pub(crate) timer: bool,
}

impl<'a> Sent<'a> {
    /// Reads a property text.
    pub(crate) fn read(text: &'a str) -> Self {
        let mut sent = Self { text, ..Self::default() };
        let (mut counted, mut own) = (0, false);
        for (name, value) in PropertiesView::new(text.as_bytes()) {
            counted += name.len() + value.len() + 2;
            match name {
                name::TAGS => sent.tags = Some(value),
                name::UNIQUE_KEY => sent.unique = Some(value),
                name::DELAY_LEVEL => sent.delay = Some(value),
                name::TRANSACTION_PREPARED => sent.transaction = value.eq_ignore_ascii_case("true"),
                name::TIMER_DELAY_SEC | name::TIMER_DELAY_MS | name::TIMER_DELIVER_MS => sent.timer = true,
                _ => own |= set_by_broker(name),
            }
        }
        // Pieces that do not count make the text longer than the pairs that do; its last separator may be missing.
        let unended = usize::from(!text.is_empty() && !text.ends_with(PROPERTY_SEPARATOR));
        sent.clean = !own && counted == text.len() + unended;
        sent
    }

    /// Appends the properties to store to `out`, without those that the broker sets itself and without `without`.
    pub(crate) fn write(&self, out: &mut String, without: &[&str]) {
        if !self.clean || !without.is_empty() {
            for (name, value) in PropertiesView::new(self.text.as_bytes()) {
                if !set_by_broker(name) && !without.contains(&name) {
                    push(out, name, value);
                }
            }
            return;
        }
        out.push_str(self.text);
        if !self.text.is_empty() && !self.text.ends_with(PROPERTY_SEPARATOR) {
            out.push(PROPERTY_SEPARATOR);
        }
    }
}

fn set_by_broker(name: &str) -> bool {
    matches!(name, name::MSG_REGION | name::TRACE_ON | name::CLUSTER | name::POP_CK)
}

/// Appends one property.
pub(crate) fn push(out: &mut String, name: &str, value: &str) {
    out.reserve(name.len() + value.len() + 2);
    out.push_str(name);
    out.push(NAME_VALUE_SEPARATOR);
    out.push_str(value);
    out.push(PROPERTY_SEPARATOR);
}

/// Appends the properties of `text` without the named ones.
pub(crate) fn copy_without(out: &mut String, text: &[u8], without: &[&str]) {
    for (name, value) in PropertiesView::new(text).iter().filter(|(name, _)| !without.contains(name)) {
        push(out, name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> String {
        let mut out = String::new();
        Sent::read(text).write(&mut out, &[]);
        out
    }

    #[test]
    fn an_ordinary_text_is_stored_as_it_is() {
        let text = "KEYS\u{1}k\u{2}TAGS\u{1}a\u{2}UNIQ_KEY\u{1}id\u{2}DELAY\u{1}3\u{2}";
        let sent = Sent::read(text);
        assert_eq!((sent.tags, sent.unique, sent.delay), (Some("a"), Some("id"), Some("3")));
        assert!(sent.clean && !sent.transaction && !sent.timer);
        assert_eq!(stored(text), text);
        assert_eq!(stored("a\u{1}b"), "a\u{1}b\u{2}", "a missing end is added");
        assert!(Sent::read("a\u{1}b").clean);
        assert_eq!(stored(""), "");
    }

    #[test]
    fn what_no_reader_takes_is_not_stored() {
        let text = "a\u{1}\u{2}b\u{1}c\u{2}nothing\u{2}\u{1}v\u{2}\u{2}d\u{1}e\u{1}f";
        assert_eq!(stored(text), "b\u{1}c\u{2}d\u{1}e\u{1}f\u{2}");
        assert_eq!(stored("\u{2}"), "");
    }

    #[test]
    fn the_brokers_own_names_are_left_out() {
        let text = "MSG_REGION\u{1}x\u{2}TRACE_ON\u{1}false\u{2}POP_CK\u{1}c\u{2}CLUSTER\u{1}y\u{2}k\u{1}v\u{2}";
        assert_eq!(stored(text), "k\u{1}v\u{2}");
    }

    #[test]
    fn the_last_of_a_repeated_name_counts() {
        let text = "TAGS\u{1}a\u{2}TAGS\u{1}b\u{2}TRAN_MSG\u{1}True\u{2}TIMER_DELAY_MS\u{1}5\u{2}";
        let sent = Sent::read(text);
        assert_eq!(sent.tags, Some("b"));
        assert!(sent.transaction && sent.timer);
        let mut out = String::new();
        copy_without(&mut out, text.as_bytes(), &["TAGS", "TIMER_DELAY_MS"]);
        assert_eq!(out, "TRAN_MSG\u{1}True\u{2}");
        out.clear();
        sent.write(&mut out, &["TAGS"]);
        assert_eq!(out, "TRAN_MSG\u{1}True\u{2}TIMER_DELAY_MS\u{1}5\u{2}");
    }
}
