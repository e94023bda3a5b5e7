//! The driver's one timer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use rocketry_driver::io::Timer;
use tokio::time::{Instant, Sleep};

/// A timer that is made when it is first polled, since tokio makes none outside its runtime.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    at: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer for Sleeper {
    fn set(&mut self, at: Option<std::time::Instant>) {
        let at = at.map(Instant::from_std);
        if at == self.at {
            return;
        }
        self.at = at;
        if let (Some(at), Some(sleep)) = (at, &mut self.sleep) {
            sleep.as_mut().reset(at);
        }
    }

    fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        sleep.as_mut().poll(cx)
    }
}
