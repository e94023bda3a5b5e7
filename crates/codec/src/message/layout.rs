//! Where things are in a stored message, and the reader that decoding and batches share (wire 6.1).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::error::WireError;

/// Layout of a stored message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordVersion {
    /// One byte for the length of the topic.
    V1,
    /// Two bytes for the length of the topic (brokers from 5.1.0, for topics above 127 bytes).
    V2,
}

impl RecordVersion {
    /// The layout a broker from 5.1.0 chooses for `topic`.
    #[must_use]
    pub const fn for_topic(topic: &str) -> Self {
        if topic.len() > MAX_TOPIC_LEN_V1 { Self::V2 } else { Self::V1 }
    }

    /// The magic word of the layout.
    pub(super) const fn magic(self) -> u32 {
        match self {
            Self::V1 => MAGIC_V1,
            Self::V2 => MAGIC_V2,
        }
    }

    pub(super) const fn from_magic(magic: u32) -> Option<Self> {
        match magic {
            MAGIC_V1 => Some(Self::V1),
            MAGIC_V2 => Some(Self::V2),
            _ => None,
        }
    }
}

/// Longest topic in bytes that Java reads from a V1 record.
pub const MAX_TOPIC_LEN_V1: usize = 127;

const MAGIC_V1: u32 = 0xDAA3_20A7;
const MAGIC_V2: u32 = 0xDAA3_20AB;
/// Magic of the filler that ends a commit-log file. Brokers do not send it; a reader stops there.
pub(super) const MAGIC_FILLER: u32 = 0xCBD4_3194;

/// Bytes of a record with two IPv4 hosts and nothing in its variable parts, topic length of V1 included.
pub(super) const FIXED_LEN: usize = 91;
/// Bytes an IPv6 host takes above an IPv4 one.
pub(super) const V6_EXTRA: usize = 12;
/// Where the born host starts.
pub(super) const BORN_HOST_AT: usize = 48;

/// Where the store host starts: after the born host, its port and the store timestamp.
pub(super) const fn store_host_at(born_v6: bool) -> usize {
    if born_v6 { 76 } else { 64 }
}

/// Reads big-endian values from complete bytes and remembers where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// Offset from the start.
    pub(super) const fn at(&self) -> usize {
        self.len.saturating_sub(self.rest.len())
    }

    pub(super) fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(WireError::truncated(what, self.at()));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(WireError::truncated(what, self.at()));
        };
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, WireError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, WireError> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, WireError> {
        self.array(what).map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self, what: &'static str) -> Result<i32, WireError> {
        self.array(what).map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self, what: &'static str) -> Result<i64, WireError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// A signed 32-bit length that must not be negative nor above what is left.
    pub(super) fn len32(&mut self, what: &'static str) -> Result<usize, WireError> {
        let at = self.at();
        let value = usize::try_from(self.i32(what)?).map_err(|_| WireError::invalid(what, at))?;
        if value > self.rest.len() { Err(WireError::truncated(what, at)) } else { Ok(value) }
    }

    /// A signed 16-bit length that must not be negative.
    pub(super) fn len16(&mut self, what: &'static str) -> Result<usize, WireError> {
        let at = self.at();
        usize::try_from(self.u16(what)?.cast_signed()).map_err(|_| WireError::invalid(what, at))
    }

    /// A host address and its port.
    pub(super) fn host(&mut self, v6: bool, what: &'static str) -> Result<SocketAddr, WireError> {
        let ip = if v6 {
            IpAddr::V6(Ipv6Addr::from(self.array::<16>(what)?))
        } else {
            IpAddr::V4(Ipv4Addr::from(self.array::<4>(what)?))
        };
        let at = self.at();
        let port = u16::try_from(self.u32(what)?).map_err(|_| WireError::invalid(what, at))?;
        Ok(SocketAddr::new(ip, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_against_what_is_there() {
        let mut cursor = Cursor::new(&[0, 0, 0, 2, 7, 7]);
        assert_eq!(cursor.len32("body"), Ok(2));
        assert_eq!(Cursor::new(&[0, 0, 0, 3, 7, 7]).len32("body"), Err(WireError::truncated("body", 0)));
        assert_eq!(Cursor::new(&[0xFF; 4]).len32("body"), Err(WireError::invalid("body", 0)));
        assert_eq!(Cursor::new(&[0x80, 0]).len16("properties"), Err(WireError::invalid("properties", 0)));
        assert_eq!(Cursor::new(&[0]).u16("x"), Err(WireError::truncated("x", 0)));
    }

    #[test]
    fn hosts() {
        let mut cursor = Cursor::new(&[10, 9, 8, 7, 0, 0, 0x2A, 0x9F]);
        assert_eq!(cursor.host(false, "host"), Ok(SocketAddr::from(([10, 9, 8, 7], 10911))));
        assert_eq!(cursor.at(), 8);
        let refused = Cursor::new(&[10, 9, 8, 7, 0, 1, 0, 0]).host(false, "host");
        assert_eq!(refused, Err(WireError::invalid("host", 4)));
    }

    #[test]
    fn version_follows_the_topic() {
        let long = std::string::String::from("t").repeat(128);
        assert_eq!(RecordVersion::for_topic(&long), RecordVersion::V2);
        assert_eq!(RecordVersion::for_topic(long.get(1..).unwrap()), RecordVersion::V1);
    }
}
