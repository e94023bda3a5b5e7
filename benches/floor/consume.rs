//! Consuming: one pull outstanding for each queue, bodies walked by length.

use crate::Failure;
use crate::args::Options;
use crate::frames::{Answer, FIRST_OPAQUE, Template};
use crate::link::Link;
use crate::report::{Clock, Report};

const PULL_MESSAGE: u16 = 11;
const OFFSET: &str = "7777777777777777777";
/// Answers of a pull that are no failure (wire 4.2).
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 19;
const RETRY_IMMEDIATELY: u32 = 20;
const OFFSET_MOVED: u32 = 21;

/// Pulls every queue from offset 0 until `count` messages were seen or every queue is empty; what is missing then
/// counts as failed. The clock starts with the first answer, as that of `rocketry bench consume` does.
///
/// # Errors
///
/// Where the connection fails, a pull is refused, or a record is not what wire 6.1 says.
pub(crate) fn run(options: &Options, broker: &str) -> Result<Report, Failure> {
    let mut link = Link::open(broker)?;
    let mut queues = (0..options.queues).map(|queue| Queue::new(options, queue)).collect::<Result<Vec<_>, _>>()?;
    let mut out = Vec::new();
    for queue in &mut queues {
        queue.append_pull(&mut out);
    }
    let (mut seen, mut open) = (0_u64, queues.len());
    let mut clock = None;
    while seen < options.count && open > 0 {
        if !out.is_empty() {
            link.write(&out)?;
            out.clear();
        }
        link.read(|answer| {
            if clock.is_none() {
                clock = Some(Clock::start()?);
            }
            let queue = answer
                .opaque
                .checked_sub(FIRST_OPAQUE)
                .and_then(|index| queues.get_mut(index as usize))
                .ok_or("an answer to no pull")?;
            match queue.take(&answer)? {
                Some(count) => {
                    seen += count;
                    queue.append_pull(&mut out);
                }
                None => open -= 1,
            }
            Ok(())
        })?;
    }
    let clock = clock.ok_or("no answer to any pull")?;
    Report::new((seen, options.count.saturating_sub(seen)), clock, &link, None)
}

/// One queue and its position.
struct Queue {
    pull: Template,
    offset_at: usize,
    next: u64,
}

impl Queue {
    fn new(options: &Options, queue: u32) -> Result<Self, Failure> {
        let (id, batch) = (queue.to_string(), options.batch.to_string());
        let fields = [
            ("consumerGroup", options.group.as_str()),
            ("topic", options.topic.as_str()),
            ("queueId", &id),
            ("queueOffset", OFFSET),
            ("maxMsgNums", &batch),
            // The subscription is in the request, so that no heartbeat is needed; no long poll, no commit.
            ("sysFlag", "4"),
            ("commitOffset", "0"),
            ("suspendTimeoutMillis", "0"),
            ("subscription", "*"),
            ("subVersion", "0"),
            ("expressionType", "TAG"),
        ];
        let mut pull = Template::new(options.encoding, PULL_MESSAGE, &fields, b"")?;
        pull.set_opaque(FIRST_OPAQUE + queue);
        Ok(Self { offset_at: pull.spot(OFFSET)?, pull, next: 0 })
    }

    fn append_pull(&mut self, out: &mut Vec<u8>) {
        self.pull.set_decimal(self.offset_at, OFFSET.len(), self.next);
        out.extend_from_slice(self.pull.bytes());
    }

    /// Moves the position over an answer: how many messages it held, or `None` at the end of the queue.
    fn take(&mut self, answer: &Answer<'_>) -> Result<Option<u64>, Failure> {
        match answer.code {
            FOUND => {
                let (count, last) = walk(answer.body)?;
                self.next = last + 1;
                Ok(Some(count))
            }
            RETRY_IMMEDIATELY | OFFSET_MOVED => {
                let next = answer.field("nextBeginOffset").and_then(|text| text.parse().ok());
                let next: u64 = next.ok_or_else(|| answer.complaint())?;
                if next == self.next {
                    return Ok(None);
                }
                self.next = next;
                Ok(Some(0))
            }
            NOT_FOUND => Ok(None),
            _ => Err(answer.complaint().into()),
        }
    }
}

/// Counts the records of a body by their lengths and returns the last one's queue offset with the count.
fn walk(body: &[u8]) -> Result<(u64, u64), Failure> {
    let (mut rest, mut count, mut last) = (body, 0, 0);
    while !rest.is_empty() {
        let fixed = rest.first_chunk::<28>().ok_or("a record is cut")?;
        let size = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]) as usize;
        let magic = [fixed[4], fixed[5], fixed[6], fixed[7]];
        if size < 91 || !matches!(magic, [0xDA, 0xA3, 0x20, 0xA7 | 0xAB]) {
            return Err("a record begins like none".into());
        }
        let offset = fixed.last_chunk::<8>().ok_or("a record is cut")?;
        last = u64::from_be_bytes(*offset);
        rest = rest.get(size..).ok_or("a record is longer than its body")?;
        count += 1;
    }
    if count == 0 {
        return Err("an empty body was called found".into());
    }
    Ok((count, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(offset: u64) -> Vec<u8> {
        let mut bytes = vec![0; 100];
        bytes[..4].copy_from_slice(&100_u32.to_be_bytes());
        bytes[4..8].copy_from_slice(&0xDAA3_20A7_u32.to_be_bytes());
        bytes[20..28].copy_from_slice(&offset.to_be_bytes());
        bytes
    }

    #[test]
    fn a_walk_counts_and_tells_the_last_offset() {
        let body = [record(5), record(6)].concat();
        assert_eq!(walk(&body).unwrap(), (2, 6));
        assert!(walk(&body[..199]).is_err());
        assert!(walk(b"").is_err());
        assert!(walk(&[0; 100]).is_err());
    }

    #[test]
    fn a_position_follows_the_answers() {
        let args = "consume --broker b:1 --topic T --count 30";
        let options = Options::parse(args.split(' ').map(String::from)).unwrap().unwrap();
        let mut queue = Queue::new(&options, 3).unwrap();
        let body = [record(0), record(1)].concat();
        let answer = |code, header| Answer { code, opaque: 0, header, body: &body };
        assert_eq!(queue.take(&answer(FOUND, b"")).unwrap(), Some(2));
        assert_eq!(queue.take(&answer(OFFSET_MOVED, b"\"nextBeginOffset\":\"9\"")).unwrap(), Some(0));
        assert_eq!(queue.next, 9);
        assert_eq!(queue.take(&answer(NOT_FOUND, b"")).unwrap(), None);
        assert!(queue.take(&answer(26, b"")).is_err());
        let mut out = Vec::new();
        queue.append_pull(&mut out);
        let pull = Answer::take(&mut &out[..]).unwrap().unwrap();
        assert_eq!((pull.opaque, pull.field("queueOffset")), (FIRST_OPAQUE + 3, Some("0000000000000000009")));
    }
}
