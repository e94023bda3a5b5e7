//! Inflating bodies within one budget that all handlers of a client share.
//!
//! Room for the most that a body can become is reserved before its handler begins; when there is none, the handler waits.
//! Once the body is inflated only its size stays reserved, for as long as any handle to it lives.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use bytes::Bytes;
use rocketry_codec::message::Compression;
use rocketry_compress::InflateError;
use rocketry_core::Received;

use crate::sync::lock;

/// No zlib stream grows by more than this factor, and no LZ4 frame by more than a quarter of it.
const ZLIB_RATIO: usize = 1_032;
const LZ4_RATIO: usize = 256;

/// The shared budget.
#[derive(Debug)]
pub(crate) struct Inflation {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    waiting: Vec<Waker>,
}

/// Bytes of the budget; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    inflation: Arc<Inflation>,
    bytes: usize,
}

impl Inflation {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Room for so many bytes; one body that is larger than the whole budget is let through when nothing else is held.
    fn reserve(self: &Arc<Self>, bytes: usize, waker: &Waker) -> Option<Reservation> {
        let mut state = lock(&self.state);
        if state.used > 0 && state.used.saturating_add(bytes) > self.limit {
            if !state.waiting.iter().any(|known| known.will_wake(waker)) {
                state.waiting.push(waker.clone());
            }
            return None;
        }
        state.used = state.used.saturating_add(bytes);
        Some(Reservation { inflation: Arc::clone(self), bytes })
    }

    #[cfg(test)]
    fn used(&self) -> usize {
        lock(&self.state).used
    }

    fn release(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let waiting = {
            let mut state = lock(&self.state);
            state.used = state.used.saturating_sub(bytes);
            std::mem::take(&mut state.waiting)
        };
        for waker in waiting {
            waker.wake();
        }
    }
}

impl Reservation {
    fn shrink(&mut self, bytes: usize) {
        if bytes < self.bytes {
            self.inflation.release(self.bytes - bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.inflation.release(self.bytes);
    }
}

/// What has to be done before a message's handler may begin.
#[derive(Debug)]
pub(crate) enum Need {
    /// Nothing: the body is as it was sent.
    Plain,
    /// Inflate within this reservation.
    Inflate(Compression, Reservation),
    /// The budget is spent; the waker will fire.
    Wait,
    /// Nobody can read the body.
    Undecodable(&'static str),
}

/// Looks what a message needs.
pub(crate) fn need(inflation: &Arc<Inflation>, message: &Received, waker: &Waker) -> Need {
    match message.stored.compression() {
        Ok(None) => Need::Plain,
        Ok(Some(compression)) => {
            let size = message.stored.body_bytes().len();
            let most = match compression {
                Compression::Zlib => size.saturating_mul(ZLIB_RATIO).saturating_add(64),
                Compression::Lz4 => size.saturating_mul(LZ4_RATIO),
                _ => rocketry_compress::DEFAULT_LIMIT,
            };
            let most = most.min(rocketry_compress::DEFAULT_LIMIT);
            inflation.reserve(most, waker).map_or(Need::Wait, |room| Need::Inflate(compression, room))
        }
        Err(_) => Need::Undecodable("the compression bits name no codec"),
    }
}

/// Inflates a body within its reservation.
pub(crate) fn inflate(compression: Compression, body: &[u8], mut room: Reservation) -> Result<Bytes, &'static str> {
    // A body that alone is above the budget is bounded by the limit of bodies.
    let inflated = rocketry_compress::inflate(compression, body, room.bytes).map_err(|error| reason(&error))?;
    room.shrink(inflated.len());
    Ok(Bytes::from_owner(Charged { body: inflated, _room: room }))
}

struct Charged {
    body: Vec<u8>,
    _room: Reservation,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

const fn reason(error: &InflateError) -> &'static str {
    match error {
        InflateError::TooLarge { .. } => "the body inflates to more than the limit",
        InflateError::Truncated => "the compressed body is cut short",
        InflateError::Corrupt(_) => "the body is not what its codec writes",
        InflateError::WindowTooLarge => "the body asks for too large a window",
        InflateError::NeedsDictionary => "the body needs a dictionary",
        InflateError::Unsupported(_) => "the body's codec is switched off in this build",
        _ => "the body cannot be inflated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CountingWaker;

    #[test]
    fn a_spent_budget_makes_wait_until_a_body_is_dropped() {
        let inflation = Arc::new(Inflation::new(1_000));
        let counter = CountingWaker::new();
        let first = inflation.reserve(600, &counter.waker()).expect("it is free");
        assert!(inflation.reserve(600, &counter.waker()).is_none());
        assert!(inflation.reserve(600, &counter.waker()).is_none());
        assert_eq!(counter.count(), 0);
        drop(first);
        assert_eq!(counter.count(), 1, "one waiter is woken once");
        let whole = inflation.reserve(5_000, &counter.waker()).expect("alone it passes");
        assert!(inflation.reserve(1, &counter.waker()).is_none());
        drop(whole);
        assert_eq!(inflation.used(), 0);
    }

    #[cfg(feature = "zlib")]
    #[test]
    fn an_inflated_body_holds_its_size_as_long_as_anybody_holds_it() {
        let inflation = Arc::new(Inflation::new(1 << 20));
        let packed = rocketry_compress::compress(Compression::Zlib, rocketry_compress::Level::default(), &[7; 5_000]);
        let packed = packed.expect("zlib is there");
        let room = inflation.reserve(100_000, Waker::noop()).expect("it is free");
        let body = inflate(Compression::Zlib, &packed, room).expect("it is zlib");
        assert_eq!((body.len(), inflation.used()), (5_000, 5_000));
        let part = body.slice(..10);
        drop(body);
        assert_eq!(inflation.used(), 5_000);
        drop(part);
        assert_eq!(inflation.used(), 0);
        let room = inflation.reserve(100_000, Waker::noop()).expect("it is free");
        assert!(inflate(Compression::Zlib, b"not zlib", room).is_err());
        assert_eq!(inflation.used(), 0);
    }
}
