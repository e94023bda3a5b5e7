//! A peer that speaks nonsense: requests with random codes and fields, answers to nothing.

use std::any::Any;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use rocketry_codec::encoder::FrameWriter;
use rocketry_codec::frame::{Flag, Frame};
use rocketry_machine::{ConnId, Deadline, Endpoint, Input, Moment, Now, Output, PeerInfo, Prng, Refused, Slab};

use crate::node::Node;

/// Names that servers look for in headers.
const FIELDS: &[&str] = &[
    "topic",
    "queueId",
    "queueOffset",
    "consumerGroup",
    "commitOffset",
    "producerGroup",
    "group",
    "offset",
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
    "g",
    "h",
    "i",
    "j",
    "k",
    "l",
    "m",
    "maxMsgNums",
    "sysFlag",
    "subVersion",
    "clientID",
    "brokerName",
];
/// Values that somebody may not expect.
const VALUES: &[&str] = &[
    "",
    "0",
    "-1",
    "elsewhere",
    "nobody",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "true",
    "\u{1}\u{2}",
    "%RETRY%nobody",
    "NaN",
    "🦀",
];

pub(crate) struct Hostile {
    to: Endpoint,
    draws: Prng,
    conns: Slab<ConnId, ()>,
    open: Option<ConnId>,
    out: VecDeque<Output<Frame, Infallible>>,
    writer: FrameWriter,
    next: Moment,
}

impl Hostile {
    pub(crate) fn new(to: Endpoint, draws: Prng, now: Now) -> Self {
        Self {
            to,
            draws,
            conns: Slab::new(),
            open: None,
            out: VecDeque::new(),
            writer: FrameWriter::default(),
            next: now.at,
        }
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = usize::try_from(self.draws.below(from.len() as u64)).unwrap_or(0);
        from.get(at).copied().unwrap_or_default()
    }

    fn nonsense(&mut self) -> Frame {
        let code = if self.draws.chance(1, 2) { self.draws.below(400) } else { self.draws.below(300_000) };
        let code = i32::try_from(code).unwrap_or(0);
        let flag = [Flag::REQUEST, Flag::ONEWAY, Flag::RESPONSE][usize::try_from(self.draws.below(3)).unwrap_or(0)];
        let opaque = i32::try_from(self.draws.below(1 << 31)).unwrap_or(0);
        let fields: Vec<(&str, &str)> =
            (0..self.draws.below(12)).map(|_| (self.pick(FIELDS), self.pick(VALUES))).collect();
        let body: Vec<u8> = (0..self.draws.below(200)).map(|_| self.draws.next_u64().to_le_bytes()[0]).collect();
        self.writer.command(code, opaque, flag, None, &fields[..], Bytes::from(body))
    }
}

impl Node for Hostile {
    fn handle_input(&mut self, _: Now, input: Input<Frame>) {
        if let Input::Closed { conn, .. } = input {
            self.conns.remove(conn);
            self.open = None;
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        if now.at < self.next {
            return;
        }
        self.next = now.at + Duration::from_millis(20 + self.draws.below(300));
        match self.open {
            None => {
                let conn = self.conns.insert(());
                self.open = Some(conn);
                self.out.push_back(Output::Open { conn, endpoint: self.to.clone() });
            }
            Some(conn) => {
                let frame = self.nonsense();
                self.out.push_back(Output::Send { conn, frame });
            }
        }
    }

    fn poll_network(&mut self, _: Now) -> Option<Output<Frame, Infallible>> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        Some(Deadline { at: self.next, why: "the next nonsense" })
    }

    fn accept(&mut self, _: Now, _: PeerInfo) -> Result<ConnId, Refused> {
        Err(Refused::Stopping)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
