//! What a consumer tells the trace topic about its handlers (consumer.md 12.3).

use alloc::string::String;
use core::time::Duration;

use rocketry_codec::message::{StoredMessage, property_names};
use rocketry_codec::trace::TraceRecord;
use rocketry_machine::Moment;

use crate::api::{ConsumerConfig, Topic};
use crate::cx::Cx;
use crate::message_trace::{self, Side};

/// How a handler ended, by the numbers of Java's `contextCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Success = 0,
    Exception = 2,
    Failed = 4,
}

/// A handler begins, or has ended so, with a message that it began with at `started`.
pub(super) fn tell(
    cx: &mut Cx<'_>,
    config: &ConsumerConfig,
    message: &StoredMessage,
    started: Moment,
    ended: Option<Ended>,
) {
    let Some(settings) = &config.trace else { return };
    let properties = message.properties();
    let region = properties.get(property_names::MSG_REGION);
    if region.is_none() || properties.get(property_names::TRACE_ON) == Some("false") {
        return;
    }
    let group = config.group.as_str();
    let keys = properties.get(property_names::KEYS);
    let offset_id;
    let message_id = match message.unique_key() {
        Some(id) => id,
        None => {
            offset_id = alloc::format!("{}", message.offset_id());
            &offset_id
        }
    };
    let request_id = request_id(message, started);
    let record = match ended {
        None => TraceRecord::Consuming {
            timestamp_ms: cx.now.wall.get(),
            region,
            group,
            request_id: &request_id,
            message_id,
            redeliveries: message.reconsume_times(),
            keys,
        },
        Some(ended) => TraceRecord::Consumed {
            request_id: &request_id,
            message_id,
            cost_ms: millis(cx.now.at.since(started)),
            success: ended == Ended::Success,
            keys,
            context_code: ended as i32,
            ended: Some((cx.now.wall.get(), group)),
        },
    };
    let words = keys.unwrap_or_default().split(' ').chain([message_id]);
    let about = Topic::from(message.topic());
    message_trace::record(cx, (settings, group, Side::Consume), &about, &record, words);
}

/// What joins the two records of one handler: no other handler has the same message at the same time.
fn request_id(message: &StoredMessage, started: Moment) -> String {
    alloc::format!("{:016X}{:016X}", message.commit_log_offset(), started.as_nanos())
}

fn millis(took: Duration) -> i32 {
    i32::try_from(took.as_millis()).unwrap_or(i32::MAX)
}
