//! Where a group begins in a queue when it pops (`spec/broker.md` 9.2, step 4).

use crate::state::State;

use super::Place;
use super::admit::Args;

/// Where the next pop of a queue begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) offset: i64,
    /// The position is new, or was moved by a reset: the pop stores it.
    pub(super) fresh: bool,
}

/// The pending reset, else the furthest of what was committed and what was popped, else what the group asks for.
pub(super) fn of(state: &State, args: &Args, place: &Place) -> Start {
    let known = state.offsets.get(&place.group, &place.topic, place.queue);
    if let Some(offset) = known.and_then(|known| known.reset) {
        return Start { offset, fresh: true };
    }
    // Ordered pops go back to the first message that is not acknowledged, which is what is committed.
    let popped = state.pop.positions.get(place).copied().filter(|_| !args.order);
    if let Some(offset) = known.and_then(|known| known.committed).max(popped) {
        return Start { offset, fresh: false };
    }
    let (min, max) = state.store.range(&place.topic, place.queue);
    let from_end = args.from_end && *place.topic == *args.topic && min > 0;
    Start { offset: if from_end { max.saturating_sub(1).max(min) } else { min }, fresh: true }
}

/// Moves a group to an offset of a queue.
pub(super) fn store(state: &mut State, place: &Place, offset: i64) {
    if state.offsets.take_reset(&place.group, &place.topic, place.queue).is_some() {
        state.pop.orders.forget(place);
    }
    state.offsets.update(&place.group, &place.topic, place.queue, offset);
    let room = state.pop.positions.len() < state.config.limits.offsets;
    if let Some(position) = state.pop.positions.get_mut(place) {
        *position = offset;
    } else if room {
        state.pop.positions.insert(place.clone(), offset);
    }
}
