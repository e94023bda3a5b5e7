//! Sockets and tasks of tokio.

use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rocketry_core::machine::{Endpoint, LinkError, PeerInfo};
use rocketry_driver::io::{Connect, Connected, Connecting, Listen, Reader, Runtime, Timer, Writer, first_of};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::timer::Sleeper;

/// The tokio runtime: what the types of `rocketry-driver` are made for in this crate.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs)] // only a name
pub struct Tokio;

impl Runtime for Tokio {
    fn spawn(driver: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        // The client knows when its driver ends and joins it in `closed`; the handle would add nothing.
        drop(runtime.spawn(driver));
        Ok(())
    }

    fn connector() -> Arc<dyn Connect> {
        Arc::new(Tcp)
    }

    async fn listen(at: SocketAddr) -> io::Result<(Box<dyn Listen>, SocketAddr)> {
        let listener = TcpListener::bind(at).await?;
        let address = listener.local_addr()?;
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
            match tokio::net::lookup_host((host.as_str(), port)).await {
                Ok(addresses) => first_of(addresses, open).await,
                Err(_) => Err(LinkError::Unresolved),
            }
        })
    }
}

async fn open(address: SocketAddr) -> io::Result<Connected> {
    connected(TcpStream::connect(address).await?)
}

fn connected(stream: TcpStream) -> io::Result<Connected> {
    // Frames are gathered before they are written; waiting for more would only cost time.
    stream.set_nodelay(true)?;
    let peer = PeerInfo::new(stream.peer_addr().ok(), stream.local_addr().ok());
    let (reader, writer) = stream.into_split();
    Ok(Connected::new(Receiving(reader), Sending(writer), peer))
}

struct Receiving(OwnedReadHalf);

impl Reader for Receiving {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

struct Sending(OwnedWriteHalf);

impl Writer for Sending {
    fn try_write(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        match segments {
            [one] => self.0.try_write(one),
            many => self.0.try_write_vectored(many),
        }
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_ref().poll_write_ready(cx)
    }
}

struct Listening(TcpListener);

impl Listen for Listening {
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Connected>> {
        let (stream, _) = ready!(self.0.poll_accept(cx))?;
        Poll::Ready(connected(stream))
    }
}
