//! Requests that brokers send to clients (consumer.md 11, producer.md 6.7): dispatch and answers.

use alloc::string::ToString;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::frame::Frame;
use rocketry_codec::message::{StoredMessage, property_names};
use rocketry_codec::reply::NoFields;
use rocketry_codec::request::{CheckTransactionState, NotifyConsumerIdsChanged};
use rocketry_machine::ConnId;

use crate::api::{Ask, TransactionCheck};
use crate::consumer::Consumers;
use crate::cx::Cx;
use crate::producer::Producers;

/// Handles one request of a broker.
pub(crate) fn on_request(
    cx: &mut Cx<'_>,
    consumers: &mut Consumers,
    producers: &Producers,
    conn: ConnId,
    frame: &Frame,
) {
    match frame.request_code() {
        RequestCode::NOTIFY_CONSUMER_IDS_CHANGED => match frame.read::<NotifyConsumerIdsChanged<'_>>() {
            Ok(request) => consumers.on_ids_changed(cx, &request.consumer_group),
            Err(error) => refuse(cx, conn, frame, ResponseCode::SYSTEM_ERROR, &error.to_string()),
        },
        RequestCode::CHECK_TRANSACTION_STATE => check_transaction(cx, producers, conn, frame),
        code => {
            // The leading space is Java's (wire.md 1.5).
            let remark = alloc::format!(" request type {} not supported", code.0);
            refuse(cx, conn, frame, ResponseCode::REQUEST_CODE_NOT_SUPPORTED, &remark);
        }
    }
}

/// A broker asks about a half message. What nobody here can answer for is counted, and never committed: the broker asks
/// another member, or again (`cases.md` TXN-03).
fn check_transaction(cx: &mut Cx<'_>, producers: &Producers, conn: ConnId, frame: &Frame) {
    match read_check(cx, producers, conn, frame) {
        Some(check) => cx.ask(Ask::CheckTransaction(check)),
        None => cx.shared.counters.checks_unanswered += 1,
    }
}

fn read_check(cx: &Cx<'_>, producers: &Producers, conn: ConnId, frame: &Frame) -> Option<TransactionCheck> {
    let header = frame.read::<CheckTransactionState<'_>>().ok()?;
    let message = StoredMessage::decode(frame.body().clone()).ok()?;
    let (producer, group) = producers.of_group(message.properties().get(property_names::PRODUCER_GROUP)?)?;
    Some(TransactionCheck {
        producer,
        group,
        topic: message.topic().into(),
        from: cx.shared.links.get(conn)?.endpoint().clone(),
        queue_offset: header.tran_state_table_offset,
        log_offset: header.commit_log_offset,
        message,
    })
}

fn refuse(cx: &mut Cx<'_>, conn: ConnId, request: &Frame, code: ResponseCode, remark: &str) {
    if request.is_oneway() {
        return;
    }
    let frame = cx.shared.writer.response(request.opaque(), code, Some(remark), &NoFields::default(), Bytes::new());
    cx.respond(conn, frame);
}
