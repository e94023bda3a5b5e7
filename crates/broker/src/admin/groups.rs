//! Requests about the configuration of groups.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::registration::{GroupConfig as GroupBody, GroupConfigs, RetryPolicy};
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::names;
use rocketry_codec::request::{DeleteSubscriptionGroup, GetSubscriptionGroupConfig};

use super::topics::version_body;
use crate::groups::GroupConfig;
use crate::shell::{Call, FAQ, Shell};
use crate::state::State;

/// UPDATE_AND_CREATE_SUBSCRIPTIONGROUP.
pub(super) fn create(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let body = match GroupBody::decode(call.frame.body()) {
        Ok(body) => body,
        Err(error) => return shell.malformed(call.to, error),
    };
    if let Err(error) = names::check_group(&body.group) {
        return shell.refuse(call.to, ResponseCode::INVALID_PARAMETER, &format!("{error}"));
    }
    let config = GroupConfig {
        consume_enable: body.consume,
        consume_from_min: body.consume_from_min,
        broadcast_enable: body.consume_broadcast,
        orderly: body.orderly,
        retry_queues: body.retry_queues,
        retry_max: body.retry_max_times,
        broker_id: body.broker_id,
        slow_broker_id: body.which_broker_when_slow,
        notify_changes: body.notify_ids_changed,
        sys_flag: body.sys_flag,
        consume_timeout_minutes: body.consume_timeout_minutes,
    };
    if state.groups.put(shell.now.wall, &body.group, config) {
        shell.respond_ok(call.to);
    } else {
        shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "too many groups");
    }
}

/// DELETE_SUBSCRIPTIONGROUP; always a success.
pub(super) fn delete(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<DeleteSubscriptionGroup<'_>>() {
        Ok(request) => {
            state.groups.remove(shell.now.wall, &request.group_name);
            if request.clean_offset {
                state.offsets.remove_group(&request.group_name);
                state.pop.remove_group(&request.group_name);
            }
            shell.respond_ok(call.to);
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

/// GET_SUBSCRIPTIONGROUP_CONFIG; may create the group.
pub(super) fn config(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetSubscriptionGroupConfig<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let Some(config) = state.groups.find_or_create(shell.now.wall, &request.group) else {
        let remark = format!("subscription group [{}] does not exist, {FAQ}", request.group);
        return shell.refuse(call.to, ResponseCode::SUBSCRIPTION_GROUP_NOT_EXIST, &remark);
    };
    let body = group_body(&request.group, config);
    shell.respond_body(call.to, body.encode());
}

/// GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
pub(super) fn all(state: &State, shell: &mut Shell, call: &Call<'_>) {
    let groups = state.groups.iter().map(|(group, config)| (String::from(&**group), group_body(group, config)));
    let body = GroupConfigs {
        data_version: version_body(state.groups.version()),
        groups: groups.collect(),
        ..GroupConfigs::default()
    };
    shell.respond_body(call.to, body.encode());
}

/// A group's settings as bodies carry them.
fn group_body(group: &str, config: &GroupConfig) -> GroupBody {
    GroupBody {
        attributes: Some(BTreeMap::new()),
        broker_id: config.broker_id,
        consume_broadcast: config.broadcast_enable,
        consume: config.consume_enable,
        consume_from_min: config.consume_from_min,
        orderly: config.orderly,
        consume_timeout_minutes: config.consume_timeout_minutes,
        group: group.into(),
        retry_policy: Some(RetryPolicy::default()),
        sys_flag: config.sys_flag,
        notify_ids_changed: config.notify_changes,
        retry_max_times: config.retry_max,
        retry_queues: config.retry_queues,
        which_broker_when_slow: config.slow_broker_id,
        ..GroupBody::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use rocketry_codec::request::{
        CreateSubscriptionGroup, GetAllSubscriptionGroupConfig, QueryConsumerOffset, UpdateConsumerOffset,
    };
    use std::prelude::v1::*;

    #[test]
    fn groups_are_created_read_and_deleted() {
        let mut world = World::with(|config| {
            config.auto_create_groups = false;
            config.topics.push(crate::config::TopicSpec::new("T", 1));
        });
        let admin = world.connect();
        let read = GetSubscriptionGroupConfig { group: "g".into(), ..GetSubscriptionGroupConfig::default() };
        assert_eq!(world.ask(admin, &read, "").code(), 26);
        world.with_group("g", |config| config.retry_max_times = 3);
        let frame = world.ask(admin, &read, "");
        assert_eq!(GroupBody::decode(frame.body()).expect("a group").retry_max_times, 3);
        let all = world.ask(admin, &GetAllSubscriptionGroupConfig::default(), "");
        let all = GroupConfigs::decode(all.body()).expect("a table");
        assert_eq!((all.groups.len(), all.data_version.counter), (1, 1));

        let commit = UpdateConsumerOffset {
            consumer_group: "g".into(),
            topic: "T".into(),
            commit_offset: 5,
            ..UpdateConsumerOffset::default()
        };
        let query =
            QueryConsumerOffset { consumer_group: "g".into(), topic: "T".into(), ..QueryConsumerOffset::default() };
        world.ask(admin, &commit, "");
        for (clean, code) in [(false, 0), (true, 22)] {
            let delete = DeleteSubscriptionGroup {
                group_name: "g".into(),
                clean_offset: clean,
                ..DeleteSubscriptionGroup::default()
            };
            assert_eq!(world.ask(admin, &delete, "").code(), 0);
            assert_eq!(world.ask(admin, &query, "").code(), code, "positions outlive their group unless told");
        }
        assert_eq!(world.ask(admin, &read, "").code(), 26);
        let bad = GroupBody { group: "a b".into(), ..GroupBody::default() };
        assert_eq!(world.ask(admin, &CreateSubscriptionGroup::default(), bad.encode()).code(), 29);
    }
}
