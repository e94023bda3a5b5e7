//! Identifiers: where a message is stored, what its producer calls it, and who a client is (wire section 7).
//!
//! Everything here is pure: addresses, process ids, clocks and random bits are handed in.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

use crate::error::WireError;

/// An offset message id: the broker that stores a message and the message's offset in its commit log (wire 7.1).
///
/// Its text is 32 upper-case hexadecimal characters for an IPv4 broker, 56 for an IPv6 one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the id has these two parts and no others")]
pub struct OffsetId {
    /// Address of the broker.
    pub host: SocketAddr,
    /// Physical offset in its commit log.
    pub offset: i64,
}

impl fmt::Display for OffsetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = HexText::new(self.host.ip());
        text.push(&u32::from(self.host.port()).to_be_bytes());
        text.push(&self.offset.to_be_bytes());
        f.write_str(text.as_str())
    }
}

impl FromStr for OffsetId {
    type Err = WireError;

    /// Reads an id in either case.
    fn from_str(text: &str) -> Result<Self, WireError> {
        let mut hex = Hex::new(text, "offset message id")?;
        let ip = match text.len() {
            32 => IpAddr::V4(Ipv4Addr::from(hex.array::<4>()?)),
            56 => IpAddr::V6(Ipv6Addr::from(hex.array::<16>()?)),
            _ => return Err(WireError::invalid("offset message id", 0)),
        };
        let at = hex.at();
        let port = u16::try_from(u32::from_be_bytes(hex.array()?))
            .map_err(|_| WireError::invalid("port of an offset message id", at))?;
        let offset = i64::from_be_bytes(hex.array()?);
        Ok(Self { host: SocketAddr::new(ip, port), offset })
    }
}

/// The parts of a unique message id (wire 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the id has these parts and no others")]
pub struct UniqueId {
    /// An address of the client's host.
    pub ip: IpAddr,
    /// Low 16 bits of the process id.
    pub pid: u16,
    /// Any value that tells apart what shares address and process id.
    pub salt: u32,
    /// Milliseconds since the month began, low 32 bits.
    pub month_millis: u32,
    /// Low 16 bits of a running counter.
    pub counter: u16,
}

impl fmt::Display for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = HexText::new(self.ip);
        text.push(&self.pid.to_be_bytes());
        text.push(&self.salt.to_be_bytes());
        text.push(&self.month_millis.to_be_bytes());
        text.push(&self.counter.to_be_bytes());
        f.write_str(text.as_str())
    }
}

impl FromStr for UniqueId {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let mut hex = Hex::new(text, "unique message id")?;
        let ip = match text.len() {
            32 => IpAddr::V4(Ipv4Addr::from(hex.array::<4>()?)),
            56 => IpAddr::V6(Ipv6Addr::from(hex.array::<16>()?)),
            _ => return Err(WireError::invalid("unique message id", 0)),
        };
        Ok(Self {
            ip,
            pid: u16::from_be_bytes(hex.array()?),
            salt: u32::from_be_bytes(hex.array()?),
            month_millis: u32::from_be_bytes(hex.array()?),
            counter: u16::from_be_bytes(hex.array()?),
        })
    }
}

impl UniqueId {
    /// When the id was made, in milliseconds since 1970, taking it for one of the month of `now_ms`; an id whose
    /// moment in that month is still to come is taken for one of the month before.
    ///
    /// `utc_offset_secs` is the zone of the host that made it: months are local.
    #[must_use]
    pub fn nearly_time_ms(&self, now_ms: i64, utc_offset_secs: i32) -> i64 {
        let (start, _) = month_bounds_ms(now_ms, utc_offset_secs);
        let time = start.saturating_add(i64::from(self.month_millis));
        if time < now_ms {
            return time;
        }
        let (previous, _) = month_bounds_ms(start.saturating_sub(1), utc_offset_secs);
        previous.saturating_add(i64::from(self.month_millis))
    }
}

/// Makes unique message ids (wire 7.2) that never repeat, whatever the clock does.
///
/// The time in an id is the wall clock, but never earlier than in the id before, and it moves on by itself once all
/// 65,536 counter values of a millisecond are used. The salt must differ between generators that share address and
/// process id, as in containers: draw it at random.
#[derive(Debug, Clone)]
pub struct UniqueIdGenerator {
    ip: IpAddr,
    pid: u16,
    salt: u32,
    utc_offset_secs: i32,
    month_start_ms: i64,
    month_end_ms: i64,
    last_ms: i64,
    counter: u16,
    used_in_ms: u32,
}

impl UniqueIdGenerator {
    /// A generator for the client at `ip`, process `pid` (its low 16 bits count).
    ///
    /// `utc_offset_secs` is the zone whose months the ids count in; ids are unique whatever it is, and readers that
    /// show a time assume their own zone.
    #[must_use]
    pub fn new(ip: IpAddr, pid: u32, salt: u32, utc_offset_secs: i32) -> Self {
        let [low, high, ..] = pid.to_le_bytes();
        Self {
            ip,
            pid: u16::from_le_bytes([low, high]),
            salt,
            utc_offset_secs,
            month_start_ms: 0,
            month_end_ms: 0,
            last_ms: i64::MIN,
            counter: 0,
            used_in_ms: 0,
        }
    }

    /// The stand-in address of a host that has none: the low four bytes of the current time in milliseconds.
    #[must_use]
    pub const fn fake_ip(now_ms: i64) -> IpAddr {
        let [.., a, b, c, d] = now_ms.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    }

    /// The next id, at `now_ms` milliseconds since 1970.
    pub fn next_id(&mut self, now_ms: i64) -> UniqueId {
        if now_ms > self.last_ms {
            self.last_ms = now_ms;
            self.used_in_ms = 0;
        } else if self.used_in_ms > u32::from(u16::MAX) {
            self.last_ms = self.last_ms.saturating_add(1);
            self.used_in_ms = 0;
        }
        if self.last_ms >= self.month_end_ms || self.last_ms < self.month_start_ms {
            (self.month_start_ms, self.month_end_ms) = month_bounds_ms(self.last_ms, self.utc_offset_secs);
        }
        let counter = self.counter;
        self.counter = self.counter.wrapping_add(1);
        self.used_in_ms = self.used_in_ms.saturating_add(1);
        let [a, b, c, d, ..] = self.last_ms.saturating_sub(self.month_start_ms).to_le_bytes();
        UniqueId {
            ip: self.ip,
            pid: self.pid,
            salt: self.salt,
            month_millis: u32::from_le_bytes([a, b, c, d]),
            counter,
        }
    }
}

const DAY_MS: i64 = 86_400_000;

/// The instants at which the local month of `ms` begins and the next one does.
fn month_bounds_ms(ms: i64, utc_offset_secs: i32) -> (i64, i64) {
    let shift = i64::from(utc_offset_secs).saturating_mul(1000);
    let days = ms.saturating_add(shift).div_euclid(DAY_MS);
    let (year, month) = year_and_month(days);
    let (next_year, next_month) =
        if month == 12 { (year.saturating_add(1), 1) } else { (year, month.saturating_add(1)) };
    let begin = |year, month| first_day(year, month).saturating_mul(DAY_MS).saturating_sub(shift);
    (begin(year, month), begin(next_year, next_month))
}

/// Days from 1970-01-01 to the first day of a month.
///
/// Years are counted from March, so that the leap day is a year's last and months have a regular length.
fn first_day(year: i64, month: i64) -> i64 {
    let (year, month) =
        if month > 2 { (year, month.saturating_sub(3)) } else { (year.saturating_sub(1), month.saturating_add(9)) };
    let leap_days = year.div_euclid(4).saturating_sub(year.div_euclid(100)).saturating_add(year.div_euclid(400));
    let day_of_year = month.saturating_mul(153).saturating_add(2).div_euclid(5);
    year.saturating_mul(365).saturating_add(leap_days).saturating_add(day_of_year).saturating_sub(EPOCH_DAYS)
}

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Year and month (1-12) of a day counted from 1970-01-01.
fn year_and_month(day: i64) -> (i64, i64) {
    // A guess that is at most one month early, then the exact answer by comparing with where months begin.
    let months = day.saturating_mul(4800).div_euclid(146_097).saturating_add(1970 * 12);
    let mut guess = months.saturating_sub(1);
    while first_day_of(guess.saturating_add(1)) <= day {
        guess = guess.saturating_add(1);
    }
    (guess.div_euclid(12), guess.rem_euclid(12).saturating_add(1))
}

/// First day of a month counted from January of year 0.
fn first_day_of(months: i64) -> i64 {
    first_day(months.div_euclid(12), months.rem_euclid(12).saturating_add(1))
}

/// What a client id is made of (wire 7.3).
///
/// It must be unique in a consumer group, or queues are allocated twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a client id has these parts and no others")]
pub struct ClientId<'a> {
    /// An address of the client's host.
    pub ip: IpAddr,
    /// Name of the client instance.
    pub instance: &'a str,
    /// Unit name, if set.
    pub unit: Option<&'a str>,
    /// Whether the client asks for the stream request type.
    pub stream: StreamRequests,
}

/// Whether a client marks its requests as of stream type (`ReqT`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StreamRequests {
    /// It does not.
    #[default]
    Off,
    /// It does, and its id says so.
    On,
}

impl fmt::Display for ClientId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            IpAddr::V4(ip) => write!(f, "{ip}")?,
            IpAddr::V6(ip) => write!(f, "[{ip}]")?,
        }
        write!(f, "@{}", self.instance)?;
        if let Some(unit) = self.unit.filter(|unit| !unit.trim().is_empty()) {
            write!(f, "@{unit}")?;
        }
        match self.stream {
            StreamRequests::Off => Ok(()),
            StreamRequests::On => f.write_str("@STREAM"),
        }
    }
}

/// Instance name of a client that was given none.
pub const DEFAULT_INSTANCE: &str = "DEFAULT";

/// The instance name that replaces [`DEFAULT_INSTANCE`], so that clients of one host differ: `<pid>#<nanos>` (4.9.0+).
#[must_use]
pub fn instance_name(pid: u32, nanos: u64) -> String {
    format!("{pid}#{nanos}")
}

/// A correlation id for a request: a version 4 UUID of 16 random bytes, lower-case with dashes (wire 7.4).
#[must_use]
pub fn correlation_id(random: [u8; 16]) -> String {
    let value = u128::from_be_bytes(random);
    // Version 4 and the variant of RFC 9562 take six bits.
    let value = value & !(0xF << 76) | (0x4 << 76);
    let value = value & !(0x3 << 62) | (0x2 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        value >> 96,
        (value >> 80) & 0xFFFF,
        (value >> 64) & 0xFFFF,
        (value >> 48) & 0xFFFF,
        value & 0xFFFF_FFFF_FFFF
    )
}

/// Upper-case hexadecimal text of up to 28 bytes, built without an allocation: every message gets such an id.
struct HexText {
    text: [u8; 56],
    len: usize,
}

impl HexText {
    fn new(ip: IpAddr) -> Self {
        let mut text = Self { text: [0; 56], len: 0 };
        match ip {
            IpAddr::V4(ip) => text.push(&ip.octets()),
            IpAddr::V6(ip) => text.push(&ip.octets()),
        }
        text
    }

    fn push(&mut self, bytes: &[u8]) {
        let free = self.text.get_mut(self.len..).unwrap_or_default();
        for (digits, byte) in free.chunks_exact_mut(2).zip(bytes) {
            digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 0xF)]);
        }
        self.len = self.len.saturating_add(bytes.len().saturating_mul(2));
    }

    fn as_str(&self) -> &str {
        self.text.get(..self.len).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
    }
}

const fn digit(value: u8) -> u8 {
    if value < 10 { b'0'.wrapping_add(value) } else { b'A'.wrapping_sub(10).wrapping_add(value) }
}

/// Reads bytes from hexadecimal text.
struct Hex<'a> {
    text: &'a [u8],
    len: usize,
    what: &'static str,
}

impl<'a> Hex<'a> {
    fn new(text: &'a str, what: &'static str) -> Result<Self, WireError> {
        match text.bytes().position(|byte| !byte.is_ascii_hexdigit()) {
            Some(at) => Err(WireError::invalid(what, at)),
            None => Ok(Self { text: text.as_bytes(), len: text.len(), what }),
        }
    }

    const fn at(&self) -> usize {
        self.len.saturating_sub(self.text.len())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            let Some((pair, rest)) = self.text.split_first_chunk::<2>() else {
                return Err(WireError::truncated(self.what, self.at()));
            };
            let [high, low] = pair.map(|digit| char::from(digit).to_digit(16).unwrap_or_default().to_le_bytes()[0]);
            *byte = (high << 4) | low;
            self.text = rest;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
