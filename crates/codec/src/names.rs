//! Names of topics and groups: who owns which, and which are legal (wire section 9).
//!
//! The checks refuse what Apache's client refuses, with the same text.

use alloc::string::String;
use core::fmt;

/// Prefix of a group's retry topic.
pub const RETRY_PREFIX: &str = "%RETRY%";
/// Prefix of a group's dead-letter topic.
pub const DLQ_PREFIX: &str = "%DLQ%";
/// Prefix of light queues, whose topics have one queue, number 0.
pub const LMQ_PREFIX: &str = "%LMQ%";
/// Prefix of system topics.
pub const SYSTEM_TOPIC_PREFIX: &str = "rmq_sys_";
/// Prefix of system groups.
pub const SYSTEM_GROUP_PREFIX: &str = "CID_RMQ_SYS_";

/// Template of topics that are created on the first send.
pub const AUTO_CREATE_TOPIC: &str = "TBW102";
/// Where brokers keep messages with a delay level.
pub const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
/// Where brokers keep timer messages.
pub const TIMER_TOPIC: &str = "rmq_sys_wheel_timer";
/// Where brokers keep half messages.
pub const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
/// Where brokers note half messages that are done.
pub const OP_HALF_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
/// Where half messages go that were checked too often.
pub const CHECK_MAX_TIME_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
/// Default topic of message traces.
pub const TRACE_TOPIC: &str = "RMQ_SYS_TRACE_TOPIC";
/// Benchmark topic.
pub const BENCHMARK_TOPIC: &str = "BenchmarkTest";
/// Self-test topic.
pub const SELF_TEST_TOPIC: &str = "SELF_TEST_TOPIC";
/// Where brokers note moved offsets.
pub const OFFSET_MOVED_TOPIC: &str = "OFFSET_MOVED_EVENT";
/// Check-point topic.
pub const CHECKPOINT_TOPIC: &str = "CHECKPOINT_TOPIC";

/// Group of a producer that was given none; Java refuses it as a configured group.
pub const DEFAULT_PRODUCER_GROUP: &str = "DEFAULT_PRODUCER";
/// Group of a consumer that was given none; Java refuses it as a configured group.
pub const DEFAULT_CONSUMER_GROUP: &str = "DEFAULT_CONSUMER";
/// Group of the administration tools.
pub const TOOLS_CONSUMER_GROUP: &str = "TOOLS_CONSUMER";
/// Group of every client's inner producer.
pub const CLIENT_INNER_PRODUCER_GROUP: &str = "CLIENT_INNER_PRODUCER";

/// Longest topic in characters that a client accepts (4.7 and later; 255 before).
pub const MAX_TOPIC_LEN: usize = 127;
/// Longest group in characters that a client accepts (up to 5.3.3; 120 after).
pub const MAX_GROUP_LEN: usize = 255;
/// Default limit of a message body in bytes, for clients and brokers.
pub const MAX_MESSAGE_SIZE: usize = 4 * 1024 * 1024;

const SYSTEM_TOPICS: [&str; 10] = [
    AUTO_CREATE_TOPIC,
    SCHEDULE_TOPIC,
    BENCHMARK_TOPIC,
    HALF_TOPIC,
    TRACE_TOPIC,
    OP_HALF_TOPIC,
    CHECK_MAX_TIME_TOPIC,
    SELF_TEST_TOPIC,
    OFFSET_MOVED_TOPIC,
    CHECKPOINT_TOPIC,
];

const FORBIDDEN_TO_SEND: [&str; 6] =
    [SCHEDULE_TOPIC, HALF_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC];

/// Why a name was refused. The text is that of Apache's client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The topic is empty or blank.
    TopicBlank,
    /// The topic has characters outside `[%|a-zA-Z0-9_-]`.
    TopicIllegal(String),
    /// The topic has more than [`MAX_TOPIC_LEN`] characters.
    TopicTooLong,
    /// Nobody may send to this topic.
    TopicForbidden(String),
    /// The group is empty or blank.
    GroupBlank,
    /// The group has characters outside `[%|a-zA-Z0-9_-]`.
    GroupIllegal(String),
    /// The group has more than [`MAX_GROUP_LEN`] characters.
    GroupTooLong,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PATTERN: &str = "^[%|a-zA-Z0-9_-]+$";
        match self {
            Self::TopicBlank => f.write_str("The specified topic is blank"),
            Self::TopicIllegal(topic) => {
                write!(f, "The specified topic[{topic}] contains illegal characters, allowing only {PATTERN}")
            }
            Self::TopicTooLong => {
                write!(f, "The specified topic is longer than topic max length {MAX_TOPIC_LEN}.")
            }
            Self::TopicForbidden(topic) => write!(f, "Sending message to topic[{topic}] is forbidden."),
            Self::GroupBlank => f.write_str("the specified group is blank"),
            Self::GroupIllegal(group) => {
                write!(f, "the specified group[{group}] contains illegal characters, allowing only {PATTERN}")
            }
            Self::GroupTooLong => {
                write!(f, "the specified group is longer than group max length {MAX_GROUP_LEN}.")
            }
        }
    }
}

impl core::error::Error for NameError {}

/// What Apache's client appends to the text of a [`NameError`].
pub const JAVA_FAQ: &str =
    "\nFor more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ";

/// Checks the name of a topic.
///
/// # Errors
///
/// Blank, illegal characters, or longer than [`MAX_TOPIC_LEN`], in this order.
pub fn check_topic(topic: &str) -> Result<(), NameError> {
    if is_blank(topic) {
        return Err(NameError::TopicBlank);
    }
    if !is_legal(topic) {
        return Err(NameError::TopicIllegal(topic.into()));
    }
    if topic.len() > MAX_TOPIC_LEN {
        return Err(NameError::TopicTooLong);
    }
    Ok(())
}

/// Checks the name of a group.
///
/// # Errors
///
/// Blank, longer than [`MAX_GROUP_LEN`], or illegal characters, in this order.
pub fn check_group(group: &str) -> Result<(), NameError> {
    if is_blank(group) {
        return Err(NameError::GroupBlank);
    }
    if group.encode_utf16().count() > MAX_GROUP_LEN {
        return Err(NameError::GroupTooLong);
    }
    if !is_legal(group) {
        return Err(NameError::GroupIllegal(group.into()));
    }
    Ok(())
}

/// Checks that messages may be sent to a topic at all.
///
/// # Errors
///
/// [`NameError::TopicForbidden`] for the topics brokers keep for themselves.
pub fn check_sendable(topic: &str) -> Result<(), NameError> {
    if FORBIDDEN_TO_SEND.contains(&topic) { Err(NameError::TopicForbidden(topic.into())) } else { Ok(()) }
}

/// Whether every character may stand in the name of a topic or group.
#[must_use]
pub fn is_legal(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%|_-".contains(&byte))
}

/// Whether a topic belongs to the system.
#[must_use]
pub fn is_system_topic(topic: &str) -> bool {
    SYSTEM_TOPICS.contains(&topic) || topic.starts_with(SYSTEM_TOPIC_PREFIX)
}

/// Whether a group belongs to the system.
#[must_use]
pub fn is_system_group(group: &str) -> bool {
    group.starts_with(SYSTEM_GROUP_PREFIX)
}

/// Whether a topic holds the retries of a group.
#[must_use]
pub fn is_retry_topic(topic: &str) -> bool {
    topic.starts_with(RETRY_PREFIX)
}

/// Whether a topic holds the dead letters of a group.
#[must_use]
pub fn is_dlq_topic(topic: &str) -> bool {
    topic.starts_with(DLQ_PREFIX)
}

/// Whether a topic is a light queue.
#[must_use]
pub fn is_lmq(topic: &str) -> bool {
    topic.starts_with(LMQ_PREFIX)
}

/// The topic of a group's retries.
#[must_use]
pub fn retry_topic(group: &str) -> String {
    joined(&[RETRY_PREFIX, group])
}

/// The topic of a group's dead letters.
#[must_use]
pub fn dlq_topic(group: &str) -> String {
    joined(&[DLQ_PREFIX, group])
}

/// The topic of what a group popped from `topic` and did not acknowledge, first form (the brokers' default).
#[must_use]
pub fn pop_retry_topic_v1(group: &str, topic: &str) -> String {
    joined(&[RETRY_PREFIX, group, "_", topic])
}

/// The same in the second form, which cannot be mistaken for another group's.
#[must_use]
pub fn pop_retry_topic_v2(group: &str, topic: &str) -> String {
    joined(&[RETRY_PREFIX, group, "+", topic])
}

/// The topic through which replies reach the clients of a cluster.
#[must_use]
pub fn reply_topic(cluster: &str) -> String {
    joined(&[cluster, "_REPLY_TOPIC"])
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn joined(parts: &[&str]) -> String {
    let mut text = String::with_capacity(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| text.push_str(part));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn topics_at_and_above_the_limit() {
        assert_eq!(check_topic(&"t".repeat(127)), Ok(()));
        assert_eq!(check_topic(&"t".repeat(128)), Err(NameError::TopicTooLong));
        assert_eq!(check_group(&"g".repeat(255)), Ok(()));
        assert_eq!(check_group(&"g".repeat(256)), Err(NameError::GroupTooLong));
        assert_eq!(check_group(&"é".repeat(255)), Err(NameError::GroupIllegal("é".repeat(255))));
    }

    #[test]
    fn texts_are_those_of_apache() {
        let error = check_topic("a.b").unwrap_err().to_string();
        assert_eq!(error, "The specified topic[a.b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$");
        let error = check_sendable(SCHEDULE_TOPIC).unwrap_err().to_string();
        assert_eq!(error, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden.");
        assert_eq!(check_topic(" \t"), Err(NameError::TopicBlank));
        assert_eq!(check_group(""), Err(NameError::GroupBlank));
    }

    #[test]
    fn derived_topics() {
        assert_eq!(retry_topic("g"), "%RETRY%g");
        assert_eq!(dlq_topic("g"), "%DLQ%g");
        assert_eq!(pop_retry_topic_v1("g", "t"), "%RETRY%g_t");
        assert_eq!(pop_retry_topic_v2("g", "t"), "%RETRY%g+t");
        assert_eq!(reply_topic("c"), "c_REPLY_TOPIC");
        assert!(is_retry_topic("%RETRY%g") && is_dlq_topic("%DLQ%g") && is_lmq("%LMQ%q"));
    }

    #[test]
    fn system_names() {
        for topic in [AUTO_CREATE_TOPIC, HALF_TOPIC, "rmq_sys_anything", CHECKPOINT_TOPIC] {
            assert!(is_system_topic(topic), "{topic}");
        }
        assert!(!is_system_topic("orders"));
        assert!(is_system_group("CID_RMQ_SYS_TRANS") && !is_system_group("TOOLS_CONSUMER"));
    }
}
