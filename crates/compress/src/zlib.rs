//! zlib (RFC 1950) bodies.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use rocketry_codec::message::Compression;

use crate::error::{CompressError, InflateError};
use crate::growth::Growth;
use crate::without_slack;

/// State of both directions, made when first needed.
#[derive(Debug, Default)]
pub(crate) struct Zlib {
    packing: Option<(u32, Compress)>,
    inflating: Option<Decompress>,
}

impl Zlib {
    pub(crate) fn compress(&mut self, level: i32, body: &[u8]) -> Result<Vec<u8>, CompressError> {
        let level = u32::try_from(level.clamp(0, 9)).unwrap_or_default();
        let state = match &mut self.packing {
            Some((known, state)) if *known == level => {
                state.reset();
                state
            }
            packing => &mut packing.insert((level, Compress::new(flate2::Compression::new(level), true))).1,
        };
        let mut out = Vec::with_capacity(body.len() / 2 + 64);
        loop {
            let rest = after(body, state.total_in());
            match state.compress_vec(rest, &mut out, FlushCompress::Finish) {
                Ok(Status::StreamEnd) => return Ok(without_slack(out)),
                Ok(Status::Ok | Status::BufError) => out.reserve(out.capacity()),
                Err(_) => return Err(CompressError::Failed(Compression::Zlib)),
            }
        }
    }

    /// Bytes after the end of the stream are ignored, as Java does.
    pub(crate) fn inflate(&mut self, body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
        let state = self.inflating.get_or_insert_with(|| Decompress::new(true));
        state.reset(true);
        inflate(state, body, limit)
    }
}

fn inflate(state: &mut Decompress, body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut growth = Growth::new(limit, body.len());
    let mut out = growth.start();
    while out.len() < out.capacity() || growth.more(&mut out) {
        let before = (state.total_in(), out.len());
        if step(state, body, &mut out)? == Status::StreamEnd {
            return Ok(without_slack(out));
        }
        if before == (state.total_in(), out.len()) {
            // Neither read nor wrote although there was room: there is nothing left to read.
            return Err(InflateError::Truncated);
        }
    }
    // The output is as large as it may be. One byte of room decides whether the stream ends here too.
    let mut beyond = Vec::with_capacity(1);
    loop {
        let read = state.total_in();
        let status = step(state, body, &mut beyond)?;
        if !beyond.is_empty() {
            return Err(InflateError::TooLarge { limit });
        }
        if status == Status::StreamEnd {
            return Ok(out);
        }
        if read == state.total_in() {
            return Err(InflateError::Truncated);
        }
    }
}

/// Inflates into the spare capacity of the output.
fn step(state: &mut Decompress, body: &[u8], out: &mut Vec<u8>) -> Result<Status, InflateError> {
    let rest = after(body, state.total_in());
    state.decompress_vec(rest, out, FlushDecompress::None).map_err(|_| InflateError::Corrupt(Compression::Zlib))
}

/// What is left of the input.
fn after(body: &[u8], done: u64) -> &[u8] {
    usize::try_from(done).ok().and_then(|done| body.get(done..)).unwrap_or_default()
}
