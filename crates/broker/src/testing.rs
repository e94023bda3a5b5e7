//! What the tests of the rules share: a machine with clients that send typed requests in virtual time.

use std::collections::BTreeMap;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, panic};

use bytes::Bytes;
use core::net::SocketAddr;
use core::time::Duration;
use rocketry_codec::body::JsonBody;
use rocketry_codec::body::registration::GroupConfig;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::encoder::FrameWriter;
use rocketry_codec::frame::Frame;
use rocketry_codec::header::Request;
use rocketry_codec::message::{Messages, StoredMessage};
use rocketry_codec::reply::SendMessageReply;
use rocketry_codec::request::{CreateSubscriptionGroup, PullMessage, SendMessageV2};
use rocketry_machine::{Acceptor, ConnId, Input, LinkError, Machine, Moment, Now, Output, PeerInfo, Seed, UnixMillis};

use crate::config::{BrokerConfig, NameServerConfig};
use crate::event::Event;
use crate::machines::Embedded;

/// Wall time at which the tests start.
pub(crate) const START: i64 = 1_700_000_000_000;
pub(crate) const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 10_911);

/// A broker and a name server in one machine, and what came out of it.
pub(crate) struct World<M = Embedded> {
    pub(crate) machine: M,
    pub(crate) now: Now,
    pub(crate) events: Vec<Event>,
    pub(crate) closed: Vec<ConnId>,
    writer: FrameWriter,
    opaque: i32,
    inbox: BTreeMap<ConnId, Vec<Frame>>,
    peers: u16,
    /// Frames that a stalled client has not taken.
    stalled: BTreeMap<ConnId, u32>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut BrokerConfig)) -> Self {
        let mut config = BrokerConfig::new(SocketAddr::from(ADDRESS));
        change(&mut config);
        let now = now_at(Moment::ZERO);
        Self::around(Embedded::new(NameServerConfig::new(), config, Seed::from(7), now))
    }
}

impl World {
    /// Changes the configuration of a group as an admin request does.
    pub(crate) fn with_group(&mut self, group: &str, change: impl FnOnce(&mut GroupConfig)) {
        let mut config = GroupConfig { group: group.into(), ..GroupConfig::default() };
        change(&mut config);
        let admin = self.connect();
        let frame = self.ask(admin, &CreateSubscriptionGroup::default(), config.encode());
        assert_eq!(frame.response_code(), ResponseCode::SUCCESS, "{frame:?}");
    }
}

fn now_at(at: Moment) -> Now {
    Now::new(at, UnixMillis::new(START + i64::try_from(at.as_nanos() / 1_000_000).unwrap_or(0)))
}

impl<M: Acceptor + Machine<Frame = Frame, Event = Event>> World<M> {
    pub(crate) fn around(machine: M) -> Self {
        let mut world = Self {
            machine,
            now: now_at(Moment::ZERO),
            events: Vec::new(),
            closed: Vec::new(),
            writer: FrameWriter::default(),
            opaque: 0,
            inbox: BTreeMap::new(),
            peers: 0,
            stalled: BTreeMap::new(),
        };
        world.drain();
        world
    }

    pub(crate) fn connect(&mut self) -> ConnId {
        self.peers += 1;
        let remote = SocketAddr::from(([127, 0, 0, 1], 40_000 + self.peers));
        self.machine.accept(self.now, PeerInfo::new(Some(remote), None)).expect("room for a connection")
    }

    /// Sends a request and fires what is due at once; the answer, if there is one.
    pub(crate) fn call<R: Request>(&mut self, conn: ConnId, request: &R, body: impl Into<Bytes>) -> Option<Frame> {
        self.call_as(R::CODE, conn, request, body)
    }

    pub(crate) fn call_as<R: Request>(
        &mut self,
        code: RequestCode,
        conn: ConnId,
        request: &R,
        body: impl Into<Bytes>,
    ) -> Option<Frame> {
        self.opaque += 1;
        let opaque = self.opaque;
        let frame = self.writer.request_as(code, opaque, request, body.into());
        self.feed(conn, frame);
        self.answer(conn, opaque)
    }

    /// A request that must be answered at once.
    pub(crate) fn ask<R: Request>(&mut self, conn: ConnId, request: &R, body: impl Into<Bytes>) -> Frame {
        self.call(conn, request, body).expect("an answer at once")
    }

    pub(crate) fn oneway<R: Request>(&mut self, conn: ConnId, request: &R, body: impl Into<Bytes>) {
        self.opaque += 1;
        let frame = self.writer.oneway(self.opaque, request, body.into());
        self.feed(conn, frame);
    }

    pub(crate) fn feed(&mut self, conn: ConnId, frame: Frame) {
        self.machine.handle_input(self.now, Input::Frame { conn, frame });
        self.settle();
    }

    pub(crate) fn close(&mut self, conn: ConnId) {
        self.machine.handle_input(self.now, Input::Closed { conn, cause: LinkError::Reset });
        self.settle();
    }

    /// Lets time pass, deadline by deadline.
    pub(crate) fn pass(&mut self, wait: Duration) {
        let end = self.now.at + wait;
        loop {
            self.settle();
            match self.machine.poll_timeout() {
                Some(deadline) if deadline.at <= end => self.now = now_at(deadline.at.max(self.now.at)),
                _ => break,
            }
            self.machine.handle_timeout(self.now);
        }
        self.now = now_at(end);
        self.machine.handle_timeout(self.now);
        self.settle();
    }

    /// Drains outputs and fires the timers that are due within this instant.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            self.drain();
            match self.machine.poll_timeout() {
                Some(deadline) if deadline.at <= self.now.at + Duration::from_nanos(1) => {
                    self.now = now_at(deadline.at.max(self.now.at));
                    self.machine.handle_timeout(self.now);
                }
                _ => return,
            }
        }
        panic!("the machine never comes to rest");
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Send { conn, frame } => {
                    self.inbox.entry(conn).or_default().push(frame);
                    match self.stalled.get_mut(&conn) {
                        Some(frames) => *frames += 1,
                        None => self.machine.handle_input(self.now, Input::Flushed { conn, frames: 1 }),
                    }
                }
                Output::Close { conn, .. } => self.closed.push(conn),
                Output::Event(event) => self.events.push(event),
                Output::Open { .. } => panic!("nothing is dialled in this world"),
            }
        }
    }

    /// From here on the client takes nothing from its socket.
    pub(crate) fn stall(&mut self, conn: ConnId) {
        self.stalled.insert(conn, 0);
    }

    /// The client takes everything that has piled up, and what comes.
    pub(crate) fn unstall(&mut self, conn: ConnId) {
        let frames = self.stalled.remove(&conn).unwrap_or(0);
        self.machine.handle_input(self.now, Input::Flushed { conn, frames });
    }

    fn answer(&mut self, conn: ConnId, opaque: i32) -> Option<Frame> {
        let frames = self.inbox.get_mut(&conn)?;
        let at = frames.iter().position(|frame| frame.is_response() && frame.opaque() == opaque)?;
        Some(frames.remove(at))
    }

    /// Takes everything that has arrived at a client and was not an answer that [`World::call`] returned.
    pub(crate) fn take(&mut self, conn: ConnId) -> Vec<Frame> {
        self.inbox.remove(&conn).unwrap_or_default()
    }

    /// Sends a message and returns where it was stored.
    pub(crate) fn send(&mut self, conn: ConnId, topic: &str, queue: i32, properties: &str, body: &str) -> Sent {
        let frame = self.ask(conn, &message(topic, queue, properties), Bytes::copy_from_slice(body.as_bytes()));
        assert_eq!(frame.response_code(), ResponseCode::SUCCESS, "{frame:?}");
        let reply: SendMessageReply<'_> = frame.read().expect("a send answer");
        Sent {
            id: reply.msg_id.to_string(),
            queue: reply.queue_id,
            offset: reply.queue_offset,
            unique: reply.transaction_id.map(|id| id.to_string()),
        }
    }
}

/// What the answer to a send said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) queue: i32,
    pub(crate) offset: i64,
    pub(crate) unique: Option<String>,
}

/// A send request as Java's producer fills it.
pub(crate) fn message<'a>(topic: &'a str, queue: i32, properties: &'a str) -> SendMessageV2<'a> {
    SendMessageV2 {
        producer_group: "pg".into(),
        topic: topic.into(),
        default_topic: "TBW102".into(),
        default_topic_queue_nums: 4,
        queue_id: queue,
        born_timestamp: START,
        properties: Some(properties.into()),
        ..SendMessageV2::default()
    }
}

/// A pull that brings its subscription and does not wait.
pub(crate) fn pull<'a>(group: &'a str, topic: &'a str, queue: i32, offset: i64) -> PullMessage<'a> {
    PullMessage {
        consumer_group: group.into(),
        topic: topic.into(),
        queue_id: queue,
        queue_offset: offset,
        max_msg_nums: 32,
        sys_flag: 4,
        suspend_timeout_millis: 15_000,
        subscription: Some("*".into()),
        ..PullMessage::default()
    }
}

/// A pull that may wait.
pub(crate) fn long_pull<'a>(group: &'a str, topic: &'a str, queue: i32, offset: i64) -> PullMessage<'a> {
    PullMessage { sys_flag: 6, ..pull(group, topic, queue, offset) }
}

/// The messages in a pull answer.
pub(crate) fn messages(frame: &Frame) -> Vec<StoredMessage> {
    Messages::new(frame.body().clone()).map(|message| message.expect("a stored message")).collect()
}

/// The bodies in a pull answer, as text.
pub(crate) fn bodies(frame: &Frame) -> Vec<String> {
    messages(frame).iter().map(|m| String::from_utf8_lossy(m.body_bytes()).into_owned()).collect()
}

/// Properties in their encoded form.
pub(crate) fn properties(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}\u{1}{value}\u{2}")).collect()
}
