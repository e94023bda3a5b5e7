//! The broker and name server of a run.

use rocketry_testkit::peers::{Apache, ApacheVersion, BrokerOptions};

use crate::args::Options;
use crate::{Failure, note};

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
    /// Ended when dropped; the servers that were named run on.
    _apache: Option<Apache>,
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

/// Takes the servers that were named, or starts Apache's.
///
/// # Errors
///
/// Where Java or Maven is missing, or the servers do not start.
pub(crate) fn start(options: &Options) -> Result<Servers, Failure> {
    if let Some((broker, name_server)) = &options.servers {
        let addresses = Addresses { broker: broker.clone(), name_server: name_server.clone() };
        return Ok(Servers { addresses, description: "A broker that was running".into(), _apache: None });
    }
    let version = ApacheVersion::V5_3_3;
    note(&format!("starting Apache {version}"));
    // A pause of the machine must make a run slow, not wrong: by default a broker refuses what waited for 200 ms.
    let options = BrokerOptions::default().production();
    let options = options.set("waitTimeMillsInSendQueue", 10_000).set("osPageCacheBusyTimeOutMills", 10_000);
    let apache = Apache::start(version, &options)?;
    let addresses = Addresses { broker: apache.broker(0), name_server: apache.name_server() };
    Ok(Servers { addresses, description: format!("Apache {version}"), _apache: Some(apache) })
}
