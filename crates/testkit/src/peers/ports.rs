//! Ports for servers that must come back on the same one.
//!
//! They lie below the range from which systems take ports for outgoing connections: one of those could otherwise sit on
//! a server's port while it is down.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use super::Unavailable;

const FIRST: u16 = 16_000;
const BLOCKS: u16 = 2_000;

/// How many ports lie together: a broker opens the ports two below and one above its own.
pub(super) const BLOCK: u16 = 8;

/// An address on loopback.
pub(super) const fn local(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

/// The first of [`BLOCK`] ports that nobody listens on. Programs that run side by side begin at different places.
pub(super) fn block() -> Result<u16, Unavailable> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let place = u16::try_from(std::process::id() % u32::from(BLOCKS)).unwrap_or(0);
    for _ in 0..BLOCKS {
        let number = (place + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCKS) % BLOCKS;
        let first = FIRST + number * BLOCK;
        if (first..first + BLOCK).all(|port| TcpListener::bind(local(port)).is_ok()) {
            return Ok(first);
        }
    }
    Err(Unavailable("no free ports for a server".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_meet() {
        let (one, other) = (block().expect("ports"), block().expect("ports"));
        assert!(one.abs_diff(other) >= BLOCK);
        assert!(one >= FIRST && one + BLOCK <= FIRST + BLOCKS * BLOCK);
    }
}
