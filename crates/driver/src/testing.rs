//! Helpers of the unit tests: a waker that counts, and a machine that is told what to do.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use rocketry_codec::encoder::{FrameWriter, Sender};
use rocketry_codec::frame::Frame;
use rocketry_machine::{ConnId, Deadline, Endpoint, Input, Key, Machine, Moment, Now, Output};

/// A waker that counts.
#[derive(Debug, Default)]
pub(crate) struct CountingWaker(AtomicUsize);

impl CountingWaker {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A machine that records its inputs and whose outputs the test queues.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) outputs: VecDeque<Output<Frame, u32>>,
    pub(crate) inputs: Vec<String>,
    pub(crate) deadline: Option<Moment>,
    /// Every frame that arrives is sent back.
    pub(crate) echo: bool,
    pub(crate) next: u32,
}

impl Script {
    pub(crate) fn open(&mut self, endpoint: Endpoint) -> ConnId {
        let conn = ConnId::from(Key::from_parts(self.next, 0));
        self.next += 1;
        self.outputs.push_back(Output::Open { conn, endpoint });
        conn
    }

    pub(crate) fn send(&mut self, conn: ConnId, frame: Frame) {
        self.outputs.push_back(Output::Send { conn, frame });
    }
}

impl Machine for Script {
    type Frame = Frame;
    type Event = u32;

    fn handle_input(&mut self, _now: Now, input: Input<Frame>) {
        let text = match input {
            Input::Opened { conn, .. } => format!("opened {conn:?}"),
            Input::Frame { conn, frame } => {
                let opaque = frame.opaque();
                if self.echo {
                    self.send(conn, frame);
                }
                format!("frame {opaque}")
            }
            Input::Flushed { frames, .. } => format!("flushed {frames}"),
            Input::Closed { cause, .. } => format!("closed: {cause}"),
        };
        self.inputs.push(text);
    }

    fn handle_timeout(&mut self, now: Now) {
        if self.deadline.is_some_and(|at| at <= now.at) {
            self.deadline = None;
            self.inputs.push(format!("fired at {}", now.at));
        }
    }

    fn poll_output(&mut self) -> Option<Output<Frame, u32>> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Deadline> {
        self.deadline.map(|at| Deadline { at, why: "test" })
    }
}

/// A frame with this number and a body of this size.
pub(crate) fn frame(opaque: i32, body: usize) -> Frame {
    let mut writer = FrameWriter::new(Sender::default());
    let request = rocketry_codec::request::Heartbeat::default();
    writer.request(opaque, &request, bytes::Bytes::from(vec![0; body]))
}

/// A timer that never elapses by itself.
#[derive(Debug, Default)]
pub(crate) struct StillTimer;

impl crate::io::Timer for StillTimer {
    fn set(&mut self, _at: Option<std::time::Instant>) {}

    fn poll_elapsed(&mut self, _cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        std::task::Poll::Pending
    }
}

/// A runtime without sockets, tasks and time: what it drives, the test polls.
#[derive(Debug)]
pub(crate) struct ByHand;

impl crate::io::Runtime for ByHand {
    fn spawn(_driver: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn connector() -> Arc<dyn crate::io::Connect> {
        Arc::new(crate::memory::Network::new())
    }

    async fn listen(_at: std::net::SocketAddr) -> std::io::Result<(Box<dyn crate::io::Listen>, std::net::SocketAddr)> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn timer() -> Box<dyn crate::io::Timer> {
        Box::new(StillTimer)
    }
}

/// Polls a future once.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> std::task::Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut std::task::Context::from_waker(waker))
}
