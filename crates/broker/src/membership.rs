//! Heartbeats and membership, and what members are told of each other (`spec/broker.md` 6).

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::assignment::ConsumerList;
use rocketry_codec::body::heartbeat::{self, CheckClient, ConsumerData, HeartbeatData};
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::filter::{self, SqlExpression};
use rocketry_codec::reply::HeartbeatReply;
use rocketry_codec::request::{GetConsumerListByGroup, NotifyConsumerIdsChanged, UnregisterClient};
use rocketry_machine::ConnId;

use crate::clients::{ConsumeType, GroupKind, Member, StartFrom, Subscription};
use crate::retry;
use crate::shell::{Call, Shell};
use crate::state::State;

/// HEART_BEAT: renews memberships, takes over subscriptions, creates retry topics.
pub(crate) fn heartbeat(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let data = match HeartbeatData::decode(call.frame.body()) {
        Ok(data) => data,
        Err(error) => return shell.malformed(call.to, error),
    };
    let member = Member {
        client: data.client_id.as_str().into(),
        language: call.frame.language(),
        version: call.frame.version(),
        last_heartbeat: shell.now.at,
    };
    // A plain heartbeat always counts as changed; only fingerprints can say that nothing is new.
    let mut changed = data.fingerprint == 0;
    for consumer in &data.consumers {
        changed |= consume(state, shell, call, &member, consumer, &data);
    }
    for producer in &data.producers {
        state.clients.produce(call.to.conn, member.clone(), &producer.group);
    }
    let reply = HeartbeatReply { supports_v2: Some(true), subscription_changed: Some(changed) };
    if state.store.topics.has_changed() {
        // The route of a new retry topic stands before its group's first heartbeat is answered.
        let frame = shell.response(call.to, None, &reply);
        state.after_announcement(shell, call.to, frame);
    } else {
        shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
    }
}

/// One consumer group of a heartbeat; says whether its fingerprint differs from the one before.
fn consume(
    state: &mut State,
    shell: &mut Shell,
    call: &Call<'_>,
    member: &Member,
    consumer: &ConsumerData,
    data: &HeartbeatData,
) -> bool {
    // Without a configuration the entry is passed over; later pulls of the group say why.
    let Some(config) = state.groups.find_or_create(shell.now.wall, &consumer.group) else { return false };
    let (retry_queues, notify) = (config.retry_queues, config.notify_changes);
    if let Ok(queues @ 1..) = u32::try_from(retry_queues)
        && retry::retry_topic(state, shell, &consumer.group, queues).is_none()
    {
        return false;
    }
    let now = shell.now.wall.get();
    let subscriptions = (!data.without_subscriptions)
        .then(|| consumer.subscriptions.iter().map(|wanted| subscription(wanted, now)).collect());
    let kind = kind(consumer);
    let change = state.clients.heartbeat(call.to.conn, member.clone(), &consumer.group, kind, subscriptions);
    let changed = state.clients.fingerprint(&consumer.group, data.fingerprint);
    if (change.joined || change.topics) && notify {
        tell_members(state, shell, &consumer.group);
    }
    changed
}

fn kind(consumer: &ConsumerData) -> GroupKind {
    GroupKind {
        consume_type: match &*consumer.consume_type {
            heartbeat::consume_type::PULL => ConsumeType::Actively,
            heartbeat::consume_type::POP => ConsumeType::Pop,
            _ => ConsumeType::Passively,
        },
        broadcasting: consumer.message_model == heartbeat::message_model::BROADCASTING,
        start_from: match &*consumer.consume_from_where {
            heartbeat::consume_from::FIRST => StartFrom::First,
            heartbeat::consume_from::TIMESTAMP => StartFrom::Timestamp,
            _ => StartFrom::Last,
        },
    }
}

fn subscription(wanted: &heartbeat::Subscription, now: i64) -> (Arc<str>, Subscription) {
    let subscription = Subscription {
        expression: wanted.expression.as_str().into(),
        by_tag: filter::is_tag_type(Some(&wanted.expression_type)),
        expression_type: wanted.expression_type.as_str().into(),
        tags: wanted.tags.iter().map(|tag| tag.as_str().into()).collect(),
        codes: wanted.tag_codes.iter().copied().collect(),
        sql: compile(wanted).ok().flatten(),
        version: if wanted.version_ms == 0 { now } else { wanted.version_ms },
    };
    (wanted.topic.as_str().into(), subscription)
}

/// The compiled expression of a subscription that is not by tags.
fn compile(wanted: &heartbeat::Subscription) -> Result<Option<Arc<SqlExpression>>, String> {
    match &*wanted.expression_type {
        kind if filter::is_tag_type(Some(kind)) => Ok(None),
        filter::SQL92 => match SqlExpression::parse(&wanted.expression) {
            Ok(expression) => Ok(Some(Arc::new(expression))),
            Err(error) => Err(format!("{error}")),
        },
        kind => Err(format!("the type {kind} is not known")),
    }
}

/// UNREGISTER_CLIENT: the connection leaves the groups; always a success.
pub(crate) fn unregister(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<UnregisterClient<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    if let Some(group) = request.producer_group.as_deref() {
        state.clients.stop_producing(call.to.conn, group);
    }
    shell.respond_ok(call.to);
    if let Some(group) = request.consumer_group.as_deref() {
        // The others are told even if this one was not a member.
        state.clients.leave(call.to.conn, group);
        if state.groups.get(group).is_none_or(|config| config.notify_changes) {
            tell_members(state, shell, group);
        }
    }
}

/// GET_CONSUMER_LIST_BY_GROUP: the client id of each connection of the group.
pub(crate) fn list(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetConsumerListByGroup<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let group = &*request.consumer_group;
    let Some(state) = state.clients.consumer(group) else {
        let remark = format!("no consumer for this group, {group}");
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, &remark);
    };
    let members: Vec<String> = state.members.values().map(|member| String::from(&*member.client)).collect();
    shell.respond_body(call.to, ConsumerList { members }.encode());
}

/// CHECK_CLIENT_CONFIG: tags are always understood, SQL92 where properties may filter and the expression compiles.
pub(crate) fn check_config(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let subscription = match CheckClient::decode(call.frame.body()) {
        Ok(check) => check.subscription,
        Err(error) => return shell.malformed(call.to, error),
    };
    let kind = &subscription.expression_type;
    if !filter::is_tag_type(Some(kind)) && !state.config.property_filter {
        let remark = format!("The broker does not support consumer to filter message by {kind}");
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, &remark);
    }
    match compile(&subscription) {
        Ok(_) => shell.respond_ok(call.to),
        Err(remark) => shell.refuse(call.to, ResponseCode::SUBSCRIPTION_PARSE_FAILED, &remark),
    }
}

/// A connection is gone: the members that it leaves behind are told.
pub(crate) fn on_closed(state: &mut State, shell: &mut Shell, conn: ConnId) {
    for group in state.clients.close(conn) {
        tell_members(state, shell, &group);
    }
}

/// Tells every member of a group that its members or topics have changed; not in a broadcasting group, where nobody
/// shares anything.
fn tell_members(state: &State, shell: &mut Shell, group: &str) {
    let Some(members) = state.clients.consumer(group).filter(|state| !state.kind.broadcasting) else { return };
    let notice = NotifyConsumerIdsChanged { consumer_group: group.into(), ..NotifyConsumerIdsChanged::default() };
    for conn in members.members.keys() {
        shell.push(*conn, &notice, Bytes::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, bodies, properties as text, pull};
    use core::time::Duration;
    use rocketry_codec::body::heartbeat::ProducerData;
    use rocketry_codec::request::{CheckClientConfig, GetRouteInfo, Heartbeat, PullMessage};
    use std::prelude::v1::*;
    use std::vec;

    fn wants(topic: &str, version: i64, codes: &[i32]) -> heartbeat::Subscription {
        heartbeat::Subscription {
            topic: topic.into(),
            expression: if codes.is_empty() { "*".into() } else { "tags".into() },
            tag_codes: codes.iter().copied().collect(),
            version_ms: version,
            ..heartbeat::Subscription::default()
        }
    }

    fn data(client: &str, group: &str, subscriptions: Vec<heartbeat::Subscription>) -> HeartbeatData {
        HeartbeatData {
            client_id: client.into(),
            consumers: vec![ConsumerData { group: group.into(), subscriptions, ..ConsumerData::default() }],
            producers: vec![ProducerData { group: "pg".into() }],
            ..HeartbeatData::default()
        }
    }

    fn beat(world: &mut World, conn: ConnId, data: &HeartbeatData) -> Option<String> {
        let frame = world.ask(conn, &Heartbeat::default(), data.encode());
        assert_eq!(frame.field("IS_SUPPORT_HEART_BEAT_V2").as_deref(), Some("true"));
        frame.field("IS_SUB_CHANGE").map(|changed| changed.into_owned())
    }

    /// How often a client was told that its group has changed.
    fn told(world: &mut World, conn: ConnId) -> usize {
        let frames = world.take(conn);
        assert!(frames.iter().all(|frame| frame.code() == 40 && frame.is_oneway()), "{frames:?}");
        assert!(frames.iter().all(|frame| frame.field("consumerGroup").as_deref() == Some("g")));
        frames.len()
    }

    fn members(world: &mut World, conn: ConnId) -> Result<Vec<String>, (i32, String)> {
        let list = GetConsumerListByGroup { consumer_group: "g".into(), ..GetConsumerListByGroup::default() };
        let frame = world.ask(conn, &list, "");
        if frame.code() != 0 {
            return Err((frame.code(), frame.remark().unwrap_or_default().into_owned()));
        }
        Ok(ConsumerList::decode(frame.body()).expect("a list").members)
    }

    #[test]
    fn members_are_told_of_each_other() {
        let mut world = World::new();
        let (a, b) = (world.connect(), world.connect());
        let none = (1, "no consumer for this group, g".into());
        assert_eq!(members(&mut world, a), Err(none.clone()));
        assert_eq!(beat(&mut world, a, &data("a", "g", vec![wants("T", 1, &[])])).as_deref(), Some("true"));
        assert_eq!(told(&mut world, a), 1, "the first member is told too");
        beat(&mut world, a, &data("a", "g", vec![wants("T", 1, &[])]));
        assert_eq!(told(&mut world, a), 0, "nothing is new");
        beat(&mut world, a, &data("a", "g", vec![wants("T", 2, &[7])]));
        assert_eq!(told(&mut world, a), 0, "only the expression changed");
        beat(&mut world, b, &data("b", "g", vec![wants("T", 1, &[])]));
        assert_eq!((told(&mut world, a), told(&mut world, b)), (1, 1));
        assert_eq!(members(&mut world, b), Ok(vec!["a".into(), "b".into()]));
        beat(&mut world, b, &data("b", "g", vec![wants("T", 1, &[]), wants("U", 1, &[])]));
        assert_eq!((told(&mut world, a), told(&mut world, b)), (1, 1), "a topic came");

        let leave = UnregisterClient { consumer_group: Some("g".into()), ..UnregisterClient::default() };
        assert_eq!(world.ask(b, &leave, "").code(), 0);
        assert_eq!((told(&mut world, a), told(&mut world, b)), (1, 0));
        beat(&mut world, b, &data("b", "g", vec![wants("T", 1, &[])]));
        told(&mut world, a);
        world.close(b);
        assert_eq!(told(&mut world, a), 1, "a lost connection is told at once");
        world.close(a);
        let c = world.connect();
        assert_eq!(members(&mut world, c), Err(none));
    }

    #[test]
    fn broadcasting_groups_and_silent_ones_are_not_told() {
        let mut world = World::new();
        let (a, b) = (world.connect(), world.connect());
        let mut broadcasting = data("a", "g", vec![]);
        broadcasting.consumers[0].message_model = heartbeat::message_model::BROADCASTING.into();
        beat(&mut world, a, &broadcasting);
        assert_eq!(told(&mut world, a), 0);
        world.close(a);
        world.with_group("g", |config| config.notify_ids_changed = false);
        beat(&mut world, b, &data("b", "g", vec![]));
        assert_eq!(told(&mut world, b), 0);
    }

    #[test]
    fn silence_drops_members_without_telling() {
        let mut world = World::new();
        let (a, b) = (world.connect(), world.connect());
        beat(&mut world, a, &data("a", "g", vec![]));
        world.pass(Duration::from_secs(60));
        beat(&mut world, b, &data("b", "g", vec![]));
        world.take(a);
        world.take(b);
        world.pass(Duration::from_secs(69));
        // The connection itself is kept alive by other traffic.
        members(&mut world, a).expect("both are members");
        world.pass(Duration::from_secs(1));
        assert_eq!(world.closed, [a]);
        assert_eq!(told(&mut world, b), 0);
        assert_eq!(members(&mut world, b), Ok(vec!["b".into()]));
    }

    #[test]
    fn the_first_heartbeat_creates_the_retry_topic_with_its_route() {
        let mut world = World::new();
        let client = world.connect();
        beat(&mut world, client, &data("a", "g", vec![]));
        let route = GetRouteInfo { topic: "%RETRY%g".into(), ..GetRouteInfo::default() };
        let frame = world.ask(client, &route, "");
        assert_eq!(frame.code(), 0);
        assert!(String::from_utf8_lossy(frame.body()).contains("\"perm\":6,\"readQueueNums\":1"));
    }

    #[test]
    fn pulls_go_by_the_subscription_of_the_heartbeat() {
        let mut world = World::new();
        let client = world.connect();
        world.send(client, "T", 0, &text(&[("TAGS", "TagA")]), "a");
        world.send(client, "T", 0, &text(&[("TAGS", "TagB")]), "b");
        let request =
            |version| PullMessage { sys_flag: 0, sub_version: version, subscription: None, ..pull("g", "T", 0, 0) };
        assert_eq!(world.ask(client, &request(0), "").code(), 24, "no heartbeat yet");
        beat(&mut world, client, &data("a", "g", vec![wants("U", 5, &[])]));
        assert_eq!(world.ask(client, &request(5), "").code(), 24, "another topic");
        beat(&mut world, client, &data("a", "g", vec![wants("T", 5, &[2_598_919])]));
        world.take(client);
        assert_eq!(bodies(&world.ask(client, &request(5), "")), ["a"]);
        assert_eq!(world.ask(client, &request(6), "").code(), 25);
        beat(&mut world, client, &data("a", "g", vec![wants("T", 6, &[])]));
        assert_eq!(bodies(&world.ask(client, &request(6), "")), ["a", "b"]);
        world.with_group("g", |config| config.consume = false);
        let frame = world.ask(client, &request(6), "");
        assert_eq!((frame.code(), frame.field("forbiddenType").as_deref()), (16, Some("2")));
    }

    #[test]
    fn pulls_go_by_the_compiled_expression_of_the_heartbeat() {
        let mut world = World::new();
        let client = world.connect();
        world.send(client, "T", 0, &text(&[("a", "5")]), "five");
        world.send(client, "T", 0, &text(&[("a", "6")]), "six");
        let request = |version| PullMessage {
            sys_flag: 0,
            sub_version: version,
            subscription: None,
            expression_type: Some("SQL92".into()),
            ..pull("g", "T", 0, 0)
        };
        let sql = |version, expression: &str| heartbeat::Subscription {
            expression_type: "SQL92".into(),
            expression: expression.into(),
            ..wants("T", version, &[])
        };
        beat(&mut world, client, &data("a", "g", vec![sql(1, "a > 5")]));
        world.take(client);
        assert_eq!(bodies(&world.ask(client, &request(1), "")), ["six"]);
        beat(&mut world, client, &data("a", "g", vec![sql(2, "a <= 5")]));
        assert_eq!(bodies(&world.ask(client, &request(2), "")), ["five"]);
        beat(&mut world, client, &data("a", "g", vec![sql(3, "a <=")]));
        assert_eq!(world.ask(client, &request(3), "").code(), 27, "it does not compile");
        beat(&mut world, client, &data("a", "g", vec![wants("T", 4, &[])]));
        assert_eq!(bodies(&world.ask(client, &request(4), "")), ["five", "six"]);
    }

    #[test]
    fn fingerprints_say_whether_subscriptions_changed() {
        let mut world = World::new();
        let client = world.connect();
        let full = HeartbeatData { fingerprint: 7, ..data("a", "g", vec![wants("T", 1, &[])]) };
        assert_eq!(beat(&mut world, client, &full).as_deref(), Some("false"));
        let short =
            HeartbeatData { without_subscriptions: true, ..HeartbeatData { fingerprint: 7, ..data("a", "g", vec![]) } };
        assert_eq!(beat(&mut world, client, &short).as_deref(), Some("false"));
        world.take(client);
        let request = PullMessage { sys_flag: 0, ..pull("g", "T", 0, 0) };
        assert_eq!(world.ask(client, &request, "").code(), 17, "the subscription stands, the topic does not exist");
        let other = HeartbeatData { fingerprint: 8, ..full };
        assert_eq!(beat(&mut world, client, &other).as_deref(), Some("true"));
    }

    #[test]
    fn client_configurations_are_checked() {
        let mut world = World::new();
        let client = world.connect();
        let mut check = CheckClient { group: "g".into(), subscription: wants("T", 1, &[]), ..CheckClient::default() };
        assert_eq!(world.ask(client, &CheckClientConfig::default(), check.encode()).code(), 0);
        check.subscription.expression_type = "SQL92".into();
        check.subscription.expression = "a > 5".into();
        assert_eq!(world.ask(client, &CheckClientConfig::default(), check.encode()).code(), 0);
        check.subscription.expression = "a > 5 AND".into();
        let refused = world.ask(client, &CheckClientConfig::default(), check.encode());
        assert_eq!(refused.code(), 23);
        assert!(refused.remark().is_some_and(|remark| remark.contains("at position 9")), "{refused:?}");
        check.subscription.expression_type = "SQL99".into();
        assert_eq!(world.ask(client, &CheckClientConfig::default(), check.encode()).code(), 23);
        let mut world = World::with(|config| config.property_filter = false);
        let client = world.connect();
        check.subscription.expression_type = "SQL92".into();
        let refused = world.ask(client, &CheckClientConfig::default(), check.encode());
        let remark = "The broker does not support consumer to filter message by SQL92";
        assert_eq!((refused.code(), refused.remark().as_deref()), (1, Some(remark)));
        assert_eq!(world.ask(client, &Heartbeat::default(), "nonsense").code(), 1);
    }
}
