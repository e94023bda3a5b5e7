//! A saved position is never above a message whose handler has not ended (OFF-08).

use rocketry_core::MessageQueue;

use crate::lab::Ledger;

/// What is wrong with saving this position now, if anything.
pub(crate) fn committed(ledger: &Ledger, queue: &MessageQueue, position: i64) -> Option<String> {
    let below = ledger.finished(queue).map_or(0, |finished| finished.below);
    (position > below).then(|| format!("{position} is saved of {queue}, the handler of {below} has not ended"))
}
