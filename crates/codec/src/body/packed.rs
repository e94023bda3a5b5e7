//! The compressed form of a broker's registration (wire 4.13): what stands inside the zlib stream.
//!
//! This module reads and writes the inflated bytes; inflating within a limit is the caller's part. The form knows nothing
//! of a topic's `order` and `topicSysFlag` and nothing of whole mappings: these have their defaults after reading.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use nom::IResult;
use nom::bytes::complete::take;
use nom::number::complete::be_u32;

use super::JsonBody;
use super::registration::{DataVersion, RegisterBroker, TopicConfig, TopicConfigs};
use super::route::TopicQueueMapping;
use crate::error::WireError;
use crate::json::{self, FromJson, JsonWriter, ToJson};
use crate::limits::Limits;

/// Reads a registration.
///
/// # Errors
/// Where a part is cut or is not what it should be.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<RegisterBroker, WireError> {
    let mut reader = Reader { whole: bytes.len(), rest: bytes };
    let data_version = DataVersion::decode_within(reader.part("data version")?, limits)?;
    let mut topics = BTreeMap::new();
    for _ in 0..reader.count("topics")? {
        let topic = topic(reader.text("topic")?, limits).ok_or(WireError::invalid("topic", reader.offset()))?;
        topics.insert(topic.topic.clone(), topic);
    }
    let servers = json::read(reader.part("filter servers")?, limits)?;
    let filter_servers = Vec::from_json(&servers).unwrap_or_default();
    // Brokers before 5.0 end here.
    let mut mapping_info = None;
    if !reader.rest.is_empty() {
        let mut mappings = BTreeMap::new();
        for _ in 0..reader.count("mappings")? {
            let mapping = TopicQueueMapping::decode_within(reader.part("mapping")?, limits)?;
            mappings.insert(mapping.topic.clone(), mapping);
        }
        mapping_info = Some(mappings);
    }
    if !reader.rest.is_empty() {
        return Err(WireError::invalid("registration: bytes behind the mappings", reader.offset()));
    }
    let topics = TopicConfigs { data_version, topics, mapping_info, ..TopicConfigs::default() };
    Ok(RegisterBroker { filter_servers, topics })
}

/// Writes a registration. Without [`TopicConfigs::mapping_info`] it is that of a broker before 5.0.
#[must_use]
pub fn encode(body: &RegisterBroker) -> Vec<u8> {
    let mut out = Vec::new();
    part(&mut out, &body.topics.data_version.encode());
    number(&mut out, body.topics.topics.len());
    for topic in body.topics.topics.values() {
        let TopicConfig { topic: name, read_queues, write_queues, permission, filter_type, attributes, .. } = topic;
        let mut line = format!("{name} {read_queues} {write_queues} {permission} {filter_type}");
        if let Some(attributes) = attributes {
            line.push(' ');
            line.push_str(&text(attributes));
        }
        part(&mut out, &line);
    }
    part(&mut out, &text(&body.filter_servers));
    if let Some(mappings) = &body.topics.mapping_info {
        number(&mut out, mappings.len());
        for mapping in mappings.values() {
            part(&mut out, &mapping.encode());
        }
    }
    out
}

struct Reader<'a> {
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn offset(&self) -> usize {
        self.whole.saturating_sub(self.rest.len())
    }

    fn take<O>(
        &mut self,
        what: &'static str,
        parser: impl FnOnce(&'a [u8]) -> IResult<&'a [u8], O>,
    ) -> Result<O, WireError> {
        let (rest, value) = parser(self.rest).map_err(|_| WireError::truncated(what, self.offset()))?;
        self.rest = rest;
        Ok(value)
    }

    /// How many parts follow. Each takes four bytes at least, so that a count above what is there is refused here.
    fn count(&mut self, what: &'static str) -> Result<u32, WireError> {
        let (offset, room) = (self.offset(), self.rest.len() as u64 / 4);
        let count = self.take(what, be_u32)?;
        if u64::from(count) > room {
            return Err(WireError::too_large(what, count.into(), room, offset));
        }
        Ok(count)
    }

    fn part(&mut self, what: &'static str) -> Result<&'a [u8], WireError> {
        self.take(what, |rest| {
            let (rest, length) = be_u32(rest)?;
            take(length)(rest)
        })
    }

    fn text(&mut self, what: &'static str) -> Result<&'a str, WireError> {
        let offset = self.offset().saturating_add(4);
        core::str::from_utf8(self.part(what)?)
            .map_err(|error| WireError::not_utf8(what, offset.saturating_add(error.valid_up_to())))
    }
}

/// `name readQueues writeQueues perm filterType attributes`, the last from 5.0 on.
fn topic(line: &str, limits: &Limits) -> Option<TopicConfig> {
    let mut items = line.splitn(6, ' ');
    let topic = items.next().filter(|name| !name.is_empty())?.to_string();
    let mut number = || items.next()?.parse().ok();
    let (read_queues, write_queues, permission) = (number()?, number()?, number()?);
    let filter_type = items.next()?.to_string();
    let attributes = match items.next() {
        Some(text) => BTreeMap::from_json(&json::read(text.as_bytes(), limits).ok()?),
        None => None,
    };
    Some(TopicConfig {
        topic,
        read_queues,
        write_queues,
        permission,
        filter_type,
        attributes,
        ..TopicConfig::default()
    })
}

fn text(value: &impl ToJson) -> String {
    let mut out = JsonWriter::new();
    value.write_json(&mut out);
    out.finish()
}

fn part(out: &mut Vec<u8>, text: &str) {
    number(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn number(out: &mut Vec<u8>, number: usize) {
    // Nothing in memory here comes near the limit.
    out.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A registration as a broker of 4.x packs it: nothing behind the filter servers, topics without attributes.
    fn old() -> RegisterBroker {
        let topic = TopicConfig { topic: "T".into(), read_queues: 8, permission: 4, ..TopicConfig::default() };
        let topics = TopicConfigs { topics: [("T".into(), topic)].into(), ..TopicConfigs::default() };
        RegisterBroker { filter_servers: Vec::new(), topics }
    }

    #[test]
    fn the_form_of_old_brokers_is_read() {
        let bytes = encode(&old());
        let topic = b"\0\0\0\x13T 8 16 4 SINGLE_TAG";
        assert!(bytes.windows(topic.len()).any(|part| part == topic));
        assert_eq!(decode(&bytes, &Limits::DEFAULT), Ok(old()));
    }

    #[test]
    fn every_cut_is_an_error() {
        let bytes = encode(&old());
        for end in 0..bytes.len() {
            let cut = bytes.get(..end).expect("a part");
            assert!(decode(cut, &Limits::DEFAULT).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn announced_counts_are_held_against_what_is_there() {
        let head = encode(&RegisterBroker::default());
        let at = head.len() - 4 - 4 - 2;
        let mut bytes = head.get(..at).expect("the version").to_vec();
        bytes.extend_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        let error = decode(&bytes, &Limits::DEFAULT).expect_err("a count beyond the bytes");
        assert_eq!(error, WireError::too_large("topics", 0x7fff_ffff, 2, at));
    }

    #[test]
    fn topics_that_cannot_be_are_refused() {
        for line in ["", "T", "T 1 2", "T 1 2 x SINGLE_TAG", " 1 2 6 SINGLE_TAG", "T 1 2 6 SINGLE_TAG {"] {
            assert_eq!(topic(line, &Limits::DEFAULT), None, "{line}");
        }
        let read = topic(r#"T 1 2 6 MULTI_TAG {"a b":"c d"}"#, &Limits::DEFAULT).expect("a topic");
        assert_eq!(read.attributes, Some([("a b".into(), "c d".into())].into()));
    }
}
