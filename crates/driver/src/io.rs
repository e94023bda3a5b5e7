//! What a runtime gives to a driver: the two halves of a connection, ways to open and accept one, a timer.
//!
//! Nothing here names a runtime. TLS sits below these traits: a TLS stream is a [`Reader`] and a [`Writer`] like any
//! other.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use rocketry_machine::{Endpoint, LinkError, PeerInfo};

/// The receiving half of a connection. Only the driver uses it.
pub trait Reader: Send {
    /// Reads what is there into `buffer`, or arranges that the waker fires when something is. 0 bytes mean that the peer
    /// sends nothing more.
    ///
    /// # Errors
    /// What the operating system reports; never `WouldBlock`.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;
}

/// The sending half of a connection. Whoever has something to send uses it, under the shell's lock.
pub trait Writer: Send {
    /// Writes what the kernel takes now.
    ///
    /// # Errors
    /// `WouldBlock` when that is nothing; else what the operating system reports.
    fn try_write(&mut self, segments: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Whether [`Writer::try_write`] is worth another attempt; if not, arranges that the waker fires when it is.
    ///
    /// # Errors
    /// What the operating system reports.
    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A connection that stands.
#[allow(missing_debug_implementations)] // halves are opaque
pub struct Connected {
    /// The receiving half.
    pub reader: Box<dyn Reader>,
    /// The sending half.
    pub writer: Box<dyn Writer>,
    /// Who is at the other end.
    pub peer: PeerInfo,
}

impl Connected {
    /// From its parts.
    #[must_use]
    pub fn new(reader: impl Reader + 'static, writer: impl Writer + 'static, peer: PeerInfo) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer), peer }
    }
}

/// An attempt to connect. Dropping it gives the attempt up.
pub type Connecting = Pin<Box<dyn Future<Output = Result<Connected, LinkError>> + Send>>;

/// Opens connections.
pub trait Connect: Send + Sync {
    /// Begins to connect: resolves the name, tries its addresses in turn. The driver ends the attempt when the machine's
    /// own connect timeout says so.
    fn connect(&self, endpoint: &Endpoint) -> Connecting;
}

/// Accepts connections.
pub trait Listen: Send {
    /// The next peer, or arranges that the waker fires when there is one.
    ///
    /// # Errors
    /// What the operating system reports; the driver tries again later.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Connected>>;
}

/// One resettable timer: all that a driver needs.
pub trait Timer: Send {
    /// Elapses at `at` from now on, instead of whatever it was set to. `None`: never.
    fn set(&mut self, at: Option<Instant>);

    /// Whether the instant has come; if not, arranges that the waker fires then.
    fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// What ties the API to a runtime. The adapters have one marker type each that implements it.
pub trait Runtime: Send + Sync + 'static {
    /// Runs a future to its end in the background.
    ///
    /// # Errors
    /// When there is no runtime to run it.
    fn spawn(driver: impl Future<Output = ()> + Send + 'static) -> io::Result<()>;

    /// A way to open TCP connections.
    fn connector() -> Arc<dyn Connect>;

    /// Binds a TCP listener; port 0 picks a free port. Returns it with the address that it has.
    fn listen(
        at: std::net::SocketAddr,
    ) -> impl Future<Output = io::Result<(Box<dyn Listen>, std::net::SocketAddr)>> + Send;

    /// A timer that is not set.
    fn timer() -> Box<dyn Timer>;
}

/// The closed set of causes that machines know, from what the operating system says.
#[must_use]
pub fn link_error(error: &io::Error) -> LinkError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => LinkError::Refused,
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
            LinkError::Reset
        }
        io::ErrorKind::TimedOut => LinkError::ConnectTimeout,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
            LinkError::Unreachable
        }
        io::ErrorKind::UnexpectedEof => LinkError::Eof,
        _ => LinkError::Other,
    }
}

/// Connects to the first of a name's addresses that takes the connection: the order and the error of all attempts.
///
/// # Errors
/// `Unresolved` when there is no address, else why the last attempt failed.
pub async fn first_of<F>(
    addresses: impl IntoIterator<Item = std::net::SocketAddr>,
    mut connect: impl FnMut(std::net::SocketAddr) -> F,
) -> Result<Connected, LinkError>
where
    F: Future<Output = io::Result<Connected>>,
{
    let mut last = LinkError::Unresolved;
    for address in addresses {
        match connect(address).await {
            Ok(connected) => return Ok(connected),
            Err(error) => last = link_error(&error),
        }
    }
    Err(last)
}
