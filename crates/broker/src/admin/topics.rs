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
