//! The embedded servers with the history that a conversation needs, and its requests played to them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use rocketry_broker::{BrokerConfig, Embedded, NameServerConfig};
use rocketry_codec::codes::RequestCode;
use rocketry_codec::header::Request;
use rocketry_codec::message::Messages;
use rocketry_codec::request::{GetSubscriptionGroupConfig, SendMessageV2, UpdateConsumerOffset};
use rocketry_codec::{Frame, FrameWriter};
use rocketry_machine::{Acceptor, ConnId, Input, Machine, Moment, Now, Output, PeerInfo, Seed, UnixMillis};

use crate::capture::{Capture, Exchange, property};

/// Wall time at the start.
const START: i64 = 1_796_101_337_000;

pub(crate) struct Stage<'a> {
    machine: Embedded,
    now: Now,
    capture: &'a Capture,
    conns: BTreeMap<i64, ConnId>,
    answers: BTreeMap<(ConnId, i32), Frame>,
    told: BTreeMap<ConnId, usize>,
    /// Where each message lies in our log, by unique id.
    places: BTreeMap<String, i64>,
    halves: BTreeMap<String, (Frame, i32)>,
    writer: FrameWriter,
    /// The connection over which the history is made.
    before: ConnId,
    opaque: i32,
}

impl<'a> Stage<'a> {
    pub(crate) fn set_for(capture: &'a Capture) -> Self {
        let address = ([127, 0, 0, 1], 10_911).into();
        let known = |topic: &str| ["TBW102", "DefaultCluster_REPLY_TOPIC"].contains(&topic);
        let config = capture
            .topics
            .iter()
            .filter(|(topic, _)| !known(topic))
            .fold(BrokerConfig::new(address), |config, (topic, queues)| config.with_topic(topic.as_str(), *queues));
        let now = Now::new(Moment::ZERO, UnixMillis::new(START));
        let mut machine = Embedded::new(NameServerConfig::new(), config, Seed::from(1), now);
        let before = machine.accept(now, PeerInfo::default()).expect("room");
        let mut stage = Self {
            machine,
            now,
            capture,
            conns: BTreeMap::new(),
            answers: BTreeMap::new(),
            told: BTreeMap::new(),
            places: BTreeMap::new(),
            halves: BTreeMap::new(),
            writer: FrameWriter::default(),
            before,
            opaque: 0,
        };
        stage.make_history();
        stage
    }

    fn make_history(&mut self) {
        for ((topic, queue_id), count) in &self.capture.filled {
            if let Some(group) = topic.strip_prefix("%RETRY%") {
                self.know_group(group);
            }
            for _ in 0..*count {
                let fill = SendMessageV2 {
                    topic: topic.into(),
                    default_topic: "TBW102".into(),
                    default_topic_queue_nums: 4,
                    queue_id: *queue_id,
                    properties: Some("TAGS\u{1}TagA\u{2}".into()),
                    ..SendMessageV2::default()
                };
                self.ask(&fill, Bytes::from_static(b"before"));
            }
        }
        for ((group, (topic, queue_id)), offset) in &self.capture.positions {
            self.know_group(group);
            let commit = UpdateConsumerOffset {
                consumer_group: group.into(),
                topic: topic.into(),
                queue_id: *queue_id,
                commit_offset: *offset,
                ..Default::default()
            };
            self.ask(&commit, Bytes::new());
        }
    }

    /// Reading a group's configuration creates it.
    fn know_group(&mut self, group: &str) {
        let create = GetSubscriptionGroupConfig { group: group.into(), ..Default::default() };
        self.ask(&create, Bytes::new());
    }

    /// A request of our own that must succeed.
    fn ask<R: Request>(&mut self, request: &R, body: Bytes) {
        self.opaque += 1;
        let frame = self.writer.request(self.opaque, request, body);
        self.feed(self.before, frame);
        let answer = self.answers.remove(&(self.before, self.opaque)).expect("an answer");
        assert_eq!(answer.code(), 0, "{answer:?}");
    }

    /// Plays one request at its time.
    pub(crate) fn play(&mut self, exchange: &Exchange) {
        self.pass_to(exchange.ms);
        let conn = *self.conns.entry(exchange.connection).or_insert_with(|| {
            let remote = ([127, 0, 0, 1], 40_000 + u16::try_from(exchange.connection).expect("few connections"));
            self.machine.accept(self.now, PeerInfo::new(Some(remote.into()), None)).expect("room")
        });
        if let Some(id) = exchange.commit() {
            if let Some((frame, queue)) = self.halves.remove(&id) {
                self.commit(&frame, queue);
            }
        } else if let Some(half) = exchange.half_message() {
            let unique = property(&half, "UNIQ_KEY").expect("a unique id");
            self.halves.insert(unique, (exchange.request.clone(), half.queue_id));
        } else if let Some(mut back) = exchange.send_back() {
            // Their place in the log is another one in ours.
            let unique = self.capture.unique_ids.get(&back.offset).expect("the message was pulled before");
            back.offset = *self.places.get(unique).expect("the message was pulled from us");
            let frame = self.writer.request(exchange.request.opaque(), &back, Bytes::new());
            self.feed(conn, frame);
        } else {
            self.feed(conn, exchange.request.clone());
        }
    }

    /// A committed transaction puts its message into the real topic.
    fn commit(&mut self, half: &Frame, queue_id: i32) {
        let request: SendMessageV2<'_> = half.read().expect("a send header");
        let text = request.properties.as_deref().unwrap_or_default().replace("TRAN_MSG\u{1}true\u{2}", "");
        let plain = SendMessageV2 {
            topic: request.topic,
            default_topic: request.default_topic,
            queue_id,
            properties: Some(text.into()),
            ..SendMessageV2::default()
        };
        self.ask(&plain, half.body().clone());
    }

    fn feed(&mut self, conn: ConnId, frame: Frame) {
        self.machine.handle_input(self.now, Input::Frame { conn, frame });
        self.drain();
    }

    /// Lets time pass, deadline by deadline.
    pub(crate) fn pass_to(&mut self, ms: u64) {
        let end = Moment::from_millis(ms).max(self.now.at);
        while let Some(deadline) = self.machine.poll_timeout().filter(|deadline| deadline.at <= end) {
            self.now = at(deadline.at.max(self.now.at));
            self.machine.handle_timeout(self.now);
            self.drain();
        }
        self.now = at(end);
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            let Output::Send { conn, frame } = output else { continue };
            self.machine.handle_input(self.now, Input::Flushed { conn, frames: 1 });
            if frame.is_response() {
                for message in Messages::new(frame.body().clone()).map_while(Result::ok) {
                    if let Some(id) = message.unique_key() {
                        self.places.insert(id.to_owned(), message.commit_log_offset());
                    }
                }
                self.answers.insert((conn, frame.opaque()), frame);
            } else if frame.request_code() == RequestCode::NOTIFY_CONSUMER_IDS_CHANGED {
                *self.told.entry(conn).or_default() += 1;
            }
        }
        // What is due at once belongs to this instant.
        if self.machine.poll_timeout().is_some_and(|next| next.at <= self.now.at + Duration::from_nanos(1)) {
            self.now = at(self.now.at + Duration::from_nanos(1));
            self.machine.handle_timeout(self.now);
            self.drain();
        }
    }

    /// Our answer to a request.
    pub(crate) fn answer(&self, exchange: &Exchange) -> Option<&Frame> {
        let conn = self.conns.get(&exchange.connection)?;
        self.answers.get(&(*conn, exchange.request.opaque()))
    }

    /// How often each connection was told of a change of members.
    pub(crate) fn told(&self) -> BTreeMap<i64, usize> {
        let told = |(connection, conn): (&i64, &ConnId)| Some((*connection, *self.told.get(conn)?));
        self.conns.iter().filter_map(told).collect()
    }
}

fn at(moment: Moment) -> Now {
    let passed = i64::try_from(moment.as_nanos() / 1_000_000).expect("a short test");
    Now::new(moment, UnixMillis::new(START + passed))
}
