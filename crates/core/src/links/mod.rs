//! Connections: one per address, opened on first use, closed when they make no progress.
//!
//! Decides: when to connect, how long to wait before trying an address again, which connection carries a request, and
//! when a connection counts as dead.
//!
//! States of a link: *connecting* (frames may be emitted already; they wait with the driver) -> *up* -> *draining* (after
//! GO_AWAY: answers still count, nothing new is sent) -> gone. An address remembers its failures: the wait before the
//! next attempt doubles from 100 ms to 10 s, with jitter, and starts anew after a success.
//!
//! Timers: one per connecting link (the connect timeout).

mod link;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use rocketry_machine::{ConnId, Credit, Endpoint, LinkError, Moment, Prng, Slab};

pub(crate) use link::{Link, LinkState};

use crate::api::OpId;

/// All connections of one client.
#[derive(Debug)]
pub(crate) struct Links {
    links: Slab<ConnId, Link>,
    sites: BTreeMap<Endpoint, Site>,
    limit: usize,
    link_bytes: u64,
    jitter: Prng,
    is_shut: bool,
}

/// What is known about an address.
#[derive(Debug, Default)]
struct Site {
    conn: Option<ConnId>,
    failures: u32,
    not_before: Moment,
    cause: Option<LinkError>,
}

/// Why no connection can be had right now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoLink {
    /// The failure that made the address wait.
    pub(crate) cause: LinkError,
    /// When it may be tried again.
    pub(crate) retry_at: Moment,
}

/// The connection to use, and whether it has to be opened first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obtained {
    /// It stands or is being opened.
    Existing(ConnId),
    /// It was minted just now: `Output::Open` must be emitted before anything else.
    Fresh(ConnId),
}

/// What ended with a connection.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The link's last state.
    pub(crate) link: Link,
    /// One-way operations whose frame was not wholly with the kernel.
    pub(crate) unsent: Vec<OpId>,
}

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Links {
    pub(crate) fn new(limit: usize, link_bytes: u64, jitter: Prng) -> Self {
        Self { links: Slab::new(), sites: BTreeMap::new(), limit, link_bytes, jitter, is_shut: false }
    }

    /// The connection to an address.
    pub(crate) fn obtain(&mut self, now: Moment, endpoint: &Endpoint) -> Result<Obtained, NoLink> {
        if self.is_shut {
            return Err(NoLink { cause: LinkError::Stopping, retry_at: Moment::NEVER });
        }
        let count = self.links.len();
        if let Some(site) = self.sites.get(endpoint) {
            if let Some(conn) = site.conn {
                return Ok(Obtained::Existing(conn));
            }
            if site.not_before > now {
                return Err(NoLink { cause: site.cause.unwrap_or(LinkError::Other), retry_at: site.not_before });
            }
        }
        if count >= self.limit {
            return Err(NoLink { cause: LinkError::Other, retry_at: now + FIRST_WAIT });
        }
        let link = Link::new(endpoint.clone(), now, Credit::new(self.link_bytes));
        let conn = self.links.insert(link);
        self.sites.entry(endpoint.clone()).or_default().conn = Some(conn);
        Ok(Obtained::Fresh(conn))
    }

    /// From now on nothing is opened any more.
    pub(crate) const fn shut(&mut self) {
        self.is_shut = true;
    }

    /// The connection to an address, if there is one already.
    pub(crate) fn existing(&self, endpoint: &Endpoint) -> Option<ConnId> {
        self.sites.get(endpoint)?.conn
    }

    pub(crate) fn get(&self, conn: ConnId) -> Option<&Link> {
        self.links.get(conn)
    }

    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Link> {
        self.links.get_mut(conn)
    }

    pub(crate) fn ids(&self) -> Vec<ConnId> {
        self.links.ids()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnId, &Link)> {
        self.links.iter()
    }

    /// The connection stands: the address is healthy again.
    pub(crate) fn opened(&mut self, now: Moment, conn: ConnId) -> bool {
        let Some(link) = self.links.get_mut(conn) else { return false };
        link.opened(now);
        if let Some(site) = self.sites.get_mut(link.endpoint()) {
            site.failures = 0;
            site.cause = None;
        }
        true
    }

    /// Nothing new goes to this connection; the next request to its address opens another one.
    pub(crate) fn drain(&mut self, conn: ConnId) {
        if let Some(link) = self.links.get_mut(conn) {
            link.drain();
            if let Some(site) = self.sites.get_mut(link.endpoint())
                && site.conn == Some(conn)
            {
                site.conn = None;
                site.not_before = Moment::ZERO;
            }
        }
    }

    /// The connection is gone. A failure makes its address wait before the next attempt.
    pub(crate) fn closed(&mut self, now: Moment, conn: ConnId, cause: LinkError) -> Option<Ended> {
        let mut link = self.links.remove(conn)?;
        let current = self.sites.get_mut(link.endpoint()).filter(|site| site.conn == Some(conn));
        if let Some(site) = current {
            site.conn = None;
            site.cause = Some(cause);
            // A connection that stood and was closed in order may be opened anew at once.
            if link.state() == LinkState::Connecting || cause != LinkError::Eof {
                site.not_before = now + wait_before(site.failures, &mut self.jitter);
                site.failures = site.failures.saturating_add(1);
            }
        }
        let unsent = link.take_unsent_oneways();
        Some(Ended { link, unsent })
    }
}

/// The wait after so many failures in a row: doubled each time, between half and the whole of it.
fn wait_before(failures: u32, jitter: &mut Prng) -> Duration {
    let whole = FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(LONGEST_WAIT);
    let half = whole / 2;
    let spread = u64::try_from(half.as_nanos()).unwrap_or(u64::MAX);
    half + Duration::from_nanos(jitter.below(spread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rocketry_machine::Seed;

    fn links() -> Links {
        Links::new(4, 1_000, Seed::from(1).stream("links"))
    }

    fn fresh(obtained: Result<Obtained, NoLink>) -> ConnId {
        match obtained {
            Ok(Obtained::Fresh(conn)) => conn,
            other => panic!("a fresh link was expected: {other:?}"),
        }
    }

    #[test]
    fn one_link_for_each_address() {
        let mut links = links();
        let (a, b) = (Endpoint::new("a", 1), Endpoint::new("b", 1));
        let first = fresh(links.obtain(Moment::ZERO, &a));
        assert_eq!(links.obtain(Moment::ZERO, &a), Ok(Obtained::Existing(first)));
        assert_ne!(fresh(links.obtain(Moment::ZERO, &b)), first);
    }

    #[test]
    fn failures_make_the_address_wait_longer_and_success_forgives() {
        let mut links = links();
        let a = Endpoint::new("a", 1);
        let mut now = Moment::ZERO;
        let mut waits = Vec::new();
        for _ in 0..10 {
            let conn = fresh(links.obtain(now, &a));
            links.closed(now, conn, LinkError::Refused).expect("it was there");
            let no = links.obtain(now, &a).expect_err("it must wait");
            assert_eq!(no.cause, LinkError::Refused);
            waits.push(no.retry_at.since(now));
            now = no.retry_at;
        }
        assert!(waits[0] < Duration::from_millis(100) && waits[0] >= Duration::from_millis(50));
        assert!(waits[9] >= Duration::from_secs(5) && waits[9] <= Duration::from_secs(10));
        let conn = fresh(links.obtain(now, &a));
        links.opened(now, conn);
        links.closed(now, conn, LinkError::Reset);
        let no = links.obtain(now, &a).expect_err("a reset waits a little");
        assert!(no.retry_at.since(now) < Duration::from_millis(100));
    }

    #[test]
    fn a_draining_link_is_replaced_and_keeps_its_calls() {
        let mut links = links();
        let a = Endpoint::new("a", 1);
        let old = fresh(links.obtain(Moment::ZERO, &a));
        links.opened(Moment::ZERO, old);
        links.drain(old);
        let new = fresh(links.obtain(Moment::ZERO, &a));
        assert_ne!(old, new);
        assert!(links.get(old).is_some());
        links.closed(Moment::ZERO, old, LinkError::Eof);
        assert_eq!(links.obtain(Moment::ZERO, &a), Ok(Obtained::Existing(new)));
    }

    #[test]
    fn the_limit_on_links_holds() {
        let mut links = links();
        for port in 1..=4 {
            fresh(links.obtain(Moment::ZERO, &Endpoint::new("a", port)));
        }
        assert!(links.obtain(Moment::ZERO, &Endpoint::new("a", 5)).is_err());
    }
}
