//! ZSTD bodies.

use rocketry_codec::message::Compression;
use zstd::zstd_safe::{DCtx, DParameter, ErrorCode, InBuffer, OutBuffer};

use crate::error::{CompressError, InflateError};
use crate::growth::Growth;
use crate::without_slack;

/// Largest window a frame may ask for, as a power of two: 8 MiB, what every level up to 19 stays within.
const WINDOW_LOG_MAX: u32 = 23;

pub(crate) fn compress(level: i32, body: &[u8]) -> Result<Vec<u8>, CompressError> {
    match zstd::bulk::compress(body, level.clamp(1, 19)) {
        Ok(out) => Ok(without_slack(out)),
        Err(_) => Err(CompressError::Failed(Compression::Zstd)),
    }
}

/// Several frames one after the other are one body, as Java reads them.
pub(crate) fn inflate(body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut state = DCtx::create();
    state.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(error)?;
    let mut input = InBuffer::around(body);
    let mut growth = Growth::new(limit, body.len());
    let mut out = growth.start();
    while out.len() < out.capacity() || growth.more(&mut out) {
        let before = (input.pos(), out.len());
        let step = step(&mut state, &mut input, &mut out)?;
        if step == Step::Whole && input.pos() == body.len() {
            return Ok(without_slack(out));
        }
        if before == (input.pos(), out.len()) {
            // Neither read nor wrote although there was room: there is nothing left to read.
            return Err(InflateError::Truncated);
        }
    }
    // The output is as large as it may be. One byte of room decides whether the frames end here too.
    let mut beyond = Vec::with_capacity(1);
    loop {
        let read = input.pos();
        let step = step(&mut state, &mut input, &mut beyond)?;
        if !beyond.is_empty() {
            return Err(InflateError::TooLarge { limit });
        }
        if step == Step::Whole && input.pos() == body.len() {
            return Ok(out);
        }
        if read == input.pos() {
            return Err(InflateError::Truncated);
        }
    }
}

/// How far the decoder came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A frame is unfinished.
    Within,
    /// A frame is wholly read and written.
    Whole,
}

/// Inflates into the spare capacity of the output.
fn step(state: &mut DCtx<'_>, input: &mut InBuffer<'_>, out: &mut Vec<u8>) -> Result<Step, InflateError> {
    let start = out.len();
    let mut output = OutBuffer::around_pos(out, start);
    match state.decompress_stream(&mut output, input) {
        Ok(0) => Ok(Step::Whole),
        Ok(_) => Ok(Step::Within),
        Err(code) => Err(error(code)),
    }
}

/// The library's error codes come negated; the numbers are those of its published `zstd_errors.h`.
fn error(code: ErrorCode) -> InflateError {
    const WINDOW_TOO_LARGE: usize = 16;
    const DICTIONARY_WRONG: usize = 32;
    match code.wrapping_neg() {
        WINDOW_TOO_LARGE => InflateError::WindowTooLarge,
        DICTIONARY_WRONG => InflateError::NeedsDictionary,
        _ => InflateError::Corrupt(Compression::Zstd),
    }
}
