//! What an application's call can fail with.

use std::fmt;
use std::io;

use rocketry_core::{Certainty, ConfigError, MessageError, OpError, OpErrorKind, RejectReason};
use rocketry_machine::EndpointError;

/// Why a call failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting cannot be used.
    Config(ConfigError),
    /// A message cannot be built.
    Message(MessageError),
    /// The call was not accepted; nothing happened.
    Rejected(RejectReason),
    /// The call was accepted and failed: what happened, and whether it may have taken effect.
    Failed(OpError),
    /// The operating system or the runtime refused something that the client itself needs.
    Io(io::Error),
    /// The driver's task is gone, and with it the client: its runtime went down, or the driver was dropped.
    DriverGone,
}

impl Error {
    /// Whether the call may have taken effect on a broker: the fact to look at before trying again.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        match self {
            Self::Failed(error) => error.certainty,
            Self::DriverGone => Certainty::Unknown,
            Self::Config(_) | Self::Message(_) | Self::Rejected(_) | Self::Io(_) => Certainty::NotSent,
        }
    }

    /// Whether the client or the thing that was called is closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        match self {
            Self::Rejected(RejectReason::Closed | RejectReason::NotRunning { .. }) | Self::DriverGone => true,
            Self::Failed(error) => matches!(error.kind, OpErrorKind::Stopping),
            Self::Rejected(_) | Self::Config(_) | Self::Message(_) | Self::Io(_) => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Message(error) => error.fmt(f),
            Self::Rejected(why) => why.fmt(f),
            Self::Failed(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::DriverGone => f.write_str("the client's driver has ended"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Message(error) => Some(error),
            Self::Failed(error) => Some(error),
            Self::Io(error) => Some(error),
            Self::Rejected(_) | Self::DriverGone => None,
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<MessageError> for Error {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl From<OpError> for Error {
    fn from(error: OpError) -> Self {
        Self::Failed(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<EndpointError> for Error {
    fn from(error: EndpointError) -> Self {
        Self::Config(ConfigError::new("name_servers", error.text(), error.to_string()))
    }
}
