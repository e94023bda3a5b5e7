//! Sending: a window of unanswered messages, refilled in one `write` after each `read`.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::Failure;
use crate::args::Options;
use crate::frames::{FIRST_OPAQUE, Template};
use crate::histogram::Histogram;
use crate::link::Link;
use crate::report::{Clock, Report};

const SEND_MESSAGE_V2: u16 = 310;
const BORN: &str = "1111111111111";
const KEY: &str = "FFFFFFFF";

/// Sends `count` messages to the queues in turn and waits for every answer.
///
/// # Errors
///
/// Where the connection fails or the broker says something that cannot be read. A refused message is only counted.
pub(crate) fn run(options: &Options, broker: &str) -> Result<Report, Failure> {
    let mut link = Link::open(broker)?;
    let mut messages = Messages::new(options)?;
    let mut window = Window::new(options.in_flight);
    let mut latencies = Histogram::new();
    let mut out = Vec::new();
    let (mut sent, mut ok, mut failed) = (0_u64, 0_u64, 0_u64);
    let clock = Clock::start()?;
    let start = clock.wall;
    while ok + failed < options.count {
        let room = u64::from(options.in_flight) - (sent - ok - failed);
        let fill = room.min(options.count - sent);
        if fill > 0 {
            out.clear();
            messages.begin(SystemTime::now());
            let now = nanos(start);
            for number in sent..sent + fill {
                messages.append(number, window.open(now)?, &mut out);
            }
            sent += fill;
            link.write(&out)?;
        }
        let mut arrived = None;
        link.read(|answer| {
            // One reading of the clock for all answers of a `read`: they were there together.
            let now = *arrived.get_or_insert_with(|| nanos(start));
            latencies.add(window.close(answer.opaque, now)?);
            match answer.code {
                0 => ok += 1,
                _ => {
                    if failed == 0 {
                        eprintln!("floor: {}", answer.complaint());
                    }
                    failed += 1;
                }
            }
            Ok(())
        })?;
    }
    Report::new((ok, failed), clock, &link, Some(&latencies))
}

/// When each unanswered message left. A slot's number is the `opaque` of the message in it, so that answers may come in
/// any order and a slow one holds up no other.
struct Window {
    left_at: Vec<Option<u64>>,
    free: Vec<u32>,
}

impl Window {
    fn new(in_flight: u32) -> Self {
        Self { left_at: vec![None; in_flight as usize], free: (0..in_flight).rev().collect() }
    }

    /// Takes a free slot and returns the `opaque` that stands for it.
    fn open(&mut self, now: u64) -> Result<u32, Failure> {
        let slot = self.free.pop().ok_or("more messages than the window holds")?;
        self.left_at[slot as usize] = Some(now);
        Ok(FIRST_OPAQUE + slot)
    }

    /// The latency in nanoseconds.
    fn close(&mut self, opaque: u32, now: u64) -> Result<u64, Failure> {
        let slot = opaque.checked_sub(FIRST_OPAQUE).ok_or("an answer to nothing")?;
        let left = self.left_at.get_mut(slot as usize).and_then(Option::take).ok_or("an answer to nothing")?;
        self.free.push(slot);
        Ok(now.saturating_sub(left))
    }
}

/// The requests: one template per queue.
struct Messages {
    templates: Vec<Template>,
    born_at: usize,
    key_at: usize,
}

impl Messages {
    fn new(options: &Options) -> Result<Self, Failure> {
        // The key is unique for a run as Java's is: 24 digits of the run, 8 of the message (wire 7.2).
        let run = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() ^ (u128::from(std::process::id()) << 64);
        let properties = format!("UNIQ_KEY\u{1}{:024X}{KEY}\u{2}WAIT\u{1}true\u{2}", run & ((1 << 96) - 1));
        let body = vec![b'x'; options.size];
        let width = options.queues.to_string().len();
        let templates = (0..options.queues)
            .map(|queue| {
                // Equal widths keep the spots equal in all templates.
                let queue = format!("{queue:0width$}");
                let fields = [
                    ("a", options.group.as_str()),
                    ("b", options.topic.as_str()),
                    ("c", "TBW102"),
                    ("d", "4"),
                    ("e", &queue),
                    ("f", "0"),
                    ("g", BORN),
                    ("h", "0"),
                    ("i", &properties),
                    ("j", "0"),
                    ("k", "false"),
                    ("m", "false"),
                ];
                Template::new(options.encoding, SEND_MESSAGE_V2, &fields, &body)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let first = templates.first().ok_or("no queue")?;
        Ok(Self { born_at: first.spot(BORN)?, key_at: first.spot(KEY)?, templates })
    }

    /// One birth time for all messages of a `write`.
    fn begin(&mut self, wall: SystemTime) {
        let millis = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        for template in &mut self.templates {
            template.set_decimal(self.born_at, BORN.len(), u64::try_from(millis).unwrap_or(0));
        }
    }

    fn append(&mut self, number: u64, opaque: u32, out: &mut Vec<u8>) {
        let queues = self.templates.len() as u64;
        let template = &mut self.templates[index(number % queues)];
        template.set_opaque(opaque);
        template.set_hex(self.key_at, (number & 0xFFFF_FFFF) as u32);
        out.extend_from_slice(template.bytes());
    }
}

/// Nanoseconds since the start: enough for 584 years.
fn nanos(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// What is below a length fits its type.
fn index(below_length: u64) -> usize {
    usize::try_from(below_length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Answer;

    #[test]
    fn messages_go_round_the_queues_with_keys_of_their_own() {
        let args = "send --broker b:1 --topic T --count 30 --queues 12 --size 5";
        for header in ["json", "binary"] {
            let line = format!("{args} --header {header}");
            let options = Options::parse(line.split(' ').map(String::from)).unwrap().unwrap();
            let mut messages = Messages::new(&options).unwrap();
            messages.begin(UNIX_EPOCH + std::time::Duration::from_millis(1_700_000_000_123));
            let mut out = Vec::new();
            for number in [0, 13] {
                messages.append(number, FIRST_OPAQUE + u32::try_from(number).unwrap(), &mut out);
            }
            let mut bytes = &out[..];
            for number in [0_u32, 13] {
                let answer = Answer::take(&mut bytes).unwrap().unwrap();
                assert_eq!((answer.code, answer.opaque, answer.body), (310, FIRST_OPAQUE + number, &b"xxxxx"[..]));
                let text = String::from_utf8_lossy(answer.header);
                assert!(text.contains("1700000000123"), "{text}");
                assert!(text.contains(&format!("{number:08X}")), "{text}");
                assert!(text.contains(if number == 0 { "00" } else { "01" }), "{text}");
            }
            assert!(bytes.is_empty());
        }
    }

    #[test]
    fn an_answer_closes_its_own_message_once() {
        let mut window = Window::new(2);
        assert_eq!((window.open(10).unwrap(), window.open(20).unwrap()), (FIRST_OPAQUE, FIRST_OPAQUE + 1));
        assert!(window.open(30).is_err());
        assert_eq!(window.close(FIRST_OPAQUE + 1, 50).unwrap(), 30);
        assert!(window.close(FIRST_OPAQUE + 1, 60).is_err());
        assert!(window.close(3, 60).is_err() && window.close(FIRST_OPAQUE + 2, 60).is_err());
        assert_eq!(window.open(55).unwrap(), FIRST_OPAQUE + 1);
        assert_eq!(window.close(FIRST_OPAQUE, 60).unwrap(), 50);
    }
}
