use std::io::{self, IoSlice};
use std::sync::Mutex;

use rocketry_codec::limits::Limits;
use rocketry_codec::wire::Wire;
use rocketry_machine::{CloseReason, Endpoint, Output, UnixMillis};

use super::*;
use crate::clock::Clock;
use crate::io::{Connecting, Reader, Writer};
use crate::memory::{self, Network};
use crate::testing::{CountingWaker, Script, StillTimer, frame, poll};

/// Counts events; its life is set by the test.
struct TestHost(Life);

impl Host<Script> for TestHost {
    fn on_event(&mut self, _event: u32, _after: &mut After) {}

    fn life(&self) -> Life {
        self.0
    }

    fn on_end(&mut self, _after: &mut After) {}
}

type TestShell = Arc<Shell<Script, TestHost>>;

struct Bench {
    shell: TestShell,
    engine: Engine<Script, TestHost>,
    clock: Clock,
    waker: Arc<CountingWaker>,
    ended: Arc<Ended>,
}

impl Bench {
    fn new(connect: impl Connect + 'static, listeners: Vec<Box<dyn Listen>>) -> Self {
        let clock = Clock::manual(Now::new(Moment::from_millis(1), UnixMillis::new(0)));
        let shell = Arc::new(Shell::new(Script::default(), TestHost(Life::Running), clock.clone()));
        let ended = Arc::new(Ended::default());
        let accept: Accept<Script> = |script, _, _| {
            script.next += 1;
            if script.next > 2 { Err(Refused::TooMany { limit: 2 }) } else { Ok(conn(script.next)) }
        };
        let waiting =
            Waiting { connect: Arc::new(connect), timer: Box::new(StillTimer), listeners, accept: Some(accept) };
        let engine = Engine::new(Arc::clone(&shell), waiting, Arc::clone(&ended));
        Self { shell, engine, clock, waker: CountingWaker::new(), ended }
    }

    /// Polls until the engine waits; whether it has ended.
    fn run(&mut self) -> bool {
        loop {
            let before = self.waker.count();
            if poll(&mut self.engine, &self.waker.waker()).is_ready() {
                return true;
            }
            if self.waker.count() == before {
                return false;
            }
        }
    }

    fn step<R>(&self, feed: impl FnOnce(&mut Script) -> R) -> R {
        self.shell.step(|script, _, _, _| feed(script))
    }

    fn seen(&self) -> Vec<String> {
        self.step(|script| std::mem::take(&mut script.inputs))
    }
}

fn conn(index: u32) -> ConnId {
    ConnId::from(rocketry_machine::Key::from_parts(index, 0))
}

/// A peer on a memory network that the test plays itself.
struct Peer {
    connected: Connected,
    wire: Wire,
}

impl Peer {
    fn accept(listener: &mut Box<dyn Listen>) -> Self {
        let Poll::Ready(Ok(connected)) = listener.poll_accept(&mut Context::from_waker(Waker::noop())) else {
            panic!("nobody connects");
        };
        Self::new(connected)
    }

    fn new(connected: Connected) -> Self {
        Self { connected, wire: Wire::new(&Limits::DEFAULT) }
    }

    /// The numbers of the frames that have arrived; `None` at the end of the stream.
    fn read(&mut self) -> (Vec<i32>, bool) {
        let mut numbers = Vec::new();
        loop {
            let space = self.wire.space();
            match self.connected.reader.poll_read(&mut Context::from_waker(Waker::noop()), space) {
                Poll::Ready(Ok(0)) => return (numbers, true),
                Poll::Ready(Ok(count)) => self.wire.filled(count),
                Poll::Ready(Err(error)) => panic!("{error}"),
                Poll::Pending => return (numbers, false),
            }
            while let Some(frame) = self.wire.next_frame().expect("whole frames") {
                numbers.push(frame.opaque());
            }
        }
    }

    fn write(&mut self, opaque: i32) {
        let bytes = frame(opaque, 10).to_bytes();
        assert_eq!(self.connected.writer.try_write(&[IoSlice::new(&bytes)]).expect("it stands"), bytes.len());
    }
}

fn endpoint() -> Endpoint {
    Endpoint::new("broker", 10_911)
}

#[test]
fn frames_queued_before_the_connection_stands_are_flushed_and_flushed_comes_before_closed() {
    let network = Network::new();
    let mut listener = network.listen(endpoint());
    let mut bench = Bench::new(network, Vec::new());
    let conn = bench.step(|script| {
        let conn = script.open(endpoint());
        script.send(conn, frame(1, 0));
        script.send(conn, frame(2, 0));
        conn
    });
    assert!(!bench.run());
    let mut peer = Peer::accept(&mut listener);
    assert_eq!(peer.read(), (vec![1, 2], false));
    peer.write(7);
    assert!(!bench.run());
    assert_eq!(bench.seen(), [format!("opened {conn:?}"), "flushed 2".into(), "frame 7".into()]);
    // A caller's frame is written in the caller's own step.
    bench.step(|script| script.send(conn, frame(3, 0)));
    assert_eq!(peer.read(), (vec![3], false));
    drop(peer);
    assert!(!bench.run());
    assert_eq!(bench.seen(), ["flushed 1", "closed: connection closed by the peer"]);
}

#[test]
fn what_the_kernel_does_not_take_is_written_when_it_does() {
    let network = Network::new();
    let mut listener = network.listen(endpoint());
    let mut bench = Bench::new(network, Vec::new());
    let conn = bench.step(|script| script.open(endpoint()));
    assert!(!bench.run());
    let mut peer = Peer::accept(&mut listener);
    bench.step(|script| (1..=3).for_each(|opaque| script.send(conn, frame(opaque, 200_000))));
    assert_eq!(bench.seen(), [format!("opened {conn:?}"), "flushed 1".into()], "the pipe holds one of them");
    let mut read = Vec::new();
    for _ in 0..10 {
        read.extend(peer.read().0);
        bench.run();
    }
    assert_eq!(read, [1, 2, 3]);
    assert_eq!(bench.seen().concat(), "flushed 1flushed 1");
}

#[test]
fn a_peer_that_breaks_the_protocol_is_closed_with_the_reason() {
    let network = Network::new();
    let mut listener = network.listen(endpoint());
    let mut bench = Bench::new(network, Vec::new());
    bench.step(|script| script.open(endpoint()));
    bench.run();
    let mut peer = Peer::accept(&mut listener);
    bench.seen();
    peer.connected.writer.try_write(&[IoSlice::new(b"HTTP/1.1 400 Bad Request\r\n")]).expect("it stands");
    bench.run();
    assert_eq!(bench.seen(), ["closed: the peer's bytes are not RocketMQ frames: the peer speaks HTTP"]);
    assert!(peer.read().1, "its connection is closed");
}

#[test]
fn nobody_listening_closes_the_connection_for_the_machine() {
    let mut bench = Bench::new(Network::new(), Vec::new());
    bench.step(|script| script.open(endpoint()));
    assert!(!bench.run());
    assert_eq!(bench.seen(), ["closed: connection refused"]);
}

#[test]
fn timers_fire_by_the_clock_and_an_earlier_one_rings() {
    let mut bench = Bench::new(Network::new(), Vec::new());
    bench.step(|script| script.deadline = Some(Moment::from_millis(1_000)));
    bench.run();
    let rung = bench.waker.count();
    bench.step(|script| script.deadline = Some(Moment::from_millis(2_000)));
    assert_eq!(bench.waker.count(), rung, "a later deadline needs no wake-up");
    bench.step(|script| script.deadline = Some(Moment::from_millis(500)));
    assert_eq!(bench.waker.count(), rung + 1);
    bench.run();
    assert!(bench.seen().is_empty());
    bench.clock.advance(Duration::from_millis(499));
    bench.run();
    assert_eq!(bench.seen(), ["fired at 0.500000000s"]);
}

/// Always has another frame.
struct Endless {
    bytes: Vec<u8>,
    at: usize,
}

impl Reader for Endless {
    fn poll_read(&mut self, _cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let count = buffer.len().min(self.bytes.len() - self.at);
        buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at = (self.at + count) % self.bytes.len();
        Poll::Ready(Ok(count))
    }
}

struct Void;

impl Writer for Void {
    fn try_write(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(segments.iter().map(|segment| segment.len()).sum())
    }

    fn poll_writable(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Gives out prepared connections in order.
struct Prepared(Mutex<Vec<Connected>>);

impl Connect for Prepared {
    fn connect(&self, _endpoint: &Endpoint) -> Connecting {
        let next = crate::sync::lock(&self.0).pop().expect("one is prepared");
        Box::pin(std::future::ready(Ok(next)))
    }
}

#[test]
fn a_flooding_peer_starves_neither_others_nor_timers() {
    let (ours, theirs) = memory::pair();
    let flood = Connected::new(Endless { bytes: frame(9, 100).to_bytes().to_vec(), at: 0 }, Void, PeerInfo::default());
    let mut bench = Bench::new(Prepared(Mutex::new(vec![ours, flood])), Vec::new());
    let mut quiet = Peer::new(theirs);
    quiet.write(5);
    bench.step(|script| {
        script.open(endpoint());
        script.open(endpoint());
        script.deadline = Some(Moment::from_millis(1));
    });
    let before = bench.waker.count();
    for _ in 0..3 {
        assert!(poll(&mut bench.engine, &bench.waker.waker()).is_pending(), "it yields");
    }
    assert!(bench.waker.count() > before, "and wants to be polled again");
    let seen = bench.seen();
    assert!(seen.contains(&"frame 5".to_owned()), "the quiet peer was heard");
    assert!(seen.iter().any(|input| input.starts_with("fired")), "the timer has fired");
    assert!(seen.iter().filter(|input| *input == "frame 9").count() > 10, "the flood went on");
}

#[test]
fn a_closed_connection_is_written_out_first_and_not_for_ever() {
    let network = Network::new();
    let mut listener = network.listen(endpoint());
    let mut bench = Bench::new(network, Vec::new());
    let (one, two) = bench.step(|script| (script.open(endpoint()), script.open(endpoint())));
    bench.run();
    let (mut slow, mut dead) = (Peer::accept(&mut listener), Peer::accept(&mut listener));
    bench.step(|script| {
        for conn in [one, two] {
            script.send(conn, frame(1, 200_000));
            script.send(conn, frame(2, 200_000));
            script.outputs.push_back(Output::Close { conn, why: CloseReason::Stopping });
        }
    });
    bench.run();
    let mut read = (Vec::new(), false);
    for _ in 0..10 {
        let (numbers, ended) = slow.read();
        read.0.extend(numbers);
        read.1 |= ended;
        bench.run();
    }
    assert_eq!(read, (vec![1, 2], true));
    assert!(!bench.engine.lingering.is_empty(), "the dead peer has time left");
    bench.clock.advance(LINGER);
    bench.run();
    assert!(bench.engine.lingering.is_empty());
    let (numbers, ended) = dead.read();
    assert_eq!((numbers, ended), (vec![1], true), "given up in the middle of the second frame");
}

#[test]
fn an_acceptor_takes_peers_and_refuses_those_that_are_too_many() {
    let network = Network::new();
    let listener = network.listen(endpoint());
    let mut bench = Bench::new(Network::new(), vec![listener]);
    bench.step(|script| script.echo = true);
    bench.run();
    let connect = || {
        let Poll::Ready(Ok(connected)) =
            network.connect(&endpoint()).as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("refused");
        };
        Peer::new(connected)
    };
    let (mut one, mut two, mut three) = (connect(), connect(), connect());
    one.write(11);
    two.write(12);
    bench.run();
    assert_eq!((one.read(), two.read()), ((vec![11], false), (vec![12], false)));
    assert_eq!(three.read(), (vec![], true));
}

#[test]
fn dropping_the_driver_closes_everything_and_ending_waits_for_what_lingers() {
    let network = Network::new();
    let mut listener = network.listen(endpoint());
    let mut bench = Bench::new(network.clone(), Vec::new());
    bench.step(|script| script.open(endpoint()));
    bench.run();
    let mut peer = Peer::accept(&mut listener);
    bench.seen();
    let Bench { shell, engine, ended, .. } = bench;
    drop(engine);
    assert!(ended.is_set());
    assert!(peer.read().1);
    let script = Arc::into_inner(shell).expect("nobody else has it").into_machine();
    assert_eq!(script.inputs, ["closed: the client is stopping"]);

    let mut bench = Bench::new(network, Vec::new());
    let conn = bench.step(|script| script.open(endpoint()));
    bench.run();
    let mut peer = Peer::accept(&mut listener);
    bench.shell.step(|script, host, _, _| {
        script.send(conn, frame(1, 200_000));
        script.send(conn, frame(2, 200_000));
        script.outputs.push_back(Output::Close { conn, why: CloseReason::Stopping });
        host.0 = Life::Ending;
    });
    assert!(!bench.run(), "something is still to be written");
    assert_eq!(peer.read(), (vec![1], false));
    assert!(bench.run(), "it ends once all is written");
    assert_eq!(peer.read(), (vec![2], true));
}
