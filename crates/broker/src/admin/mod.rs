//! Requests of tools: topics, groups, progress, connections, single messages (`spec/broker.md` 10).

mod broker;
mod clients;
mod find;
mod groups;
mod progress;
mod topics;

use alloc::format;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::request::ViewMessage;

use crate::shell::{Call, Shell};
use crate::state::{State, unsupported};
pub(crate) use topics::{topic_body, version_body};

/// Answers a request of a tool.
pub(crate) fn handle(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.request_code() {
        RequestCode::UPDATE_AND_CREATE_TOPIC => topics::create(state, shell, call),
        RequestCode::DELETE_TOPIC_IN_BROKER => topics::delete(state, shell, call),
        RequestCode::GET_TOPIC_CONFIG => topics::config(state, shell, call),
        RequestCode::GET_ALL_TOPIC_CONFIG => topics::all(state, shell, call),
        RequestCode::GET_TOPIC_STATS_INFO => topics::stats(state, shell, call),
        RequestCode::UPDATE_AND_CREATE_SUBSCRIPTIONGROUP => groups::create(state, shell, call),
        RequestCode::DELETE_SUBSCRIPTIONGROUP => groups::delete(state, shell, call),
        RequestCode::GET_SUBSCRIPTIONGROUP_CONFIG => groups::config(state, shell, call),
        RequestCode::GET_ALL_SUBSCRIPTIONGROUP_CONFIG => groups::all(state, shell, call),
        RequestCode::GET_CONSUMER_CONNECTION_LIST => clients::consumers(state, shell, call),
        RequestCode::GET_PRODUCER_CONNECTION_LIST => clients::producers(state, shell, call),
        RequestCode::QUERY_TOPIC_CONSUME_BY_WHO => clients::groups_of_topic(state, shell, call),
        RequestCode::GET_CONSUME_STATS => progress::stats(state, shell, call),
        RequestCode::INVOKE_BROKER_TO_RESET_OFFSET => progress::reset(state, shell, call),
        RequestCode::QUERY_MESSAGE => find::by_key(state, shell, call),
        RequestCode::GET_BROKER_RUNTIME_INFO => broker::runtime(state, shell, call),
        RequestCode::GET_BROKER_CONFIG => broker::config(state, shell, call),
        RequestCode::UPDATE_BROKER_CONFIG => broker::update(state, shell, call),
        RequestCode::VIEW_MESSAGE_BY_ID => view_message(state, shell, call),
        _ => unsupported(shell, call),
    }
}

/// VIEW_MESSAGE_BY_ID.
fn view_message(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<ViewMessage<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match state.store.record(request.offset) {
        Some(record) => shell.respond_body(call.to, Bytes::from(record.to_vec())),
        None => {
            let remark = format!("can not find message by the offset, {}", request.offset);
            shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, &remark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, messages};
    use rocketry_codec::ids::OffsetId;
    use std::prelude::v1::*;

    #[test]
    fn a_message_is_found_by_its_id() {
        let mut world = World::new();
        let client = world.connect();
        let sent = world.send(client, "T", 0, "", "x");
        let id: OffsetId = sent.id.parse().expect("an offset id");
        let view = |offset| ViewMessage { offset, ..ViewMessage::default() };
        let frame = world.ask(client, &view(id.offset), "");
        assert_eq!(messages(&frame)[0].offset_id(), id);
        let frame = world.ask(client, &view(7), "");
        let remark = "can not find message by the offset, 7";
        assert_eq!((frame.code(), frame.remark().as_deref()), (1, Some(remark)));
    }
}
