//! Real peers: Apache's name server, broker and Java client, fetched through Maven and started on loopback.
//!
//! Everything is cached under `$ROCKETRY_CACHE`, by default `~/.cache/rocketry`. Servers get free ports, small files and
//! small heaps in a folder of their own, which goes with them (broker.md section 14). What is missing on a machine is
//! [`Unavailable`], with the reason; whether that means "ignored" or "failed" is the harness's matter.

mod apache;
mod java;
mod maven;
mod process;
mod remote;

use std::fmt;

pub use apache::{Apache, ApacheVersion, BrokerOptions};
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

/// Whether Java and Maven are on this machine: what every real peer needs.
///
/// # Errors
/// What is missing.
pub fn tools() -> Result<(), Unavailable> {
    for tool in ["java", "javac", "mvn"] {
        let found = std::process::Command::new(tool)
            .arg("-version")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(Unavailable(format!("{tool} is not on the PATH")));
        }
    }
    Ok(())
}
