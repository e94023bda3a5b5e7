//! Real peers: Apache's name server, broker and Java client, fetched through Maven and started on loopback.
//!
//! Everything is cached under `$ROCKETRY_CACHE`, by default `~/.cache/rocketry`. Servers get free ports, small files and
//! small heaps in a folder of their own, which goes with them (broker.md section 14). What is missing on a machine is
//! [`Unavailable`], with the reason; whether that means "ignored" or "failed" is the harness's matter.

mod apache;
mod apache_options;
pub(crate) mod guard;
mod java;
mod maven;
mod ports;
mod process;
mod remote;

use std::fmt;

pub use apache::Apache;
pub use apache_options::{ApacheVersion, BrokerOptions};
pub use java::{JavaClient, JavaRun};
pub use process::Output;

/// Why a real peer cannot be had on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub(crate) String);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

impl Unavailable {
    fn because(what: impl fmt::Display) -> Self {
        Self(what.to_string())
    }
}

/// Fetches what the suites use of real peers: every release's servers, and the Java client with its driver compiled. Where
/// all of it is in the cache this takes no time.
///
/// # Errors
/// The tool that is missing, or what Maven said.
pub fn fetch() -> Result<(), Unavailable> {
    tools()?;
    for version in ApacheVersion::ALL {
        apache::jars(version)?;
    }
    JavaClient::new(ApacheVersion::V5_3_3).map(|_| ())
}

/// Whether Java and Maven are on this machine: what every real peer needs.
///
/// # Errors
/// What is missing.
pub fn tools() -> Result<(), Unavailable> {
    for tool in ["java", "javac", "mvn"] {
        if !process::run(std::process::Command::new(tool).arg("-version")).is_ok_and(|output| output.success) {
            return Err(Unavailable(format!("{tool} is not on the PATH")));
        }
    }
    Ok(())
}
