//! Plans: what is to go wrong in a case, as data.
//!
//! A plan is a seed and a list of troubles with their times. Everything that a trouble needs stands in it, so that one can
//! be left out without changing the others: that is what makes a failing plan shrink.

mod draw;
mod shrink;
mod text;

use std::time::Duration;

pub(crate) use draw::CHAOS;
pub use draw::draw;
pub use shrink::shrink;
pub use text::PlanError;

/// What goes wrong in a case, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // plain data
pub struct Plan {
    /// The randomness of the world: delays, chunks, what the machines draw.
    pub seed: u64,
    /// The troubles, by time.
    pub troubles: Vec<Trouble>,
}

/// Something that goes wrong for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // plain data
pub struct Trouble {
    /// When it begins, from the start of the case.
    pub at: Duration,
    /// When it is over, from its beginning.
    pub lasts: Duration,
    /// What it is.
    pub what: What,
}

/// A part of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_enums)] // plain data
pub enum Part {
    /// The name server.
    Names,
    /// A broker, by number.
    Broker(u8),
    /// A member of the consumer group, by number.
    Member(u8),
    /// The producer.
    Sender,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums)] // plain data
pub enum What {
    /// All connections between two parts are reset, once.
    Reset(Part, Part),
    /// Bytes from one part to another wait until it is over.
    Stall(Part, Part),
    /// Bytes from one part to another vanish, and their connections with them: half-open links, an asymmetric partition.
    Silence(Part, Part),
    /// Attempts of one part to connect to another are not answered.
    Swallow(Part, Part),
    /// Attempts of one part to connect to another are refused.
    Refuse(Part, Part),
    /// Bytes from one part to another are late by up to so many milliseconds.
    Slow(Part, Part, u32),
    /// Bytes from one part to another arrive in chunks of at most so many.
    Crumble(Part, Part, u16),
    /// A client dies and is started again when it is over; its peers see resets.
    Crash(Part),
    /// The same, and its peers see nothing.
    Vanish(Part),
    /// A server's process dies and comes back with its store when it is over.
    Kill(Part),
    /// A part does nothing.
    Pause(Part),
    /// A part's wall clock jumps by so many milliseconds.
    WallJump(Part, i32),
    /// A member leaves in order and comes back when it is over.
    Leave(u8),
    /// A further member is there, with an id of its own.
    Join,
    /// A further member is there that has the id of this one.
    Twin(u8),
    /// Handlers of a member take so many milliseconds.
    SlowHandlers(u8, u32),
    /// Handlers of a member do not end.
    StuckHandlers(u8),
    /// Every second handler of a member refuses its message.
    FailingHandlers(u8),
    /// Every second request of this code is answered with this code and not served.
    Answer(Part, i32, i32),
    /// Every second request of this code vanishes at the server.
    LoseRequest(Part, i32),
    /// Every second request of this code is served, and its answer vanishes.
    LoseAnswer(Part, i32),
    /// Answers to requests of this code are late by so many milliseconds.
    LateAnswer(Part, i32, u32),
    /// Answers to requests of this code come twice.
    DoubleAnswer(Part, i32),
    /// Messages that the group has consumed are deleted at a broker, once.
    Trim(u8),
    /// A peer that speaks nonsense connects to a server.
    Hostile(Part),
}

impl What {
    /// The kind, for counting.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Reset(..) => "reset",
            Self::Stall(..) => "stall",
            Self::Silence(..) => "silence",
            Self::Swallow(..) => "swallow",
            Self::Refuse(..) => "refuse",
            Self::Slow(..) => "slow",
            Self::Crumble(..) => "crumble",
            Self::Crash(_) => "crash",
            Self::Vanish(_) => "vanish",
            Self::Kill(_) => "kill",
            Self::Pause(_) => "pause",
            Self::WallJump(..) => "wall-jump",
            Self::Leave(_) => "leave",
            Self::Join => "join",
            Self::Twin(_) => "twin",
            Self::SlowHandlers(..) => "slow-handlers",
            Self::StuckHandlers(_) => "stuck-handlers",
            Self::FailingHandlers(_) => "failing-handlers",
            Self::Answer(..) => "answer",
            Self::LoseRequest(..) => "lose-request",
            Self::LoseAnswer(..) => "lose-answer",
            Self::LateAnswer(..) => "late-answer",
            Self::DoubleAnswer(..) => "double-answer",
            Self::Trim(_) => "trim",
            Self::Hostile(_) => "hostile",
        }
    }
}
