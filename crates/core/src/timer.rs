//! The names of all timers, owners first.

use rocketry_machine::ConnId;

use crate::api::{ConsumerId, OpId, ProducerId};

/// What a timer is for. Ordered by owner, so that one range holds the timers of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TimerKey {
    /// A connection must stand by now.
    Connect(ConnId),
    /// The next poll of all routes in use.
    RoutePoll,
    /// The next try of a route look-up that failed everywhere.
    RouteRetry,
    /// The next heartbeat round.
    Heartbeat,
    /// A send has waited long enough for a route, a link or room.
    Send(OpId),
    /// Something of a consumer.
    Consumer(ConsumerId, ConsumerTimer),
    /// The deadline of stopping one producer.
    StopProducer(ProducerId),
    /// Trace records must leave.
    Trace,
    /// The deadline of the whole shutdown.
    Shutdown,
}

/// The timers of one consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConsumerTimer {
    /// Divide the queues anew.
    Rebalance,
    /// Load positions again that the owner keeps.
    Load,
    /// Ask for locks of queues.
    Lock,
    /// Save positions.
    SaveOffsets,
    /// Look for handlers that take too long.
    Sweep,
    /// Pull a queue again.
    Pull(rocketry_machine::Key),
    /// Ask again for the start position of a queue.
    Start(rocketry_machine::Key),
    /// Try again to send messages of a queue back.
    SendBack(rocketry_machine::Key),
    /// Let a position pass undecodable messages that were held long enough.
    Quarantine(rocketry_machine::Key),
    /// A poll has waited long enough.
    Poll,
    /// The longest wait of a step of the start.
    StartDeadline,
    /// The end of waiting for handlers at the stop.
    DrainDeadline,
    /// The deadline of the stop.
    StopDeadline,
}

impl rocketry_machine::TimerKey for TimerKey {
    fn why(&self) -> &'static str {
        match self {
            Self::Connect(_) => "a connection must stand",
            Self::RoutePoll => "routes are polled",
            Self::RouteRetry => "a route is asked for again",
            Self::Heartbeat => "brokers hear from us",
            Self::Send(_) => "a send waits",
            Self::Consumer(_, timer) => timer.why(),
            Self::StopProducer(_) => "a producer must have stopped",
            Self::Trace => "trace records leave",
            Self::Shutdown => "the client must have stopped",
        }
    }
}

impl ConsumerTimer {
    /// The lowest in order.
    pub(crate) const FIRST: Self = Self::Rebalance;
    /// The highest in order.
    pub(crate) const LAST: Self = Self::StopDeadline;

    const fn why(self) -> &'static str {
        match self {
            Self::Rebalance => "queues are divided",
            Self::Load => "positions are loaded",
            Self::Lock => "queues are locked",
            Self::SaveOffsets => "positions are saved",
            Self::Sweep => "slow handlers are looked for",
            Self::Pull(_) => "a queue is pulled",
            Self::Start(_) => "a start position is asked for",
            Self::SendBack(_) => "a message is sent back",
            Self::Quarantine(_) => "an undecodable message is passed",
            Self::Poll => "a poll ends",
            Self::DrainDeadline => "handlers must have ended",
            Self::StartDeadline => "a consumer must have started",
            Self::StopDeadline => "a consumer must have stopped",
        }
    }
}
