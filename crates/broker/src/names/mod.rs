//! The name server: routes for clients, registrations from brokers (`spec/broker.md` 1).
//!
//! It answers every request at once. A broker is known from its registration until it unregisters, its connection
//! closes, or it has been silent too long, which a scan every 5 s finds. The scan is the only timer, and is armed only
//! while a broker is registered over a connection.

mod kv;
mod registry;
mod routes;
pub(crate) mod tables;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use rocketry_codec::codes::RequestCode;
use rocketry_machine::{ConnId, Moment};

use crate::config::NameServerConfig;
use crate::shell::{Call, Shell, Timer};
use crate::state::unsupported;
use tables::{Registration, Tables};

/// Everything that a name server knows.
#[derive(Debug)]
pub(crate) struct Names {
    config: NameServerConfig,
    tables: Tables,
    /// Key and value by namespace.
    values: BTreeMap<String, BTreeMap<String, String>>,
}

impl Names {
    pub(crate) fn new(config: NameServerConfig) -> Self {
        let tables = Tables::new(config.broker_expiry, config.limits);
        Self { config, tables, values: BTreeMap::new() }
    }

    /// Whether a request is one for a name server. No broker of ours serves these.
    pub(crate) const fn serves(code: RequestCode) -> bool {
        matches!(
            code,
            RequestCode::GET_ROUTEINFO_BY_TOPIC
                | RequestCode::GET_BROKER_CLUSTER_INFO
                | RequestCode::GET_ALL_TOPIC_LIST_FROM_NAMESERVER
                | RequestCode::GET_TOPICS_BY_CLUSTER
                | RequestCode::GET_SYSTEM_TOPIC_LIST_FROM_NS
                | RequestCode::PUT_KV_CONFIG
                | RequestCode::GET_KV_CONFIG
                | RequestCode::DELETE_KV_CONFIG
                | RequestCode::GET_KVLIST_BY_NAMESPACE
                | RequestCode::REGISTER_BROKER
                | RequestCode::UNREGISTER_BROKER
                | RequestCode::QUERY_DATA_VERSION
                | RequestCode::BROKER_HEARTBEAT
                | RequestCode::GET_BROKER_MEMBER_GROUP
                | RequestCode::WIPE_WRITE_PERM_OF_BROKER
                | RequestCode::ADD_WRITE_PERM_OF_BROKER
                | RequestCode::DELETE_TOPIC_IN_NAMESRV
                | RequestCode::REGISTER_TOPIC_IN_NAMESRV
        )
    }

    /// Answers one request.
    pub(crate) fn on_request(&mut self, shell: &mut Shell, call: &Call<'_>) {
        match call.frame.request_code() {
            RequestCode::GET_ROUTEINFO_BY_TOPIC => routes::route(self, shell, call),
            RequestCode::GET_BROKER_CLUSTER_INFO => routes::cluster_info(self, shell, call),
            RequestCode::GET_ALL_TOPIC_LIST_FROM_NAMESERVER => routes::topic_list(self, shell, call),
            RequestCode::GET_TOPICS_BY_CLUSTER => routes::topics_of_cluster(self, shell, call),
            RequestCode::GET_SYSTEM_TOPIC_LIST_FROM_NS => routes::system_topics(self, shell, call),
            RequestCode::GET_BROKER_MEMBER_GROUP => routes::member_group(self, shell, call),
            RequestCode::DELETE_TOPIC_IN_NAMESRV => routes::delete_topic(self, shell, call),
            RequestCode::REGISTER_TOPIC_IN_NAMESRV => routes::register_topic(self, shell, call),
            RequestCode::PUT_KV_CONFIG => kv::put(self, shell, call),
            RequestCode::GET_KV_CONFIG => kv::get(self, shell, call),
            RequestCode::DELETE_KV_CONFIG => kv::delete(self, shell, call),
            RequestCode::GET_KVLIST_BY_NAMESPACE => kv::list(self, shell, call),
            RequestCode::REGISTER_BROKER => registry::register(self, shell, call),
            RequestCode::UNREGISTER_BROKER => registry::unregister(self, shell, call),
            RequestCode::QUERY_DATA_VERSION => registry::query_version(self, shell, call),
            RequestCode::BROKER_HEARTBEAT => registry::heartbeat(self, shell, call),
            RequestCode::WIPE_WRITE_PERM_OF_BROKER => registry::wipe_write(self, shell, call),
            RequestCode::ADD_WRITE_PERM_OF_BROKER => registry::add_write(self, shell, call),
            _ => unsupported(shell, call),
        }
    }

    /// A connection is gone; the brokers that registered over it are gone with it.
    pub(crate) fn on_closed(&mut self, conn: ConnId) {
        self.tables.close(conn);
    }

    /// Drops the brokers that have been silent too long; the connections to close.
    pub(crate) fn on_scan(&mut self, shell: &mut Shell) -> Vec<ConnId> {
        let silent = self.tables.expire(shell.now.at);
        if self.tables.has_remote() {
            shell.set_on_grid(Timer::Brokers, self.config.scan_period);
        }
        silent
    }

    /// A broker in the same machine says what has changed.
    pub(crate) fn register_local(&mut self, now: Moment, registration: Registration) {
        self.tables.register(now, registration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::NameServer;
    use crate::testing::World;
    use core::time::Duration;
    use rocketry_codec::body::JsonBody;
    use rocketry_codec::body::registration::{DataVersion, RegisterBroker as Body, TopicConfig, TopicConfigs};
    use rocketry_codec::codes::Version;
    use rocketry_codec::crc::body_crc;
    use rocketry_codec::encoder::{FrameWriter, Sender};
    use rocketry_codec::frame::Frame;
    use rocketry_codec::header::Request;
    use rocketry_codec::request::{
        BrokerHeartbeat, DeleteTopicFromNamesrv, GetAllTopicList, GetBrokerClusterInfo, GetBrokerMemberGroup,
        GetKVConfig, GetRouteInfo, PutKVConfig, QueryDataVersion, RegisterBroker, UnregisterBroker,
        WipeWritePermOfBroker,
    };
    use rocketry_machine::Now;
    use std::prelude::v1::*;

    fn world_with(change: impl FnOnce(&mut NameServerConfig)) -> World<NameServer> {
        let mut config = NameServerConfig::new();
        change(&mut config);
        World::around(NameServer::new(config, Now::default()))
    }

    fn world() -> World<NameServer> {
        world_with(|_| {})
    }

    fn registration(id: i64) -> RegisterBroker<'static> {
        RegisterBroker {
            broker_name: "b".into(),
            broker_addr: format!("10.0.0.{id}:10911").into(),
            cluster_name: "C".into(),
            ha_server_addr: format!("10.0.0.{id}:10912").into(),
            broker_id: id,
            ..RegisterBroker::default()
        }
    }

    fn topics(names: &[&str]) -> String {
        let topic = |name: &&str| (name.to_string(), TopicConfig { topic: name.to_string(), ..TopicConfig::default() });
        let topics = names.iter().map(topic).collect();
        let data_version = DataVersion { counter: 3, state_version: 0, timestamp_ms: 5 };
        Body { topics: TopicConfigs { data_version, topics, ..TopicConfigs::default() }, ..Body::default() }.encode()
    }

    fn route(topic: &str) -> GetRouteInfo<'_> {
        GetRouteInfo { topic: topic.into(), ..GetRouteInfo::default() }
    }

    fn body(frame: &Frame) -> String {
        assert_eq!(frame.code(), 0, "{frame:?}");
        String::from_utf8(frame.body().to_vec()).expect("text")
    }

    /// A request as a client of another version sends it.
    fn ask_as<R: Request>(world: &mut World<NameServer>, version: i32, request: &R) -> Frame {
        let conn = world.connect();
        let mut writer = FrameWriter::new(Sender { version: Version(version), ..Sender::default() });
        world.feed(conn, writer.request(1, request, bytes::Bytes::new()));
        world.take(conn).remove(0)
    }

    #[test]
    fn routes_in_both_dialects() {
        let mut world = world();
        let broker = world.connect();
        assert_eq!(world.ask(broker, &registration(0), topics(&["T", "U"])).code(), 0);
        let standard = "{\"brokerDatas\":[{\"brokerAddrs\":{\"0\":\"10.0.0.0:10911\"},\"brokerName\":\"b\",\
            \"cluster\":\"C\",\"enableActingMaster\":false}],\"filterServerTable\":{},\"queueDatas\":[{\"brokerName\":\"b\",\
            \"perm\":6,\"readQueueNums\":16,\"topicSysFlag\":0,\"writeQueueNums\":16}]}";
        let old = standard.replace("\"0\":", "0:");
        assert_eq!(body(&ask_as(&mut world, 401, &route("T"))), standard);
        assert_eq!(body(&ask_as(&mut world, 400, &route("T"))), old);
        let asked = GetRouteInfo { accept_standard_json_only: Some(true), ..route("T") };
        assert_eq!(body(&ask_as(&mut world, 0, &asked)), standard);
        let frame = world.ask(broker, &route("?"), "");
        let remark = "No topic route info in name server for the topic: ?\nSee \
            https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.";
        assert_eq!((frame.code(), frame.remark().as_deref()), (17, Some(remark)));
        let frame = world.call_as(RequestCode::GET_ROUTEINFO_BY_TOPIC, broker, &GetAllTopicList::default(), "");
        assert_eq!(frame.expect("answered").code(), 17, "a route query without topic");
        let frame =
            world.call_as(RequestCode::SEND_MESSAGE, broker, &GetAllTopicList::default(), "").expect("answered");
        assert_eq!(frame.remark().as_deref(), Some(" request type 10 not supported"));
    }

    #[test]
    fn the_old_dialect_can_be_forced() {
        let mut world = world_with(|config| config.old_json = true);
        let broker = world.connect();
        world.ask(broker, &registration(0), topics(&["T", "U"]));
        assert!(body(&world.ask(broker, &route("T"), "")).contains("{0:"));
    }

    #[test]
    fn registrations_are_checked() {
        let mut world = world();
        let broker = world.connect();
        let text = topics(&["T", "U"]);
        let crc = i32::try_from(body_crc(text.as_bytes())).expect("31 bits");
        let wrong = RegisterBroker { body_crc32: Some(crc ^ 1), ..registration(0) };
        let frame = world.ask(broker, &wrong, text.clone());
        assert_eq!((frame.code(), frame.remark().as_deref()), (1, Some("crc32 not match")));
        let right = RegisterBroker { body_crc32: Some(crc), ..registration(0) };
        assert_eq!(world.ask(broker, &right, text).code(), 0);
        let slave = world.ask(broker, &registration(1), topics(&["T", "U"]));
        assert_eq!(slave.field("masterAddr").as_deref(), Some("10.0.0.0:10911"));
        assert_eq!(slave.field("haServerAddr").as_deref(), Some("10.0.0.0:10912"));
        assert_eq!(world.ask(broker, &registration(2), topics(&["T"])).code(), 1, "one topic at first");
    }

    #[test]
    fn a_broker_goes_with_its_connection_or_its_silence_or_its_word() {
        let mut world = world();
        let client = world.connect();
        let code = |world: &mut World<NameServer>| world.ask(client, &route("T"), "").code();
        let broker = world.connect();
        world.ask(broker, &registration(0), topics(&["T", "U"]));
        world.close(broker);
        assert_eq!(code(&mut world), 17);

        let broker = world.connect();
        let quick = RegisterBroker { heartbeat_timeout_millis: Some(7_000), ..registration(0) };
        world.ask(broker, &quick, topics(&["T", "U"]));
        world.pass(Duration::from_secs(5));
        let alive = BrokerHeartbeat {
            cluster_name: "C".into(),
            broker_addr: "10.0.0.0:10911".into(),
            broker_name: "b".into(),
            ..BrokerHeartbeat::default()
        };
        world.ask(broker, &alive, "");
        world.pass(Duration::from_secs(7));
        assert_eq!(code(&mut world), 0);
        world.pass(Duration::from_secs(3));
        assert_eq!((code(&mut world), world.closed.clone()), (17, std::vec![broker]));

        let broker = world.connect();
        world.ask(broker, &registration(0), topics(&["T", "U"]));
        let bye = UnregisterBroker {
            broker_name: "b".into(),
            broker_addr: "10.0.0.0:10911".into(),
            cluster_name: "C".into(),
            broker_id: 0,
        };
        assert_eq!(world.ask(broker, &bye, "").code(), 0);
        assert_eq!(code(&mut world), 17);
    }

    #[test]
    fn lists_and_clusters() {
        let mut world = world();
        let broker = world.connect();
        world.ask(broker, &registration(0), topics(&["T", "U"]));
        assert_eq!(body(&world.ask(broker, &GetAllTopicList::default(), "")), "{\"topicList\":[\"T\",\"U\"]}");
        assert_eq!(
            body(&world.ask(broker, &GetBrokerClusterInfo::default(), "")),
            "{\"brokerAddrTable\":{\"b\":{\"brokerAddrs\":{0:\"10.0.0.0:10911\"},\"brokerName\":\"b\",\"cluster\":\"C\",\
             \"enableActingMaster\":false}},\"clusterAddrTable\":{\"C\":[\"b\"]}}"
        );
        let group = GetBrokerMemberGroup { cluster_name: "C".into(), broker_name: "b".into() };
        assert_eq!(
            body(&world.ask(broker, &group, "")),
            "{\"brokerMemberGroup\":{\"brokerAddrs\":{0:\"10.0.0.0:10911\"},\"brokerName\":\"b\",\"cluster\":\"C\"}}"
        );
        let wipe = WipeWritePermOfBroker { broker_name: "b".into() };
        assert_eq!(world.ask(broker, &wipe, "").field("wipeTopicCount").as_deref(), Some("2"));
        assert!(body(&world.ask(broker, &route("T"), "")).contains("\"perm\":4"));
        let delete = DeleteTopicFromNamesrv { topic: "T".into(), ..DeleteTopicFromNamesrv::default() };
        assert_eq!(world.ask(broker, &delete, "").code(), 0);
        assert_eq!(world.ask(broker, &route("T"), "").code(), 17);
        let query = QueryDataVersion {
            broker_name: "b".into(),
            broker_addr: "10.0.0.0:10911".into(),
            cluster_name: "C".into(),
            broker_id: 0,
        };
        let same = DataVersion { counter: 3, state_version: 0, timestamp_ms: 5 }.encode();
        assert_eq!(world.ask(broker, &query, same.clone()).field("changed").as_deref(), Some("false"));
        let stranger = QueryDataVersion { broker_addr: "elsewhere:1".into(), ..query };
        assert_eq!(world.ask(broker, &stranger, same).field("changed").as_deref(), Some("true"));
    }

    #[test]
    fn order_configuration_is_shown_only_when_switched_on() {
        for on in [true, false] {
            let mut world = world_with(|config| config.order_messages = on);
            let broker = world.connect();
            world.ask(broker, &registration(0), topics(&["T", "U"]));
            let key = GetKVConfig { namespace: "ORDER_TOPIC_CONFIG".into(), key: "T".into() };
            let frame = world.ask(broker, &key, "");
            let remark = "No config item, Namespace: ORDER_TOPIC_CONFIG Key: T";
            assert_eq!((frame.code(), frame.remark().as_deref()), (22, Some(remark)));
            let put = PutKVConfig { namespace: "ORDER_TOPIC_CONFIG".into(), key: "T".into(), value: "b:4".into() };
            world.ask(broker, &put, "");
            assert_eq!(world.ask(broker, &key, "").field("value").as_deref(), Some("b:4"));
            assert_eq!(body(&world.ask(broker, &route("T"), "")).contains("\"orderTopicConf\":\"b:4\""), on);
            let again = world.ask(broker, &registration(0), topics(&["T", "U"]));
            assert_eq!(body(&again), "{\"table\":{\"T\":\"b:4\"}}");
        }
    }

    #[test]
    fn every_code_that_is_served_is_answered() {
        let mut world = world();
        let conn = world.connect();
        let served: Vec<RequestCode> =
            RequestCode::ALL.iter().map(|(_, code)| *code).filter(|code| Names::serves(*code)).collect();
        assert_eq!(served.len(), 18);
        for code in served {
            let frame = world.call_as(code, conn, &GetAllTopicList::default(), "").expect("answered");
            assert_ne!(frame.code(), 3, "{code}");
        }
    }
}
