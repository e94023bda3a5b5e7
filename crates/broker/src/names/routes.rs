//! What a name server answers about topics, brokers and clusters (`spec/broker.md` 1.2, 1.4).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::admin::{ClusterInfo, TopicList};
use rocketry_codec::body::route::{BrokerData, QueueData, TopicRoute};
use rocketry_codec::codes::{ResponseCode, Version};
use rocketry_codec::json::{JsonWriter, ToJson};
use rocketry_codec::request::{
    DeleteTopicFromNamesrv, GetBrokerMemberGroup, GetRouteInfo, GetTopicsByCluster, RegisterTopic,
};

use super::Names;
use super::kv::ORDER_NAMESPACE;
use super::tables::{Broker, Queues, Route};
use crate::shell::{Call, FAQ, Shell};

/// GET_ROUTEINFO_BY_TOPIC.
pub(super) fn route(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    // Apache's reader leaves a missing topic null, and then finds no route for it.
    let request = call.frame.read::<GetRouteInfo<'_>>().ok();
    let topic = request.as_ref().map_or("null", |request| &*request.topic);
    let Some(route) = names.tables.route(topic) else {
        let remark = format!("No topic route info in name server for the topic: {topic}{FAQ}");
        return shell.refuse(call.to, ResponseCode::TOPIC_NOT_EXIST, &remark);
    };
    let order = names.config.order_messages.then(|| names.value(ORDER_NAMESPACE, topic)).flatten();
    let body = body_of(&route, order);
    let asked = request.as_ref().is_some_and(|request| request.accept_standard_json_only == Some(true));
    let standard = !names.config.old_json && (asked || call.frame.version() >= Version::V4_9_4);
    shell.respond_body(call.to, if standard { body.encode_standard() } else { body.encode() });
}

fn body_of(route: &Route<'_>, order: Option<&str>) -> TopicRoute {
    TopicRoute {
        brokers: route.brokers.iter().map(|(name, broker)| broker_data(name, broker)).collect(),
        filter_servers: BTreeMap::new(),
        order_conf: order.map(String::from),
        queues: route.queues.iter().map(|(name, queues)| queue_data(name, *queues)).collect(),
        mappings: None,
    }
}

fn broker_data(name: &str, broker: &Broker) -> BrokerData {
    BrokerData {
        addresses: broker.addresses.iter().map(|(id, address)| (*id, String::from(&**address))).collect(),
        name: name.into(),
        cluster: String::from(&*broker.cluster),
        acting_master: broker.acting_master,
        zone: broker.zone.as_deref().map(String::from),
    }
}

fn queue_data(name: &str, queues: Queues) -> QueueData {
    let signed = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    QueueData {
        broker_name: name.into(),
        permission: signed(queues.perm),
        read_queues: signed(queues.read),
        sys_flag: queues.sys_flag,
        write_queues: signed(queues.write),
    }
}

/// GET_BROKER_CLUSTER_INFO; always in the old dialect.
pub(super) fn cluster_info(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    let clusters = names.tables.clusters().into_iter().map(|(cluster, brokers)| {
        (String::from(&**cluster), brokers.into_iter().map(|name| String::from(&**name)).collect())
    });
    let brokers = names.tables.brokers().map(|(name, broker)| (String::from(&**name), broker_data(name, broker)));
    let info = ClusterInfo { brokers: brokers.collect(), clusters: clusters.collect() };
    shell.respond_body(call.to, info.encode());
}

/// GET_ALL_TOPIC_LIST_FROM_NAMESERVER.
pub(super) fn topic_list(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    respond_topics(shell, call, None, names.tables.topic_names());
}

/// GET_TOPICS_BY_CLUSTER; an unknown cluster has none.
pub(super) fn topics_of_cluster(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<GetTopicsByCluster<'_>>() {
        Ok(request) => respond_topics(shell, call, None, names.tables.topics_of_cluster(&request.cluster)),
        Err(error) => shell.malformed(call.to, error),
    }
}

/// GET_SYSTEM_TOPIC_LIST_FROM_NS: the names of clusters and brokers, which are topics too, and one broker's address.
pub(super) fn system_topics(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    let clusters = names.tables.clusters();
    let brokers = clusters.values().flatten().copied();
    let address = names.tables.brokers().find_map(|(_, broker)| broker.addresses.values().next());
    respond_topics(
        shell,
        call,
        address.map(|address| String::from(&**address)),
        clusters.keys().copied().chain(brokers),
    );
}

fn respond_topics<'a>(
    shell: &mut Shell,
    call: &Call<'_>,
    broker_address: Option<String>,
    topics: impl Iterator<Item = &'a Arc<str>>,
) {
    let topics: BTreeSet<String> = topics.map(|topic| String::from(&**topic)).collect();
    shell.respond_body(call.to, TopicList { broker_address, topics }.encode());
}

/// GET_BROKER_MEMBER_GROUP: the addresses of one broker name.
pub(super) fn member_group(names: &Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<GetBrokerMemberGroup<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let broker = names.tables.broker(&request.broker_name);
    let addresses = broker.map(|broker| broker_data(&request.broker_name, broker).addresses).unwrap_or_default();
    let group =
        MemberGroup { cluster: request.cluster_name.into_owned(), name: request.broker_name.into_owned(), addresses };
    let mut out = JsonWriter::new();
    out.object(|out| out.member("brokerMemberGroup", &group));
    shell.respond_body(call.to, out.finish());
}

/// The brokers of one name, as the answer to 901 has them.
struct MemberGroup {
    cluster: String,
    name: String,
    addresses: BTreeMap<i64, String>,
}

impl ToJson for MemberGroup {
    fn write_json(&self, out: &mut JsonWriter) {
        out.object(|out| {
            out.member("brokerAddrs", &self.addresses);
            out.member("brokerName", &self.name);
            out.member("cluster", &self.cluster);
        });
    }
}

/// DELETE_TOPIC_IN_NAMESRV; always a success.
pub(super) fn delete_topic(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    match call.frame.read::<DeleteTopicFromNamesrv<'_>>() {
        Ok(request) => {
            let cluster = request.cluster_name.as_deref().filter(|cluster| !cluster.is_empty());
            names.tables.delete_topic(&request.topic, cluster);
            shell.respond_ok(call.to);
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

/// REGISTER_TOPIC_IN_NAMESRV: adds queues of brokers that are known.
pub(super) fn register_topic(names: &mut Names, shell: &mut Shell, call: &Call<'_>) {
    let request = match call.frame.read::<RegisterTopic<'_>>() {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    match TopicRoute::decode(call.frame.body()) {
        Ok(route) => {
            let queues: Vec<(Arc<str>, Queues)> = route.queues.iter().map(offered).collect();
            names.tables.add_topic(&Arc::from(&*request.topic), &queues);
            shell.respond_ok(call.to);
        }
        Err(error) => shell.malformed(call.to, error),
    }
}

fn offered(data: &QueueData) -> (Arc<str>, Queues) {
    let count = |count: i32| u32::try_from(count).unwrap_or(0);
    let queues = Queues {
        read: count(data.read_queues),
        write: count(data.write_queues),
        perm: count(data.permission),
        sys_flag: data.sys_flag,
    };
    (data.broker_name.as_str().into(), queues)
}
