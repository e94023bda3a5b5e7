//! Notices as log records.

use rocketry_core::Notice;

use crate::clock::Clock;
use crate::trace::{Level, Limiter, Record};

/// The record of a notice, unless there were too many like it lately.
pub(super) fn notice(limiter: &mut Limiter, notice: &Notice) -> Option<Record> {
    let now = Clock::system().now().at;
    let mut record = |level, kind, text: &dyn Fn() -> String| limiter.record(now, level, kind, text);
    match notice {
        Notice::Link { endpoint, gone: None, .. } => {
            record(Level::Debug, "link", &|| format!("connected to {endpoint}"))
        }
        Notice::Link { endpoint, gone: Some(why), .. } => {
            record(Level::Debug, "link", &|| format!("connection to {endpoint} ended: {why}"))
        }
        Notice::RouteChanged(topic) => record(Level::Debug, "route", &|| format!("the route of {topic} changed")),
        Notice::Assigned { group, topic, queues, .. } => {
            record(Level::Debug, "assigned", &|| format!("{group} has {} queues of {topic}", queues.len()))
        }
        Notice::OffsetCorrected { queue, from, to } => {
            record(Level::Warn, "offset", &|| format!("position {from} of {queue} was wrong, going on at {to}"))
        }
        Notice::Undecodable { queue, queue_offset, reason } => {
            record(Level::Warn, "undecodable", &|| format!("message {queue_offset:?} of {queue} set aside: {reason}"))
        }
        Notice::SlowHandler { queue, queue_offset, running } => record(Level::Warn, "slow", &|| {
            format!("the handler of message {queue_offset} of {queue} has been running for {} ms", running.as_millis())
        }),
        Notice::HandlerFailed { queue, queue_offset, redeliveries, reason } => record(Level::Warn, "handler", &|| {
            format!(
                "the handler of message {queue_offset} of {queue} failed after {redeliveries} redeliveries: {reason}"
            )
        }),
        Notice::Dropped { queue, queue_offset } => {
            record(Level::Warn, "dropped", &|| format!("message {queue_offset} of {queue} was refused and is dropped"))
        }
        Notice::StrayReply { .. } => record(Level::Debug, "stray", &|| "an answer came that nobody waits for".into()),
        Notice::Trouble { what, broker, error, retry_in } => record(Level::Warn, what, &|| {
            let broker = broker.as_ref().map(|broker| format!(" at broker {broker}")).unwrap_or_default();
            let again = retry_in.map(|wait| format!(", again in {} ms", wait.as_millis())).unwrap_or_default();
            format!("{what}{broker} fails: {error}{again}")
        }),
        _ => None,
    }
}
