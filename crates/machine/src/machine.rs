//! The contract of machines, and its laws.

use crate::{ConnId, Deadline, Input, Now, Output, PeerInfo, Refused};

/// A state machine that eats inputs and time and leaves outputs.
///
/// # Laws
///
/// 1. **Drain neutrality.** When outputs are polled changes neither state nor later outputs: `poll_output` only pops.
/// 2. **Progress.** After `handle_timeout(now)`, `poll_timeout()` is later than `now` or there is output to poll.
/// 3. **Idempotent ticks.** `handle_timeout` before the deadline changes nothing but the clock.
/// 4. **Queued means due.** While output is queued, `poll_timeout` returns the last `now`: a driver that forgot to drain
///    wakes at once.
/// 5. **One completion.** Each operation completes exactly once, and by its deadline.
/// 6. **Bounds.** After each call every count is within its limit.
/// 7. **Owners.** Every timer, call and credit belongs to a live owner.
/// 8. **Determinism.** The same seed and the same calls give the same outputs.
///
/// `now.at` is clamped to be monotone; `now.wall` is untrusted.
pub trait Machine {
    /// What travels on connections.
    type Frame;
    /// What the machine says to its owner.
    type Event;

    /// Takes one input from the network.
    fn handle_input(&mut self, now: Now, input: Input<Self::Frame>);

    /// Fires everything that is due at `now`.
    fn handle_timeout(&mut self, now: Now);

    /// The next output, oldest first. Pops, never computes.
    fn poll_output(&mut self) -> Option<Output<Self::Frame, Self::Event>>;

    /// When to call [`Machine::handle_timeout`]. Peeks, never computes.
    fn poll_timeout(&self) -> Option<Deadline>;
}

/// A machine that accepts connections: the servers.
pub trait Acceptor: Machine {
    /// A peer has connected; the id under which its frames must be fed.
    ///
    /// # Errors
    /// The reason, when the machine takes no more connections; the driver closes the socket.
    fn accept(&mut self, now: Now, peer: PeerInfo) -> Result<ConnId, Refused>;
}
