//! Writing stored messages, as a broker does (wire 6.1).

use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use super::layout::{self, RecordVersion};
use super::properties::MAX_PROPERTIES_LEN;
use super::sysflag::SysFlag;
use crate::crc::body_crc;

/// Everything a stored message holds, ready to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a record has these fields and no others")]
pub struct StoredRecord<'a> {
    /// Layout to write; [`RecordVersion::for_topic`] is what brokers choose.
    pub version: RecordVersion,
    /// Queue the message is in.
    pub queue_id: i32,
    /// The user's flag.
    pub flag: i32,
    /// Offset in the queue.
    pub queue_offset: i64,
    /// Physical offset in the commit log.
    pub commit_log_offset: i64,
    /// System flag. Its two host bits are written as the hosts below have it.
    pub sys_flag: SysFlag,
    /// When the producer made the message, in milliseconds since 1970.
    pub born_timestamp: i64,
    /// Address of the producer.
    pub born_host: SocketAddr,
    /// When the broker stored the message, in milliseconds since 1970.
    pub store_timestamp: i64,
    /// Address of the broker.
    pub store_host: SocketAddr,
    /// How often the message was consumed before.
    pub reconsume_times: i32,
    /// Commit-log offset of the half message this one concludes, else 0.
    pub prepared_transaction_offset: i64,
    /// Body as stored, compressed or not. Its checksum is computed.
    pub body: &'a [u8],
    /// Topic.
    pub topic: &'a str,
    /// Encoded properties.
    pub properties: &'a [u8],
}

/// A part is longer than its length field can say. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// The part.
    pub what: &'static str,
    /// Its length in bytes.
    pub len: usize,
    /// Most bytes it may have.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes is above the limit of {}", self.what, self.len, self.limit)
    }
}

impl core::error::Error for TooLong {}

impl StoredRecord<'_> {
    /// Bytes that [`encode`](Self::encode) writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        let topic_extra = match self.version {
            RecordVersion::V1 => 0,
            RecordVersion::V2 => 1,
        };
        layout::FIXED_LEN
            .saturating_add(v6_extra(&self.born_host))
            .saturating_add(v6_extra(&self.store_host))
            .saturating_add(topic_extra)
            .saturating_add(self.body.len())
            .saturating_add(self.topic.len())
            .saturating_add(self.properties.len())
    }

    /// Appends the record to `out`.
    ///
    /// # Errors
    ///
    /// [`TooLong`] when the topic, the properties or the whole does not fit its length field.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let total = self.encoded_len();
        let size = fit::<i32>("record", total, MAX_RECORD)?;
        let body_len = fit::<i32>("body", self.body.len(), MAX_RECORD)?;
        let properties_len = fit::<u16>("properties", self.properties.len(), MAX_PROPERTIES_LEN)?;
        let topic_limit = match self.version {
            RecordVersion::V1 => usize::from(u8::MAX),
            RecordVersion::V2 => MAX_PROPERTIES_LEN,
        };
        let topic_len = fit::<u16>("topic", self.topic.len(), topic_limit)?.to_be_bytes();

        out.reserve(total);
        out.extend_from_slice(&size.to_be_bytes());
        out.extend_from_slice(&self.version.magic().to_be_bytes());
        out.extend_from_slice(&body_crc(self.body).to_be_bytes());
        out.extend_from_slice(&self.queue_id.to_be_bytes());
        out.extend_from_slice(&self.flag.to_be_bytes());
        out.extend_from_slice(&self.queue_offset.to_be_bytes());
        out.extend_from_slice(&self.commit_log_offset.to_be_bytes());
        out.extend_from_slice(&self.written_sys_flag().0.to_be_bytes());
        out.extend_from_slice(&self.born_timestamp.to_be_bytes());
        put_host(out, &self.born_host);
        out.extend_from_slice(&self.store_timestamp.to_be_bytes());
        put_host(out, &self.store_host);
        out.extend_from_slice(&self.reconsume_times.to_be_bytes());
        out.extend_from_slice(&self.prepared_transaction_offset.to_be_bytes());
        out.extend_from_slice(&body_len.to_be_bytes());
        out.extend_from_slice(self.body);
        match self.version {
            RecordVersion::V1 => out.push(topic_len[1]),
            RecordVersion::V2 => out.extend_from_slice(&topic_len),
        }
        out.extend_from_slice(self.topic.as_bytes());
        out.extend_from_slice(&properties_len.to_be_bytes());
        out.extend_from_slice(self.properties);
        Ok(())
    }

    /// The system flag with its host bits as the hosts have it.
    const fn written_sys_flag(&self) -> SysFlag {
        let mut flag = self.sys_flag.without(SysFlag::BORN_HOST_V6 | SysFlag::STORE_HOST_V6);
        if self.born_host.is_ipv6() {
            flag = flag.with(SysFlag::BORN_HOST_V6);
        }
        if self.store_host.is_ipv6() {
            flag = flag.with(SysFlag::STORE_HOST_V6);
        }
        flag
    }
}

/// Largest record: its size is a signed 32-bit word.
const MAX_RECORD: usize = 0x7FFF_FFFF;

pub(super) fn fit<N: TryFrom<usize>>(what: &'static str, len: usize, limit: usize) -> Result<N, TooLong> {
    match N::try_from(len) {
        Ok(value) if len <= limit => Ok(value),
        _ => Err(TooLong { what, len, limit }),
    }
}

const fn v6_extra(host: &SocketAddr) -> usize {
    if host.is_ipv6() { layout::V6_EXTRA } else { 0 }
}

fn put_host(out: &mut Vec<u8>, host: &SocketAddr) {
    match host.ip() {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
    out.extend_from_slice(&u32::from(host.port()).to_be_bytes());
}
