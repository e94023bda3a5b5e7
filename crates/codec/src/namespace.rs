//! Namespaces of the first kind, which exist on the client only (wire section 9).
//!
//! A resource becomes `<namespace>%<name>`; retry and dead-letter topics keep their prefix in front. System topics and
//! groups are never wrapped. On delivery the prefix is stripped again.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::names;

const SEPARATOR: char = '%';

/// `resource` inside `namespace`. Unchanged when either is empty, it is a system name, or it is inside already.
#[must_use]
pub fn wrap<'a>(namespace: &str, resource: &'a str) -> Cow<'a, str> {
    if namespace.is_empty() || resource.is_empty() || is_system(resource) {
        return Cow::Borrowed(resource);
    }
    let (prefix, name) = split_prefix(resource);
    if in_namespace(namespace, name).is_some() {
        return Cow::Borrowed(resource);
    }
    let mut wrapped = String::with_capacity(resource.len().saturating_add(namespace.len()).saturating_add(1));
    wrapped.push_str(prefix);
    wrapped.push_str(namespace);
    wrapped.push(SEPARATOR);
    wrapped.push_str(name);
    Cow::Owned(wrapped)
}

/// The retry topic of `group` inside `namespace`; `None` for an empty group.
#[must_use]
pub fn wrap_retry(namespace: &str, group: &str) -> Option<String> {
    (!group.is_empty()).then(|| names::retry_topic(&wrap(namespace, group)))
}

/// `resource` without whatever namespace it is in.
#[must_use]
pub fn strip_any(resource: &str) -> Cow<'_, str> {
    if is_system(resource) {
        return Cow::Borrowed(resource);
    }
    let (prefix, name) = split_prefix(resource);
    match name.split_once(SEPARATOR) {
        Some((namespace, inner)) if !namespace.is_empty() => rejoined(prefix, inner),
        _ => Cow::Borrowed(resource),
    }
}

/// `resource` without `namespace`; unchanged when it is in another or in none.
#[must_use]
pub fn strip<'a>(namespace: &str, resource: &'a str) -> Cow<'a, str> {
    let (prefix, name) = split_prefix(resource);
    match in_namespace(namespace, name) {
        Some(inner) if !namespace.is_empty() && !is_system(resource) => rejoined(prefix, inner),
        _ => Cow::Borrowed(resource),
    }
}

/// The namespace `resource` is in; empty when it is in none.
#[must_use]
pub fn namespace_of(resource: &str) -> &str {
    if is_system(resource) {
        return "";
    }
    split_prefix(resource).1.split_once(SEPARATOR).map_or("", |(namespace, _)| namespace)
}

fn is_system(resource: &str) -> bool {
    names::is_system_topic(resource) || names::is_system_group(resource)
}

/// The retry or dead-letter prefix and the rest.
fn split_prefix(resource: &str) -> (&str, &str) {
    for prefix in [names::RETRY_PREFIX, names::DLQ_PREFIX] {
        if let Some(name) = resource.strip_prefix(prefix) {
            return (prefix, name);
        }
    }
    ("", resource)
}

/// What follows `<namespace>%` in a name without retry or dead-letter prefix.
fn in_namespace<'a>(namespace: &str, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(namespace)?.strip_prefix(SEPARATOR)
}

fn rejoined<'a>(prefix: &str, name: &'a str) -> Cow<'a, str> {
    if prefix.is_empty() {
        return Cow::Borrowed(name);
    }
    let mut text = String::from(prefix);
    text.push_str(name);
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prefixes_stay_in_front() {
        assert_eq!(wrap("ns", "%RETRY%g"), "%RETRY%ns%g");
        assert_eq!(wrap("ns", "%RETRY%ns%g"), "%RETRY%ns%g");
        assert_eq!(strip("ns", "%DLQ%ns%g"), "%DLQ%g");
        assert_eq!(strip("other", "ns%g"), "ns%g");
        assert_eq!(wrap("ns", "TBW102"), "TBW102");
        assert_eq!(wrap_retry("ns", "g").as_deref(), Some("%RETRY%ns%g"));
        assert_eq!(wrap_retry("ns", ""), None);
        assert_eq!(namespace_of("%RETRY%ns%g"), "ns");
        assert_eq!(namespace_of("g"), "");
    }

    proptest! {
        #[test]
        fn what_was_wrapped_is_stripped(namespace in "[a-z]{1,5}", name in "[a-zA-Z0-9_]{1,8}", prefix in "(%RETRY%|%DLQ%|)") {
            let mut resource = prefix;
            resource.push_str(&name);
            prop_assume!(!is_system(&resource));
            let wrapped = wrap(&namespace, &resource);
            prop_assert_eq!(strip(&namespace, &wrapped), resource.as_str());
            prop_assert_eq!(strip_any(&wrapped), resource.as_str());
            prop_assert_eq!(namespace_of(&wrapped), namespace.as_str());
            prop_assert_eq!(wrap(&namespace, &wrapped), wrapped.clone());
        }
    }
}
