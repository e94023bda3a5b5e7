//! Response codes (wire 3.2). A table without logic.

super::code_table! {
    ResponseCode {
        /// Internal forwarding for static topics.
        RPC_TIME_OUT = -1006,
        /// Internal forwarding for static topics.
        RPC_SEND_TO_CHANNEL_FAILED = -1004,
        /// Internal forwarding for static topics.
        RPC_ADDR_IS_NULL = -1002,
        /// Internal forwarding for static topics.
        RPC_UNKNOWN = -1000,
        /// Success.
        SUCCESS = 0,
        /// Generic failure; remark has the reason.
        SYSTEM_ERROR = 1,
        /// Flow control, retry elsewhere or later.
        SYSTEM_BUSY = 2,
        /// Request code not supported.
        REQUEST_CODE_NOT_SUPPORTED = 3,
        /// Transaction failed.
        TRANSACTION_FAILED = 4,
        /// Send stored, sync flush timed out.
        FLUSH_DISK_TIMEOUT = 10,
        /// Send stored, no slave; for END_TRANSACTION / RECALL: broker is a slave.
        SLAVE_NOT_AVAILABLE = 11,
        /// Send stored, replication timed out.
        FLUSH_SLAVE_TIMEOUT = 12,
        /// Body/properties/topic too long; bad queue id for ack.
        MESSAGE_ILLEGAL = 13,
        /// Store not writable.
        SERVICE_NOT_AVAILABLE = 14,
        /// Proxy: request lacks the broker name field.
        VERSION_NOT_SUPPORTED = 15,
        /// Topic/group/broker permission; ACL 2.0 failures.
        NO_PERMISSION = 16,
        /// Name server: no route; broker: unknown topic.
        TOPIC_NOT_EXIST = 17,
        /// Topic exist already.
        TOPIC_EXIST_ALREADY = 18,
        /// No new message.
        PULL_NOT_FOUND = 19,
        /// Nothing matched; continue from `nextBeginOffset`.
        PULL_RETRY_IMMEDIATELY = 20,
        /// Requested offset illegal; restart from `nextBeginOffset`.
        PULL_OFFSET_MOVED = 21,
        /// No offset / no message / no KV entry.
        QUERY_NOT_FOUND = 22,
        /// Filter expression does not parse.
        SUBSCRIPTION_PARSE_FAILED = 23,
        /// Broker has no subscription from heartbeat.
        SUBSCRIPTION_NOT_EXIST = 24,
        /// Broker's `subVersion` older than the request's.
        SUBSCRIPTION_NOT_LATEST = 25,
        /// Subscription group not exist.
        SUBSCRIPTION_GROUP_NOT_EXIST = 26,
        /// SQL filter not known yet.
        FILTER_DATA_NOT_EXIST = 27,
        /// SQL filter not known yet.
        FILTER_DATA_NOT_LATEST = 28,
        /// 5.3.2+; the same situations give code 1 before.
        INVALID_PARAMETER = 29,
        /// Transaction should commit (legacy).
        TRANSACTION_SHOULD_COMMIT = 200,
        /// Transaction should rollback.
        TRANSACTION_SHOULD_ROLLBACK = 201,
        /// Transaction state unknow.
        TRANSACTION_STATE_UNKNOW = 202,
        /// Transaction state group wrong.
        TRANSACTION_STATE_GROUP_WRONG = 203,
        /// Legacy, retryable for send.
        NO_BUYER_ID = 204,
        /// Legacy, retryable for send.
        NOT_IN_CURRENT_UNIT = 205,
        /// Admin calls.
        CONSUMER_NOT_ONLINE = 206,
        /// Relayed client call timed out.
        CONSUME_MSG_TIMEOUT = 207,
        /// Ack / change-invisible outside the queue range; empty batch ack.
        NO_MESSAGE = 208,
        /// POP: too many parked polls (in 4.x this number meant an ACL admin failure).
        POLLING_FULL = 209,
        /// POP: poll ended empty (same remark).
        POLLING_TIMEOUT = 210,
        /// Broker not exist.
        BROKER_NOT_EXIST = 211,
        /// Broker dispatch not complete.
        BROKER_DISPATCH_NOT_COMPLETE = 212,
        /// Broadcast consumption.
        BROADCAST_CONSUMPTION = 213,
        /// Client waits before the next pull/pop.
        FLOW_CONTROL = 215,
        /// Static topics.
        NOT_LEADER_FOR_QUEUE = 501,
        /// Late transaction commit; bad recall handle.
        ILLEGAL_OPERATION = 604,
        /// Reconnect.
        GO_AWAY = 1500,
        /// Controller fenced master epoch.
        CONTROLLER_FENCED_MASTER_EPOCH = 2000,
        /// Controller fenced sync state set epoch.
        CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH = 2001,
        /// Controller invalid master.
        CONTROLLER_INVALID_MASTER = 2002,
        /// Controller invalid replicas.
        CONTROLLER_INVALID_REPLICAS = 2003,
        /// Controller master not available.
        CONTROLLER_MASTER_NOT_AVAILABLE = 2004,
        /// Controller invalid request.
        CONTROLLER_INVALID_REQUEST = 2005,
        /// Controller broker not alive.
        CONTROLLER_BROKER_NOT_ALIVE = 2006,
        /// Controller not leader.
        CONTROLLER_NOT_LEADER = 2007,
        /// Controller broker metadata not exist.
        CONTROLLER_BROKER_METADATA_NOT_EXIST = 2008,
        /// Controller invalid clean broker metadata.
        CONTROLLER_INVALID_CLEAN_BROKER_METADATA = 2009,
        /// Controller broker need to be registered.
        CONTROLLER_BROKER_NEED_TO_BE_REGISTERED = 2010,
        /// Controller master still exist.
        CONTROLLER_MASTER_STILL_EXIST = 2011,
        /// Controller elect master failed.
        CONTROLLER_ELECT_MASTER_FAILED = 2012,
        /// Controller alter sync state set failed.
        CONTROLLER_ALTER_SYNC_STATE_SET_FAILED = 2013,
        /// Controller broker id invalid.
        CONTROLLER_BROKER_ID_INVALID = 2014,
        /// Controller jraft internal error.
        CONTROLLER_JRAFT_INTERNAL_ERROR = 2015,
        /// Controller broker live info not exists.
        CONTROLLER_BROKER_LIVE_INFO_NOT_EXISTS = 2016,
        /// User not exist.
        USER_NOT_EXIST = 3001,
        /// Policy not exist.
        POLICY_NOT_EXIST = 3002,
    }
}
