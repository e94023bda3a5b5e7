//! Operations on their way: who waits for which, and commands that wait for room, first come first served.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use rocketry_core::{
    Certainty, Client as Machine, Command, Lane, OpError, OpErrorKind, OpId, Outcome, RejectReason, Rejected,
};
use rocketry_machine::{Key, Now, Slab};

use crate::error::Error;
use crate::host::After;

rocketry_machine::ids! {
    /// Someone who waits for an operation.
    pub(crate) WaiterId,
}

/// How an operation ended for whoever waits.
pub(crate) type Ending = Result<Outcome, Error>;

/// The table of operations.
#[derive(Debug)]
pub(crate) struct Ops {
    waiters: Slab<WaiterId, Waiter>,
    /// By the slot of an operation's id: which operation, and who waits for it.
    running: Vec<Option<(OpId, WaiterId)>>,
    in_flight: usize,
    produce: Queue,
    control: Queue,
}

#[derive(Debug)]
struct Waiter {
    state: State,
    waker: Option<Waker>,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // an allocation for each operation would cost more than the bytes
enum State {
    Queued(Lane),
    Running(OpId),
    Ended(Ending),
}

/// What a waiter leaves behind who gave up.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // lives on the stack for a moment
pub(crate) enum Abandoned {
    /// Nothing has to be done.
    Nothing,
    /// The machine has the operation: cancel it.
    Running(OpId),
    /// It had ended, and nobody looked.
    Unclaimed(Outcome),
}

/// Commands that wait for room, in order. Those of waiters that are gone are skipped, and swept once they are many.
#[derive(Debug, Default)]
struct Queue {
    commands: VecDeque<(WaiterId, Command)>,
    gone: usize,
}

impl Ops {
    pub(crate) const fn new() -> Self {
        Self { waiters: Slab::new(), running: Vec::new(), in_flight: 0, produce: Queue::new(), control: Queue::new() }
    }

    /// Operations that the machine has accepted and somebody waits for.
    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }

    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.produce.commands.iter().filter(|(waiter, _)| self.waiters.contains(*waiter)).count()
    }

    #[cfg(test)]
    pub(super) fn first_queued_body(&self) -> Option<Vec<u8>> {
        match self.produce.commands.front() {
            Some((_, Command::Produce(produce))) => Some(produce.message.body().to_vec()),
            _ => None,
        }
    }

    /// Hands a command to the machine, or queues it behind those that wait for room already.
    ///
    /// # Errors
    /// Why the machine does not take it.
    pub(crate) fn submit(
        &mut self,
        machine: &mut Machine,
        now: Now,
        command: Command,
        waker: &Waker,
    ) -> Result<WaiterId, Error> {
        let lane = lane_of(&command);
        let waker = Some(waker.clone());
        if self.queue(lane).is_empty() {
            match machine.submit(now, command) {
                Ok(op) => {
                    let waiter = self.waiters.insert(Waiter { state: State::Running(op), waker });
                    self.enter(op, waiter);
                    return Ok(waiter);
                }
                Err(Rejected { why: RejectReason::Busy, command, .. }) => {
                    return Ok(self.wait_for_room(lane, command, waker));
                }
                Err(Rejected { why, .. }) => return Err(Error::Rejected(why)),
            }
        }
        Ok(self.wait_for_room(lane, command, waker))
    }

    /// The machine's id of what the waiter waits for, if the machine has it.
    pub(crate) fn running(&self, id: WaiterId) -> Option<OpId> {
        match self.waiters.get(id)?.state {
            State::Running(op) => Some(op),
            State::Queued(_) | State::Ended(_) => None,
        }
    }

    /// How the operation ended, once it has.
    pub(crate) fn poll(&mut self, id: WaiterId, cx: &Context<'_>) -> Poll<Ending> {
        let Some(waiter) = self.waiters.get_mut(id) else { return Poll::Ready(Err(Error::DriverGone)) };
        if !matches!(waiter.state, State::Ended(_)) {
            match &mut waiter.waker {
                Some(known) if known.will_wake(cx.waker()) => {}
                other => *other = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        match self.waiters.remove(id) {
            Some(Waiter { state: State::Ended(ending), .. }) => Poll::Ready(ending),
            _ => Poll::Ready(Err(Error::DriverGone)),
        }
    }

    /// Nobody waits any more.
    pub(crate) fn abandon(&mut self, id: WaiterId) -> Abandoned {
        let Some(waiter) = self.waiters.remove(id) else { return Abandoned::Nothing };
        match waiter.state {
            State::Queued(lane) => {
                let Self { waiters, produce, control, .. } = self;
                let queue = if lane == Lane::Produce { produce } else { control };
                queue.abandoned(waiters);
                Abandoned::Nothing
            }
            State::Running(op) => {
                self.leave(op);
                Abandoned::Running(op)
            }
            State::Ended(Ok(outcome)) => Abandoned::Unclaimed(outcome),
            State::Ended(Err(_)) => Abandoned::Nothing,
        }
    }

    /// The machine has ended an operation. Gives the outcome back if nobody waits for it.
    pub(crate) fn done(&mut self, op: OpId, outcome: Outcome, after: &mut After) -> Option<Outcome> {
        let Some(waiter) = self.leave(op) else { return Some(outcome) };
        let ending = match outcome {
            Outcome::Failed(error) => Err(Error::Failed(error)),
            other => Ok(other),
        };
        self.end(waiter, ending, after);
        None
    }

    /// Feeds the machine what waited, as far as there is room. Returns whether there was any.
    pub(crate) fn admit(&mut self, machine: &mut Machine, now: Now, after: &mut After) -> bool {
        let produced = self.admit_lane(Lane::Produce, machine, now, after);
        let controlled = self.admit_lane(Lane::Control, machine, now, after);
        produced || controlled
    }

    /// Nobody drives the machine any more: everything ends.
    pub(crate) fn end_all(&mut self, after: &mut After) {
        for queue in [&mut self.produce, &mut self.control] {
            queue.commands.clear();
            queue.gone = 0;
        }
        self.running.clear();
        self.in_flight = 0;
        for id in self.waiters.ids() {
            let certainty = match self.waiters.get(id).map(|waiter| &waiter.state) {
                Some(State::Queued(_)) => Certainty::NotSent,
                Some(State::Running(_)) => Certainty::Unknown,
                Some(State::Ended(_)) | None => continue,
            };
            self.end(id, Err(Error::Failed(OpError::new(OpErrorKind::Stopping, certainty))), after);
        }
    }

    fn admit_lane(&mut self, lane: Lane, machine: &mut Machine, now: Now, after: &mut After) -> bool {
        let mut any = false;
        while !self.queue(lane).is_empty() && machine.room(lane) > 0 {
            let Some((waiter, command)) = self.queue(lane).commands.pop_front() else { break };
            if !self.waiters.contains(waiter) {
                self.queue(lane).gone -= 1;
                continue;
            }
            any = true;
            match machine.submit(now, command) {
                Ok(op) => {
                    if let Some(waiting) = self.waiters.get_mut(waiter) {
                        waiting.state = State::Running(op);
                    }
                    self.enter(op, waiter);
                }
                Err(Rejected { why: RejectReason::Busy, command, .. }) => {
                    self.queue(lane).commands.push_front((waiter, command));
                    return false;
                }
                Err(Rejected { why, .. }) => self.end(waiter, Err(Error::Rejected(why)), after),
            }
        }
        any
    }

    fn end(&mut self, id: WaiterId, ending: Ending, after: &mut After) {
        if let Some(waiter) = self.waiters.get_mut(id) {
            waiter.state = State::Ended(ending);
            if let Some(waker) = waiter.waker.take() {
                after.wake(waker);
            }
        }
    }

    fn wait_for_room(&mut self, lane: Lane, command: Command, waker: Option<Waker>) -> WaiterId {
        let waiter = self.waiters.insert(Waiter { state: State::Queued(lane), waker });
        self.queue(lane).commands.push_back((waiter, command));
        waiter
    }

    const fn queue(&mut self, lane: Lane) -> &mut Queue {
        match lane {
            Lane::Produce => &mut self.produce,
            _ => &mut self.control,
        }
    }

    fn enter(&mut self, op: OpId, waiter: WaiterId) {
        let index = Key::from(op).index() as usize;
        if self.running.len() <= index {
            self.running.resize(index + 1, None);
        }
        self.running[index] = Some((op, waiter));
        self.in_flight += 1;
    }

    fn leave(&mut self, op: OpId) -> Option<WaiterId> {
        let slot = self.running.get_mut(Key::from(op).index() as usize)?;
        let (_, waiter) = slot.take_if(|(running, _)| *running == op)?;
        self.in_flight -= 1;
        Some(waiter)
    }
}

impl Queue {
    const fn new() -> Self {
        Self { commands: VecDeque::new(), gone: 0 }
    }

    fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// One of the waiters is gone; `waiters` knows the others.
    fn abandoned(&mut self, waiters: &Slab<WaiterId, Waiter>) {
        self.gone += 1;
        if self.gone * 2 >= self.commands.len() {
            self.commands.retain(|(waiter, _)| waiters.contains(*waiter));
            self.gone = 0;
        }
    }
}

const fn lane_of(command: &Command) -> Lane {
    match command {
        Command::Produce(_) => Lane::Produce,
        _ => Lane::Control,
    }
}
