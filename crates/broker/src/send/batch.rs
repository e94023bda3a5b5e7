//! Batches: many messages in one request, stored as single ones.

use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;
use core::net::SocketAddr;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::message::{BatchRecord, BatchRecords, MAX_PROPERTIES_LEN, PROPERTY_SEPARATOR, SysFlag};
use rocketry_codec::names;
use rocketry_codec::request::SendMessage;

use super::admit::Target;
use super::{Receipt, Refusal, delay_level, refuse};
use crate::append::{self, Message, Unstored};
use crate::properties::Sent;
use crate::shell::{Call, Shell};
use crate::state::State;
use crate::store::Place;

/// A topic longer than this does not fit into a stored message of the first layout.
const MAX_TOPIC: usize = 127;
/// Most bytes of a record beside its topic, body and properties: two IPv6 hosts, a long topic.
const RECORD_OVERHEAD: usize = 116;

/// Stores the messages of a batch, all or none.
pub(super) fn store(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    request: &SendMessage<'_>,
    target: Target,
) -> Result<Receipt, Refusal> {
    let illegal = |remark: String| Refusal::new(ResponseCode::MESSAGE_ILLEGAL, remark);
    if request.topic.len() > MAX_TOPIC {
        return Err(illegal(format!("message topic length too long {}", request.topic.len())));
    }
    if names::is_retry_topic(&request.topic) {
        return Err(illegal(format!("batch request does not support retry group {}", request.topic)));
    }
    let sent = Sent::read(request.properties.as_deref().unwrap_or_default());
    if request.sys_flag & SysFlag::TRANSACTION != 0 || delay_level(state, sent.delay)?.is_some() {
        return Err(refuse(state, Unstored::Illegal));
    }
    if call.frame.body().len() > state.config.limits.message_bytes {
        return Err(Refusal::new(ResponseCode::SYSTEM_ERROR, "message size exceeded"));
    }
    // The outer properties stand in every message of the batch, as up to Apache 5.3.3.
    let mut outer = String::new();
    sent.write(&mut outer, &[]);
    state.push_own_properties(&mut outer);
    let batch = Batch { request, target, outer: &outer, born_host: call.remote };
    let place_and_ids = batch.store(state, shell, call.frame.body());
    let (place, ids) = place_and_ids.map_err(|error| refuse(state, error))?;
    Ok(Receipt { message_id: ids, queue: target.queue, place, unique: sent.unique.map(String::from) })
}

/// What the messages of a batch have in common.
struct Batch<'a> {
    request: &'a SendMessage<'a>,
    target: Target,
    outer: &'a str,
    born_host: SocketAddr,
}

impl Batch<'_> {
    /// Stores all messages of `body` or none; says where the first one lies and the ids of all.
    fn store(&self, state: &mut State, shell: &mut Shell, body: &Bytes) -> Result<(Place, String), Unstored> {
        let mut count = 0;
        let mut bytes = 0;
        for record in BatchRecords::new(body.clone()) {
            let record = record.map_err(|_| Unstored::Illegal)?;
            let properties = record.properties.len() + 1 + self.outer.len();
            if record.body.is_empty() || properties > MAX_PROPERTIES_LEN {
                return Err(Unstored::Illegal);
            }
            count += 1;
            bytes += RECORD_OVERHEAD + record.body.len() + self.request.topic.len() + properties;
        }
        if count == 0 {
            return Err(Unstored::Illegal);
        }
        state.store.reserve(shell.now, count, bytes)?;
        let mut ids = String::with_capacity(count * 33);
        let mut first = None;
        for record in BatchRecords::new(body.clone()).flatten() {
            let place = self.store_one(state, shell, &record)?;
            let separator = if first.is_some() { "," } else { "" };
            let _ = write!(ids, "{separator}{}", state.offset_id(place.log_offset));
            first.get_or_insert(place);
        }
        first.map(|first| (first, ids)).ok_or(Unstored::Illegal)
    }

    fn store_one(&self, state: &mut State, shell: &mut Shell, record: &BatchRecord) -> Result<Place, Unstored> {
        let own = core::str::from_utf8(&record.properties).map_err(|_| Unstored::Illegal)?;
        let mut stored = state.take_scratch();
        stored.push_str(own);
        if !own.is_empty() && !own.ends_with(PROPERTY_SEPARATOR) {
            stored.push(PROPERTY_SEPARATOR);
        }
        stored.push_str(self.outer);
        let message = Message {
            topic: self.target.topic,
            queue: self.target.queue,
            flag: record.flag,
            sys_flag: self.request.sys_flag,
            born_time: self.request.born_timestamp,
            born_host: self.born_host,
            reconsume_times: self.request.reconsume_times.unwrap_or(0),
            prepared_offset: 0,
            tags: record.view().tags(),
            body: &record.body,
            properties: &mut stored,
            delay: None,
        };
        let place = append::append(state, shell, message);
        state.put_scratch(stored);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, bodies, message, messages, properties as text, pull};
    use rocketry_codec::codes::RequestCode;
    use rocketry_codec::message::BatchEncoder;
    use rocketry_codec::reply::SendMessageReply;
    use rocketry_codec::request::SendMessageV2;
    use std::prelude::v1::*;

    fn batch(records: &[(&str, &str)]) -> Bytes {
        let mut encoder = BatchEncoder::new();
        for (body, properties) in records {
            encoder.push(3, body.as_bytes(), properties.as_bytes()).expect("short");
        }
        encoder.finish()
    }

    fn batch_request<'a>(topic: &'a str, properties: &'a str) -> SendMessageV2<'a> {
        SendMessageV2 { batch: Some(true), ..message(topic, 2, properties) }
    }

    #[test]
    fn a_batch_is_stored_as_single_messages() {
        let mut world = World::new();
        let client = world.connect();
        world.send(client, "T", 2, "", "before");
        let (a, b) = (text(&[("TAGS", "x")]), text(&[("TAGS", "y"), ("UNIQ_KEY", "B")]));
        let outer = text(&[("UNIQ_KEY", "OUTER"), ("WAIT", "true")]);
        let request = batch_request("T", &outer);
        let body = batch(&[("a", &a), ("b", &b)]);
        let frame = world.call_as(RequestCode::SEND_BATCH_MESSAGE, client, &request, body).expect("answered");
        let reply: SendMessageReply<'_> = frame.read().expect("a send answer");
        assert_eq!((reply.queue_id, reply.queue_offset), (2, 1));
        assert_eq!(reply.transaction_id.as_deref(), Some("OUTER"));
        let stored = messages(&world.ask(client, &pull("g", "T", 2, 1), ""));
        let ids: Vec<String> = stored.iter().map(|m| m.offset_id().to_string()).collect();
        assert_eq!(reply.msg_id, ids.join(","));
        assert_eq!(stored.iter().map(|m| m.properties().tags()).collect::<Vec<_>>(), [Some("x"), Some("y")]);
        assert!(stored.iter().all(|m| m.flag() == 3 && m.properties().get("CLUSTER").is_some()));
    }

    #[test]
    fn batches_that_are_refused_store_nothing() {
        let mut world = World::new();
        let client = world.connect();
        world.send(client, "T", 2, "", "before");
        let long = text(&[("k", &"v".repeat(32_740))]);
        for (request, body, code) in [
            (batch_request("%RETRY%g", ""), batch(&[("a", "")]), ResponseCode::MESSAGE_ILLEGAL),
            (batch_request("T", &text(&[("DELAY", "1")])), batch(&[("a", "")]), ResponseCode::MESSAGE_ILLEGAL),
            (
                SendMessageV2 { sys_flag: 4, ..batch_request("T", "") },
                batch(&[("a", "")]),
                ResponseCode::MESSAGE_ILLEGAL,
            ),
            (batch_request("T", ""), batch(&[("a", ""), ("b", &long)]), ResponseCode::MESSAGE_ILLEGAL),
            (batch_request("T", ""), Bytes::from_static(b"nonsense"), ResponseCode::MESSAGE_ILLEGAL),
        ] {
            let frame = world.call_as(RequestCode::SEND_BATCH_MESSAGE, client, &request, body).expect("answered");
            assert_eq!(frame.response_code(), code, "{frame:?}");
        }
        assert_eq!(bodies(&world.ask(client, &pull("g", "T", 2, 0), "")), ["before"]);
    }
}
