//! ZSTD bodies.

use std::fmt;

use rocketry_codec::message::Compression;
use zstd::zstd_safe::{CCtx, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective, compress_bound};

use crate::error::{CompressError, InflateError};
use crate::growth::Growth;
use crate::without_slack;

/// Largest window a frame may ask for, as a power of two: 8 MiB, what every level up to 19 stays within.
const WINDOW_LOG_MAX: u32 = 23;

/// State above this many bytes is not kept for the next body.
const KEPT: usize = 1024 * 1024;

/// State of both directions, made when first needed.
#[derive(Default)]
pub(crate) struct Zstandard {
    packing: Option<(i32, CCtx<'static>)>,
    inflating: Option<DCtx<'static>>,
}

impl Zstandard {
    pub(crate) fn compress(&mut self, level: i32, body: &[u8]) -> Result<Vec<u8>, CompressError> {
        let level = level.clamp(1, 19);
        let failed = |_| CompressError::Failed(Compression::Zstd);
        let state = match &mut self.packing {
            Some((known, state)) if *known == level => state,
            packing => &mut packing.insert((level, CCtx::create())).1,
        };
        let mut out = Vec::with_capacity(compress_bound(body.len()));
        state.compress(&mut out, body, level).map_err(failed)?;
        if state.sizeof() > KEPT {
            self.packing = None;
        }
        Ok(without_slack(out))
    }

    /// Several frames one after the other are one body, as Java reads them.
    pub(crate) fn inflate(&mut self, body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
        let state = match &mut self.inflating {
            Some(state) => {
                state.reset(ResetDirective::SessionOnly).map_err(error)?;
                state
            }
            inflating => {
                let state = inflating.insert(DCtx::create());
                state.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(error)?;
                state
            }
        };
        let result = inflate(state, body, limit);
        if state.sizeof() > KEPT {
            self.inflating = None;
        }
        result
    }
}

impl fmt::Debug for Zstandard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zstandard").finish_non_exhaustive()
    }
}

fn inflate(state: &mut DCtx<'_>, body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut input = InBuffer::around(body);
    let mut growth = Growth::new(limit, body.len());
    let mut out = growth.start();
    while out.len() < out.capacity() || growth.more(&mut out) {
        let before = (input.pos(), out.len());
        let step = step(state, &mut input, &mut out)?;
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
        let step = step(state, &mut input, &mut beyond)?;
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
