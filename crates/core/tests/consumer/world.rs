//! A client machine in virtual time, with a name server and a broker that are played by this file: one broker with a
//! master and, if wanted, a slave, whose answers a test can bend request by request.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::body::JsonBody;
use rocketry_core::codec::body::lock::{LockReply, LockRequest};
use rocketry_core::codec::body::route::{BrokerData, QueueData, TopicRoute};
use rocketry_core::codec::codes::{RequestCode, ResponseCode, Version};
use rocketry_core::codec::encoder::{FrameWriter, Sender};
use rocketry_core::codec::frame::Frame;
use rocketry_core::machine::{
    ConnId, Endpoint, Input, LinkError, Machine, Moment, Now, Output, PeerInfo, Seed, UnixMillis,
};
use rocketry_core::{
    Answer, Ask, AskId, Client, Command, Config, Consume, ConsumerConfig, ConsumerId, Control, Delivery, Event,
    Message, MessageQueue, Notice, Offered, OffsetStoreError, OpId, Outcome, Produce, ProducerConfig, ProducerId,
    SetAside, Target, Verdict,
};

use crate::stored::record;
pub use crate::stored::{Queue, Stored};

pub const NAME_SERVER: &str = "ns:9876";
pub const MASTER: &str = "b:10911";
pub const SLAVE: &str = "s:10912";
pub const ME: &str = "10.0.0.1@me";
const DELAY: Duration = Duration::from_millis(1);

/// A frame that a server received.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Moment,
    pub to: String,
    pub frame: Frame,
}

impl Seen {
    pub fn code(&self) -> RequestCode {
        self.frame.request_code()
    }

    pub fn text(&self, field: &str) -> String {
        self.frame.field(field).map(Into::into).unwrap_or_default()
    }

    pub fn number(&self, field: &str) -> i64 {
        self.text(field).parse().unwrap_or(i64::MIN)
    }
}

/// What a server does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers as a healthy server would.
    Normally,
    /// Answers this.
    Say(ResponseCode, Vec<(&'static str, String)>, Bytes),
    /// Never answers.
    Nothing,
    /// Closes the connection.
    Hang,
}

type Bend = Box<dyn FnMut(&Seen) -> Option<Act>>;

struct Parked {
    conn: ConnId,
    frame: Frame,
    until: Moment,
}

pub struct World {
    pub client: Client,
    pub at: Moment,
    pub wall: i64,
    pub seen: Vec<Seen>,
    pub done: Vec<(OpId, Outcome)>,
    pub deliveries: VecDeque<Delivery>,
    pub notices: Vec<Notice>,
    pub asides: Vec<SetAside>,
    /// Positions that the owner keeps.
    pub kept: BTreeMap<MessageQueue, i64>,
    pub store_fails: bool,
    /// Topics with their numbers of queues.
    pub topics: BTreeMap<String, i32>,
    pub queues: BTreeMap<(String, i32), Queue>,
    pub members: BTreeSet<String>,
    pub offsets: BTreeMap<(String, i32), i64>,
    pub addresses: BTreeMap<i64, String>,
    /// Further brokers of every topic, with their masters.
    pub others: BTreeMap<String, String>,
    /// Queues whose locks other members have.
    pub locked: BTreeSet<(String, i32)>,
    pub down: BTreeSet<String>,
    /// Addresses that neither take nor refuse a connection.
    pub silent: BTreeSet<String>,
    /// Addresses whose kernel takes nothing more.
    pub stuck: BTreeSet<String>,
    /// Answers to pulls of each queue of each topic.
    pub answered: BTreeMap<(String, i32), usize>,
    bend: Option<Bend>,
    parked: Vec<Parked>,
    events: BTreeMap<(Moment, u64), Input<Frame>>,
    sequence: u64,
    conns: BTreeMap<ConnId, String>,
    writer: FrameWriter,
}

impl World {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(vec![endpoint(NAME_SERVER)], ME);
        change(&mut config);
        let now = Now::new(Moment::ZERO, UnixMillis::new(1_700_000_000_000));
        Self {
            client: Client::new(config, Seed::from(1), now).expect("the settings are good"),
            at: Moment::ZERO,
            wall: 1_700_000_000_000,
            seen: Vec::new(),
            done: Vec::new(),
            deliveries: VecDeque::new(),
            notices: Vec::new(),
            asides: Vec::new(),
            kept: BTreeMap::new(),
            store_fails: false,
            topics: BTreeMap::from([("T".into(), 1)]),
            queues: BTreeMap::new(),
            members: BTreeSet::new(),
            offsets: BTreeMap::new(),
            addresses: BTreeMap::from([(0, MASTER.into())]),
            others: BTreeMap::new(),
            locked: BTreeSet::new(),
            down: BTreeSet::new(),
            silent: BTreeSet::new(),
            stuck: BTreeSet::new(),
            answered: BTreeMap::new(),
            bend: None,
            parked: Vec::new(),
            events: BTreeMap::new(),
            sequence: 0,
            conns: BTreeMap::new(),
            writer: FrameWriter::new(Sender::default()),
        }
    }

    /// With servers of this version.
    pub fn speaking(version: Version) -> Self {
        let mut world = Self::new();
        world.writer = FrameWriter::new(Sender { version, ..Sender::default() });
        world
    }

    /// Lets a test answer requests itself; `None` leaves a request to the healthy server.
    pub fn bend(&mut self, bend: impl FnMut(&Seen) -> Option<Act> + 'static) {
        self.bend = Some(Box::new(bend));
    }

    /// Answers the next requests of this code in these ways.
    pub fn script(&mut self, code: RequestCode, acts: impl IntoIterator<Item = Act>) {
        let acts = Rc::new(RefCell::new(acts.into_iter().collect::<VecDeque<_>>()));
        self.bend(move |seen| if seen.code() == code { acts.borrow_mut().pop_front() } else { None });
    }

    pub fn now(&self) -> Now {
        Now::new(self.at, UnixMillis::new(self.wall))
    }

    pub fn submit(&mut self, command: Command) -> OpId {
        let op = self.client.submit(self.now(), command).expect("the command is accepted");
        self.drain();
        op
    }

    /// Starts a consumer and waits until it runs.
    pub fn start(&mut self, config: ConsumerConfig) -> ConsumerId {
        let op = self.submit(Command::Consume(Consume::Start(Box::new(config))));
        match self.outcome(op) {
            Outcome::ConsumerStarted(id) => id,
            other => panic!("the start ended with {other:?}"),
        }
    }

    /// Starts a producer and waits until it runs.
    pub fn producer(&mut self, config: ProducerConfig) -> ProducerId {
        let op = self.submit(Command::Control(Control::StartProducer(Box::new(config))));
        match self.outcome(op) {
            Outcome::ProducerStarted(id) => id,
            other => panic!("the start ended with {other:?}"),
        }
    }

    /// Submits a send.
    pub fn send(&mut self, producer: ProducerId, topic: &str, to: Target) -> OpId {
        let message = Message::new(topic, "body").expect("a message");
        self.submit(Command::Produce(Produce::new(producer, message).to(to)))
    }

    /// Runs until an operation has ended.
    pub fn outcome(&mut self, op: OpId) -> Outcome {
        for _ in 0..100_000 {
            if let Some(at) = self.done.iter().position(|(done, _)| *done == op) {
                return self.done.remove(at).1;
            }
            assert!(self.step(Moment::NEVER), "nothing will happen any more, and {op:?} has not ended");
        }
        panic!("{op:?} does not end");
    }

    /// Runs for so many virtual milliseconds.
    pub fn run(&mut self, millis: u64) {
        let end = self.at + Duration::from_millis(millis);
        while self.step(end) {}
        self.wall += i64::try_from(end.since(self.at).as_millis()).unwrap_or(0);
        self.at = end;
    }

    /// Lets the next thing happen that is due by `end`.
    fn step(&mut self, end: Moment) -> bool {
        self.drain();
        let timer = self.client.poll_timeout().map(|deadline| deadline.at.max(self.at));
        let event = self.events.keys().next().map(|(at, _)| *at);
        let parked = self.parked.iter().map(|parked| parked.until).min();
        let Some(next) = [timer, event, parked].into_iter().flatten().min() else { return false };
        if next > end {
            return false;
        }
        self.wall += i64::try_from(next.since(self.at).as_millis()).unwrap_or(0);
        self.at = next;
        if parked == Some(next) {
            self.wake(|_, parked| parked.until <= next);
        } else if event == Some(next) {
            if let Some((_, input)) = self.events.pop_first() {
                self.client.handle_input(self.now(), input);
            }
        } else {
            self.client.handle_timeout(self.now());
        }
        self.drain();
        true
    }

    fn post(&mut self, after: Duration, input: Input<Frame>) {
        self.sequence += 1;
        self.events.insert((self.at + after, self.sequence), input);
    }

    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Open { conn, endpoint } => self.open(conn, &endpoint.to_string()),
                Output::Send { conn, frame } => self.receive(conn, frame),
                Output::Close { conn, .. } => drop(self.conns.remove(&conn)),
                Output::Event(Event::Done { op, outcome }) => self.done.push((op, outcome)),
                Output::Event(Event::Ask(Ask::Deliver(delivery))) => self.deliveries.push_back(delivery),
                Output::Event(Event::Ask(Ask::SetAside(record))) => self.asides.push(record),
                Output::Event(Event::Ask(Ask::LoadOffsets(load))) => {
                    let loaded =
                        if self.store_fails { Err(OffsetStoreError::new("no")) } else { Ok(self.kept.clone()) };
                    let answered = self.client.answer(self.now(), Answer::Loaded(load.task, loaded));
                    answered.expect("it was asked");
                }
                Output::Event(Event::Ask(Ask::KeepOffsets(keep))) => {
                    let kept = if self.store_fails { Err(OffsetStoreError::new("no")) } else { Ok(()) };
                    if kept.is_ok() {
                        self.kept = keep.offsets;
                    }
                    self.client.answer(self.now(), Answer::Kept(keep.task, kept)).expect("it was asked");
                }
                Output::Event(Event::Ask(other)) => panic!("an unknown question: {other:?}"),
                Output::Event(Event::Notice(notice)) => self.notices.push(notice),
            }
        }
    }

    fn open(&mut self, conn: ConnId, to: &str) {
        if self.down.contains(to) {
            return self.post(DELAY, Input::Closed { conn, cause: LinkError::Refused });
        }
        if self.silent.contains(to) {
            return;
        }
        self.conns.insert(conn, to.into());
        self.post(DELAY, Input::Opened { conn, peer: PeerInfo::default() });
    }

    fn receive(&mut self, conn: ConnId, frame: Frame) {
        let Some(to) = self.conns.get(&conn).cloned() else { return };
        let seen = Seen { at: self.at, to, frame: frame.clone() };
        self.seen.push(seen.clone());
        if self.stuck.contains(&seen.to) {
            return;
        }
        self.post(Duration::ZERO, Input::Flushed { conn, frames: 1 });
        let bent = self.bend.as_mut().and_then(|bend| bend(&seen));
        match bent.unwrap_or(Act::Normally) {
            Act::Normally => self.serve(conn, &seen),
            Act::Say(code, fields, body) => self.answer_with(conn, &frame, code, &fields, body),
            Act::Nothing => {}
            Act::Hang => {
                self.conns.remove(&conn);
                self.post(DELAY, Input::Closed { conn, cause: LinkError::Reset });
            }
        }
    }

    fn answer_with(
        &mut self,
        conn: ConnId,
        to: &Frame,
        code: ResponseCode,
        fields: &[(&'static str, String)],
        body: Bytes,
    ) {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let frame = self.writer.response(to.opaque(), code, Some("as told"), &fields[..], body);
        self.post(DELAY, Input::Frame { conn, frame });
    }

    fn say(&mut self, conn: ConnId, to: &Frame, code: ResponseCode, fields: &[(&'static str, String)]) {
        self.answer_with(conn, to, code, fields, Bytes::new());
    }

    /// What a healthy server answers.
    fn serve(&mut self, conn: ConnId, seen: &Seen) {
        let frame = &seen.frame;
        let key = (seen.text("topic"), i32::try_from(seen.number("queueId")).unwrap_or(-1));
        match seen.code() {
            RequestCode::GET_ROUTEINFO_BY_TOPIC => match self.route(&seen.text("topic")) {
                Some(route) => self.answer_with(conn, frame, ResponseCode::SUCCESS, &[], route.into()),
                None => self.say(conn, frame, ResponseCode::TOPIC_NOT_EXIST, &[]),
            },
            RequestCode::HEART_BEAT => {
                self.members.insert(ME.into());
                self.say(conn, frame, ResponseCode::SUCCESS, &[]);
            }
            RequestCode::UNREGISTER_CLIENT => {
                self.members.remove(ME);
                self.say(conn, frame, ResponseCode::SUCCESS, &[]);
            }
            RequestCode::LOCK_BATCH_MQ => {
                let mut locked = LockRequest::decode(frame.body()).expect("a request for locks").queues;
                locked.retain(|queue| !self.locked.contains(&(queue.topic.clone(), queue.queue_id)));
                let body = LockReply { locked }.encode();
                self.answer_with(conn, frame, ResponseCode::SUCCESS, &[], body.into());
            }
            RequestCode::GET_CONSUMER_LIST_BY_GROUP => {
                let ids: Vec<String> = self.members.iter().map(|id| format!("\"{id}\"")).collect();
                let body = format!("{{\"consumerIdList\":[{}]}}", ids.join(","));
                self.answer_with(conn, frame, ResponseCode::SUCCESS, &[], body.into());
            }
            RequestCode::QUERY_CONSUMER_OFFSET => match self.offsets.get(&key).copied() {
                Some(offset) => self.say(conn, frame, ResponseCode::SUCCESS, &[("offset", offset.to_string())]),
                None => self.say(conn, frame, ResponseCode::QUERY_NOT_FOUND, &[]),
            },
            RequestCode::GET_MAX_OFFSET => {
                let max = self.queues.get(&key).map_or(0, Queue::max);
                self.say(conn, frame, ResponseCode::SUCCESS, &[("offset", max.to_string())]);
            }
            RequestCode::GET_MIN_OFFSET => {
                let min = self.queues.get(&key).map_or(0, |queue| queue.min);
                self.say(conn, frame, ResponseCode::SUCCESS, &[("offset", min.to_string())]);
            }
            RequestCode::SEARCH_OFFSET_BY_TIMESTAMP => {
                self.say(conn, frame, ResponseCode::SUCCESS, &[("offset", "3".into())]);
            }
            RequestCode::UPDATE_CONSUMER_OFFSET => {
                self.offsets.insert(key, seen.number("commitOffset"));
                self.say(conn, frame, ResponseCode::SUCCESS, &[]);
            }
            RequestCode::PULL_MESSAGE | RequestCode::LITE_PULL_MESSAGE => self.pull(conn, frame, &key, true),
            RequestCode::SEND_MESSAGE_V2 => {
                let queue = seen.text("e");
                let fields = [
                    ("msgId", "0A00000900002A9F0000000000000001".into()),
                    ("queueId", queue),
                    ("queueOffset", "7".into()),
                ];
                self.say(conn, frame, ResponseCode::SUCCESS, &fields);
            }
            _ => self.say(conn, frame, ResponseCode::SUCCESS, &[]),
        }
    }

    fn pull(&mut self, conn: ConnId, frame: &Frame, key: &(String, i32), may_wait: bool) {
        let seen = Seen { at: self.at, to: String::new(), frame: frame.clone() };
        let from = seen.number("queueOffset");
        let most = usize::try_from(seen.number("maxMsgNums")).unwrap_or(0);
        let empty = Queue::default();
        let queue = self.queues.get(key).unwrap_or(&empty);
        let (min, max) = (queue.min, queue.max());
        let found: Vec<Stored> =
            queue.messages.iter().filter(|message| message.offset >= from).take(most).cloned().collect();
        let (code, next) = if from < min {
            (ResponseCode::PULL_OFFSET_MOVED, min)
        } else if from > max {
            (ResponseCode::PULL_OFFSET_MOVED, max)
        } else if let Some(last) = found.last() {
            (ResponseCode::SUCCESS, last.offset + 1)
        } else if may_wait {
            let hold = u64::try_from(seen.number("suspendTimeoutMillis")).unwrap_or(0);
            let until = self.at + Duration::from_millis(hold);
            self.parked.push(Parked { conn, frame: frame.clone(), until });
            return;
        } else {
            (ResponseCode::PULL_NOT_FOUND, from)
        };
        let body = found.iter().flat_map(|message| record(&key.0, key.1, message)).collect::<Vec<u8>>();
        *self.answered.entry(key.clone()).or_default() += 1;
        self.answer_with(conn, frame, code, &heading(next, min, max), body.into());
    }

    fn wake(&mut self, wakes: impl Fn(&Self, &Parked) -> bool) {
        for parked in std::mem::take(&mut self.parked) {
            if !wakes(self, &parked) {
                self.parked.push(parked);
            } else if self.conns.contains_key(&parked.conn) {
                let seen = Seen { at: self.at, to: String::new(), frame: parked.frame.clone() };
                let key = (seen.text("topic"), i32::try_from(seen.number("queueId")).unwrap_or(-1));
                self.pull(parked.conn, &parked.frame, &key, false);
            }
        }
    }

    fn route(&self, topic: &str) -> Option<String> {
        let queues = *self.topics.get(topic)?;
        let own = ("b".to_owned(), self.addresses.clone());
        let others = self.others.iter().map(|(name, master)| (name.clone(), BTreeMap::from([(0, master.clone())])));
        let all: Vec<(String, BTreeMap<i64, String>)> = std::iter::once(own).chain(others).collect();
        let data = |(name, _): &(String, _)| QueueData {
            broker_name: name.clone(),
            permission: 6,
            read_queues: queues,
            write_queues: queues,
            ..QueueData::default()
        };
        let route = TopicRoute {
            queues: all.iter().map(data).collect(),
            brokers: all
                .into_iter()
                .map(|(name, addresses)| BrokerData { addresses, name, cluster: "c".into(), ..BrokerData::default() })
                .collect(),
            ..TopicRoute::default()
        };
        Some(route.encode())
    }

    /// Stores so many messages in a queue; waiting pulls of it are answered.
    pub fn store(&mut self, topic: &str, queue: i32, count: usize) {
        for _ in 0..count {
            self.store_one(topic, queue, |_| {});
        }
        let topic = topic.to_owned();
        self.wake(|_, parked| {
            let seen = Seen { at: Moment::ZERO, to: String::new(), frame: parked.frame.clone() };
            seen.text("topic") == topic && seen.number("queueId") == i64::from(queue)
        });
    }

    /// Stores one message, without waking anybody.
    pub fn store_one(&mut self, topic: &str, queue: i32, change: impl FnOnce(&mut Stored)) {
        let queue = self.queues.entry((topic.into(), queue)).or_default();
        let offset = queue.max();
        let mut message = Stored {
            offset,
            body: format!("body {offset}").into_bytes(),
            tag: None,
            properties: Vec::new(),
            reconsume_times: 0,
            broken: false,
        };
        change(&mut message);
        queue.messages.push(message);
    }

    /// Marks all messages of a delivery as started, or says that its queue is lost.
    pub fn begin(&mut self, ask: AskId, count: u32) -> Result<u32, rocketry_core::Ended> {
        let begun = self.client.begin(self.now(), ask, count);
        self.drain();
        begun
    }

    /// Gives verdicts; how many were stale.
    pub fn answer(&mut self, verdicts: Vec<Verdict>) -> usize {
        let answered = self.client.answer(self.now(), Answer::Verdicts(verdicts));
        self.drain();
        answered.map_or_else(|stale| stale.stale, |()| 0)
    }

    /// Takes everything that is offered, begins it, and answers each with `verdict`; the offsets in order.
    pub fn handle(&mut self, mut verdict: impl FnMut(Offered) -> Verdict) -> Vec<i64> {
        let mut offsets = Vec::new();
        while let Some(delivery) = self.deliveries.pop_front() {
            if self.begin(delivery.ask, u32::MAX).is_err() {
                continue;
            }
            offsets.extend(delivery.offered.iter().map(|offered| offered.message.stored.queue_offset()));
            let verdicts = delivery.offered.into_iter().map(&mut verdict).collect();
            self.answer(verdicts);
        }
        offsets
    }

    /// Handles everything with success.
    pub fn succeed(&mut self) -> Vec<i64> {
        self.handle(|offered| offered.ticket.succeed())
    }

    /// A broker's request to the client, if it is connected to the master.
    pub fn tell(&mut self, code: RequestCode, fields: &[(&str, &str)]) {
        let Some(conn) = self.conns.iter().find(|(_, to)| to.as_str() == MASTER).map(|(conn, _)| *conn) else { return };
        let flag = rocketry_core::codec::frame::Flag::ONEWAY;
        let frame = self.writer.command(code.0, 7, flag, None, fields, Bytes::new());
        self.post(DELAY, Input::Frame { conn, frame });
    }

    /// The requests of one kind so far.
    pub fn requests(&self, code: RequestCode) -> Vec<Seen> {
        self.seen.iter().filter(|seen| seen.code() == code).cloned().collect()
    }

    /// The requests of one kind about a topic, so far.
    pub fn requests_of(&self, code: RequestCode, topic: &str) -> Vec<Seen> {
        self.requests(code).into_iter().filter(|seen| seen.text("topic") == topic).collect()
    }

    /// Closes the connection to an address, and refuses new ones.
    pub fn take_down(&mut self, address: &str) {
        self.down.insert(address.into());
        let dead: Vec<ConnId> = self.conns.iter().filter(|(_, to)| *to == address).map(|(conn, _)| *conn).collect();
        for conn in dead {
            self.conns.remove(&conn);
            self.post(Duration::ZERO, Input::Closed { conn, cause: LinkError::Reset });
        }
    }
}

/// The fields of a pull's answer.
pub fn heading(next: i64, min: i64, max: i64) -> Vec<(&'static str, String)> {
    vec![
        ("suggestWhichBrokerId", "0".into()),
        ("nextBeginOffset", next.to_string()),
        ("minOffset", min.to_string()),
        ("maxOffset", max.to_string()),
    ]
}

pub fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text).expect("an address")
}
