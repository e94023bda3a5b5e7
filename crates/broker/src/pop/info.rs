//! What the answer to a pop says about its messages: the three info strings, and the rewritten records of retried ones.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use rocketry_codec::message::{RecordVersion, StoredMessage, StoredRecord, property_names as name};
use rocketry_codec::pop::{
    MessageOffsets, OrderCount, ReceiptHandle, RetryMark, StartOffset, format_message_offsets, format_order_counts,
    format_start_offsets,
};
use rocketry_codec::reply::PopMessageReply;

use crate::properties;

/// What was popped so far.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) pop_time: i64,
    pub(super) invisible: i64,
    pub(super) revive_queue: i32,
    pub(super) rest: i64,
    /// How many more messages may be taken.
    pub(super) left: usize,
    pub(super) body: Vec<u8>,
    starts: Vec<StartOffset>,
    offsets: Vec<MessageOffsets>,
    counts: Option<Vec<OrderCount>>,
}

impl Taken {
    pub(super) const fn new(pop_time: i64, invisible: i64, revive_queue: i32, left: usize) -> Self {
        Self {
            pop_time,
            invisible,
            revive_queue,
            rest: 0,
            left,
            body: Vec::new(),
            starts: Vec::new(),
            offsets: Vec::new(),
            counts: None,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Notes what one queue gave.
    pub(super) fn note(&mut self, retry: RetryMark, queue_id: i32, start: i64, offsets: &[i64]) {
        self.left = self.left.saturating_sub(offsets.len());
        self.starts.push(StartOffset { retry, queue_id, offset: start });
        self.offsets.push(MessageOffsets { retry, queue_id, offsets: offsets.to_vec() });
    }

    /// Notes how often the messages of an ordered queue were given before.
    pub(super) fn count(&mut self, retry: RetryMark, queue_id: i32, offsets: &[i64], counts: &[i32]) {
        let list = self.counts.get_or_insert_with(Vec::new);
        let again = offsets.iter().zip(counts).filter(|(_, count)| **count > 0);
        list.extend(again.map(|(offset, count)| OrderCount {
            retry,
            queue_id,
            queue_offset: Some(*offset),
            count: *count,
        }));
        let least = counts.iter().copied().min().unwrap_or(0);
        list.push(OrderCount { retry, queue_id, queue_offset: None, count: least });
    }

    pub(super) fn reply(&self) -> PopMessageReply<'static> {
        PopMessageReply {
            pop_time: self.pop_time,
            invisible_time: self.invisible,
            revive_queue_id: self.revive_queue,
            rest_num: self.rest,
            start_offset_info: Some(format_start_offsets(&self.starts).into()),
            msg_offset_info: Some(format_message_offsets(&self.offsets).into()),
            order_count_info: self.counts.as_ref().map(|counts| format_order_counts(counts).into()),
        }
    }

    /// The handle of a message, as the broker writes it into retried ones.
    pub(super) fn handle(&self, retry: RetryMark, broker: &str, start: i64, message: &StoredMessage) -> String {
        let handle = ReceiptHandle {
            check_point_offset: start,
            pop_time: self.pop_time,
            invisible_time: self.invisible,
            revive_queue_id: self.revive_queue,
            retry,
            broker_name: broker.into(),
            queue_id: message.queue_id(),
            queue_offset: message.queue_offset(),
        };
        format!("{handle}")
    }

    /// Appends a retried message as one of the topic that was asked for, with its handle.
    pub(super) fn push_renamed(&mut self, message: &StoredMessage, topic: &str, handle: &str) -> bool {
        let mut text = String::new();
        properties::copy_without(&mut text, message.properties().as_bytes(), &[name::POP_CK]);
        properties::push(&mut text, name::POP_CK, handle);
        let record = StoredRecord {
            version: RecordVersion::for_topic(topic),
            queue_id: message.queue_id(),
            flag: message.flag(),
            queue_offset: message.queue_offset(),
            commit_log_offset: message.commit_log_offset(),
            sys_flag: message.sys_flag(),
            born_timestamp: message.born_timestamp(),
            born_host: message.born_host(),
            store_timestamp: message.store_timestamp(),
            store_host: message.store_host(),
            reconsume_times: message.reconsume_times(),
            prepared_transaction_offset: message.prepared_transaction_offset(),
            body: message.body_bytes(),
            topic,
            properties: text.as_bytes(),
        };
        let before = self.body.len();
        let fits = record.encode(&mut self.body).is_ok();
        if !fits {
            self.body.truncate(before);
        }
        fits
    }

    pub(super) fn body(&mut self) -> Bytes {
        core::mem::take(&mut self.body).into()
    }
}
