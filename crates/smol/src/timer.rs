//! The driver's one timer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use rocketry_driver::io::Timer;

/// A timer of the reactor.
#[derive(Debug)]
pub(crate) struct Sleeper {
    at: Option<Instant>,
    timer: async_io::Timer,
}

impl Default for Sleeper {
    fn default() -> Self {
        Self { at: None, timer: async_io::Timer::never() }
    }
}

impl Timer for Sleeper {
    fn set(&mut self, at: Option<Instant>) {
        if at == self.at {
            return;
        }
        self.at = at;
        match at {
            Some(at) => self.timer.set_at(at),
            None => self.timer = async_io::Timer::never(),
        }
    }

    fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.at.is_none() {
            return Poll::Pending;
        }
        Pin::new(&mut self.timer).poll(cx).map(|_| {
            // It has fired: the same instant must be armed anew if it is asked for again.
            self.at = None;
        })
    }
}
