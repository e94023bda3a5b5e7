//! The key-value table of a name server.

use alloc::format;
use alloc::string::String;

use bytes::Bytes;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::admin::KeyValueTable;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::reply::GetKVConfigReply;
use rocketry_codec::request::{DeleteKVConfig, GetKVConfig, GetKVListByNamespace, PutKVConfig};

use super::Names;
use crate::shell::{Call, Shell};

/// The namespace that holds the queues of ordered topics.
pub(super) const ORDER_NAMESPACE: &str = "ORDER_TOPIC_CONFIG";

pub(super) fn put(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<PutKVConfig<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let known = names.value(&request.namespace, &request.key).is_some();
    let entries: usize = names.values.values().map(|table| table.len()).sum();
    if !known && entries >= names.config.limits.kv_entries {
        return shell.refuse(call.to, ResponseCode::SYSTEM_ERROR, "too many entries");
    }
    let table = names.values.entry(request.namespace.into_owned()).or_default();
    table.insert(request.key.into_owned(), request.value.into_owned());
    shell.respond_ok(call.to);
}

pub(super) fn get(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetKVConfig<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match names.value(&request.namespace, &request.key) {
        Some(value) => {
            let reply = GetKVConfigReply { value: Some(value.into()) };
            shell.respond(call.to, ResponseCode::SUCCESS, None, &reply, Bytes::new());
        }
        None => {
            let remark = format!("No config item, Namespace: {} Key: {}", request.namespace, request.key);
            shell.refuse(call.to, ResponseCode::QUERY_NOT_FOUND, &remark);
        }
    }
}

pub(super) fn delete(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<DeleteKVConfig<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    if let Some(table) = names.values.get_mut(&*request.namespace) {
        table.remove(&*request.key);
    }
    shell.respond_ok(call.to);
}

pub(super) fn list(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetKVListByNamespace<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match names.values.get(&*request.namespace) {
        Some(table) => shell.respond_body(call.to, KeyValueTable { table: table.clone() }.encode()),
        None => {
            let remark = format!("No config item, Namespace: {}", request.namespace);
            shell.refuse(call.to, ResponseCode::QUERY_NOT_FOUND, &remark);
        }
    }
}

impl Names {
    /// A value of the table.
    pub(super) fn value(&self, namespace: &str, key: &str) -> Option<&str> {
        self.values.get(namespace)?.get(key).map(String::as_str)
    }
}
