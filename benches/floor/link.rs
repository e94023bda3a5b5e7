//! One blocking connection that counts its system calls.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::Failure;
use crate::frames::{Answer, Template};

/// Room for what one `read` may bring; it grows only for a frame that does not fit.
const ROOM: usize = 256 * 1024;
/// A peer that is silent for so long has failed the run.
const PATIENCE: Duration = Duration::from_secs(30);

/// The connection and what was read but not yet taken.
pub(crate) struct Link {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
    reads: u64,
    writes: u64,
}

impl Link {
    /// Connects, with Nagle's delay off.
    pub(crate) fn open(address: &str) -> Result<Self, Failure> {
        let resolved = address.to_socket_addrs()?.next().ok_or_else(|| format!("{address} has no address"))?;
        let stream = TcpStream::connect_timeout(&resolved, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![0; ROOM], filled: 0, reads: 0, writes: 0 })
    }

    /// `read` calls so far.
    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }

    /// `write` calls so far.
    pub(crate) fn writes(&self) -> u64 {
        self.writes
    }

    /// Writes everything, in one call as long as the kernel takes it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err("the connection takes no more".into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            self.writes += 1;
        }
        Ok(())
    }

    /// Waits for one `read` and hands every whole answer to `each`; what is left of a frame stays for the next call.
    pub(crate) fn read(&mut self, mut each: impl FnMut(Answer<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        let count = loop {
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err("the peer closed the connection".into()),
                Ok(count) => break count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err("the peer is silent".into()),
                Err(error) => return Err(error.into()),
            }
        };
        self.reads += 1;
        self.filled += count;
        let mut rest = &self.buffer[..self.filled];
        while let Some(answer) = Answer::take(&mut rest)? {
            each(answer)?;
        }
        let left = rest.len();
        self.buffer.copy_within(self.filled - left..self.filled, 0);
        self.filled = left;
        Ok(())
    }

    /// Sends one request and waits for its answer.
    pub(crate) fn ask<T>(
        &mut self,
        request: &Template,
        take: impl Fn(Answer<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.write(request.bytes())?;
        let mut taken = None;
        while taken.is_none() {
            self.read(|answer| {
                taken = Some(take(answer)?);
                Ok(())
            })?;
        }
        taken.ok_or_else(|| "no answer".into())
    }
}
