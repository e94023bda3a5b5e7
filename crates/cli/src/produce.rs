//! `produce`: sends messages and waits for the brokers' answers.

use std::future::Future;
use std::io::BufRead;
use std::pin::Pin;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rocketry_codec::message::Compression;
use rocketry_core::{Message, MessageError, SendReceipt, SendStatus};
use rocketry_driver::io::Runtime;
use rocketry_driver::{Error, Producer};
use serde_json::{Map, json};

use crate::args::{Compress, Produce};
use crate::output::Failure;
use crate::report::{Output, progress};
use crate::session::{self, FAREWELL, Interrupt};

/// Runs the command.
pub(crate) async fn run<R: Runtime>(args: &Produce, out: Output, interrupt: &Interrupt) -> Result<(), Failure> {
    Failure::refuse("--batch", args.batch)?;
    Failure::refuse("--deliver-at", args.deliver_at.is_some())?;
    if args.in_flight == 0 {
        return Err(Failure::usage("--in-flight 0: at least 1"));
    }
    let client = session::client::<R>(&args.connect)?;
    let producer = client
        .producer(&args.group)
        .compression(compression(args.compress))
        .compress_from(1)
        .start()
        .await
        .map_err(session::failed)?;
    let sent = interrupt.or(send_all(args, &producer, out)).await.unwrap_or(Ok(()));
    client.shutdown(FAREWELL).await.map_err(session::failed)?;
    sent
}

pub(crate) const fn compression(flag: Compress) -> Option<Compression> {
    match flag {
        Compress::None => None,
        Compress::Zlib => Some(Compression::Zlib),
        Compress::Lz4 => Some(Compression::Lz4),
        Compress::Zstd => Some(Compression::Zstd),
    }
}

/// One send on its way: its receipt, or only its id for a one-way message.
type OnItsWay<'a> = Pin<Box<dyn Future<Output = Result<Sent, Error>> + 'a>>;

enum Sent {
    Stored(SendReceipt),
    Handed(String),
}

async fn send_all(args: &Produce, producer: &Producer, out: Output) -> Result<(), Failure> {
    let mut bodies = Bodies::of(args)?;
    let bar = progress(bodies.expected().unwrap_or(0), "sent");
    let mut on_their_way: FuturesUnordered<OnItsWay<'_>> = FuturesUnordered::new();
    let mut failures = 0u64;
    let mut first = None;
    loop {
        while on_their_way.len() < args.in_flight {
            let Some(body) = bodies.next()? else { break };
            on_their_way.push(send(args, producer, message(args, body).map_err(Failure::usage)?));
        }
        let Some(sent) = on_their_way.next().await else { break };
        bar.inc(1);
        match sent {
            Ok(sent) => report(args, out, &sent)?,
            Err(error) => {
                failures += 1;
                first.get_or_insert_with(|| error.to_string());
            }
        }
    }
    bar.finish_and_clear();
    match first {
        None => Ok(()),
        Some(first) => {
            Err(Failure::Operation(format!("{failures} messages were not acknowledged; the first: {first}")))
        }
    }
}

fn send<'a>(args: &'a Produce, producer: &'a Producer, message: Message) -> OnItsWay<'a> {
    if args.oneway {
        return Box::pin(async { producer.send_oneway(message).await.map(Sent::Handed) });
    }
    let sending = producer.send(message);
    let sending = match &args.order_key {
        Some(key) => sending.to_key(key),
        None => sending,
    };
    Box::pin(async { sending.await.map(Sent::Stored) })
}

fn message(args: &Produce, body: Vec<u8>) -> Result<Message, MessageError> {
    let mut message = Message::builder(args.topic.as_str()).body(body);
    if let Some(tag) = &args.tag {
        message = message.tag(tag);
    }
    if let Some(key) = &args.key {
        message = message.key(key);
    }
    if let Some(level) = args.delay_level {
        message = message.delay_level(level);
    }
    for property in &args.property {
        let (name, value) = property.split_once('=').unwrap_or((property, ""));
        message = message.property(name, value);
    }
    message.build()
}

fn report(args: &Produce, out: Output, sent: &Sent) -> Result<(), Failure> {
    let object = match sent {
        Sent::Stored(receipt) => json!({
            "msgId": receipt.message_id,
            "offsetMsgId": receipt.offset_message_id,
            "topic": receipt.queue.topic.as_str(),
            "brokerName": receipt.queue.broker.as_str(),
            "queueId": receipt.queue.id,
            "queueOffset": receipt.queue_offset,
            "status": status(receipt.status),
        }),
        Sent::Handed(id) => json!({ "msgId": id, "topic": args.topic, "status": "ONEWAY" }),
    };
    out.object(object.as_object().unwrap_or(&Map::new()))
}

/// The names that Java gives to the ways of being stored.
const fn status(status: SendStatus) -> &'static str {
    match status {
        SendStatus::Stored => "SEND_OK",
        SendStatus::FlushDiskTimeout => "FLUSH_DISK_TIMEOUT",
        SendStatus::FlushSlaveTimeout => "FLUSH_SLAVE_TIMEOUT",
        SendStatus::SlaveNotAvailable => "SLAVE_NOT_AVAILABLE",
        _ => "STORED",
    }
}

/// Where bodies come from.
enum Bodies {
    Same { body: Vec<u8>, left: u64 },
    Lines(std::io::Lines<std::io::BufReader<std::io::Stdin>>),
}

impl Bodies {
    fn of(args: &Produce) -> Result<Self, Failure> {
        let left = args.count;
        Ok(match (&args.body, args.size) {
            (Some(body), _) => Self::Same { body: body.clone().into_bytes(), left },
            (None, Some(size)) => Self::Same { body: filler(size), left },
            (None, None) if left != 1 => {
                return Err(Failure::usage("--count needs --body or --size: lines of standard input count themselves"));
            }
            (None, None) => Self::Lines(std::io::BufReader::new(std::io::stdin()).lines()),
        })
    }

    const fn expected(&self) -> Option<u64> {
        match self {
            Self::Same { left, .. } => Some(*left),
            Self::Lines(_) => None,
        }
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::Same { left: 0, .. } => Ok(None),
            Self::Same { body, left } => {
                *left -= 1;
                Ok(Some(body.clone()))
            }
            Self::Lines(lines) => Ok(lines.next().transpose()?.map(String::into_bytes)),
        }
    }
}

/// A body of this size, in letters.
pub(crate) fn filler(size: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(size).collect()
}
