//! The broker and name server of a run.

use crate::Failure;
use crate::args::Options;

/// Where the contenders connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) broker: String,
    pub(crate) name_server: String,
}

/// Servers that run as long as this value lives.
pub(crate) struct Servers {
    addresses: Addresses,
    description: String,
}

impl Servers {
    pub(crate) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// What the heading of the tables says about them.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

/// Takes the servers that were named.
pub(crate) fn start(options: &Options) -> Result<Servers, Failure> {
    let Some((broker, name_server)) = &options.servers else {
        return Err("--broker and --name-server are needed".into());
    };
    let addresses = Addresses { broker: broker.clone(), name_server: name_server.clone() };
    Ok(Servers { addresses, description: "A broker that was running".into() })
}
