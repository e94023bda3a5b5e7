//! Request codes (wire 3.1). A table without logic.

super::code_table! {
    RequestCode {
        /// Send, long field names (V1 header), client to broker.
        SEND_MESSAGE = 10,
        /// Pull with optional long polling, client to broker.
        PULL_MESSAGE = 11,
        /// Query by key or unique key, client or admin to broker.
        QUERY_MESSAGE = 12,
        /// Query broker offset (unused).
        QUERY_BROKER_OFFSET = 13,
        /// Read committed offset, client to broker.
        QUERY_CONSUMER_OFFSET = 14,
        /// Commit offset (usually oneway), client to broker.
        UPDATE_CONSUMER_OFFSET = 15,
        /// Create or alter a topic, admin or client to broker.
        UPDATE_AND_CREATE_TOPIC = 17,
        /// Same, many topics in the body (5.3+), admin to broker.
        UPDATE_AND_CREATE_TOPIC_LIST = 18,
        /// All topic configs, admin or broker to broker.
        GET_ALL_TOPIC_CONFIG = 21,
        /// Get topic config list (unused).
        GET_TOPIC_CONFIG_LIST = 22,
        /// Get topic name list (unused).
        GET_TOPIC_NAME_LIST = 23,
        /// Body: `key=value\n` lines, admin to broker.
        UPDATE_BROKER_CONFIG = 25,
        /// Answer body: `key=value\n` lines, admin to broker.
        GET_BROKER_CONFIG = 26,
        /// Trigger delete files (unused).
        TRIGGER_DELETE_FILES = 27,
        /// Answer: KVTable, admin to broker.
        GET_BROKER_RUNTIME_INFO = 28,
        /// Offset by store time, client to broker.
        SEARCH_OFFSET_BY_TIMESTAMP = 29,
        /// Get max offset, client to broker.
        GET_MAX_OFFSET = 30,
        /// Get min offset, client to broker.
        GET_MIN_OFFSET = 31,
        /// Get earliest msg storetime, client to broker.
        GET_EARLIEST_MSG_STORETIME = 32,
        /// Read one message by commit-log offset, client to broker.
        VIEW_MESSAGE_BY_ID = 33,
        /// Heart beat, client to broker.
        HEART_BEAT = 34,
        /// Unregister client, client to broker.
        UNREGISTER_CLIENT = 35,
        /// Move a message to the retry / dead-letter topic, client to broker.
        CONSUMER_SEND_MSG_BACK = 36,
        /// Commit / rollback (oneway), client to broker.
        END_TRANSACTION = 37,
        /// Client ids of a group, client to broker.
        GET_CONSUMER_LIST_BY_GROUP = 38,
        /// Ask for transaction outcome (oneway), broker to client.
        CHECK_TRANSACTION_STATE = 39,
        /// Group membership changed (oneway), broker to client.
        NOTIFY_CONSUMER_IDS_CHANGED = 40,
        /// Lock queues for orderly consumption, client to broker.
        LOCK_BATCH_MQ = 41,
        /// Unlock batch mq, client to broker.
        UNLOCK_BATCH_MQ = 42,
        /// Slave sync, broker to broker.
        GET_ALL_CONSUMER_OFFSET = 43,
        /// Slave sync, broker to broker.
        GET_ALL_DELAY_OFFSET = 45,
        /// Let the broker compile a SQL filter, client to broker.
        CHECK_CLIENT_CONFIG = 46,
        /// Get client config (unused).
        GET_CLIENT_CONFIG = 47,
        /// Get timer check point.
        GET_TIMER_CHECK_POINT = 60,
        /// Get timer metrics.
        GET_TIMER_METRICS = 61,
        /// Put kv config, admin to name server.
        PUT_KV_CONFIG = 100,
        /// Get kv config, client or admin to name server.
        GET_KV_CONFIG = 101,
        /// Delete kv config, admin to name server.
        DELETE_KV_CONFIG = 102,
        /// Register broker, broker to name server.
        REGISTER_BROKER = 103,
        /// Unregister broker, broker to name server.
        UNREGISTER_BROKER = 104,
        /// Get routeinfo by topic, client to name server.
        GET_ROUTEINFO_BY_TOPIC = 105,
        /// Get broker cluster info, admin to name server.
        GET_BROKER_CLUSTER_INFO = 106,
        /// Update and create subscriptiongroup, admin to broker.
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200,
        /// Get all subscriptiongroup config, admin or broker to broker.
        GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201,
        /// Min/max offsets per queue, admin to broker.
        GET_TOPIC_STATS_INFO = 202,
        /// Get consumer connection list, admin to broker.
        GET_CONSUMER_CONNECTION_LIST = 203,
        /// Get producer connection list, admin to broker.
        GET_PRODUCER_CONNECTION_LIST = 204,
        /// Wipe write perm of broker, admin to name server.
        WIPE_WRITE_PERM_OF_BROKER = 205,
        /// Get all topic list from nameserver, admin to name server.
        GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206,
        /// Delete subscriptiongroup, admin to broker.
        DELETE_SUBSCRIPTIONGROUP = 207,
        /// Offsets and lag of a group, admin to broker.
        GET_CONSUME_STATS = 208,
        /// Suspend consumer.
        SUSPEND_CONSUMER = 209,
        /// Resume consumer.
        RESUME_CONSUMER = 210,
        /// Reset consumer offset in consumer.
        RESET_CONSUMER_OFFSET_IN_CONSUMER = 211,
        /// Reset consumer offset in broker.
        RESET_CONSUMER_OFFSET_IN_BROKER = 212,
        /// Adjust consumer thread pool.
        ADJUST_CONSUMER_THREAD_POOL = 213,
        /// Who consume the message (unused).
        WHO_CONSUME_THE_MESSAGE = 214,
        /// Delete topic in broker, admin to broker.
        DELETE_TOPIC_IN_BROKER = 215,
        /// Delete topic in namesrv, admin to name server.
        DELETE_TOPIC_IN_NAMESRV = 216,
        /// 5.0+, broker to name server.
        REGISTER_TOPIC_IN_NAMESRV = 217,
        /// Get kvlist by namespace, admin to name server.
        GET_KVLIST_BY_NAMESPACE = 219,
        /// Push new offsets (oneway), broker to client.
        RESET_CONSUMER_CLIENT_OFFSET = 220,
        /// Get consumer status from client, broker to client.
        GET_CONSUMER_STATUS_FROM_CLIENT = 221,
        /// Invoke broker to reset offset, admin to broker.
        INVOKE_BROKER_TO_RESET_OFFSET = 222,
        /// Invoke broker to get consumer status, admin to broker.
        INVOKE_BROKER_TO_GET_CONSUMER_STATUS = 223,
        /// Get topics by cluster, admin to name server.
        GET_TOPICS_BY_CLUSTER = 224,
        /// 5.3.1+, admin to broker.
        UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST = 225,
        /// Groups of a topic, admin to broker.
        QUERY_TOPIC_CONSUME_BY_WHO = 300,
        /// Register filter server.
        REGISTER_FILTER_SERVER = 301,
        /// Register message filter class.
        REGISTER_MESSAGE_FILTER_CLASS = 302,
        /// Query consume time span, admin to broker.
        QUERY_CONSUME_TIME_SPAN = 303,
        /// Get system topic list from ns, admin to name server.
        GET_SYSTEM_TOPIC_LIST_FROM_NS = 304,
        /// Get system topic list from broker, admin to broker.
        GET_SYSTEM_TOPIC_LIST_FROM_BROKER = 305,
        /// Clean expired consumequeue, admin to broker.
        CLEAN_EXPIRED_CONSUMEQUEUE = 306,
        /// Get consumer running info, admin to broker, relayed to a client.
        GET_CONSUMER_RUNNING_INFO = 307,
        /// Query correction offset, admin to broker.
        QUERY_CORRECTION_OFFSET = 308,
        /// Consume message directly, admin to broker, relayed to a client.
        CONSUME_MESSAGE_DIRECTLY = 309,
        /// Send, single-letter field names; the Java default, client to broker.
        SEND_MESSAGE_V2 = 310,
        /// Get unit topic list.
        GET_UNIT_TOPIC_LIST = 311,
        /// Get has unit sub topic list.
        GET_HAS_UNIT_SUB_TOPIC_LIST = 312,
        /// Get has unit sub ununit topic list.
        GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST = 313,
        /// Clone group offset, admin to broker.
        CLONE_GROUP_OFFSET = 314,
        /// View broker stats data, admin to broker.
        VIEW_BROKER_STATS_DATA = 315,
        /// Clean unused topic, admin to broker.
        CLEAN_UNUSED_TOPIC = 316,
        /// Get broker consume stats, admin to broker.
        GET_BROKER_CONSUME_STATS = 317,
        /// Update namesrv config.
        UPDATE_NAMESRV_CONFIG = 318,
        /// Get namesrv config.
        GET_NAMESRV_CONFIG = 319,
        /// V2 header, batch body, client to broker.
        SEND_BATCH_MESSAGE = 320,
        /// Query consume queue, admin to broker.
        QUERY_CONSUME_QUEUE = 321,
        /// Query data version, broker to name server.
        QUERY_DATA_VERSION = 322,
        /// Resume check half message, admin to broker.
        RESUME_CHECK_HALF_MESSAGE = 323,
        /// Reply, V1 header, client to broker.
        SEND_REPLY_MESSAGE = 324,
        /// Reply, V2 header; the Java default, client to broker.
        SEND_REPLY_MESSAGE_V2 = 325,
        /// Deliver a reply, broker to client.
        PUSH_REPLY_MESSAGE_TO_CLIENT = 326,
        /// Add write perm of broker, admin to name server.
        ADD_WRITE_PERM_OF_BROKER = 327,
        /// Get all producer info, admin to broker.
        GET_ALL_PRODUCER_INFO = 328,
        /// Delete expired commitlog, admin to broker.
        DELETE_EXPIRED_COMMITLOG = 329,
        /// 5.0+, admin to broker.
        QUERY_TOPICS_BY_CONSUMER = 343,
        /// 5.0+, admin to broker.
        QUERY_SUBSCRIPTION_BY_CONSUMER = 345,
        /// 5.0+, admin to broker.
        GET_TOPIC_CONFIG = 351,
        /// 5.0+, admin to broker.
        GET_SUBSCRIPTIONGROUP_CONFIG = 352,
        /// 5.0+, admin to broker.
        UPDATE_AND_GET_GROUP_FORBIDDEN = 353,
        /// Check rocksdb cq write progress.
        CHECK_ROCKSDB_CQ_WRITE_PROGRESS = 354,
        /// Export rocksdb config to json.
        EXPORT_ROCKSDB_CONFIG_TO_JSON = 355,
        /// Pull by the lite pull consumer, 5.0+; same header as 11, client to broker.
        LITE_PULL_MESSAGE = 361,
        /// Cancel a timer message, 5.3.2+, client to broker.
        RECALL_MESSAGE = 370,
        /// Server-side rebalance, 5.0+, client to broker.
        QUERY_ASSIGNMENT = 400,
        /// Set message request mode.
        SET_MESSAGE_REQUEST_MODE = 401,
        /// Get all message request mode.
        GET_ALL_MESSAGE_REQUEST_MODE = 402,
        /// Update and create static topic, admin to broker.
        UPDATE_AND_CREATE_STATIC_TOPIC = 513,
        /// Get broker member group.
        GET_BROKER_MEMBER_GROUP = 901,
        /// Add broker.
        ADD_BROKER = 902,
        /// Remove broker.
        REMOVE_BROKER = 903,
        /// Broker heartbeat.
        BROKER_HEARTBEAT = 904,
        /// Notify min broker id change.
        NOTIFY_MIN_BROKER_ID_CHANGE = 905,
        /// Exchange broker ha info.
        EXCHANGE_BROKER_HA_INFO = 906,
        /// Get broker ha status.
        GET_BROKER_HA_STATUS = 907,
        /// Reset master flush offset.
        RESET_MASTER_FLUSH_OFFSET = 908,
        /// Controller alter sync state set.
        CONTROLLER_ALTER_SYNC_STATE_SET = 1001,
        /// Controller elect master.
        CONTROLLER_ELECT_MASTER = 1002,
        /// Controller register broker.
        CONTROLLER_REGISTER_BROKER = 1003,
        /// Controller get replica info.
        CONTROLLER_GET_REPLICA_INFO = 1004,
        /// Controller get metadata info.
        CONTROLLER_GET_METADATA_INFO = 1005,
        /// Controller get sync state data.
        CONTROLLER_GET_SYNC_STATE_DATA = 1006,
        /// Get broker epoch cache.
        GET_BROKER_EPOCH_CACHE = 1007,
        /// Notify broker role changed.
        NOTIFY_BROKER_ROLE_CHANGED = 1008,
        /// Update controller config.
        UPDATE_CONTROLLER_CONFIG = 1009,
        /// Get controller config.
        GET_CONTROLLER_CONFIG = 1010,
        /// Clean broker data.
        CLEAN_BROKER_DATA = 1011,
        /// Controller get next broker id.
        CONTROLLER_GET_NEXT_BROKER_ID = 1012,
        /// Controller apply broker id.
        CONTROLLER_APPLY_BROKER_ID = 1013,
        /// Update cold data flow ctr config.
        UPDATE_COLD_DATA_FLOW_CTR_CONFIG = 2001,
        /// Remove cold data flow ctr config.
        REMOVE_COLD_DATA_FLOW_CTR_CONFIG = 2002,
        /// Get cold data flow ctr info.
        GET_COLD_DATA_FLOW_CTR_INFO = 2003,
        /// Set commitlog read mode.
        SET_COMMITLOG_READ_MODE = 2004,
        /// Auth create user.
        AUTH_CREATE_USER = 3001,
        /// Auth update user.
        AUTH_UPDATE_USER = 3002,
        /// Auth delete user.
        AUTH_DELETE_USER = 3003,
        /// Auth get user.
        AUTH_GET_USER = 3004,
        /// Auth list user.
        AUTH_LIST_USER = 3005,
        /// Auth create acl.
        AUTH_CREATE_ACL = 3006,
        /// Auth update acl.
        AUTH_UPDATE_ACL = 3007,
        /// Auth delete acl.
        AUTH_DELETE_ACL = 3008,
        /// Auth get acl.
        AUTH_GET_ACL = 3009,
        /// Auth list acl.
        AUTH_LIST_ACL = 3010,
        /// Pop message, client to broker.
        POP_MESSAGE = 200050,
        /// Ack message, client to broker.
        ACK_MESSAGE = 200051,
        /// Peek message, client to broker.
        PEEK_MESSAGE = 200052,
        /// Change message invisibletime, client to broker.
        CHANGE_MESSAGE_INVISIBLETIME = 200053,
        /// "is there anything to pop" long poll, client to broker.
        NOTIFICATION = 200054,
        /// Number of parked polls, client to broker.
        POLLING_INFO = 200055,
        /// Export pop records, admin to broker.
        POP_ROLLBACK = 200056,
        /// 5.1.3+, client to broker.
        BATCH_ACK_MESSAGE = 200151,
    }
}
