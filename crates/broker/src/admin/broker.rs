//! Requests about the broker itself: what it does, and its configuration (`spec/broker.md` 10.3).
//!
//! The configuration has Apache's names. What can be changed while the broker runs is what a rule reads each time.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::admin::KeyValueTable;
use rocketry_codec::codes::{ResponseCode, Version};
use rocketry_codec::reply::GetBrokerConfigReply;

use crate::config::BrokerConfig;
use crate::shell::{Call, Shell};
use crate::state::State;

/// GET_BROKER_RUNTIME_INFO.
pub(super) fn runtime(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let (begin, end) = state.store.log_range();
    let mut table = BTreeMap::new();
    let mut put = |name: &str, value: String| drop(table.insert(String::from(name), value));
    put("brokerVersionDesc", String::from("V5_3_3"));
    put("brokerVersion", Version::V5_3_3.0.to_string());
    put("brokerActive", String::from("true"));
    put("brokerRole", String::from("ASYNC_MASTER"));
    put("bootTimestamp", shell.started().to_string());
    put("commitLogMinOffset", begin.to_string());
    put("commitLogMaxOffset", end.to_string());
    put("dispatchMaxBuffer", String::from("0"));
    put("dispatchBehindBytes", String::from("0"));
    put("commitLogDiskRatio", format!("{:.4}", ratio(state.store.bytes(), state.config.limits.store_bytes)));
    for level in 1..=state.config.delay_levels.highest() {
        let max = state.store.max(state.schedule_topic, u32::from(level) - 1);
        let done = max.saturating_sub(i64::try_from(state.delay.waiting(level)).unwrap_or(i64::MAX));
        put(&format!("scheduleMessageOffset_{level:02}"), format!("{done},{max}"));
    }
    shell.respond_body(call.to, KeyValueTable { table }.encode());
}

/// GET_BROKER_CONFIG.
pub(super) fn config(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let text: String = settings(&state.config).iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    let version = super::version_body(state.config_version).encode().into();
    let reply = GetBrokerConfigReply { version };
    shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::from(text.into_bytes()));
}

/// UPDATE_BROKER_CONFIG. As with Apache, names that mean nothing here are ignored; so are values that cannot be read.
pub(super) fn update(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let Ok(text) = core::str::from_utf8(call.frame.body()) else {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "the configuration is not UTF-8");
    };
    let lines =
        || text.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
    if lines().any(|(name, _)| FIXED.contains(&name)) {
        return shell.refuse(call.to, ResponseCode::NO_PERMISSION, "Can not update config in black list.");
    }
    for (name, value) in lines() {
        set(&mut state.config, name, value);
    }
    state.config_version.bump(shell.now.wall);
    shell.respond_ok(call.to);
}

/// Settings that no request may change.
const FIXED: [&str; 3] = ["brokerConfigPath", "configBlackList", "rocketmqHome"];

/// The settings that have a name at Apache's broker.
fn settings(config: &BrokerConfig) -> [(&'static str, String); 14] {
    [
        ("autoCreateSubscriptionGroup", config.auto_create_groups.to_string()),
        ("autoCreateTopicEnable", config.auto_create_topics.to_string()),
        ("brokerClusterName", config.cluster.to_string()),
        ("brokerIP1", config.address.ip().to_string()),
        ("brokerId", config.id.to_string()),
        ("brokerName", config.name.to_string()),
        ("brokerPermission", config.permission.to_string()),
        ("defaultTopicQueueNums", config.default_topic_queues.to_string()),
        ("enableRetryTopicV2", config.pop_retry_v2.to_string()),
        ("listenPort", config.address.port().to_string()),
        ("longPollingEnable", config.long_polling.to_string()),
        ("maxMessageSize", config.limits.message_bytes.to_string()),
        ("popFromRetryProbability", config.pop_from_retry_percent.to_string()),
        ("traceOn", config.trace_on.to_string()),
    ]
}

fn set(config: &mut BrokerConfig, name: &str, value: &str) {
    let switch = |at: &mut bool| {
        if let Ok(value) = value.parse() {
            *at = value;
        }
    };
    match name {
        "autoCreateSubscriptionGroup" => switch(&mut config.auto_create_groups),
        "autoCreateTopicEnable" => switch(&mut config.auto_create_topics),
        "longPollingEnable" => switch(&mut config.long_polling),
        "enableRetryTopicV2" => switch(&mut config.pop_retry_v2),
        "traceOn" => switch(&mut config.trace_on),
        "brokerPermission" => config.permission = value.parse().unwrap_or(config.permission),
        "popFromRetryProbability" => {
            config.pop_from_retry_percent = value.parse().unwrap_or(config.pop_from_retry_percent);
        }
        "maxMessageSize" => config.limits.message_bytes = value.parse().unwrap_or(config.limits.message_bytes),
        _ => {}
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{START, World, properties, pull};
    use rocketry_codec::request::{GetBrokerConfig, GetBrokerRuntimeInfo, UpdateBrokerConfig};
    use std::prelude::v1::*;

    #[test]
    fn the_broker_says_what_it_does() {
        let mut world = World::new();
        let client = world.connect();
        world.send(client, "T", 0, &properties(&[("DELAY", "3")]), "x");
        let frame = world.ask(client, &GetBrokerRuntimeInfo::default(), "");
        let table = KeyValueTable::decode(frame.body()).expect("a table").table;
        let value = |name: &str| table.get(name).map(String::as_str);
        assert_eq!((value("scheduleMessageOffset_03"), value("brokerVersionDesc")), (Some("0,1"), Some("V5_3_3")));
        assert_eq!(value("bootTimestamp"), Some(&*START.to_string()));
        assert!(value("commitLogMaxOffset").is_some_and(|max| max != "0"));
    }

    #[test]
    fn configuration_is_read_and_changed() {
        let mut world = World::new();
        let client = world.connect();
        let read = |world: &mut World| {
            let frame = world.ask(client, &GetBrokerConfig::default(), "");
            let text = String::from_utf8(frame.body().to_vec()).expect("text");
            (frame.field("version").expect("a version").into_owned(), text)
        };
        let before = read(&mut world);
        assert!(before.1.contains("brokerPermission=6\n") && before.1.contains("brokerName=broker-a\n"));
        let update = "brokerPermission = 2\nunknown=1\nlongPollingEnable=maybe";
        assert_eq!(world.ask(client, &UpdateBrokerConfig::default(), update).code(), 0);
        let after = read(&mut world);
        assert!(after.1.contains("brokerPermission=2\n") && after.1.contains("longPollingEnable=true\n"));
        assert_ne!(before.0, after.0);
        assert_eq!(world.ask(client, &pull("g", "T", 0, 0), "").code(), 16);
        let fixed = "brokerPermission=6\nbrokerConfigPath=x";
        assert_eq!(world.ask(client, &UpdateBrokerConfig::default(), fixed).code(), 16);
        assert_eq!(read(&mut world), after);
    }
}
