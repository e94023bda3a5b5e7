//! Cases: a cluster with a producer and a consumer group, what goes wrong with it, and whether it keeps its promises.
//!
//! A case has two phases. First the troubles of its [`Plan`](crate::plan::Plan) happen while messages are sent and
//! consumed: nothing may be broken meanwhile. Then everything is healed, and the cluster must converge: every acknowledged
//! message is handled, every queue has one owner, everybody can leave in order.

use std::net::{Ipv4Addr, SocketAddr};

#[cfg(feature = "broken")]
mod broken;
mod cluster;
mod hostile;
mod ledger;
mod meddle;
mod member;
mod run;
mod sender;
mod variant;

#[cfg(feature = "broken")]
pub use broken::Broken;
pub(crate) use cluster::Cluster;
pub(crate) use ledger::Ledger;
#[cfg(feature = "broken")]
pub use run::run_broken;
pub use run::{Profile, Report, run};
pub(crate) use sender::Sender as SenderApp;

/// The topic of every case.
pub(crate) const TOPIC: &str = "orders";
/// The consumer group of every case.
pub(crate) const GROUP: &str = "billing";

/// The name of a broker by its number.
pub(crate) fn broker_name(number: u8) -> String {
    format!("broker-{number}")
}

/// The address of a broker by its number.
pub(crate) fn broker_address(number: u8) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 1, number), 10_911))
}
