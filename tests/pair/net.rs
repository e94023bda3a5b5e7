//! Machines joined by pipes in virtual time: client machines, and the embedded name server and brokers. No sockets, no
//! threads, no world: frames take a millisecond each way.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rocketry_broker::{
    Broker, BrokerConfig, Embedded, Event as ServerEvent, FaultId, FaultRule, NameServer, NameServerConfig,
};
use rocketry_codec::frame::Frame;
use rocketry_core::{
    Answer, Ask, Client, Command, Config, Consume, ConsumerConfig, ConsumerId, Control, Delivery, Event, Message,
    Notice, OpId, Outcome, Produce, ProducerConfig, ProducerId, Received, SendReceipt, Verdict,
};
use rocketry_machine::{Acceptor, ConnId, Endpoint, Input, LinkError, Moment, Now, Output, PeerInfo, Seed, UnixMillis};

pub const NAMES: &str = "127.0.0.1:9876";
const LATENCY: Duration = Duration::from_millis(1);
const EPOCH: i64 = 1_700_000_000_000;

trait Server: Acceptor<Frame = Frame, Event = ServerEvent> {
    /// Deletes the oldest messages of a queue, where there is one.
    fn trim(&mut self, topic: &str, queue: u32, min_offset: u64);

    fn add_fault(&mut self, rule: FaultRule) -> FaultId;

    fn fault_hits(&self, id: FaultId) -> u32;
}

impl Server for Embedded {
    fn trim(&mut self, topic: &str, queue: u32, min_offset: u64) {
        Self::trim(self, topic, queue, min_offset);
    }

    fn add_fault(&mut self, rule: FaultRule) -> FaultId {
        Self::add_fault(self, rule)
    }

    fn fault_hits(&self, id: FaultId) -> u32 {
        Self::fault_hits(self, id)
    }
}

impl Server for Broker {
    fn trim(&mut self, topic: &str, queue: u32, min_offset: u64) {
        Self::trim(self, topic, queue, min_offset);
    }

    fn add_fault(&mut self, rule: FaultRule) -> FaultId {
        Self::add_fault(self, rule)
    }

    fn fault_hits(&self, id: FaultId) -> u32 {
        Self::fault_hits(self, id)
    }
}

impl Server for NameServer {
    fn trim(&mut self, _: &str, _: u32, _: u64) {
        panic!("a name server has no messages");
    }

    fn add_fault(&mut self, rule: FaultRule) -> FaultId {
        Self::add_fault(self, rule)
    }

    fn fault_hits(&self, id: FaultId) -> u32 {
        Self::fault_hits(self, id)
    }
}

/// What an application makes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdictive {
    Succeed,
    Retry(i32),
}

type Handler = Box<dyn FnMut(&Received) -> Verdictive>;

/// A message as a handler saw it.
#[derive(Clone, Debug)]
pub struct Handled {
    pub member: usize,
    pub at: Moment,
    pub topic: String,
    pub from: String,
    pub queue: i32,
    pub offset: i64,
    pub id: String,
    pub body: Vec<u8>,
    pub reconsumed: i32,
}

/// A client with its application.
pub struct Member {
    pub client: Client,
    pub handler: Handler,
    /// Deliveries that wait while the application holds its hands still.
    pub waiting: VecDeque<Delivery>,
    pub holds: bool,
    pub notices: Vec<Notice>,
    /// Questions about its transactions.
    pub checks: Vec<rocketry_core::TransactionCheck>,
    /// Positions that it keeps for its broadcasting consumers.
    pub kept: BTreeMap<rocketry_core::MessageQueue, i64>,
    pub sent: BTreeMap<i32, usize>,
    done: BTreeMap<OpId, Outcome>,
    alive: bool,
}

struct Host {
    address: String,
    server: Box<dyn Server>,
    alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Member(usize),
    Host(usize),
}

type Pipe = (Side, ConnId);

pub struct Net {
    pub at: Moment,
    pub members: Vec<Member>,
    pub handled: Vec<Handled>,
    hosts: Vec<Host>,
    pipes: BTreeMap<Pipe, Pipe>,
    events: BTreeMap<(Moment, u64), (Side, Input<Frame>)>,
    sequence: u64,
}

impl Net {
    /// No machines.
    pub fn new() -> Self {
        Self {
            at: Moment::ZERO,
            members: Vec::new(),
            handled: Vec::new(),
            hosts: Vec::new(),
            pipes: BTreeMap::new(),
            events: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// A name server and a broker in one machine at [`NAMES`], with this topic.
    pub fn with_topic(topic: &str, queues: u32) -> Self {
        Self::with(|config| config.with_topic(topic, queues))
    }

    /// A name server and a broker in one machine at [`NAMES`].
    pub fn with(change: impl FnOnce(BrokerConfig) -> BrokerConfig) -> Self {
        let mut net = Self::new();
        let config = change(BrokerConfig::new(NAMES.parse().expect("an address")));
        let server = Embedded::new(NameServerConfig::new(), config, Seed::from(7), net.now());
        net.host(NAMES, Box::new(server));
        net
    }

    /// A name server of its own, and brokers that register with it.
    pub fn cluster(brokers: impl IntoIterator<Item = BrokerConfig>) -> Self {
        let mut net = Self::new();
        let names = NameServer::new(NameServerConfig::new(), net.now());
        net.host(NAMES, Box::new(names));
        for broker in brokers {
            net.start_broker(broker);
        }
        net.run(100);
        net
    }

    /// Starts a broker, after a kill at the same address too: with an empty store.
    pub fn start_broker(&mut self, config: BrokerConfig) {
        let address = config.address.to_string();
        let config = config.with_name_server(endpoint(NAMES));
        let server = Broker::new(config, Seed::from(self.hosts.len() as u64), self.now());
        self.host(&address, Box::new(server));
    }

    /// Deletes the oldest messages of a queue of the first server.
    pub fn trim(&mut self, topic: &str, queue: u32, min_offset: u64) {
        self.hosts[0].server.trim(topic, queue, min_offset);
    }

    /// Lets requests to a server go wrong, as a rule in its textual form says.
    pub fn add_fault(&mut self, address: &str, rule: &str) -> FaultId {
        self.live_host(address).add_fault(rule.parse().expect("a rule"))
    }

    /// How many requests a rule has hit.
    pub fn fault_hits(&mut self, address: &str, id: FaultId) -> u32 {
        self.live_host(address).fault_hits(id)
    }

    fn live_host(&mut self, address: &str) -> &mut dyn Server {
        let host = self.hosts.iter_mut().find(|host| host.alive && host.address == address);
        &mut *host.expect("a live server").server
    }

    fn host(&mut self, address: &str, server: Box<dyn Server>) {
        self.hosts.push(Host { address: address.into(), server, alive: true });
        self.drain(Side::Host(self.hosts.len() - 1));
    }

    /// Ends a server as `kill -9` does.
    pub fn kill_host(&mut self, address: &str) {
        let at = self.hosts.iter().position(|host| host.alive && host.address == address).expect("a live server");
        self.hosts[at].alive = false;
        self.cut(Side::Host(at));
    }

    /// Ends a client as `kill -9` does.
    pub fn kill_member(&mut self, member: usize) {
        self.members[member].alive = false;
        self.cut(Side::Member(member));
    }

    /// Breaks every connection of a client; it lives on.
    pub fn cut_member(&mut self, member: usize) {
        let own: Vec<ConnId> =
            self.pipes.keys().filter(|(side, _)| *side == Side::Member(member)).map(|(_, conn)| *conn).collect();
        self.cut(Side::Member(member));
        for conn in own {
            self.post(LATENCY, Side::Member(member), Input::Closed { conn, cause: LinkError::Reset });
        }
    }

    fn cut(&mut self, side: Side) {
        let ends: Vec<(Pipe, Pipe)> =
            self.pipes.iter().filter(|(from, _)| from.0 == side).map(|(from, to)| (*from, *to)).collect();
        for (from, to) in ends {
            self.pipes.remove(&from);
            self.pipes.remove(&to);
            self.post(LATENCY, to.0, Input::Closed { conn: to.1, cause: LinkError::Reset });
        }
    }

    pub fn now(&self) -> Now {
        Now::new(self.at, UnixMillis::new(EPOCH + i64::try_from(self.at.as_nanos() / 1_000_000).unwrap_or(0)))
    }

    /// A client; its application succeeds with everything.
    pub fn member(&mut self, id: &str) -> usize {
        self.member_with(id, |_| {})
    }

    pub fn member_with(&mut self, id: &str, change: impl FnOnce(&mut Config)) -> usize {
        let mut config = Config::new(vec![endpoint(NAMES)], id);
        change(&mut config);
        let seed = Seed::from(100 + self.members.len() as u64);
        self.members.push(Member {
            client: Client::new(config, seed, self.now()).expect("good settings"),
            handler: Box::new(|_| Verdictive::Succeed),
            waiting: VecDeque::new(),
            holds: false,
            notices: Vec::new(),
            checks: Vec::new(),
            kept: BTreeMap::new(),
            sent: BTreeMap::new(),
            done: BTreeMap::new(),
            alive: true,
        });
        self.members.len() - 1
    }

    pub fn submit(&mut self, member: usize, command: Command) -> OpId {
        let now = self.now();
        let op = self.members[member].client.submit(now, command).expect("accepted");
        self.drain(Side::Member(member));
        op
    }

    /// Runs until an operation has ended.
    pub fn outcome(&mut self, member: usize, op: OpId) -> Outcome {
        loop {
            if let Some(outcome) = self.members[member].done.remove(&op) {
                return outcome;
            }
            assert!(self.step(Moment::NEVER), "nothing will happen any more");
        }
    }

    pub fn consume(&mut self, member: usize, config: ConsumerConfig) -> ConsumerId {
        let op = self.submit(member, Command::Consume(Consume::Start(Box::new(config))));
        match self.outcome(member, op) {
            Outcome::ConsumerStarted(id) => id,
            other => panic!("{other:?}"),
        }
    }

    /// Stops a consumer in order; the report.
    pub fn leave(&mut self, member: usize, consumer: ConsumerId) -> rocketry_core::StopReport {
        let op = self.submit(member, Command::Consume(Consume::Stop { consumer, within: Duration::from_secs(10) }));
        match self.outcome(member, op) {
            Outcome::Stopped(report) => report,
            other => panic!("{other:?}"),
        }
    }

    pub fn producer(&mut self, member: usize, group: &str) -> ProducerId {
        let start = Control::StartProducer(Box::new(ProducerConfig::new(group)));
        let op = self.submit(member, Command::Control(start));
        match self.outcome(member, op) {
            Outcome::ProducerStarted(id) => id,
            other => panic!("{other:?}"),
        }
    }

    /// Sends messages, all at once; the receipts in order.
    pub fn send(&mut self, member: usize, producer: ProducerId, messages: Vec<Message>) -> Vec<SendReceipt> {
        let ops: Vec<OpId> = messages
            .into_iter()
            .map(|message| self.submit(member, Command::Produce(Produce::new(producer, message))))
            .collect();
        let sent = ops.into_iter().map(|op| match self.outcome(member, op) {
            Outcome::Sent(receipt) => receipt,
            other => panic!("{other:?}"),
        });
        sent.collect()
    }

    /// Runs for so many virtual milliseconds.
    pub fn run(&mut self, millis: u64) {
        let end = self.at + Duration::from_millis(millis);
        while self.step(end) {}
        self.at = end;
    }

    fn step(&mut self, end: Moment) -> bool {
        let event = self.events.keys().next().map(|(at, _)| *at);
        let timers = self.timers().min();
        let timer = timers.map(|(at, side)| (at.max(self.at), side));
        let next = [event, timer.map(|(at, _)| at)].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= end) else { return false };
        self.at = next;
        if event == Some(next) {
            if let Some((_, (side, input))) = self.events.pop_first() {
                self.input(side, input);
            }
        } else if let Some((_, side)) = timer {
            let now = self.now();
            match side {
                Side::Member(at) => rocketry_machine::Machine::handle_timeout(&mut self.members[at].client, now),
                Side::Host(at) => self.hosts[at].server.handle_timeout(now),
            }
            self.drain(side);
        }
        true
    }

    fn timers(&self) -> impl Iterator<Item = (Moment, Side)> + '_ {
        let members = self.members.iter().enumerate().filter(|(_, member)| member.alive).filter_map(|(at, member)| {
            let deadline = rocketry_machine::Machine::poll_timeout(&member.client)?;
            Some((deadline.at, Side::Member(at)))
        });
        let hosts = self.hosts.iter().enumerate().filter(|(_, host)| host.alive);
        members.chain(hosts.filter_map(|(at, host)| Some((host.server.poll_timeout()?.at, Side::Host(at)))))
    }

    fn post(&mut self, after: Duration, side: Side, input: Input<Frame>) {
        self.sequence += 1;
        self.events.insert((self.at + after, self.sequence), (side, input));
    }

    fn input(&mut self, side: Side, input: Input<Frame>) {
        let now = self.now();
        match side {
            Side::Member(at) if self.members[at].alive => {
                rocketry_machine::Machine::handle_input(&mut self.members[at].client, now, input);
            }
            Side::Host(at) if self.hosts[at].alive => self.hosts[at].server.handle_input(now, input),
            Side::Member(_) | Side::Host(_) => return,
        }
        self.drain(side);
    }

    fn drain(&mut self, side: Side) {
        match side {
            Side::Member(at) => self.drain_member(at),
            Side::Host(at) => {
                while let Some(output) = self.hosts[at].server.poll_output() {
                    self.carry(side, output);
                }
            }
        }
    }

    fn drain_member(&mut self, at: usize) {
        while let Some(output) = rocketry_machine::Machine::poll_output(&mut self.members[at].client) {
            match output {
                Output::Event(Event::Done { op, outcome }) => drop(self.members[at].done.insert(op, outcome)),
                Output::Event(Event::Ask(Ask::Deliver(delivery))) => {
                    self.members[at].waiting.push_back(delivery);
                }
                Output::Event(Event::Ask(Ask::SetAside(_))) => {}
                Output::Event(Event::Ask(Ask::CheckTransaction(check))) => self.members[at].checks.push(check),
                Output::Event(Event::Ask(Ask::LoadOffsets(load))) => {
                    let (now, one) = (self.now(), &mut self.members[at]);
                    one.client.answer(now, Answer::Loaded(load.task, Ok(one.kept.clone()))).expect("it was asked");
                }
                Output::Event(Event::Ask(Ask::KeepOffsets(keep))) => {
                    let (now, one) = (self.now(), &mut self.members[at]);
                    one.kept = keep.offsets;
                    one.client.answer(now, Answer::Kept(keep.task, Ok(()))).expect("it was asked");
                }
                Output::Event(Event::Ask(other)) => panic!("{other:?}"),
                Output::Event(Event::Notice(notice)) => self.members[at].notices.push(notice),
                Output::Send { conn, frame } => {
                    *self.members[at].sent.entry(frame.code()).or_default() += 1;
                    self.carry(Side::Member(at), Output::<Frame, ServerEvent>::Send { conn, frame });
                }
                Output::Open { conn, endpoint } => {
                    self.carry(Side::Member(at), Output::<Frame, ServerEvent>::Open { conn, endpoint });
                }
                Output::Close { conn, why } => {
                    self.carry(Side::Member(at), Output::<Frame, ServerEvent>::Close { conn, why });
                }
            }
            if !self.members[at].holds {
                self.handle(at);
            }
        }
    }

    /// Lets the application of a member handle everything that is offered.
    pub fn handle(&mut self, member: usize) {
        let now = self.now();
        while let Some(delivery) = self.members[member].waiting.pop_front() {
            let one = &mut self.members[member];
            if one.client.begin(now, delivery.ask, u32::MAX).is_err() {
                continue;
            }
            let mut verdicts: Vec<Verdict> = Vec::new();
            for offered in delivery.offered {
                let (message, ticket) = (offered.message, offered.ticket);
                let verdict = (one.handler)(&message);
                self.handled.push(Handled {
                    member,
                    at: now.at,
                    topic: message.topic.as_str().into(),
                    from: message.queue.topic.as_str().into(),
                    queue: message.queue.id,
                    offset: message.stored.queue_offset(),
                    id: message.stored.unique_key().unwrap_or_default().into(),
                    body: message.stored.body_bytes().to_vec(),
                    reconsumed: message.stored.reconsume_times(),
                });
                verdicts.push(match verdict {
                    Verdictive::Succeed => ticket.succeed(),
                    Verdictive::Retry(level) => ticket.retry_at(level),
                });
            }
            one.client.answer(now, Answer::Verdicts(verdicts)).expect("in time");
        }
        self.drain_outputs_of(member);
    }

    fn drain_outputs_of(&mut self, member: usize) {
        if !self.members[member].waiting.is_empty() || self.members[member].holds {
            self.drain(Side::Member(member));
        }
    }

    fn carry(&mut self, from: Side, output: Output<Frame, ServerEvent>) {
        match output {
            Output::Open { conn, endpoint } => self.open((from, conn), &endpoint),
            Output::Send { conn, frame } => {
                let Some((side, peer)) = self.pipes.get(&(from, conn)).copied() else { return };
                self.post(Duration::ZERO, from, Input::Flushed { conn, frames: 1 });
                self.post(LATENCY, side, Input::Frame { conn: peer, frame });
            }
            Output::Close { conn, .. } => {
                if let Some(to) = self.pipes.remove(&(from, conn)) {
                    self.pipes.remove(&to);
                    self.post(LATENCY, to.0, Input::Closed { conn: to.1, cause: LinkError::Eof });
                }
            }
            Output::Event(_) => {}
        }
    }

    fn open(&mut self, from: Pipe, to: &Endpoint) {
        let (address, now) = (to.to_string(), self.now());
        let host = self.hosts.iter().position(|host| host.alive && host.address == address);
        let accepted = host.and_then(|at| {
            let peer = PeerInfo::new("10.0.0.1:5000".parse().ok(), address.parse().ok());
            Some((Side::Host(at), self.hosts[at].server.accept(now, peer).ok()?))
        });
        match accepted {
            Some(to) => {
                self.pipes.insert(from, to);
                self.pipes.insert(to, from);
                self.post(LATENCY, from.0, Input::Opened { conn: from.1, peer: PeerInfo::default() });
                self.drain(to.0);
            }
            None => self.post(LATENCY, from.0, Input::Closed { conn: from.1, cause: LinkError::Refused }),
        }
    }

    /// What a member owns of a topic, by its last notice.
    pub fn owned(&self, member: usize, topic: &str) -> Vec<rocketry_core::MessageQueue> {
        let last = self.members[member].notices.iter().rev().find_map(|notice| match notice {
            Notice::Assigned { topic: about, queues, .. } if about.as_str() == topic => Some(queues.clone()),
            _ => None,
        });
        last.unwrap_or_default()
    }
}

pub fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text).expect("an address")
}

/// So many messages, whose bodies are their numbers.
pub fn numbered(topic: &str, numbers: impl IntoIterator<Item = usize>) -> Vec<Message> {
    let message = |number: usize| Message::new(topic, number.to_string().into_bytes()).expect("a message");
    numbers.into_iter().map(message).collect()
}
