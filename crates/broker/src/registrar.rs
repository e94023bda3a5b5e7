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
    pub(crate) fn on_opened(
        &mut self,
        config: &BrokerConfig,
        topics: &Topics,
        shell: &mut Shell,
        conn: ConnId,
    ) -> bool {
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
        if !(accepted && link.registered) {
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
        let body = registration::body(config, topics, only);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::{Broker, NameServer};
    use crate::testing::{World, message};
    use rocketry_codec::request::GetRouteInfo;
    use rocketry_machine::{Acceptor, Input, LinkError, Machine, Now, Output, PeerInfo, Seed, UnixMillis};
    use std::prelude::v1::*;

    /// A broker and a name server with the wire between them, which a test cuts and delays.
    struct Pair {
        broker: Broker,
        names: World<NameServer>,
        now: Now,
        /// The link as each side knows it.
        link: Option<(ConnId, ConnId)>,
        opening: Option<ConnId>,
        answers: Vec<(ConnId, Frame)>,
        events: Vec<Event>,
        /// Whether the name server's answers are kept back.
        mute: bool,
    }

    impl Pair {
        fn new() -> Self {
            let mut config = BrokerConfig::new(crate::testing::ADDRESS.into());
            config.name_servers = Endpoint::parse_list("names:9876").expect("an address");
            let broker = Broker::new(config, Seed::from(1), Now::default());
            let names = World::around(NameServer::new(crate::config::NameServerConfig::new(), Now::default()));
            let mut pair = Self {
                broker,
                names,
                now: Now::default(),
                link: None,
                opening: None,
                answers: Vec::new(),
                events: Vec::new(),
                mute: false,
            };
            pair.pass(Duration::ZERO);
            pair
        }

        fn pass(&mut self, wait: Duration) {
            let end = self.now.at + wait;
            loop {
                self.drain();
                match self.broker.poll_timeout() {
                    Some(deadline) if deadline.at <= end + Duration::from_nanos(1) => {
                        self.now = Now::new(deadline.at.max(self.now.at), UnixMillis::new(0));
                        self.broker.handle_timeout(self.now);
                    }
                    _ => break,
                }
            }
            self.now = Now::new(end.max(self.now.at), UnixMillis::new(0));
        }

        fn drain(&mut self) {
            while let Some(output) = self.broker.poll_output() {
                match output {
                    Output::Open { conn, endpoint } => {
                        assert_eq!(endpoint.to_string(), "names:9876");
                        self.opening = Some(conn);
                    }
                    Output::Send { conn, frame } => match self.link {
                        Some((ours, theirs)) if ours == conn => {
                            self.names.feed(theirs, frame);
                            if !self.mute {
                                self.deliver();
                            }
                        }
                        _ => self.answers.push((conn, frame)),
                    },
                    Output::Close { conn, .. } => {
                        if let Some((ours, theirs)) = self.link.filter(|(ours, _)| *ours == conn) {
                            assert_eq!(ours, conn);
                            self.names.close(theirs);
                            self.link = None;
                        }
                    }
                    Output::Event(event) => self.events.push(event),
                }
            }
        }

        fn deliver(&mut self) {
            let Some((ours, theirs)) = self.link else { return };
            for frame in self.names.take(theirs) {
                self.broker.handle_input(self.now, Input::Frame { conn: ours, frame });
            }
        }

        fn connect(&mut self) {
            let conn = self.opening.take().expect("the broker dials");
            let theirs = self.names.connect();
            self.link = Some((conn, theirs));
            self.broker.handle_input(self.now, Input::Opened { conn, peer: PeerInfo::default() });
            self.drain();
        }

        fn cut(&mut self) {
            let (ours, theirs) = self.link.take().expect("a link to cut");
            self.names.close(theirs);
            self.broker.handle_input(self.now, Input::Closed { conn: ours, cause: LinkError::Reset });
            self.drain();
        }

        fn route(&mut self, topic: &str) -> i32 {
            let client = self.names.connect();
            let request = GetRouteInfo { topic: topic.into(), ..GetRouteInfo::default() };
            self.names.ask(client, &request, "").code()
        }

        fn send(&mut self, client: ConnId, topic: &str, opaque: i32) {
            let frame = rocketry_codec::encoder::FrameWriter::default().request(
                opaque,
                &message(topic, 0, ""),
                bytes::Bytes::from_static(b"x"),
            );
            self.broker.handle_input(self.now, Input::Frame { conn: client, frame });
            self.drain();
        }
    }

    fn name_server() -> Arc<str> {
        "names:9876".into()
    }

    #[test]
    fn a_broker_registers_all_topics_and_then_each_new_one_before_it_answers() {
        let mut pair = Pair::new();
        assert_eq!(pair.route("TBW102"), 17);
        pair.connect();
        assert_eq!(pair.route("TBW102"), 0);
        assert_eq!(pair.events.pop(), Some(Event::Registered { name_server: name_server(), accepted: true }));
        let client = pair.broker.accept(pair.now, PeerInfo::default()).expect("room");
        pair.mute = true;
        pair.send(client, "T", 1);
        assert!(pair.answers.is_empty(), "the name server has not answered");
        pair.mute = false;
        pair.deliver();
        pair.drain();
        assert_eq!(pair.answers.len(), 1);
        assert_eq!(pair.route("T"), 0);
        pair.send(client, "T", 2);
        assert_eq!(pair.answers.len(), 2, "nothing new to announce");
    }

    #[test]
    fn an_answer_does_not_wait_for_a_name_server_that_is_gone_or_mute() {
        let mut pair = Pair::new();
        let client = pair.broker.accept(pair.now, PeerInfo::default()).expect("room");
        pair.send(client, "before", 1);
        assert_eq!(pair.answers.len(), 1, "nobody is connected");
        pair.connect();
        assert_eq!(pair.route("before"), 0);
        pair.mute = true;
        pair.send(client, "cut", 2);
        pair.cut();
        assert_eq!(pair.answers.len(), 2);
        pair.pass(FIRST_PAUSE);
        pair.mute = false;
        pair.connect();
        assert_eq!(pair.route("cut"), 0, "a new link registers everything");
        pair.mute = true;
        pair.send(client, "mute", 3);
        pair.pass(PATIENCE);
        assert_eq!(pair.answers.len(), 3);
        assert!(pair.link.is_none(), "a mute name server is given up");
    }

    #[test]
    fn a_lost_name_server_is_tried_again_with_growing_pauses() {
        let mut pair = Pair::new();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            let conn = pair.opening.take().expect("the broker dials");
            pair.broker.handle_input(pair.now, Input::Closed { conn, cause: LinkError::Refused });
            pair.drain();
            let before = pair.now.at;
            while pair.opening.is_none() {
                pair.pass(Duration::from_millis(500));
            }
            pauses.push(pair.now.at.since(before).as_millis());
        }
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
        let lost = pair.events.iter().filter(|event| matches!(event, Event::NameServerLost { .. })).count();
        assert_eq!(lost, 1, "said once");
        pair.connect();
        assert_eq!(pair.route("TBW102"), 0);
    }

    #[test]
    fn a_broker_keeps_itself_alive_and_stays_in_the_route() {
        let mut pair = Pair::new();
        pair.connect();
        for _ in 0..10 {
            pair.pass(Duration::from_secs(30));
            pair.names.pass(Duration::from_secs(30));
        }
        assert_eq!(pair.route("TBW102"), 0);
    }
}
