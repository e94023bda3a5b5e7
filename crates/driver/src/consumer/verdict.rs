//! What a handler may say about a message.

use std::fmt::Display;

use rocketry_core::{Ticket, Verdict};

/// What becomes of a handled message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It is done with.
    Succeed,
    /// It is delivered again, after a time that grows with every redelivery and that the broker chooses.
    Retry,
    /// It is delivered again after this time.
    RetryAfter(DelayLevel),
    /// It goes to the dead-letter topic of the group at once.
    DeadLetter,
}

impl Action {
    pub(crate) const fn on(self, ticket: Ticket) -> Verdict {
        match self {
            Self::Succeed => ticket.succeed(),
            Self::Retry => ticket.retry(),
            Self::RetryAfter(level) => ticket.retry_at(level.get()),
            Self::DeadLetter => ticket.retry_at(-1),
        }
    }
}

impl From<()> for Action {
    fn from((): ()) -> Self {
        Self::Succeed
    }
}

/// What a handler may return: nothing or an [`Action`], or a `Result` of either, whose `Err` means [`Action::Retry`] and
/// whose text is told as [`Notice::HandlerFailed`](rocketry_core::Notice).
pub trait Answer {
    /// The action that it stands for, and the error's text.
    fn action(self) -> (Action, Option<String>);
}

impl Answer for () {
    fn action(self) -> (Action, Option<String>) {
        (Action::Succeed, None)
    }
}

impl Answer for Action {
    fn action(self) -> (Action, Option<String>) {
        (self, None)
    }
}

impl<T: Into<Action>, E: Display> Answer for Result<T, E> {
    fn action(self) -> (Action, Option<String>) {
        match self {
            Ok(action) => (action.into(), None),
            Err(error) => (Action::Retry, Some(error.to_string())),
        }
    }
}

/// One of the delays that brokers offer. The names are those of a broker's default configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DelayLevel(i32);

impl DelayLevel {
    /// 1 second.
    pub const ONE_SECOND: Self = Self(1);
    /// 5 seconds.
    pub const FIVE_SECONDS: Self = Self(2);
    /// 10 seconds.
    pub const TEN_SECONDS: Self = Self(3);
    /// 30 seconds.
    pub const THIRTY_SECONDS: Self = Self(4);
    /// 1 minute.
    pub const ONE_MINUTE: Self = Self(5);
    /// 10 minutes.
    pub const TEN_MINUTES: Self = Self(14);
    /// 1 hour.
    pub const ONE_HOUR: Self = Self(17);
    /// 2 hours.
    pub const TWO_HOURS: Self = Self(18);

    /// A level by its number, from 1; a broker takes what is above its last level as the last.
    ///
    /// Returns `None` for 0, which is no delay at all.
    #[must_use]
    pub const fn new(level: u8) -> Option<Self> {
        if level == 0 { None } else { Some(Self(level as i32)) }
    }

    /// The level's number.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_means_retry_and_nothing_means_done() {
        assert_eq!(().action(), (Action::Succeed, None));
        assert_eq!(Ok::<(), u8>(()).action(), (Action::Succeed, None));
        assert_eq!(Err::<(), &str>("no room").action(), (Action::Retry, Some("no room".into())));
        assert_eq!(Ok::<Action, u8>(Action::DeadLetter).action(), (Action::DeadLetter, None));
        assert_eq!(Err::<Action, u8>(1).action(), (Action::Retry, Some("1".into())));
        assert_eq!(DelayLevel::new(0), None);
        assert_eq!(DelayLevel::new(3), Some(DelayLevel::TEN_SECONDS));
    }
}
