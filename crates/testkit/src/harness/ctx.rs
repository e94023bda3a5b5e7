//! What a case works with.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::peers::{Apache, ApacheVersion, BrokerOptions, JavaClient, Unavailable};

/// What the cases of a run share: servers that are started once, names that do not meet.
#[derive(Debug)]
pub struct Ctx {
    long: bool,
    names: AtomicU32,
    clusters: Mutex<BTreeMap<ApacheVersion, Arc<Apache>>>,
}

impl Ctx {
    pub(super) const fn new(long: bool) -> Self {
        Self { long, names: AtomicU32::new(0), clusters: Mutex::new(BTreeMap::new()) }
    }

    /// Whether the run asks for long forms (`--long`): more messages, more rounds, all combinations.
    #[must_use]
    pub const fn long(&self) -> bool {
        self.long
    }

    /// The run's cluster of this release: one broker, default options, started at first use. Cases that kill servers or
    /// want other options start their own with [`Apache::start`].
    ///
    /// # Errors
    /// As [`Apache::start`].
    pub fn apache(&self, version: ApacheVersion) -> Result<Arc<Apache>, Unavailable> {
        let mut clusters = self.clusters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cluster) = clusters.get(&version) {
            return Ok(Arc::clone(cluster));
        }
        let cluster = Arc::new(Apache::start(version, &BrokerOptions::default())?);
        clusters.insert(version, Arc::clone(&cluster));
        Ok(cluster)
    }

    /// The Java client of this release.
    ///
    /// # Errors
    /// As [`JavaClient::new`].
    pub fn java(&self, version: ApacheVersion) -> Result<JavaClient, Unavailable> {
        JavaClient::new(version)
    }

    /// A name that no other case of the run uses, for topics and groups on shared servers.
    #[must_use]
    pub fn name(&self, stem: &str) -> String {
        format!("{stem}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }
}
