//! Requests about connected clients.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::admin::{Connection, ConsumerConnection, GroupList, ProducerConnection};
use rocketry_codec::body::heartbeat::{self, consume_from, consume_type, message_model};
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::request::{GetConsumerConnectionList, GetProducerConnectionList, QueryTopicConsumeByWho};
use rocketry_machine::ConnId;

use crate::clients::{ConsumeType, Member, StartFrom, Subscription};
use crate::shell::{Call, Shell};
use crate::state::State;

/// GET_CONSUMER_CONNECTION_LIST: members, subscriptions and kind of a group.
pub(super) fn consumers(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetConsumerConnectionList<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let Some(group) = state.clients.consumer(&request.consumer_group) else {
        let remark = format!("the consumer group[{}] not online", request.consumer_group);
        return shell.refuse(call.to, ResponseCode::CONSUMER_NOT_ONLINE, &remark);
    };
    let start = match group.kind.start_from {
        StartFrom::Last => consume_from::LAST,
        StartFrom::First => consume_from::FIRST,
        StartFrom::Timestamp => consume_from::TIMESTAMP,
    };
    let kind = match group.kind.consume_type {
        ConsumeType::Actively => consume_type::PULL,
        ConsumeType::Passively => consume_type::PUSH,
        ConsumeType::Pop => consume_type::POP,
    };
    let model = if group.kind.broadcasting { message_model::BROADCASTING } else { message_model::CLUSTERING };
    let subscriptions = group.subscriptions.iter().map(|(topic, wanted)| (String::from(&**topic), body(topic, wanted)));
    let reply = ConsumerConnection {
        connections: connections(shell, &group.members),
        consume_from_where: Some(start.into()),
        consume_type: Some(kind.into()),
        message_model: Some(model.into()),
        subscriptions: subscriptions.collect(),
    };
    shell.respond_body(call.to, reply.encode());
}

/// GET_PRODUCER_CONNECTION_LIST.
pub(super) fn producers(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetProducerConnectionList<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match state.clients.producer(&request.producer_group) {
        Some(members) => {
            let connections = connections(shell, members);
            shell.respond_body(call.to, ProducerConnection { connections }.encode());
        }
        None => {
            let remark = format!("the producer group[{}] not exist", request.producer_group);
            shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, &remark);
        }
    }
}

/// QUERY_TOPIC_CONSUME_BY_WHO: the groups that subscribe to a topic or have a position in it.
pub(super) fn groups_of_topic(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<QueryTopicConsumeByWho<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let topic = &*request.topic;
    let subscribed = state.clients.consumers().filter(|(_, group)| group.subscriptions.contains_key(topic));
    let groups = subscribed.map(|(group, _)| group).chain(state.offsets.groups_of_topic(topic));
    let groups = groups.map(|group| String::from(&**group)).collect();
    shell.respond_body(call.to, GroupList { groups }.encode());
}

fn connections(shell: &Shell, members: &BTreeMap<ConnId, Member>) -> Vec<Connection> {
    let connection = |(conn, member): (&ConnId, &Member)| Connection {
        address: shell.remote(*conn).map(|remote| format!("{remote}")).unwrap_or_default(),
        client_id: String::from(&*member.client),
        language: member.language.name().map(String::from),
        version: member.version.0,
    };
    members.iter().map(connection).collect()
}

fn body(topic: &str, wanted: &Subscription) -> heartbeat::Subscription {
    heartbeat::Subscription {
        class_filter_mode: false,
        tag_codes: wanted.codes.iter().copied().collect(),
        expression_type: String::from(&*wanted.expression_type),
        expression: String::from(&*wanted.expression),
        version_ms: wanted.version,
        tags: wanted.tags.iter().map(|tag| String::from(&**tag)).collect(),
        topic: topic.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use rocketry_codec::body::heartbeat::{ConsumerData, HeartbeatData, ProducerData};
    use rocketry_codec::request::Heartbeat;
    use std::prelude::v1::*;
    use std::vec;

    #[test]
    fn connections_of_groups() {
        let mut world = World::new();
        let client = world.connect();
        let consumers = GetConsumerConnectionList { consumer_group: "g".into(), ..Default::default() };
        let producers = GetProducerConnectionList { producer_group: "p".into(), ..Default::default() };
        let frame = world.ask(client, &consumers, "");
        assert_eq!((frame.code(), frame.remark().as_deref()), (206, Some("the consumer group[g] not online")));
        assert_eq!(world.ask(client, &producers, "").code(), 1);

        let wanted = heartbeat::Subscription {
            topic: "T".into(),
            expression: "a".into(),
            tags: ["a".into()].into(),
            tag_codes: [97].into(),
            version_ms: 9,
            ..heartbeat::Subscription::default()
        };
        let data = HeartbeatData {
            client_id: "me".into(),
            consumers: vec![ConsumerData {
                group: "g".into(),
                consume_from_where: consume_from::FIRST.into(),
                subscriptions: vec![wanted.clone()],
                ..ConsumerData::default()
            }],
            producers: vec![ProducerData { group: "p".into() }],
            ..HeartbeatData::default()
        };
        world.ask(client, &Heartbeat::default(), data.encode());
        let frame = world.ask(client, &consumers, "");
        let reply = ConsumerConnection::decode(frame.body()).expect("connections");
        let connection = &reply.connections[0];
        assert_eq!((&*connection.client_id, &*connection.address), ("me", "127.0.0.1:40001"));
        assert_eq!((connection.language.as_deref(), connection.version), (Some("RUST"), 479));
        assert_eq!(reply.consume_from_where.as_deref(), Some(consume_from::FIRST));
        assert_eq!(reply.consume_type.as_deref(), Some(consume_type::PUSH));
        assert_eq!(reply.message_model.as_deref(), Some(message_model::CLUSTERING));
        assert_eq!(reply.subscriptions["T"], wanted);
        let frame = world.ask(client, &producers, "");
        assert_eq!(ProducerConnection::decode(frame.body()).expect("connections").connections.len(), 1);
        let who = QueryTopicConsumeByWho { topic: "T".into(), ..Default::default() };
        assert_eq!(world.ask(client, &who, "").body().as_ref(), br#"{"groupList":["g"]}"#);
    }
}
