//! Sockets of `async-io` and tasks of smol's global executor.

use std::future::Future;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_io::Async;
use rocketry_core::machine::{Endpoint, LinkError, PeerInfo};
use rocketry_driver::io::{Connect, Connected, Connecting, Listen, Reader, Runtime, Timer, Writer, first_of};

use crate::timer::Sleeper;

/// smol's global executor: what the types of `rocketry-driver` are made for in this crate.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs)] // only a name
pub struct Smol;

impl Runtime for Smol {
    fn spawn(driver: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        // The client knows when its driver ends and joins it in `closed`; the handle would add nothing.
        smol::spawn(driver).detach();
        Ok(())
    }

    fn connector() -> Arc<dyn Connect> {
        Arc::new(Tcp)
    }

    async fn listen(at: SocketAddr) -> io::Result<(Box<dyn Listen>, SocketAddr)> {
        let listener = Async::<TcpListener>::bind(at)?;
        let address = listener.get_ref().local_addr()?;
        Ok((Box::new(Listening(listener)), address))
    }

    fn timer() -> Box<dyn Timer> {
        Box::new(Sleeper::default())
    }
}

/// Opens TCP connections.
#[derive(Clone, Copy, Debug)]
struct Tcp;

impl Connect for Tcp {
    fn connect(&self, endpoint: &Endpoint) -> Connecting {
        if endpoint.tls() {
            // Plain text where TLS is wanted would give away what it should protect.
            return Box::pin(std::future::ready(Err(LinkError::Tls("this adapter has no TLS"))));
        }
        let (host, port) = (endpoint.host().to_owned(), endpoint.port());
        Box::pin(async move {
            // An address is not looked up, which would take a thread.
            if let Ok(ip) = host.parse() {
                return first_of([SocketAddr::new(ip, port)], open).await;
            }
            match smol::unblock(move || (host.as_str(), port).to_socket_addrs()).await {
                Ok(addresses) => first_of(addresses, open).await,
                Err(_) => Err(LinkError::Unresolved),
            }
        })
    }
}

async fn open(address: SocketAddr) -> io::Result<Connected> {
    connected(Async::<TcpStream>::connect(address).await?)
}

fn connected(stream: Async<TcpStream>) -> io::Result<Connected> {
    // Frames are gathered before they are written; waiting for more would only cost time.
    stream.get_ref().set_nodelay(true)?;
    let peer = PeerInfo::new(stream.get_ref().peer_addr().ok(), stream.get_ref().local_addr().ok());
    let stream = Arc::new(stream);
    Ok(Connected::new(Receiving { stream: Arc::clone(&stream), drained: false }, Sending(stream), peer))
}

struct Receiving {
    stream: Arc<Async<TcpStream>>,
    /// The last read took all there was: another one would only be told so.
    drained: bool,
}

impl Reader for Receiving {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if self.drained {
                ready!(self.stream.poll_readable(cx))?;
                self.drained = false;
            }
            match self.stream.get_ref().read(buffer) {
                Ok(count) => {
                    self.drained = count > 0 && count < buffer.len();
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.drained = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

struct Sending(Arc<Async<TcpStream>>);

impl Writer for Sending {
    fn try_write(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut stream = self.0.get_ref();
        match segments {
            [one] => stream.write(one),
            many => stream.write_vectored(many),
        }
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_writable(cx)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        // The reading half may live on for a moment; the peer need not wait for it. A socket that is closed already has
        // nothing to shut down.
        let _ = self.0.get_ref().shutdown(std::net::Shutdown::Write);
    }
}

struct Listening(Async<TcpListener>);

impl Listen for Listening {
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Connected>> {
        loop {
            match self.0.get_ref().accept() {
                Ok((stream, _)) => return Poll::Ready(Async::new(stream).and_then(connected)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(self.0.poll_readable(cx))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}
