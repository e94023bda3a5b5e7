//! Requests about topics.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::offset::{QueueBounds, TopicStats};
use rocketry_codec::body::queue::QueueName;
use rocketry_codec::body::registration::{DataVersion, TopicConfig as TopicBody, TopicConfigs};
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::names;
use rocketry_codec::request::{CreateTopic, DeleteTopic, GetTopicConfig, GetTopicStatsInfo};

use crate::shell::{Call, FAQ, NO_FIELDS, Shell};
use crate::state::State;
use crate::topics::{Topic, TopicConfig, Version};

/// What Apache's constructor writes into the remark of an answer that nobody completes.
const DEFAULT_REMARK: &str = "not set any response code";

/// UPDATE_AND_CREATE_TOPIC.
pub(super) fn create(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<CreateTopic<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let topic = &*request.topic;
    if let Err(error) = names::check_topic(topic) {
        return shell.refuse(call.to, ResponseCode::INVALID_PARAMETER, &format!("{error}"));
    }
    if names::is_system_topic(topic) {
        let remark = format!("The topic[{topic}] is conflict with system topic.");
        return shell.refuse(call.to, ResponseCode::INVALID_PARAMETER, &remark);
    }
    let multi_tag = match &*request.topic_filter_type {
        "SINGLE_TAG" => false,
        "MULTI_TAG" => true,
        other => {
            let remark = format!("No enum constant org.apache.rocketmq.common.TopicFilterType.{other}");
            return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, &remark);
        }
    };
    let mut attributes = state.store.topics.named(topic).map(|t| t.config.attributes.clone()).unwrap_or_default();
    if let Err(entry) = change_attributes(&mut attributes, request.attributes.as_deref().unwrap_or_default()) {
        let remark = format!("kv string format wrong: {entry}");
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, &remark);
    }
    let most = state.config.limits.queues_per_topic;
    let count = |count: i32| u32::try_from(count).unwrap_or(0).min(most);
    let config = TopicConfig {
        read_queues: count(request.read_queue_nums),
        write_queues: count(request.write_queue_nums),
        perm: u32::try_from(request.perm).unwrap_or(0),
        sys_flag: request.topic_sys_flag.unwrap_or(0),
        order: request.order,
        multi_tag,
        attributes,
    };
    if state.store.topics.put(shell.now.wall, topic, config).is_none() {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "too many topics");
    }
    let answer = shell.response(call.to, Some(DEFAULT_REMARK), NO_FIELDS);
    state.after_announcement(shell, call.to, answer);
}

/// Applies `+key=value,-key`; the first entry that is neither, if there is one.
fn change_attributes<'a>(attributes: &mut BTreeMap<Arc<str>, Arc<str>>, changes: &'a str) -> Result<(), &'a str> {
    for entry in changes.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        if let Some((key, value)) = entry.strip_prefix('+').and_then(|entry| entry.split_once('=')) {
            attributes.insert(key.trim().into(), value.trim().into());
        } else if let Some(key) = entry.strip_prefix('-') {
            attributes.remove(key.trim());
        } else {
            return Err(entry);
        }
    }
    Ok(())
}

/// DELETE_TOPIC_IN_BROKER: the topic, its messages and all positions in it; the route stays until the name server is
/// told.
pub(super) fn delete(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<DeleteTopic<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let topic = &*request.topic;
    if topic.trim().is_empty() {
        return shell.refuse(call.to, ResponseCode::INVALID_PARAMETER, "The specified topic is blank.");
    }
    if names::is_system_topic(topic) {
        let remark = format!("The topic[{topic}] is conflict with system topic.");
        return shell.refuse(call.to, ResponseCode::INVALID_PARAMETER, &remark);
    }
    if state.store.remove_topic(shell.now, topic) {
        state.offsets.remove_topic(topic);
        state.pop.remove_topic(topic);
    }
    shell.respond_ok(call.to);
}

/// GET_TOPIC_CONFIG.
pub(super) fn config(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetTopicConfig<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match state.store.topics.named(&request.topic) {
        Some(topic) => shell.respond_body(call.to, topic_body(topic, topic.config.perm).encode()),
        None => {
            let remark = format!("No topic in this broker. topic: {}", request.topic);
            shell.refuse(call.to, ResponseCode::TOPIC_NOT_EXIST, &remark);
        }
    }
}

/// A topic's settings as bodies carry them.
pub(crate) fn topic_body(topic: &Topic, perm: u32) -> TopicBody {
    let config = &topic.config;
    let signed = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let text = |text: &Arc<str>| String::from(&**text);
    TopicBody {
        attributes: Some(config.attributes.iter().map(|(key, value)| (text(key), text(value))).collect()),
        order: config.order,
        permission: signed(perm),
        read_queues: signed(config.read_queues),
        filter_type: if config.multi_tag { "MULTI_TAG".into() } else { "SINGLE_TAG".into() },
        topic: text(&topic.name),
        sys_flag: config.sys_flag,
        write_queues: signed(config.write_queues),
    }
}

/// GET_TOPIC_STATS_INFO: the bounds of each queue.
pub(super) fn stats(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetTopicStatsInfo<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let Some(topic) = state.store.topics.named(&request.topic) else {
        let remark = format!("topic[{}] not exist{FAQ}", request.topic);
        return shell.refuse(call.to, ResponseCode::TOPIC_NOT_EXIST, &remark);
    };
    let count = topic.config.read_queues.max(topic.config.write_queues);
    let queues = (0..count).map(|queue| {
        let bounds = topic.queue(queue).map_or(QueueBounds::default(), |queue| QueueBounds {
            last_update_ms: queue.touched(),
            max_offset: queue.max().cast_signed(),
            min_offset: queue.min().cast_signed(),
        });
        let queue_id = i32::try_from(queue).unwrap_or(i32::MAX);
        (
            QueueName {
                topic: String::from(&*request.topic),
                broker_name: String::from(&*state.config.name),
                queue_id,
            },
            bounds,
        )
    });
    shell.respond_body(call.to, TopicStats { queues: queues.collect(), put_tps: 0.0 }.encode());
}

/// GET_ALL_TOPIC_CONFIG: the whole table with its version.
pub(super) fn all(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let topics =
        state.store.topics.iter().map(|topic| (String::from(&*topic.name), topic_body(topic, topic.config.perm)));
    let body = TopicConfigs {
        data_version: version_body(state.store.topics.version()),
        mapping_data_version: None,
        topics: topics.collect(),
        mapping_info: None,
        ..TopicConfigs::default()
    };
    shell.respond_body(call.to, body.encode());
}

/// A version as bodies carry it.
pub(crate) const fn version_body(version: Version) -> DataVersion {
    DataVersion { counter: version.counter, state_version: version.state, timestamp_ms: version.timestamp }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, pull};
    use rocketry_codec::request::{GetAllTopicConfig, GetMaxOffset, GetRouteInfo};
    use std::prelude::v1::*;

    fn request<'a>(topic: &'a str, queues: i32, attributes: &'a str) -> CreateTopic<'a> {
        CreateTopic {
            topic: topic.into(),
            default_topic: "TBW102".into(),
            read_queue_nums: queues,
            write_queue_nums: queues,
            perm: 6,
            topic_filter_type: "SINGLE_TAG".into(),
            attributes: Some(attributes.into()),
            ..CreateTopic::default()
        }
    }

    fn config(world: &mut World, topic: &str) -> (i32, String) {
        let conn = world.connect();
        let frame = world.ask(conn, &GetTopicConfig { topic: topic.into(), ..GetTopicConfig::default() }, "");
        (frame.code(), String::from_utf8_lossy(frame.body()).into_owned())
    }

    #[test]
    fn a_topic_is_created_with_its_route_and_changed_later() {
        let mut world = World::new();
        let admin = world.connect();
        let frame = world.ask(admin, &request("T", 2, ""), "");
        assert_eq!((frame.code(), frame.remark().as_deref()), (0, Some("not set any response code")));
        let route = GetRouteInfo { topic: "T".into(), ..GetRouteInfo::default() };
        assert_eq!(world.ask(admin, &route, "").code(), 0);
        world.ask(admin, &request("T", 3, "+message.type=FIFO,+queue.type=SimpleCQ"), "");
        world.ask(admin, &request("T", 3, "-queue.type"), "");
        let text = "{\"attributes\":{\"message.type\":\"FIFO\"},\"order\":false,\"perm\":6,\"readQueueNums\":3,\
            \"topicFilterType\":\"SINGLE_TAG\",\"topicName\":\"T\",\"topicSysFlag\":0,\"writeQueueNums\":3}";
        assert_eq!(config(&mut world, "T"), (0, text.into()));
        assert_eq!(config(&mut world, "?").0, 17);
        let all = world.ask(admin, &GetAllTopicConfig::default(), "");
        let all = TopicConfigs::decode(all.body()).expect("a table");
        assert_eq!(all.topics["T"].read_queues, 3);
        assert!(all.topics.contains_key("TBW102") && all.data_version.counter > 0);
    }

    #[test]
    fn what_is_not_a_topic_is_refused() {
        let mut world = World::new();
        let admin = world.connect();
        for (topic, code) in [("", 29), ("a b", 29), ("TBW102", 29), ("rmq_sys_x", 29)] {
            assert_eq!(world.ask(admin, &request(topic, 1, ""), "").code(), code, "{topic}");
        }
        let strange = CreateTopic { topic_filter_type: "ANY".into(), ..request("T", 1, "") };
        assert_eq!(world.ask(admin, &strange, "").code(), 1);
        assert_eq!(world.ask(admin, &request("T", 1, "message.type"), "").code(), 1);
        assert_eq!(config(&mut world, "T").0, 17);
    }

    #[test]
    fn queues_that_shrink_away_keep_their_messages() {
        let mut world = World::new();
        let admin = world.connect();
        world.ask(admin, &request("T", 2, ""), "");
        world.send(admin, "T", 1, "", "x");
        world.ask(admin, &request("T", 1, ""), "");
        assert_eq!(world.ask(admin, &pull("g", "T", 1, 0), "").code(), 29);
        world.ask(admin, &request("T", 2, ""), "");
        assert_eq!(world.ask(admin, &pull("g", "T", 1, 0), "").code(), 0);
    }

    #[test]
    fn a_deleted_topic_starts_again_at_0_and_its_route_stays() {
        let mut world = World::new();
        let admin = world.connect();
        world.send(admin, "T", 0, "", "x");
        let delete = |topic: &'static str| DeleteTopic { topic: topic.into(), ..DeleteTopic::default() };
        assert_eq!(world.ask(admin, &delete("T"), "").code(), 0);
        assert_eq!(world.ask(admin, &delete("T"), "").code(), 0);
        assert_eq!(world.ask(admin, &delete(" "), "").code(), 29);
        assert_eq!(world.ask(admin, &delete("TBW102"), "").code(), 29);
        let route = GetRouteInfo { topic: "T".into(), ..GetRouteInfo::default() };
        assert_eq!(world.ask(admin, &route, "").code(), 0);
        let max = GetMaxOffset { topic: "T".into(), ..GetMaxOffset::default() };
        assert_eq!(world.ask(admin, &max, "").field("offset").as_deref(), Some("0"));
        assert_eq!(world.send(admin, "T", 0, "", "y").offset, 0);
    }

    #[test]
    fn statistics_show_the_bounds_of_each_queue() {
        let mut world = World::new();
        let admin = world.connect();
        world.ask(admin, &request("T", 2, ""), "");
        world.send(admin, "T", 1, "", "x");
        let stats = GetTopicStatsInfo { topic: "T".into(), ..GetTopicStatsInfo::default() };
        let frame = world.ask(admin, &stats, "");
        let stats = TopicStats::decode(frame.body()).expect("a table");
        let bounds: Vec<_> = stats.queues.iter().map(|(q, b)| (q.queue_id, b.min_offset, b.max_offset)).collect();
        assert_eq!(bounds, [(0, 0, 0), (1, 0, 1)]);
        let unknown = GetTopicStatsInfo { topic: "?".into(), ..GetTopicStatsInfo::default() };
        assert_eq!(world.ask(admin, &unknown, "").code(), 17);
    }
}
