//! What every request carries beside its own fields: the server-side namespace, the mark of streams, and the signature of an access key
//! (consumer.md 12.2, wire.md 11.1).
//!
//! Decides nothing but the order: the namespace first, then the mark, the signature last, over every field that will be on the wire. A
//! dressed frame is final: frames cannot be changed, and one that is sent again is copied with its signature, which does
//! not cover the request id (`cases.md` SEC-03).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use rocketry_codec::encoder::FrameWriter;
use rocketry_codec::frame::Frame;
use rocketry_codec::sign::SIGNATURE;

use crate::api::Config;

/// The request as it leaves.
pub(crate) fn dress(config: &Config, writer: &mut FrameWriter, frame: Frame) -> Frame {
    let marks: &[(&str, &str)] = if config.stream_requests { &[("ReqT", "0")] } else { &[] };
    let named = match &config.namespace_v2 {
        Some(namespace) => {
            let namespace: [(&str, &str); 2] = [("nsd", "true"), ("ns", namespace)];
            writer.extend(&frame, &[&namespace, marks].concat())
        }
        None if marks.is_empty() => frame,
        None => writer.extend(&frame, marks),
    };
    let Some(credentials) = &config.credentials else { return named };
    let fields: Vec<(Cow<'_, str>, Cow<'_, str>)> =
        named.fields().map(|field| (field.name, field.value.text())).collect();
    let signature = credentials.sign(fields.iter().map(|(name, value)| (&**name, &**value)), named.body());
    let extra: Vec<(&str, &str)> = credentials.fields().chain([(SIGNATURE, signature.as_str())]).collect();
    writer.extend(&named, &extra)
}
