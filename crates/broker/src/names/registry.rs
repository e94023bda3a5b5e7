//! How brokers make themselves known to a name server (`spec/broker.md` 1.3).

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::admin::KeyValueTable;
use rocketry_codec::body::registration::{DataVersion, RegisterBroker as Body, TopicConfig};
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::crc::body_crc;
use rocketry_codec::reply::{
    AddWritePermOfBrokerReply, QueryDataVersionReply, RegisterBrokerReply, WipeWritePermOfBrokerReply,
};
use rocketry_codec::request::{
    AddWritePermOfBroker, BrokerHeartbeat, QueryDataVersion, RegisterBroker, UnregisterBroker, WipeWritePermOfBroker,
};

use super::Names;
use super::kv::ORDER_NAMESPACE;
use super::tables::{Queues, Registration};
use crate::shell::{Call, Shell, Timer};
use crate::topics::Version;

/// REGISTER_BROKER.
pub(super) fn register(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<RegisterBroker<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let crc = request.body_crc32.unwrap_or(0);
    if crc != 0 && crc.cast_unsigned() != body_crc(call.frame.body()) {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "crc32 not match");
    }
    if request.compressed {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "a compressed registration is not supported");
    }
    let body = match Body::decode(call.frame.body()) {
        Ok(body) => body,
        Err(error) => return shell.malformed(call.to, error),
    };
    let registration = Registration {
        cluster: (&*request.cluster_name).into(),
        name: (&*request.broker_name).into(),
        id: request.broker_id,
        address: (&*request.broker_addr).into(),
        ha_address: (&*request.ha_server_addr).into(),
        zone: request.zone_name.as_deref().map(Arc::from),
        acting_master: request.enable_acting_master == Some(true),
        expiry: request.heartbeat_timeout_millis.map(|life| Duration::from_millis(life.max(0).unsigned_abs())),
        version: version(&body.topics.data_version),
        topics: body.topics.topics.iter().map(|(topic, config)| offered(topic, config)).collect(),
        conn: Some(call.to.conn),
    };
    let Some(master) = names.tables.register(shell.now.at, registration) else {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "register broker failed");
    };
    if shell.timers.armed(Timer::Brokers).is_none() {
        shell.set_on_grid(Timer::Brokers, names.config.scan_period);
    }
    let reply = RegisterBrokerReply {
        ha_server_addr: master.ha_address.as_deref().map(Into::into),
        master_addr: master.address.as_deref().map(Into::into),
    };
    let order = names.values.get(ORDER_NAMESPACE).map(|table| KeyValueTable { table: table.clone() }.encode());
    let body = order.map_or_else(Bytes::new, Bytes::from);
    shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, body);
}

fn version(data: &DataVersion) -> Version {
    Version { counter: data.counter, timestamp: data.timestamp_ms, state: data.state_version }
}

fn offered(topic: &str, config: &TopicConfig) -> (Arc<str>, Queues) {
    let count = |count: i32| u32::try_from(count).unwrap_or(0);
    let queues = Queues {
        read: count(config.read_queues),
        write: count(config.write_queues),
        perm: count(config.permission),
        sys_flag: config.sys_flag,
    };
    (topic.into(), queues)
}

/// UNREGISTER_BROKER; always a success.
pub(super) fn unregister(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<UnregisterBroker<'_>>() {
        Ok(request) => {
            let (cluster, address) = (Arc::from(&*request.cluster_name), Arc::from(&*request.broker_addr));
            names.tables.unregister(&cluster, &request.broker_name, request.broker_id, &address);
            shell.respond_ok(call.to);
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

/// QUERY_DATA_VERSION: whether the broker's topics differ from what is known; a sign of life too.
pub(super) fn query_version(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<QueryDataVersion<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let theirs = match DataVersion::decode(call.frame.body()) {
        Ok(data) => version(&data),
        Err(error) => return shell.malformed(call.to, error),
    };
    let (cluster, address) = (Arc::from(&*request.cluster_name), Arc::from(&*request.broker_addr));
    let known = names.tables.touch(shell.now.at, &cluster, &address);
    let body = known.map(|known| DataVersion {
        counter: known.counter,
        state_version: known.state,
        timestamp_ms: known.timestamp,
    });
    let reply = QueryDataVersionReply { changed: known != Some(theirs) };
    let body: Option<String> = body.map(|body| body.encode());
    shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, body.map_or_else(Bytes::new, Bytes::from));
}

/// BROKER_HEARTBEAT: a sign of life.
pub(super) fn heartbeat(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<BrokerHeartbeat<'_>>() {
        Ok(request) => {
            let (cluster, address) = (Arc::from(&*request.cluster_name), Arc::from(&*request.broker_addr));
            names.tables.touch(shell.now.at, &cluster, &address);
            shell.respond_ok(call.to);
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

/// WIPE_WRITE_PERM_OF_BROKER.
pub(super) fn wipe_write(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<WipeWritePermOfBroker<'_>>() {
        Ok(request) => {
            let count = names.tables.wipe_write(&request.broker_name);
            let reply = WipeWritePermOfBrokerReply { wipe_topic_count: i32::try_from(count).unwrap_or(i32::MAX) };
            shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

/// ADD_WRITE_PERM_OF_BROKER.
pub(super) fn add_write(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<AddWritePermOfBroker<'_>>() {
        Ok(request) => {
            let count = names.tables.add_write(&request.broker_name);
            let reply = AddWritePermOfBrokerReply { add_topic_count: i32::try_from(count).unwrap_or(i32::MAX) };
            shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
        }
        Err(error) => shell.malformed(call.to, error),
    }
}
