//! Deliberately broken clients: proof that the checks see.
//!
//! Each variant is a real client with one mistake, made where its requests, answers and verdicts pass: what a client with
//! that mistake inside would show to the world. Compiled with the feature `broken` only.

use std::any::Any;
use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::encoder::FrameWriter;
use rocketry_codec::frame::{Flag, Frame};
use rocketry_codec::message::Messages;
use rocketry_machine::{ConnId, Deadline, Input, Now, Output, PeerInfo, Refused};

use crate::client::{Application, ClientNode};
use crate::node::Node;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(clippy::exhaustive_enums)] // a list of mistakes
pub enum Broken {
    /// Saves one more than is done.
    CommitOneTooFar,
    /// Saves what was pulled instead of what is done.
    CommitPulled,
    /// Never saves anything.
    NeverSave,
    /// Takes a refused message for sent back without sending it.
    ForgetSendBack,
    /// Takes an error of the offset query for an offset.
    TrustFailedOffsetQuery,
    /// Sends no heartbeats.
    NoHeartbeat,
    /// Says no goodbye.
    NoGoodbye,
    /// Sees nobody but itself in the group.
    AloneInGroup,
    /// Never hears of changes in the group.
    FrozenGroup,
    /// Does not see itself in the group.
    ForgetsItself,
    /// Does not let brokers hold its pulls.
    NoLongPoll,
    /// Skips a message after every pull.
    SkipOne,
    /// Loses the last message of every answer.
    LoseLast,
    /// Loses all messages of an answer but the first.
    KeepFirst,
    /// Never reads its retry topic.
    ForgetRetryTopic,
    /// Gives the answer to one pull to another.
    SwapAnswers,
    /// Does not connect again.
    NoReconnect,
    /// Never asks for routes again, and never learns of one that was missing.
    FrozenRoutes,
    /// Sends every tenth message twice.
    SendTwice,
    /// Takes a refused send for stored.
    RefusedIsStored,
    /// Takes a message for stored that never left.
    NeverSent,
    /// Forgets every fiftieth answer.
    ForgetAnswers,
    /// Ends a pull that found nothing by passing over what comes next.
    EmptyMeansNext,
}

impl Broken {
    /// All mistakes.
    pub const ALL: [Self; 23] = [
        Self::CommitOneTooFar,
        Self::CommitPulled,
        Self::NeverSave,
        Self::ForgetSendBack,
        Self::TrustFailedOffsetQuery,
        Self::NoHeartbeat,
        Self::NoGoodbye,
        Self::AloneInGroup,
        Self::FrozenGroup,
        Self::ForgetsItself,
        Self::NoLongPoll,
        Self::SkipOne,
        Self::LoseLast,
        Self::KeepFirst,
        Self::ForgetRetryTopic,
        Self::SwapAnswers,
        Self::NoReconnect,
        Self::FrozenRoutes,
        Self::SendTwice,
        Self::RefusedIsStored,
        Self::NeverSent,
        Self::ForgetAnswers,
        Self::EmptyMeansNext,
    ];
}

/// What becomes of a request that a broken client wants to send.
enum Fate {
    Leaves(Frame),
    LeavesTwice(Frame),
    Vanishes,
    /// It vanishes, and the client reads this.
    Faked(Frame),
}

/// A client with a mistake.
pub(crate) struct BrokenNode<A> {
    inner: ClientNode<A>,
    broken: Broken,
    writer: FrameWriter,
    count: u64,
    /// Requests that wait for an answer: what they asked.
    asked: BTreeMap<(ConnId, i32), (i32, String)>,
    /// Answers that are given for ever, by what was asked.
    frozen: BTreeMap<String, Frame>,
    /// A pull's answer that waits for another one to be swapped with.
    held: Option<(ConnId, Frame)>,
    opened: u64,
    copies: Vec<(ConnId, Frame)>,
    /// Copies on their way to the kernel, of which the client must not hear.
    uncounted: u32,
}

impl<A: Application> BrokenNode<A> {
    pub(crate) fn new(inner: ClientNode<A>, broken: Broken) -> Self {
        Self {
            inner,
            broken,
            writer: FrameWriter::default(),
            count: 0,
            asked: BTreeMap::new(),
            frozen: BTreeMap::new(),
            held: None,
            opened: 0,
            copies: Vec::new(),
            uncounted: 0,
        }
    }

    fn nth(&mut self, n: u64) -> bool {
        self.count += 1;
        self.count.is_multiple_of(n)
    }

    /// The frame with other values in some fields.
    fn with(&mut self, frame: &Frame, changes: &[(&str, String)]) -> Frame {
        let own: Vec<(String, String)> = frame
            .fields()
            .map(|field| {
                let changed = changes.iter().find(|(name, _)| *name == field.name);
                let value = changed.map_or_else(|| field.value.text().into_owned(), |(_, value)| value.clone());
                (field.name.into_owned(), value)
            })
            .collect();
        let fields: Vec<(&str, &str)> = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let remark = frame.remark().map(std::borrow::Cow::into_owned);
        let flag = if frame.is_response() {
            Flag::RESPONSE
        } else if frame.is_oneway() {
            Flag::ONEWAY
        } else {
            Flag::REQUEST
        };
        let body = frame.body().clone();
        self.writer.command(frame.code(), frame.opaque(), flag, remark.as_deref(), &fields[..], body)
    }

    fn answer(&mut self, to: &Frame, code: ResponseCode, fields: &[(&str, &str)], body: Bytes) -> Frame {
        self.writer.response(to.opaque(), code, None, fields, body)
    }

    /// What becomes of a request.
    fn send(&mut self, broken: Broken, frame: Frame) -> Fate {
        let number = |name: &str| frame.field(name).and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        let code = frame.request_code();
        match (broken, code) {
            (Broken::CommitOneTooFar, RequestCode::UPDATE_CONSUMER_OFFSET | RequestCode::PULL_MESSAGE) => {
                let further = (number("commitOffset") + 1).to_string();
                Fate::Leaves(self.with(&frame, &[("commitOffset", further)]))
            }
            (Broken::CommitPulled, RequestCode::PULL_MESSAGE) => {
                let pulled = number("queueOffset").to_string();
                Fate::Leaves(self.with(&frame, &[("commitOffset", pulled)]))
            }
            (Broken::NeverSave, RequestCode::UPDATE_CONSUMER_OFFSET)
            | (Broken::ForgetSendBack, RequestCode::CONSUMER_SEND_MSG_BACK)
            | (Broken::NoHeartbeat, RequestCode::HEART_BEAT)
            | (Broken::NoGoodbye, RequestCode::UNREGISTER_CLIENT) => self.fake(&frame),
            (Broken::NeverSave | Broken::NoLongPoll, RequestCode::PULL_MESSAGE) => {
                let without = if broken == Broken::NeverSave { 1 } else { 2 };
                let flags = (number("sysFlag") & !without).to_string();
                Fate::Leaves(self.with(&frame, &[("sysFlag", flags)]))
            }
            (Broken::ForgetRetryTopic, RequestCode::PULL_MESSAGE)
                if frame.field("topic").is_some_and(|topic| topic.starts_with("%RETRY%")) =>
            {
                Fate::Vanishes
            }
            (Broken::SendTwice, RequestCode::SEND_MESSAGE_V2) if self.nth(10) => Fate::LeavesTwice(frame),
            (Broken::NeverSent, RequestCode::SEND_MESSAGE_V2) if self.nth(50) => {
                let fields = [("msgId", "0A00010000002A9F0000000000000000"), ("queueId", "0"), ("queueOffset", "0")];
                Fate::Faked(self.answer(&frame, ResponseCode::SUCCESS, &fields, Bytes::new()))
            }
            _ => Fate::Leaves(frame),
        }
    }

    fn fake(&mut self, frame: &Frame) -> Fate {
        if frame.is_oneway() {
            return Fate::Vanishes;
        }
        Fate::Faked(self.answer(frame, ResponseCode::SUCCESS, &[], Bytes::new()))
    }

    /// What the client reads instead of an answer.
    fn receive(&mut self, broken: Broken, conn: ConnId, frame: Frame) -> Vec<(ConnId, Frame)> {
        let Some((code, about)) = self.asked.remove(&(conn, frame.opaque())) else { return vec![(conn, frame)] };
        let code = RequestCode(code);
        let good = frame.response_code() == ResponseCode::SUCCESS;
        let read = match (broken, code) {
            (Broken::TrustFailedOffsetQuery, RequestCode::QUERY_CONSUMER_OFFSET) if !good => {
                self.answer(&frame, ResponseCode::SUCCESS, &[("offset", "3")], Bytes::new())
            }
            (Broken::AloneInGroup | Broken::ForgetsItself, RequestCode::GET_CONSUMER_LIST_BY_GROUP) if good => {
                let own = self.inner.client.config().client_id.clone();
                let id = if broken == Broken::AloneInGroup { own } else { "somebody".into() };
                let body = format!("{{\"consumerIdList\":[\"{id}\"]}}");
                self.answer(&frame, ResponseCode::SUCCESS, &[], body.into())
            }
            (Broken::FrozenGroup, RequestCode::GET_CONSUMER_LIST_BY_GROUP)
            | (Broken::FrozenRoutes, RequestCode::GET_ROUTEINFO_BY_TOPIC) => {
                let first = self.frozen.entry(about).or_insert_with(|| frame.clone()).clone();
                self.writer.restamp(&first, frame.opaque())
            }
            (Broken::SkipOne, RequestCode::PULL_MESSAGE) if good => self.one_further(&frame),
            (Broken::EmptyMeansNext, RequestCode::PULL_MESSAGE)
                if frame.response_code() == ResponseCode::PULL_NOT_FOUND =>
            {
                self.one_further(&frame)
            }
            (Broken::LoseLast | Broken::KeepFirst, RequestCode::PULL_MESSAGE) if good => {
                let records: Vec<Bytes> = Messages::new(frame.body().clone())
                    .filter_map(|record| record.ok().map(|message| message.record().clone()))
                    .collect();
                let kept = if broken == Broken::LoseLast { records.len().saturating_sub(1) } else { 1 };
                let body: Vec<u8> = records.iter().take(kept).flatten().copied().collect();
                let fields: Vec<(String, String)> =
                    frame.fields().map(|field| (field.name.into_owned(), field.value.text().into_owned())).collect();
                let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
                self.answer(&frame, ResponseCode::SUCCESS, &fields, body.into())
            }
            (Broken::RefusedIsStored, RequestCode::SEND_MESSAGE_V2) if !good => {
                let fields = [("msgId", "0A00010000002A9F0000000000000000"), ("queueId", "0"), ("queueOffset", "0")];
                self.answer(&frame, ResponseCode::SUCCESS, &fields, Bytes::new())
            }
            (Broken::SwapAnswers, RequestCode::PULL_MESSAGE) => return self.swap(conn, frame),
            (Broken::ForgetAnswers, _) if self.nth(50) => return Vec::new(),
            _ => frame,
        };
        vec![(conn, read)]
    }

    fn one_further(&mut self, frame: &Frame) -> Frame {
        let next = frame.field("nextBeginOffset").and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        self.with(frame, &[("nextBeginOffset", (next + 1).to_string())])
    }

    /// Holds every fifth answer until the next one, and gives each the other's number.
    fn swap(&mut self, conn: ConnId, frame: Frame) -> Vec<(ConnId, Frame)> {
        match self.held.take() {
            Some((other, held)) if other == conn => {
                let (one, two) = (held.opaque(), frame.opaque());
                vec![(conn, self.writer.restamp(&held, two)), (conn, self.writer.restamp(&frame, one))]
            }
            _ if self.nth(5) => {
                self.held = Some((conn, frame));
                Vec::new()
            }
            _ => vec![(conn, frame)],
        }
    }
}

impl<A: Application> Node for BrokenNode<A> {
    fn handle_input(&mut self, now: Now, input: Input<Frame>) {
        match input {
            Input::Frame { conn, frame } if frame.is_response() => {
                for (conn, frame) in self.receive(self.broken, conn, frame) {
                    self.inner.handle_input(now, Input::Frame { conn, frame });
                }
            }
            Input::Flushed { conn, frames } => {
                let own = frames.saturating_sub(self.uncounted);
                self.uncounted -= frames - own;
                if own > 0 {
                    self.inner.handle_input(now, Input::Flushed { conn, frames: own });
                }
            }
            input => self.inner.handle_input(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        self.inner.handle_timeout(now);
    }

    fn poll_network(&mut self, now: Now) -> Option<Output<Frame, Infallible>> {
        if let Some((conn, frame)) = self.copies.pop() {
            self.uncounted += 1;
            return Some(Output::Send { conn, frame });
        }
        loop {
            let output = self.inner.poll_network(now)?;
            let broken = self.broken;
            match output {
                Output::Open { .. } if broken == Broken::NoReconnect => {
                    self.opened += 1;
                    // Enough for its first connections to the name server and the brokers.
                    if self.opened <= 3 {
                        return Some(output);
                    }
                }
                Output::Send { conn, frame } if !frame.is_response() => {
                    let about = frame.field("topic").map(std::borrow::Cow::into_owned).unwrap_or_default();
                    self.asked.insert((conn, frame.opaque()), (frame.code(), about));
                    match self.send(broken, frame) {
                        Fate::Leaves(frame) => return Some(Output::Send { conn, frame }),
                        Fate::LeavesTwice(frame) => {
                            let again = self.writer.restamp(&frame, -7);
                            self.copies.push((conn, again));
                            return Some(Output::Send { conn, frame });
                        }
                        Fate::Vanishes => self.inner.handle_input(now, Input::Flushed { conn, frames: 1 }),
                        Fate::Faked(answer) => {
                            self.inner.handle_input(now, Input::Flushed { conn, frames: 1 });
                            self.inner.handle_input(now, Input::Frame { conn, frame: answer });
                        }
                    }
                }
                other => return Some(other),
            }
        }
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        self.inner.poll_timeout()
    }

    fn accept(&mut self, now: Now, peer: PeerInfo) -> Result<ConnId, Refused> {
        self.inner.accept(now, peer)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self.inner.as_any()
    }
}
