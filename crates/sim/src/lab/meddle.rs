//! A server between whose machine and the network somebody meddles with requests and answers.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use rocketry_codec::codes::ResponseCode;
use rocketry_codec::encoder::FrameWriter;
use rocketry_codec::frame::Frame;
use rocketry_codec::reply::NoFields;
use rocketry_machine::{Acceptor, ConnId, Deadline, Input, Moment, Now, Output, PeerInfo, Refused};

use super::ledger::Ledger;
use crate::node::Node;
use crate::plan::{Part, What};

/// What is done to the requests and answers of a server now.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// By the number of the trouble that it comes from; how many requests it has seen.
    pub(crate) active: BTreeMap<usize, (What, u64)>,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    Late(Duration),
    Double,
}

/// A server with a meddler before it.
pub(crate) struct Meddled<M> {
    pub(crate) machine: M,
    part: Part,
    rules: Rc<RefCell<Rules>>,
    ledger: Rc<RefCell<Ledger>>,
    writer: FrameWriter,
    extra: VecDeque<(ConnId, Frame)>,
    fates: BTreeMap<(ConnId, i32), Fate>,
    late: BTreeMap<(Moment, u64), (ConnId, Frame)>,
    count: u64,
    /// For each frame on its way to the kernel: whether it is the machine's, which wants to hear when it is there.
    unflushed: BTreeMap<ConnId, VecDeque<bool>>,
}

impl<M: Acceptor<Frame = Frame>> Meddled<M> {
    pub(crate) fn new(machine: M, part: Part, rules: Rc<RefCell<Rules>>, ledger: Rc<RefCell<Ledger>>) -> Self {
        Self {
            machine,
            part,
            rules,
            ledger,
            writer: FrameWriter::default(),
            extra: VecDeque::new(),
            fates: BTreeMap::new(),
            late: BTreeMap::new(),
            count: 0,
            unflushed: BTreeMap::new(),
        }
    }

    /// Whether the request may reach the machine.
    fn meddle(&mut self, conn: ConnId, frame: &Frame) -> bool {
        let mut passes = true;
        for (what, seen) in self.rules.borrow_mut().active.values_mut() {
            let (What::Answer(_, code, _)
            | What::LoseRequest(_, code)
            | What::LoseAnswer(_, code)
            | What::LateAnswer(_, code, _)
            | What::DoubleAnswer(_, code)) = *what
            else {
                continue;
            };
            if code != frame.code() {
                continue;
            }
            *seen += 1;
            let second = seen.is_multiple_of(2);
            match *what {
                What::Answer(_, _, with) if second => {
                    passes = false;
                    if !frame.is_oneway() {
                        let code = ResponseCode(with);
                        let none = NoFields::default();
                        let answer = self.writer.response(frame.opaque(), code, Some("meddled"), &none, Bytes::new());
                        self.extra.push_back((conn, answer));
                    }
                }
                What::LoseRequest(..) if second => passes = false,
                What::LoseAnswer(..) if second => drop(self.fates.insert((conn, frame.opaque()), Fate::Lost)),
                What::LateAnswer(_, _, ms) => {
                    let late = Fate::Late(Duration::from_millis(ms.into()));
                    self.fates.insert((conn, frame.opaque()), late);
                }
                What::DoubleAnswer(..) => drop(self.fates.insert((conn, frame.opaque()), Fate::Double)),
                _ => {}
            }
        }
        passes
    }

    /// What the machine sends, or nothing of it.
    fn let_out(&mut self, now: Now, conn: ConnId, frame: Frame) -> Option<Frame> {
        let fate = if frame.is_response() { self.fates.remove(&(conn, frame.opaque())) } else { None };
        match fate {
            Some(Fate::Lost) => {}
            Some(Fate::Late(wait)) => {
                self.count += 1;
                self.late.insert((now.at + wait, self.count), (conn, frame));
            }
            Some(Fate::Double) => {
                self.extra.push_back((conn, frame.clone()));
                return Some(frame);
            }
            None => return Some(frame),
        }
        // The machine's frame is out of its hands.
        self.machine.handle_input(now, Input::Flushed { conn, frames: 1 });
        None
    }

    fn flushed(&mut self, conn: ConnId, frames: u32) -> u32 {
        let Some(waiting) = self.unflushed.get_mut(&conn) else { return 0 };
        let own = (0..frames).filter(|_| waiting.pop_front() == Some(true)).count();
        u32::try_from(own).unwrap_or(0)
    }
}

impl<M: Acceptor<Frame = Frame> + 'static> Node for Meddled<M> {
    fn handle_input(&mut self, now: Now, input: Input<Frame>) {
        match input {
            Input::Frame { conn, ref frame } if !frame.is_response() => {
                self.ledger.borrow_mut().on_request(self.part, frame);
                if self.meddle(conn, frame) {
                    self.machine.handle_input(now, input);
                }
            }
            Input::Flushed { conn, frames } => {
                let frames = self.flushed(conn, frames);
                if frames > 0 {
                    self.machine.handle_input(now, Input::Flushed { conn, frames });
                }
            }
            Input::Closed { conn, .. } => {
                self.unflushed.remove(&conn);
                self.fates.retain(|(of, _), _| *of != conn);
                self.late.retain(|_, (of, _)| *of != conn);
                self.extra.retain(|(of, _)| *of != conn);
                self.machine.handle_input(now, input);
            }
            Input::Opened { .. } | Input::Frame { .. } => self.machine.handle_input(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        while let Some(first) = self.late.first_entry().filter(|first| first.key().0 <= now.at) {
            self.extra.push_back(first.remove());
        }
        self.machine.handle_timeout(now);
    }

    fn poll_network(&mut self, now: Now) -> Option<Output<Frame, Infallible>> {
        loop {
            if let Some((conn, frame)) = self.extra.pop_front() {
                self.unflushed.entry(conn).or_default().push_back(false);
                return Some(Output::Send { conn, frame });
            }
            match self.machine.poll_output()? {
                Output::Open { conn, endpoint } => return Some(Output::Open { conn, endpoint }),
                Output::Close { conn, why } => {
                    self.unflushed.remove(&conn);
                    return Some(Output::Close { conn, why });
                }
                Output::Send { conn, frame } => {
                    if let Some(frame) = self.let_out(now, conn, frame) {
                        self.unflushed.entry(conn).or_default().push_back(true);
                        return Some(Output::Send { conn, frame });
                    }
                }
                Output::Event(_) => {}
            }
        }
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        let late = self.late.keys().next().map(|(at, _)| Deadline { at: *at, why: "a late answer" });
        match (late, self.machine.poll_timeout()) {
            (Some(late), Some(machine)) => Some(if late.at <= machine.at { late } else { machine }),
            (one, other) => one.or(other),
        }
    }

    fn accept(&mut self, now: Now, peer: PeerInfo) -> Result<ConnId, Refused> {
        self.machine.accept(now, peer)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
