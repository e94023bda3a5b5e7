//! The laws of machines, held over random conversations: valid requests, requests that make no sense, lost connections and
//! time passing. Nothing that a peer sends may panic.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::time::Duration;

use bytes::Bytes;
use rocketry_broker::{BrokerConfig, Embedded, Event, NameServerConfig};
use rocketry_codec::codes::RequestCode;
use rocketry_codec::encoder::FrameWriter;
use rocketry_codec::frame::{Flag, Frame};
use rocketry_machine::{
    Acceptor, ConnId, Input, LinkError, Machine, Moment, Now, Output, PeerInfo, Prng, Seed, UnixMillis,
};

const STEPS: usize = 400;
const SEEDS: u64 = 150;

/// Codes that are drawn often; the others come from the whole list.
const USUAL: [RequestCode; 12] = [
    RequestCode::SEND_MESSAGE_V2,
    RequestCode::SEND_BATCH_MESSAGE,
    RequestCode::PULL_MESSAGE,
    RequestCode::HEART_BEAT,
    RequestCode::CONSUMER_SEND_MSG_BACK,
    RequestCode::UPDATE_CONSUMER_OFFSET,
    RequestCode::QUERY_CONSUMER_OFFSET,
    RequestCode::UNREGISTER_CLIENT,
    RequestCode::LOCK_BATCH_MQ,
    RequestCode::REGISTER_BROKER,
    RequestCode::GET_ROUTEINFO_BY_TOPIC,
    RequestCode::DELETE_TOPIC_IN_BROKER,
];

/// Field names of the requests above, long and short.
const NAMES: [&str; 33] = [
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
    "l",
    "m",
    "consumerGroup",
    "topic",
    "queueId",
    "queueOffset",
    "maxMsgNums",
    "sysFlag",
    "commitOffset",
    "suspendTimeoutMillis",
    "subscription",
    "subVersion",
    "offset",
    "group",
    "delayLevel",
    "maxReconsumeTimes",
    "clientID",
    "brokerName",
    "brokerAddr",
    "clusterName",
    "haServerAddr",
    "brokerId",
    "producerGroup",
];

const TEXTS: [&str; 12] = [
    "T",
    "U",
    "%RETRY%g",
    "g",
    "TBW102",
    "*",
    "a || b",
    "true",
    "TAGS\u{1}a\u{2}",
    "DELAY\u{1}1\u{2}TAGS\u{1}b\u{2}",
    "SCHEDULE_TOPIC_XXXX",
    "\u{1}\u{2}nonsense\u{2}",
];

const NUMBERS: [&str; 10] =
    ["0", "1", "2", "3", "6", "7", "-1", "15000", "9223372036854775807", "-9223372036854775808"];

const BODIES: [&str; 6] = [
    "",
    "hello",
    r#"{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"T","subString":"*"}]}]}"#,
    r#"{"clientId":"c","consumerGroup":"g","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}"#,
    r#"{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"topicName":"T"},"V":{"topicName":"V"}}}}"#,
    "{{{{[[[[",
];

#[derive(Clone)]
enum Step {
    Accept,
    Frame(usize, Frame),
    Close(usize),
    Pass(Duration),
}

/// A conversation that one seed gives.
fn conversation(rng: &mut Prng) -> Vec<Step> {
    let mut writer = FrameWriter::default();
    let mut steps = vec![Step::Accept, Step::Accept];
    for opaque in 0..STEPS {
        let conn = usize::try_from(rng.below(8)).expect("small");
        steps.push(match rng.below(40) {
            0 => Step::Close(conn),
            1 | 2 => Step::Accept,
            3..=7 => Step::Pass(Duration::from_millis([1, 90, 1_000, 5_000, 40_000][conn % 5])),
            _ => Step::Frame(conn, frame(rng, &mut writer, i32::try_from(opaque).expect("small"))),
        });
    }
    steps
}

fn pick<T: Copy>(rng: &mut Prng, from: &[T]) -> T {
    from[usize::try_from(rng.below(from.len() as u64)).expect("small")]
}

fn frame(rng: &mut Prng, writer: &mut FrameWriter, opaque: i32) -> Frame {
    let code = if rng.chance(1, 10) { pick(rng, RequestCode::ALL).1 } else { pick(rng, &USUAL) };
    let mut fields = Vec::new();
    for name in NAMES {
        // Most fields are there, and most hold what fits them.
        if rng.chance(1, 30) {
            continue;
        }
        let texts = ["a", "b", "c", "i", "consumerGroup", "topic", "subscription", "group"].contains(&name);
        let value = if texts != rng.chance(1, 30) { pick(rng, &TEXTS) } else { pick(rng, &NUMBERS) };
        fields.push((name, value));
    }
    let flag = if rng.chance(1, 10) { pick(rng, &[Flag::ONEWAY, Flag::RESPONSE]) } else { Flag::REQUEST };
    let body = Bytes::from_static(pick(rng, &BODIES).as_bytes());
    writer.command(code.0, opaque, flag, None, fields.as_slice(), body)
}

/// A machine with its clock, and everything that came out of it.
struct Run {
    machine: Embedded,
    now: Now,
    conns: Vec<ConnId>,
    out: Vec<String>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let now = at(Moment::ZERO);
        let mut config = BrokerConfig::new(([127, 0, 0, 1], 10_911).into()).with_topic("T", 4);
        config.limits.store_bytes = 60_000;
        config.retention = Duration::from_secs(20);
        config.limits.held_pulls = 5;
        let machine = Embedded::new(NameServerConfig::new(), config, Seed::from(seed), now);
        Self { machine, now, conns: Vec::new(), out: Vec::new() }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Accept => self.conns.push(self.machine.accept(self.now, PeerInfo::default()).expect("room")),
            Step::Frame(conn, frame) => {
                let conn = self.conns[conn % self.conns.len()];
                self.machine.handle_input(self.now, Input::Frame { conn, frame: frame.clone() });
            }
            Step::Close(conn) => {
                let conn = self.conns[conn % self.conns.len()];
                self.machine.handle_input(self.now, Input::Closed { conn, cause: LinkError::Reset });
            }
            Step::Pass(wait) => {
                self.now = at(self.now.at + *wait);
                self.machine.handle_timeout(self.now);
            }
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            self.out.push(shown(output));
        }
    }
}

fn at(moment: Moment) -> Now {
    Now::new(moment, UnixMillis::new(1_700_000_000_000 + i64::try_from(moment.as_nanos() / 1_000_000).expect("short")))
}

fn shown(output: Output<Frame, Event>) -> String {
    match output {
        Output::Send { conn, frame } => format!("{conn:?} {:?}", frame.to_bytes()),
        other => format!("{other:?}"),
    }
}

#[test]
fn when_outputs_are_drained_changes_nothing() {
    let mut outputs = 0;
    for seed in 0..SEEDS {
        let steps = conversation(&mut Seed::from(seed).stream("conversation"));
        let (mut often, mut late) = (Run::new(seed), Run::new(seed));
        for step in &steps {
            often.step(step);
            often.drain();
            late.step(step);
        }
        late.drain();
        assert_eq!(often.out, late.out, "seed {seed}");
        outputs += often.out.len() as u64;
    }
    assert!(outputs > SEEDS * STEPS as u64 / 3, "only {outputs} outputs: the conversations say nothing");
}

#[test]
fn deadlines_make_progress_and_early_ticks_change_nothing() {
    for seed in 0..SEEDS {
        let steps = conversation(&mut Seed::from(seed).stream("conversation"));
        let (mut plain, mut eager) = (Run::new(seed), Run::new(seed));
        for step in &steps {
            plain.step(step);
            plain.drain();
            eager.step(step);
            if eager.machine.poll_timeout().is_some_and(|next| next.at <= eager.now.at) {
                let mut queued = Run { out: Vec::new(), ..eager };
                queued.drain();
                assert!(!queued.out.is_empty(), "seed {seed}: a deadline of now means undrained output");
                eager = queued;
            }
            let before = eager.machine.poll_timeout();
            eager.machine.handle_timeout(eager.now);
            assert!(eager.machine.poll_output().is_none(), "seed {seed}: an early tick has output");
            assert_eq!(eager.machine.poll_timeout(), before, "seed {seed}: an early tick moves a deadline");
            if let Some(next) = before {
                assert!(next.at > eager.now.at, "seed {seed}: {} is not later than now", next.why);
            }
        }
        for _ in 0..1_000 {
            let Some(next) = plain.machine.poll_timeout() else { break };
            plain.now = at(next.at);
            plain.machine.handle_timeout(plain.now);
            let output = plain.machine.poll_output().is_some();
            plain.drain();
            let later = plain.machine.poll_timeout().is_none_or(|after| after.at > plain.now.at);
            assert!(output || later, "seed {seed}: {} fires again and again", next.why);
        }
    }
}
