//! One request and its answer over a blocking socket: what starting servers and making topics needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use rocketry_codec::encoder::{FrameWriter, Sender};
use rocketry_codec::frame::Frame;
use rocketry_codec::header::Request;
use rocketry_codec::limits::Limits;
use rocketry_codec::wire::Wire;

/// Asks a peer once; `None` when it does not answer.
pub(super) fn ask<R: Request>(peer: SocketAddr, request: &R, body: Bytes) -> Option<Frame> {
    let mut stream = TcpStream::connect_timeout(&peer, Duration::from_secs(3)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let frame = FrameWriter::new(Sender::default()).request(1, request, body);
    stream.write_all(&frame.to_bytes()).ok()?;
    let mut wire = Wire::new(&Limits::DEFAULT);
    loop {
        if let Some(frame) = wire.next_frame().ok()? {
            return Some(frame);
        }
        let count = stream.read(wire.space()).ok().filter(|count| *count > 0)?;
        wire.filled(count);
    }
}
