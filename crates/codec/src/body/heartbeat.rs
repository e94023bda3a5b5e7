//! Heartbeats (wire 5.3) and what else describes subscriptions.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::body;

body! {
    /// What a client tells every broker (request 34).
    pub struct HeartbeatData {
        client_id: String = "clientID",
        consumers: Vec<ConsumerData> = "consumerDataSet",
        fingerprint: i32 = "heartbeatFingerprint",
        producers: Vec<ProducerData> = "producerDataSet",
        without_subscriptions: bool = "withoutSub" | "isWithoutSub",
    }

    /// A producer group of a client.
    pub struct ProducerData {
        group: String = "groupName",
    }

    /// A consumer group of a client.
    pub struct ConsumerData {
        /// See [`crate::body::heartbeat::consume_from`].
        consume_from_where: String = "consumeFromWhere" ? consume_from::LAST.into(),
        /// See [`crate::body::heartbeat::consume_type`].
        consume_type: String = "consumeType" ? consume_type::PUSH.into(),
        group: String = "groupName",
        /// See [`crate::body::heartbeat::message_model`].
        message_model: String = "messageModel" ? message_model::CLUSTERING.into(),
        subscriptions: Vec<Subscription> = "subscriptionDataSet",
        unit_mode: bool = "unitMode",
    }

    /// What a group reads of a topic.
    pub struct Subscription {
        class_filter_mode: bool = "classFilterMode",
        tag_codes: BTreeSet<i32> = "codeSet",
        /// `TAG` or `SQL92`.
        expression_type: String = "expressionType" ? "TAG".into(),
        /// The expression; `*` for all.
        expression: String = "subString",
        /// When the subscription was made or changed, in milliseconds since 1970.
        version_ms: i64 = "subVersion",
        tags: BTreeSet<String> = "tagsSet",
        topic: String = "topic",
    }

    /// Asks a broker whether it understands a subscription (request 46).
    pub struct CheckClient {
        client_id: String = "clientId",
        group: String = "group",
        namespace: Option<String> = "namespace",
        subscription: Subscription = "subscriptionData",
    }
}

/// The names of `consumeFromWhere`.
pub mod consume_from {
    /// Behind the newest message.
    pub const LAST: &str = "CONSUME_FROM_LAST_OFFSET";
    /// At the oldest message.
    pub const FIRST: &str = "CONSUME_FROM_FIRST_OFFSET";
    /// At a time.
    pub const TIMESTAMP: &str = "CONSUME_FROM_TIMESTAMP";
}

/// The names of `consumeType`.
pub mod consume_type {
    /// Pull and lite pull.
    pub const PULL: &str = "CONSUME_ACTIVELY";
    /// Push, also in POP mode.
    pub const PUSH: &str = "CONSUME_PASSIVELY";
    /// POP, from 5.0 on.
    pub const POP: &str = "CONSUME_POP";
}

/// The names of `messageModel`.
pub mod message_model {
    /// The members share the messages.
    pub const CLUSTERING: &str = "CLUSTERING";
    /// Every member gets every message.
    pub const BROADCASTING: &str = "BROADCASTING";
}
