//! A broker's registration with its name servers (`spec/broker.md` 1.3).
//!
//! One link to each configured name server. A link that stands registers all topics at once, and again every 30 s; a
//! topic that changes is registered by itself, immediately. An answer to a send that created a topic is held until the
//! name servers have taken the topic, have failed, or have been given [`PATIENCE`], so that whoever hears of the send can
//! ask for the route.
//!
//! | link | event | then |
//! | --- | --- | --- |
//! | down | its time has come | opening |
//! | opening | opened | up: register all topics |
//! | opening, up | closed | down: again after a back-off |
//! | up | a registration is not answered in time | closed by us, then down |
//!
//! Timers: one for each link (back-off while down, patience while something is unanswered), one for the period.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::crc::body_crc;
use rocketry_codec::frame::Frame;
use rocketry_codec::request::RegisterBroker;
use rocketry_machine::{CloseReason, ConnId, Endpoint};

use crate::config::BrokerConfig;
use crate::event::Event;
use crate::registration::{self, address_text, replication_address};
use crate::shell::{ReplyTo, Shell, Timer};
use crate::topics::{TopicId, Topics};

/// How long a registration may stay unanswered.
const PATIENCE: Duration = Duration::from_secs(3);
/// The first pause before a lost name server is tried again; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest such pause.
const LAST_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Link {
    endpoint: Endpoint,
    name: Arc<str>,
    conn: Option<ConnId>,
    up: bool,
    /// The name server knows all topics.
    registered: bool,
    failures: u32,
    /// Numbers of the registrations that are not answered yet.
    unanswered: BTreeSet<i32>,
}

/// A registration by link and number.
type Sent = (u16, i32);

/// An answer that waits for name servers.
#[derive(Debug)]
struct Held {
    conn: ConnId,
    frame: Frame,
    waits_for: BTreeSet<Sent>,
}

/// The links of a broker to its name servers.
#[derive(Debug)]
pub(crate) struct Registrar {
    links: Vec<Link>,
    held: Vec<Held>,
    /// What the last announcement sent.
    last: Vec<Sent>,
    /// Topics that a name server in the same machine is to be told of.
    local: Option<BTreeSet<TopicId>>,
}

impl Registrar {
    /// Starts to connect to the name servers of the configuration.
    pub(crate) fn new(config: &BrokerConfig, shell: &mut Shell) -> Self {
        let mut links = Vec::new();
        for (index, endpoint) in (0..u16::MAX).zip(&config.name_servers) {
            links.push(Link {
                endpoint: endpoint.clone(),
                name: format!("{endpoint}").into(),
                conn: None,
                up: false,
                registered: false,
                failures: 0,
                unanswered: BTreeSet::new(),
            });
            shell.timers.set(shell.now.at, Timer::Link(index), shell.now.at);
        }
        if !links.is_empty() {
            shell.set_after(Timer::Register, config.register_period);
        }
        Self { links, held: Vec::new(), last: Vec::new(), local: None }
    }

    /// From here on changes are also kept for a name server in the same machine.
    pub(crate) fn register_locally(&mut self) {
        self.local = Some(BTreeSet::new());
    }

    /// The topics that the name server in the same machine has not been told of.
    pub(crate) fn take_local(&mut self) -> BTreeSet<TopicId> {
        self.local.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Tells all name servers of the topics that have changed.
    pub(crate) fn announce(&mut self, config: &BrokerConfig, topics: &mut Topics, shell: &mut Shell) {
        let changed = topics.take_changed();
        self.last.clear();
        for index in 0..self.links.len() {
            if self.links[index].registered {
                self.register(config, topics, shell, index, Some(&changed));
            } else if self.links[index].up {
                self.register(config, topics, shell, index, None);
            }
        }
        if let Some(local) = &mut self.local {
            local.extend(changed);
        }
    }

    /// Sends an answer once the last announcement has been answered.
    pub(crate) fn after_announcement(&mut self, shell: &mut Shell, to: ReplyTo, frame: Frame) {
        if to.oneway {
            return;
        }
        let conn = to.conn;
        if self.last.is_empty() {
            shell.send(conn, frame);
        } else {
            self.held.push(Held { conn, frame, waits_for: self.last.iter().copied().collect() });
        }
    }

    /// A connection that this side asked for stands; whether it was one of these.
    pub(crate) fn on_opened(&mut self, config: &BrokerConfig, topics: &Topics, shell: &mut Shell, conn: ConnId) -> bool {
        let Some(index) = self.find(conn) else { return false };
        self.links[index].up = true;
        self.links[index].failures = 0;
        self.register(config, topics, shell, index, None);
        true
    }

    /// An answer arrived on one of the links.
    pub(crate) fn on_reply(&mut self, shell: &mut Shell, conn: ConnId, frame: &Frame) {
        let Some(index) = self.find(conn) else { return };
        let opaque = frame.opaque();
        if !self.links[index].unanswered.remove(&opaque) {
            return;
        }
        let accepted = frame.response_code() == ResponseCode::SUCCESS;
        let link = &mut self.links[index];
        if accepted && !link.registered || !accepted {
            shell.event(Event::Registered { name_server: link.name.clone(), accepted });
        }
        link.registered |= accepted;
        if link.unanswered.is_empty() {
            shell.timers.cancel(timer(index));
        }
        self.release(shell, |sent| *sent == (key(index), opaque));
    }

    /// A connection is gone; whether it was one of these.
    pub(crate) fn on_closed(&mut self, shell: &mut Shell, conn: ConnId) -> bool {
        let Some(index) = self.find(conn) else { return false };
        self.go_down(shell, index);
        true
    }

    /// The timer of a link: time to connect again, or out of patience.
    pub(crate) fn on_link_timer(&mut self, shell: &mut Shell, link: u16) {
        let index = usize::from(link);
        let Some(state) = self.links.get_mut(index) else { return };
        match state.conn {
            None => state.conn = Some(shell.open(state.endpoint.clone())),
            Some(conn) => {
                shell.close(conn, CloseReason::Unresponsive);
                self.go_down(shell, index);
            }
        }
    }

    /// Registers everything again, as a sign of life.
    pub(crate) fn on_period(&mut self, config: &BrokerConfig, topics: &Topics, shell: &mut Shell) {
        for index in 0..self.links.len() {
            if self.links[index].up {
                self.register(config, topics, shell, index, None);
            }
        }
        shell.set_after(Timer::Register, config.register_period);
    }

    /// Sends one registration, of all topics or of some.
    fn register(
        &mut self,
        config: &BrokerConfig,
        topics: &Topics,
        shell: &mut Shell,
        index: usize,
        only: Option<&BTreeSet<TopicId>>,
    ) {
        let link = &mut self.links[index];
        let Some(conn) = link.conn else { return };
        let body: Bytes = { let _ = (topics, only); Bytes::new() };
        let request = RegisterBroker {
            broker_name: (&*config.name).into(),
            broker_addr: address_text(config.address).into(),
            cluster_name: (&*config.cluster).into(),
            ha_server_addr: address_text(replication_address(config)).into(),
            broker_id: config.id.into(),
            heartbeat_timeout_millis: None,
            enable_acting_master: Some(false),
            compressed: false,
            body_crc32: i32::try_from(body_crc(&body)).ok(),
            zone_name: None,
        };
        let opaque = shell.request(conn, &request, body);
        link.unanswered.insert(opaque);
        self.last.push((key(index), opaque));
        let patience = shell.now.at + PATIENCE;
        shell.timers.set_no_later(shell.now.at, timer(index), patience);
    }

    fn go_down(&mut self, shell: &mut Shell, index: usize) {
        let link = &mut self.links[index];
        let pause = FIRST_PAUSE.saturating_mul(1 << link.failures.min(8)).min(LAST_PAUSE);
        if link.failures == 0 {
            shell.event(Event::NameServerLost { name_server: link.name.clone() });
        }
        link.failures += 1;
        (link.conn, link.up, link.registered) = (None, false, false);
        link.unanswered.clear();
        shell.set_after(timer(index), pause);
        self.release(shell, |(link, _)| usize::from(*link) == index);
    }

    /// Lets go of the answers that wait for nothing else.
    fn release(&mut self, shell: &mut Shell, done: impl Fn(&Sent) -> bool) {
        for held in self.held.extract_if(.., |held| {
            held.waits_for.retain(|sent| !done(sent));
            held.waits_for.is_empty()
        }) {
            shell.send(held.conn, held.frame);
        }
    }

    fn find(&self, conn: ConnId) -> Option<usize> {
        self.links.iter().position(|link| link.conn == Some(conn))
    }
}

fn key(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

fn timer(index: usize) -> Timer {
    Timer::Link(key(index))
}
