//! What crosses the border of a machine: inputs from the network, outputs to it.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::net::SocketAddr;

use crate::ConnId;

/// The network speaking.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums)] // a driver that ignores a kind must not compile
pub enum Input<F> {
    /// A requested connection stands.
    Opened {
        /// The id that the machine gave it.
        conn: ConnId,
        /// Who is at the other end.
        peer: PeerInfo,
    },
    /// A whole frame arrived.
    Frame {
        /// Where.
        conn: ConnId,
        /// The frame.
        frame: F,
    },
    /// So many emitted frames, in order, are wholly with the kernel. Reported before `Closed`, so that what is not
    /// flushed when a link dies was never whole on the wire.
    Flushed {
        /// Where.
        conn: ConnId,
        /// How many more than at the last report.
        frames: u32,
    },
    /// The connection is gone; also the answer to a failed open.
    Closed {
        /// Which.
        conn: ConnId,
        /// Why.
        cause: LinkError,
    },
}

/// What a machine wants done. One queue carries all kinds: its order is the order in which they must be done.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums)] // a driver that ignores a kind must not compile
pub enum Output<F, E> {
    /// Connect; resolving the name is the driver's job. Answered by `Opened` or `Closed`.
    Open {
        /// The id under which everything about it will be said.
        conn: ConnId,
        /// Where to.
        endpoint: Endpoint,
    },
    /// Write a frame. Frames of one connection keep their order.
    Send {
        /// Where.
        conn: ConnId,
        /// The frame.
        frame: F,
    },
    /// Close once everything sent before is written. Nothing follows for this id; `Closed` need not be reported.
    Close {
        /// Which.
        conn: ConnId,
        /// Why.
        why: CloseReason,
    },
    /// Something for the owner of the machine.
    Event(E),
}

/// Who is at the other end of a connection, as far as the driver knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerInfo {
    /// The address of the peer's socket.
    pub remote: Option<SocketAddr>,
    /// Our own end.
    pub local: Option<SocketAddr>,
}

impl PeerInfo {
    /// Both ends.
    #[must_use]
    pub const fn new(remote: Option<SocketAddr>, local: Option<SocketAddr>) -> Self {
        Self { remote, local }
    }
}

/// Why a server takes no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The limit on connections is reached.
    TooMany {
        /// That limit.
        limit: usize,
    },
    /// The server is going down.
    Stopping,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { limit } => write!(f, "no more than {limit} connections are allowed"),
            Self::Stopping => f.write_str("the server is stopping"),
        }
    }
}

impl core::error::Error for Refused {}

/// Why a machine closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// The machine is shutting down.
    Stopping,
    /// Nothing needs the connection any more.
    Unused,
    /// The peer made no progress on what it was sent.
    Unresponsive,
    /// The peer asked to move to a new connection.
    GoAway,
    /// The peer sent what the protocol does not allow.
    Protocol,
}

/// What ended a connection or kept it from standing. A closed set of causes: no operating-system error enters a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkError {
    /// Nobody listens at the address.
    Refused,
    /// The name has no address.
    Unresolved,
    /// No answer to the attempt to connect in time.
    ConnectTimeout,
    /// No route to the address.
    Unreachable,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection in order.
    Eof,
    /// The peer closed in the middle of a frame.
    Truncated,
    /// The bytes are not frames: kind, and offset from the start of the frame.
    Malformed(&'static str),
    /// The TLS layer refused; a fixed text says why.
    Tls(&'static str),
    /// The peer answered nothing for too long.
    Silent,
    /// The driver closed it, because it is going down.
    Stopping,
    /// Some other input or output failure.
    Other,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("connection refused"),
            Self::Unresolved => f.write_str("the host name has no address"),
            Self::ConnectTimeout => f.write_str("no answer to the attempt to connect"),
            Self::Unreachable => f.write_str("no route to the host"),
            Self::Reset => f.write_str("connection reset by the peer"),
            Self::Eof => f.write_str("connection closed by the peer"),
            Self::Truncated => f.write_str("connection closed in the middle of a frame"),
            Self::Malformed(what) => write!(f, "the peer's bytes are not RocketMQ frames: {what}"),
            Self::Tls(what) => write!(f, "TLS failed: {what}"),
            Self::Silent => f.write_str("the peer is silent"),
            Self::Stopping => f.write_str("the client is stopping"),
            Self::Other => f.write_str("input or output failed"),
        }
    }
}

/// Where to connect: a host name or address with a port, and whether TLS is wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    host: Arc<str>,
    port: u16,
    tls: bool,
}

impl Endpoint {
    /// Parses `host:port`, `a.b.c.d:port` or `[v6]:port`, with surrounding white space (`cases.md` COD-22).
    ///
    /// # Errors
    /// What is wrong, with the text quoted.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let trimmed = text.trim();
        let fail = |why| Err(EndpointError { text: trimmed.into(), why });
        if trimmed.contains("://") {
            return fail("a scheme is not part of an address");
        }
        let (host, port) = if let Some(rest) = trimmed.strip_prefix('[') {
            let Some((host, port)) = rest.split_once("]:") else {
                return fail("an IPv6 address is written [address]:port");
            };
            (host, port)
        } else {
            let Some((host, port)) = trimmed.rsplit_once(':') else {
                return fail("the port is missing");
            };
            if host.contains(':') {
                return fail("an IPv6 address is written [address]:port");
            }
            (host, port)
        };
        if host.is_empty() {
            return fail("the host is missing");
        }
        if host.contains(|c: char| c.is_whitespace() || c == ';' || c == ',') {
            return fail("the host contains a separator or white space");
        }
        match port.parse::<u16>() {
            Ok(port) if port != 0 => Ok(Self { host: host.into(), port, tls: false }),
            _ => fail("the port is not a number from 1 to 65535"),
        }
    }

    /// Parses a list separated by `;`, `,` or white space; empty items are skipped.
    ///
    /// # Errors
    /// The first item that is not an address.
    pub fn parse_list(text: &str) -> Result<alloc::vec::Vec<Self>, EndpointError> {
        text.split([';', ',', ' ', '\n']).map(str::trim).filter(|item| !item.is_empty()).map(Self::parse).collect()
    }

    /// From parts that are known to be right.
    #[must_use]
    pub fn new(host: impl Into<Arc<str>>, port: u16) -> Self {
        Self { host: host.into(), port, tls: false }
    }

    /// The same place, with TLS wanted or not.
    #[must_use]
    pub fn with_tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// The host name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether TLS is wanted.
    #[must_use]
    pub const fn tls(&self) -> bool {
        self.tls
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(addr: SocketAddr) -> Self {
        Self::new(alloc::format!("{}", addr.ip()), addr.port())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointError {
    text: String,
    why: &'static str,
}

impl EndpointError {
    /// The text that was refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not an address: {}", self.text, self.why)
    }
}

impl core::error::Error for EndpointError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn cod_22_addresses_in_all_text_forms() {
        for (text, shown) in [
            ("[::1]:10911", "[::1]:10911"),
            ("[fe80::1%eth0]:9876", "[fe80::1%eth0]:9876"),
            ("host:9876", "host:9876"),
            ("HOST:9876 ", "HOST:9876"),
        ] {
            assert_eq!(Endpoint::parse(text).map(|e| e.to_string()), Ok(shown.to_string()));
        }
        for text in ["::1:10911", "http://host:9876", "10.0.0.1:70000", "10.0.0.1", ":9876", "a:0", "a b:1", "[::1]"] {
            let error = Endpoint::parse(text).expect_err(text);
            assert!(error.to_string().contains(&alloc::format!("\"{text}\"")), "{error}");
        }
        let list = Endpoint::parse_list("a:1;;b:2;").expect("empty items are skipped");
        assert_eq!(list.len(), 2);
        assert_eq!(Endpoint::parse_list("a:1;b").expect_err("no port").text(), "b");
    }
}
