//! Connections inside the process: pipes of bytes without sockets, under the same traits as sockets.
//!
//! A [`Network`] is both sides' meeting place: a server listens on an endpoint of it, a client connects through it.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use rocketry_machine::{Endpoint, LinkError, PeerInfo};

use crate::io::{Connect, Connected, Connecting, Listen, Reader, Writer};
use crate::sync::lock;

/// Bytes that one direction of a connection holds.
const CAPACITY: usize = 256 * 1024;
/// Peers that wait to be accepted.
const BACKLOG: usize = 1_024;

/// Both ends of a new connection.
#[must_use]
pub fn pair() -> (Connected, Connected) {
    let (there, back) = (Pipe::new(), Pipe::new());
    let end = |from: &Arc<Pipe>, to: &Arc<Pipe>| {
        Connected::new(Source(Arc::clone(from)), Sink(Arc::clone(to)), PeerInfo::default())
    };
    (end(&back, &there), end(&there, &back))
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Pipe {
    state: Mutex<PipeState>,
}

#[derive(Debug, Default)]
struct PipeState {
    bytes: VecDeque<u8>,
    /// The sink is gone: end of the stream.
    ended: bool,
    /// The source is gone: nobody will read.
    broken: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn new() -> Arc<Self> {
        Arc::default()
    }
}

struct Source(Arc<Pipe>);

impl Reader for Source {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let (count, waker) = {
            let mut state = lock(&self.0.state);
            if state.bytes.is_empty() {
                if state.ended {
                    return Poll::Ready(Ok(0));
                }
                state.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let count = io::Read::read(&mut state.bytes, buffer)?;
            (count, state.writer.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Poll::Ready(Ok(count))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let waker = {
            let mut state = lock(&self.0.state);
            state.broken = true;
            state.bytes.clear();
            state.writer.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

struct Sink(Arc<Pipe>);

impl Writer for Sink {
    fn try_write(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let (count, waker) = {
            let mut state = lock(&self.0.state);
            if state.broken {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let room = CAPACITY.saturating_sub(state.bytes.len());
            if room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut count = 0;
            for segment in segments {
                let part = &segment[..segment.len().min(room - count)];
                state.bytes.extend(part);
                count += part.len();
            }
            (count, state.reader.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(count)
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0.state);
        if state.broken || state.bytes.len() < CAPACITY {
            return Poll::Ready(Ok(()));
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let waker = {
            let mut state = lock(&self.0.state);
            state.ended = true;
            state.reader.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A network inside the process. Clones are the same network.
#[derive(Clone, Debug, Default)]
pub struct Network {
    ports: Arc<Mutex<HashMap<Endpoint, Arc<Mutex<Backlog>>>>>,
}

#[derive(Default)]
struct Backlog {
    waiting: VecDeque<Connected>,
    waker: Option<Waker>,
    closed: bool,
}

impl std::fmt::Debug for Backlog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backlog").field("waiting", &self.waiting.len()).field("closed", &self.closed).finish()
    }
}

impl Network {
    /// A network on which nobody listens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens on an endpoint, instead of whoever did before.
    #[must_use]
    pub fn listen(&self, at: Endpoint) -> Box<dyn Listen> {
        let backlog = Arc::new(Mutex::new(Backlog::default()));
        lock(&self.ports).insert(at, Arc::clone(&backlog));
        Box::new(Listener(backlog))
    }

    fn reach(&self, endpoint: &Endpoint) -> Result<Connected, LinkError> {
        let backlog = lock(&self.ports).get(endpoint).cloned().ok_or(LinkError::Refused)?;
        let (ours, theirs) = pair();
        let waker = {
            let mut backlog = lock(&backlog);
            if backlog.closed || backlog.waiting.len() >= BACKLOG {
                return Err(LinkError::Refused);
            }
            backlog.waiting.push_back(theirs);
            backlog.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(ours)
    }
}

impl Connect for Network {
    fn connect(&self, endpoint: &Endpoint) -> Connecting {
        let reached = self.reach(endpoint);
        Box::pin(async move { reached })
    }
}

struct Listener(Arc<Mutex<Backlog>>);

impl Listen for Listener {
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Connected>> {
        let mut backlog = lock(&self.0);
        if let Some(connected) = backlog.waiting.pop_front() {
            return Poll::Ready(Ok(connected));
        }
        backlog.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let waiting = {
            let mut backlog = lock(&self.0);
            backlog.closed = true;
            std::mem::take(&mut backlog.waiting)
        };
        // Whoever waited finds the connection closed.
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CountingWaker;

    #[test]
    fn bytes_wait_for_a_reader_and_a_full_pipe_for_room() {
        let (mut a, mut b) = pair();
        let (reads, writes) = (CountingWaker::new(), CountingWaker::new());
        let (reader, writer) = (reads.waker(), writes.waker());
        let mut buffer = vec![0; CAPACITY];
        assert!(b.reader.poll_read(&mut Context::from_waker(&reader), &mut buffer).is_pending());
        let block = vec![7; CAPACITY + 1];
        assert_eq!(a.writer.try_write(&[IoSlice::new(&block)]).expect("there is room"), CAPACITY);
        assert_eq!(reads.count(), 1);
        let full = a.writer.try_write(&[IoSlice::new(&block)]).expect_err("it is full");
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        assert!(a.writer.poll_writable(&mut Context::from_waker(&writer)).is_pending());
        let read = b.reader.poll_read(&mut Context::from_waker(&reader), &mut buffer[..10]);
        assert!(matches!(read, Poll::Ready(Ok(10))));
        assert_eq!(writes.count(), 1);
        drop(a);
        let mut left = 0;
        while let Poll::Ready(Ok(count @ 1..)) = b.reader.poll_read(&mut Context::from_waker(&reader), &mut buffer) {
            left += count;
        }
        assert_eq!(left, CAPACITY - 10, "what was written before the end is read");
        let broken = b.writer.try_write(&[IoSlice::new(&block)]).expect_err("nobody reads");
        assert_eq!(broken.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn nobody_listening_is_a_refusal() {
        let network = Network::new();
        let at = Endpoint::new("broker", 10_911);
        assert!(matches!(network.reach(&at), Err(LinkError::Refused)));
        let listener = network.listen(at.clone());
        assert!(network.reach(&at).is_ok());
        drop(listener);
        assert!(matches!(network.reach(&at), Err(LinkError::Refused)));
    }
}
