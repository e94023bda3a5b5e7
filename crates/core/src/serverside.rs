//! Requests that brokers send to clients (consumer.md 11, producer.md 6.7): dispatch and answers.

use alloc::string::ToString;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::frame::Frame;
use rocketry_codec::reply::NoFields;
use rocketry_codec::request::NotifyConsumerIdsChanged;
use rocketry_machine::ConnId;

use crate::consumer::Consumers;
use crate::cx::Cx;

/// Handles one request of a broker.
pub(crate) fn on_request(cx: &mut Cx<'_>, consumers: &mut Consumers, conn: ConnId, frame: &Frame) {
    match frame.request_code() {
        RequestCode::NOTIFY_CONSUMER_IDS_CHANGED => match frame.read::<NotifyConsumerIdsChanged<'_>>() {
            Ok(request) => consumers.on_ids_changed(cx, &request.consumer_group),
            Err(error) => refuse(cx, conn, frame, ResponseCode::SYSTEM_ERROR, &error.to_string()),
        },
        code => {
            // The leading space is Java's (wire.md 1.5).
            let remark = alloc::format!(" request type {} not supported", code.0);
            refuse(cx, conn, frame, ResponseCode::REQUEST_CODE_NOT_SUPPORTED, &remark);
        }
    }
}

fn refuse(cx: &mut Cx<'_>, conn: ConnId, request: &Frame, code: ResponseCode, remark: &str) {
    if request.is_oneway() {
        return;
    }
    let frame = cx.shared.writer.response(request.opaque(), code, Some(remark), &NoFields::default(), Bytes::new());
    cx.respond(conn, frame);
}
