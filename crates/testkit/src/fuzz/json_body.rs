//! JSON bodies of every kind: never a panic, and what was read is written so that it reads the same again.

use rocketry_codec::body::packed;
use rocketry_codec::json::{self, JsonWriter, ToJson};
use rocketry_codec::limits::Limits;

use crate::bodies;

/// Takes the first byte as the kind of body and reads the rest as one, as plain JSON and as a packed registration.
///
/// # Panics
/// Where something that was read does not survive being written.
pub fn json_body(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let kind = bodies::ALL.get(usize::from(*first) % bodies::ALL.len()).expect("an index within the table");
    if let Ok(again) = (kind.transcode)(text, &Limits::DEFAULT) {
        assert_eq!((kind.transcode)(again.as_bytes(), &Limits::DEFAULT), Ok(again), "{} is not stable", kind.class);
    }
    plain(text);
    if let Ok(body) = packed::decode(text, &Limits::DEFAULT) {
        let again = packed::encode(&body);
        assert_eq!(packed::decode(&again, &Limits::DEFAULT), Ok(body), "a packed registration is not stable");
    }
}

/// A text without references, which the writer never writes, is the same after being written.
fn plain(text: &[u8]) {
    if text.windows(4).any(|part| part == b"$ref") {
        return;
    }
    if let Ok(value) = json::read(text, &Limits::DEFAULT) {
        let mut out = JsonWriter::new();
        value.write_json(&mut out);
        let again = out.finish();
        assert_eq!(json::read(again.as_bytes(), &Limits::DEFAULT), Ok(value), "JSON changed: {again}");
    }
}
