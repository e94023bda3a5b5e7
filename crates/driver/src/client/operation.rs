//! One operation as a future: submitted when it is first polled, cancelled when it is dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rocketry_core::Command;

use super::ClientCore;
use super::host::Stop;
use super::ops::{Ending, WaiterId};
use crate::error::Error;

/// An operation of the client machine.
#[derive(Debug)]
#[must_use = "an operation begins when it is first polled"]
pub(crate) struct Operation {
    core: Arc<ClientCore>,
    state: State,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // an allocation for each operation would cost more than the bytes
enum State {
    Fresh(Command, Option<Stop>),
    Waiting(WaiterId),
    Over,
}

impl Operation {
    pub(crate) const fn new(core: Arc<ClientCore>, command: Command) -> Self {
        Self { core, state: State::Fresh(command, None) }
    }

    /// An operation that stops something; the stop goes on when the future is dropped.
    pub(crate) const fn stop(core: Arc<ClientCore>, command: Command, stop: Stop) -> Self {
        Self { core, state: State::Fresh(command, Some(stop)) }
    }

    fn submit(&mut self, command: Command, stop: Option<Stop>, cx: &Context<'_>) -> Poll<Ending> {
        let submitted = self.core.shell.step(|machine, host, now, _| {
            if host.ended() {
                return Err(Error::DriverGone);
            }
            let waiter = host.ops.submit(machine, now, command, cx.waker())?;
            if let (Some(stop), Some(op)) = (stop, host.ops.running(waiter)) {
                host.stopping(op, stop);
            }
            Ok(waiter)
        });
        match submitted {
            Err(error) => Poll::Ready(Err(error)),
            Ok(waiter) => {
                self.state = State::Waiting(waiter);
                self.look(waiter, cx)
            }
        }
    }

    fn look(&mut self, waiter: WaiterId, cx: &Context<'_>) -> Poll<Ending> {
        let looked = self.core.shell.peek(|host| host.ops.poll(waiter, cx));
        if looked.is_ready() {
            self.state = State::Over;
        }
        looked
    }
}

impl Future for Operation {
    type Output = Ending;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ending> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Fresh(command, stop) => self.submit(command, stop, cx),
            State::Waiting(waiter) => {
                self.state = State::Waiting(waiter);
                self.look(waiter, cx)
            }
            State::Over => Poll::Ready(Err(Error::DriverGone)),
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if let State::Waiting(waiter) = self.state {
            self.core.shell.step(|machine, host, now, _| {
                if let Some(op) = host.abandon(waiter) {
                    machine.cancel(now, op);
                }
            });
        }
    }
}
