//! `bench`: how fast, and at what cost to this process.

use std::cell::Cell;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use rocketry_core::{Message, StartAt};
use rocketry_driver::io::Runtime;
use rocketry_driver::{Error, Producer};
use serde_json::{Map, Value, json};

use crate::args::{BenchConsume, BenchProduce};
use crate::output::Failure;
use crate::produce::filler;
use crate::report::{Output, progress};
use crate::session::{self, FAREWELL, Interrupt};
use crate::usage;

/// `bench produce`
pub(crate) async fn produce<R: Runtime>(
    args: &BenchProduce,
    out: Output,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    Failure::refuse("--batch", args.batch)?;
    if args.in_flight == 0 {
        return Err(Failure::usage("--in-flight 0: at least 1"));
    }
    let client = session::client::<R>(&args.connect)?;
    let producer =
        client.producer("rocketry-bench").topic(args.topic.as_str()).start().await.map_err(session::failed)?;
    // Connections and routes stand before the clock starts.
    let message = Message::new(args.topic.as_str(), filler(args.size)).map_err(Failure::usage)?;
    producer.send(message.clone()).await.map_err(session::failed)?;
    let mut tally = Tally::begin(args.count);
    let work = async {
        if args.in_flight == 1 {
            lone(args, &producer, &message, &mut tally).await
        } else {
            piped(args, &producer, &message, &mut tally).await
        }
    };
    interrupt.or(work).await;
    let result = tally.finish(true);
    client.shutdown(FAREWELL).await.map_err(session::failed)?;
    out.object(&result?)
}

/// One at a time, each awaited.
async fn lone(args: &BenchProduce, producer: &Producer, message: &Message, tally: &mut Tally) {
    for _ in 0..args.count {
        let begun = Instant::now();
        let sent = producer.send(message.clone()).await.map(drop);
        tally.end(begun, sent);
    }
}

/// At most so many unanswered.
async fn piped(args: &BenchProduce, producer: &Producer, message: &Message, tally: &mut Tally) {
    let mut on_their_way = FuturesUnordered::new();
    let mut left = args.count;
    loop {
        while left > 0 && on_their_way.len() < args.in_flight {
            left -= 1;
            let (begun, sending) = (Instant::now(), producer.send(message.clone()));
            on_their_way.push(async move { (begun, sending.await.map(drop)) });
        }
        let Some((begun, sent)) = on_their_way.next().await else { return };
        tally.end(begun, sent);
    }
}

/// `bench consume`
pub(crate) async fn consume<R: Runtime>(
    args: &BenchConsume,
    out: Output,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let client = session::client::<R>(&args.connect)?;
    let consumer = client
        .consumer(&args.group)
        .subscribe(args.topic.as_str(), "*")
        .start_at(StartAt::First)
        .concurrency(args.concurrency)
        .start()
        .await
        .map_err(session::failed)?;
    let (enough, done) = async_channel::bounded::<()>(1);
    let seen = Cell::new(0u64);
    let began: Cell<Option<(Instant, Duration)>> = Cell::new(None);
    let handled = consumer.run(|message| {
        if began.get().is_none() {
            began.set(Some((Instant::now(), usage::cpu_time().unwrap_or_default())));
        }
        drop(message);
        seen.set(seen.get() + 1);
        if seen.get() == args.count {
            // Full means that it was said already.
            let _ = enough.try_send(());
        }
        std::future::ready(())
    });
    let over = interrupt.or(done.recv());
    if let Either::Left((Err(error), _)) = select(pin!(handled), pin!(over)).await {
        return Err(session::failed(error));
    }
    let result = measured(seen.get(), args.count.saturating_sub(seen.get()), began.get())?;
    client.shutdown(FAREWELL).await.map_err(session::failed)?;
    out.object(&result)
}

/// What a run of sends adds up to.
struct Tally {
    began: (Instant, Duration),
    ok: u64,
    failed: u64,
    first_error: Option<String>,
    latencies_us: Vec<u32>,
    bar: indicatif::ProgressBar,
}

impl Tally {
    fn begin(count: u64) -> Self {
        let expected = usize::try_from(count.min(10_000_000)).unwrap_or(0);
        Self {
            began: (Instant::now(), usage::cpu_time().unwrap_or_default()),
            ok: 0,
            failed: 0,
            first_error: None,
            latencies_us: Vec::with_capacity(expected),
            bar: progress(count, "sent"),
        }
    }

    fn end(&mut self, begun: Instant, sent: Result<(), Error>) {
        self.latencies_us.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
        match sent {
            Ok(()) => self.ok += 1,
            Err(error) => {
                self.failed += 1;
                self.first_error.get_or_insert_with(|| error.to_string());
            }
        }
        if self.latencies_us.len().is_multiple_of(1_024) {
            self.bar.inc(1_024);
        }
    }

    fn finish(mut self, latencies: bool) -> Result<Map<String, Value>, Failure> {
        self.bar.finish_and_clear();
        let mut object = measured(self.ok, self.failed, Some(self.began))?;
        if latencies && !self.latencies_us.is_empty() {
            self.latencies_us.sort_unstable();
            let at = |percent: usize| self.latencies_us[(self.latencies_us.len() - 1) * percent / 100];
            object.insert("p50_us".into(), at(50).into());
            object.insert("p99_us".into(), at(99).into());
        }
        if let Some(error) = self.first_error {
            object.insert("first_error".into(), error.into());
        }
        Ok(object)
    }
}

fn measured(ok: u64, failed: u64, began: Option<(Instant, Duration)>) -> Result<Map<String, Value>, Failure> {
    let Some((began, cpu_before)) = began else {
        return Err(Failure::operation("nothing came"));
    };
    let seconds = began.elapsed().as_secs_f64();
    let cpu = usage::cpu_time().map(|now| now.saturating_sub(cpu_before));
    #[allow(clippy::cast_precision_loss)] // counts of messages are far below 2^53
    let messages = ok as f64;
    let object = json!({
        "ok": ok,
        "failed": failed,
        "seconds": seconds,
        "rate": messages / seconds,
        "cpu_us_per_message": cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / messages),
        "max_rss_kb": usage::max_rss_kb(),
    });
    object.as_object().cloned().ok_or_else(|| Failure::operation("no object"))
}
