//! References inside one JSON text.
//!
//! fastjson writes an object that it has written before as `{"$ref":"$.path"}` (wire 5.1). The path starts at the root
//! `$`; `.name` steps into a member, `[3]` into an array. In a name every character other than a letter or digit has a
//! backslash before it (before 1.2.83 none has one). A member whose key is a queue is named as Java's
//! `MessageQueue.toString` does it, and an object in key position is named `null`.
//!
//! A reference that leads nowhere becomes `null`, and in key position its member is dropped: among them are those by
//! `null` into a map with several such keys, where the text does not say which one is meant and Java guesses. A text whose
//! references contain themselves runs into the limits.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::value::{Key, Member, Object, Value};
use crate::error::WireError;

/// The name of the only member of a reference.
pub(super) const NAME: &str = "$ref";

/// A copy of a text's root with every reference replaced by what it refers to.
pub(super) fn resolve<'a>(root: &Value<'a>, most: usize, depth: usize) -> Result<Value<'a>, WireError> {
    let mut resolver = Resolver { root, most, left: most, depth };
    resolver.value(root, depth, Place::Document)
}

struct Resolver<'r, 'a> {
    root: &'r Value<'a>,
    most: usize,
    left: usize,
    depth: usize,
}

/// Where a value that is copied stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the text itself: its copy costs nothing.
    Document,
    /// In what a reference leads to.
    Referred,
}

/// What a path leads to.
enum Target<'r, 'a> {
    Value(&'r Value<'a>),
    Key(&'r Object<'a>),
}

impl<'r, 'a> Resolver<'r, 'a> {
    fn value(&mut self, value: &Value<'a>, depth: usize, place: Place) -> Result<Value<'a>, WireError> {
        if place == Place::Referred {
            self.spend(cost(value))?;
        }
        match value {
            Value::Object(object) => self.reference_or_object(object, depth, place),
            Value::Array(items) => {
                let depth = self.deeper(depth)?;
                let items: Result<_, _> = items.iter().map(|item| self.value(item, depth, place)).collect();
                Ok(Value::Array(items?))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Ok(value.clone()),
        }
    }

    fn reference_or_object(&mut self, object: &Object<'a>, depth: usize, place: Place) -> Result<Value<'a>, WireError> {
        match path(object) {
            Some(path) => self.referred(path, depth),
            None => Ok(Value::Object(self.object(object, depth, place)?)),
        }
    }

    fn object(&mut self, object: &Object<'a>, depth: usize, place: Place) -> Result<Object<'a>, WireError> {
        let depth = self.deeper(depth)?;
        let mut members = Vec::with_capacity(object.members().len());
        for member in object.members() {
            let key = match &member.key {
                Key::Text(text) => {
                    if place == Place::Referred {
                        self.spend(text.len())?;
                    }
                    Key::Text(text.clone())
                }
                Key::Object(key) => match self.reference_or_object(key, depth, place)? {
                    Value::Object(key) => Key::Object(key),
                    _ => continue,
                },
            };
            members.push(Member { key, value: self.value(&member.value, depth, place)? });
        }
        Ok(Object::new(members))
    }

    /// What a reference leads to, resolved in turn.
    fn referred(&mut self, path: &str, depth: usize) -> Result<Value<'a>, WireError> {
        let depth = self.deeper(depth)?;
        match self.find(path)? {
            Some(Target::Value(value @ (Value::Object(_) | Value::Array(_)))) => {
                self.value(value, depth, Place::Referred)
            }
            Some(Target::Key(object)) => self.reference_or_object(object, depth, Place::Referred),
            Some(Target::Value(_)) | None => Ok(Value::Null),
        }
    }

    fn find(&mut self, path: &str) -> Result<Option<Target<'r, 'a>>, WireError> {
        let path = without_escapes(path);
        let Some(mut rest) = path.strip_prefix('$') else { return Ok(None) };
        let mut here = self.root;
        while !rest.is_empty() {
            self.spend(1)?;
            match here {
                Value::Array(items) => {
                    let step = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                    let Some((index, behind)) = step else { return Ok(None) };
                    let Some(item) = index.parse().ok().and_then(|index: usize| items.get(index)) else {
                        return Ok(None);
                    };
                    (here, rest) = (item, behind);
                }
                Value::Object(object) => {
                    // What comparing the names may take.
                    let each = (rest.len() / 64).saturating_add(1);
                    self.spend(object.members().len().saturating_mul(each))?;
                    let Some(name) = rest.strip_prefix('.') else { return Ok(None) };
                    if name == "null"
                        && let Some(key) = only_object_key(object)
                    {
                        return Ok(Some(Target::Key(key)));
                    }
                    let Some((member, behind)) = longest(object, name) else { return Ok(None) };
                    (here, rest) = (&member.value, behind);
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => return Ok(None),
            }
        }
        Ok(Some(Target::Value(here)))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), WireError> {
        let most = self.most as u64;
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or(WireError::too_large("json references", most.saturating_add(1), most, 0))?;
        Ok(())
    }

    fn deeper(&self, depth: usize) -> Result<usize, WireError> {
        let most = self.depth as u64;
        depth.checked_sub(1).ok_or(WireError::too_large("json depth", most.saturating_add(1), most, 0))
    }
}

/// What the copy of a value costs, without what it contains.
fn cost(value: &Value<'_>) -> usize {
    let text = match value {
        Value::Number(text) => text.len(),
        Value::Text(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => 0,
    };
    text.saturating_add(16)
}

/// The path, if the object is a reference.
fn path<'v>(object: &'v Object<'_>) -> Option<&'v str> {
    match object.members() {
        [Member { key: Key::Text(name), value: Value::Text(path) }] if name == NAME => Some(path),
        _ => None,
    }
}

fn without_escapes(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        plain.push(if character == '\\' { characters.next().unwrap_or(character) } else { character });
    }
    plain
}

/// The member whose name stands at the start of the path, and the rest of the path. Names may hold dots and brackets: the
/// longest name that fits is meant.
fn longest<'r, 'a, 'p>(object: &'r Object<'a>, path: &'p str) -> Option<(&'r Member<'a>, &'p str)> {
    let fits = |member: &'r Member<'a>| {
        let behind = match &member.key {
            Key::Text(name) => path.strip_prefix(name.as_ref()),
            Key::Object(key) => path.strip_prefix(queue_text(key, path.len())?.as_str()),
        }?;
        (behind.is_empty() || behind.starts_with(['.', '['])).then_some((member, behind))
    };
    object.members().iter().filter_map(fits).min_by_key(|(_, behind)| behind.len())
}

/// A queue in key position as Java's `MessageQueue.toString` names it, if it is not longer than `most`.
fn queue_text(key: &Object<'_>, most: usize) -> Option<String> {
    let Value::Text(topic) = key.get("topic")? else { return None };
    let Value::Text(broker) = key.get("brokerName")? else { return None };
    let Value::Number(queue) = key.get("queueId")? else { return None };
    if topic.len().saturating_add(broker.len()).saturating_add(queue.len()) > most {
        return None;
    }
    Some(format!("MessageQueue [topic={topic}, brokerName={broker}, queueId={queue}]"))
}

fn only_object_key<'r, 'a>(object: &'r Object<'a>) -> Option<&'r Object<'a>> {
    let mut keys = object.members().iter().filter_map(|member| match &member.key {
        Key::Object(key) => Some(key),
        Key::Text(_) => None,
    });
    keys.next().filter(|_| keys.next().is_none())
}

#[cfg(test)]
mod tests;
