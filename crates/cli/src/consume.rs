//! `consume`: push consumption, a line for each message.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use base64::Engine;
use futures_util::future::{Either, select};
use rocketry_core::{FilterExpression, StartAt};
use rocketry_driver::io::Runtime;
use rocketry_driver::{Action, DelayLevel, Received};
use rocketry_machine::UnixMillis;
use serde_json::{Map, Value, json};

use crate::args::Consume;
use crate::output::Failure;
use crate::report::Output;
use crate::session::{self, FAREWELL, Interrupt};

/// Runs the command.
pub(crate) async fn run<R: Runtime>(args: &Consume, out: Output, interrupt: &Interrupt) -> Result<(), Failure> {
    Failure::refuse("--pop", args.pop)?;
    let client = session::client::<R>(&args.connect)?;
    let filter = match (&args.sql, &args.tags) {
        (Some(sql), _) => FilterExpression::sql(sql),
        (None, tags) => FilterExpression::from(tags.as_deref().unwrap_or("*")),
    };
    let consumer = client
        .consumer(&args.group)
        .subscribe(args.topic.as_str(), filter)
        .start_at(start_at(&args.from)?)
        .concurrency(args.concurrency)
        .configure(|config| (config.orderly, config.broadcasting) = (args.orderly, args.broadcast))
        .start()
        .await
        .map_err(session::failed)?;
    let state = State::new(args, out);
    let handled = consumer.run(|message| std::future::ready(state.handle(&message)));
    let over = interrupt.or(state.over::<R>());
    if let Either::Left((Err(error), _)) = select(pin!(handled), pin!(over)).await {
        return Err(session::failed(error));
    }
    client.shutdown(FAREWELL).await.map_err(session::failed)?;
    state.failure.take().map_or(Ok(()), Err)
}

/// `first`, `last` or a time.
pub(crate) fn start_at(text: &str) -> Result<StartAt, Failure> {
    match text {
        "first" => Ok(StartAt::First),
        "last" => Ok(StartAt::Last),
        time => match time.parse() {
            Ok(millis) => Ok(StartAt::Time(UnixMillis::new(millis))),
            Err(_) => Err(Failure::usage(format!("--from {time}: first, last, or milliseconds since 1970"))),
        },
    }
}

/// What has been seen, and when the command is over.
struct State<'a> {
    args: &'a Consume,
    out: Output,
    accepted: Cell<u64>,
    refused: RefCell<HashMap<String, u32>>,
    last: Cell<Instant>,
    failure: Cell<Option<Failure>>,
    full: (async_channel::Sender<()>, async_channel::Receiver<()>),
}

impl<'a> State<'a> {
    fn new(args: &'a Consume, out: Output) -> Self {
        Self {
            args,
            out,
            accepted: Cell::new(0),
            refused: RefCell::default(),
            last: Cell::new(Instant::now()),
            failure: Cell::new(None),
            full: async_channel::bounded(1),
        }
    }

    fn handle(&self, message: &Received) -> Action {
        self.last.set(Instant::now());
        let is_full = |accepted| self.args.count.is_some_and(|count| accepted >= count);
        if is_full(self.accepted.get()) {
            // Another run of the command gets it.
            return Action::Retry;
        }
        if self.args.fail_first > 0 {
            let mut refused = self.refused.borrow_mut();
            let times = refused.entry(message.id()).or_default();
            if *times < self.args.fail_first {
                *times += 1;
                return Action::RetryAfter(DelayLevel::ONE_SECOND);
            }
        }
        if let Err(failure) = self.out.object(&shown(message)) {
            self.failure.set(Some(failure));
            self.end();
            return Action::Retry;
        }
        self.accepted.set(self.accepted.get() + 1);
        if is_full(self.accepted.get()) {
            self.end();
        }
        Action::Succeed
    }

    fn end(&self) {
        // It is over already when the channel is full.
        let _ = self.full.0.try_send(());
    }

    /// Ends when enough was accepted, or nothing has come for long enough.
    async fn over<R: Runtime>(&self) {
        let full = self.full.1.recv();
        let Some(seconds) = self.args.idle_exit else {
            let _ = full.await;
            return;
        };
        let quiet = Duration::from_secs(seconds);
        let idle = async {
            loop {
                let left = quiet.saturating_sub(self.last.get().elapsed());
                if left.is_zero() {
                    return;
                }
                session::sleep::<R>(left).await;
            }
        };
        let _ = select(pin!(full), pin!(idle)).await;
    }
}

fn shown(message: &Received) -> Map<String, Value> {
    let properties: Map<String, Value> =
        message.properties().iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    let keys: Vec<&str> = message.keys().collect();
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("topic", message.topic().as_str().into());
    put("brokerName", message.queue().broker.as_str().into());
    put("queueId", message.queue().id.into());
    put("queueOffset", message.queue_offset().into());
    put("msgId", message.id().into());
    put("tags", message.tag().into());
    put("keys", if keys.is_empty() { Value::Null } else { keys.join(" ").into() });
    put("properties", properties.into());
    match std::str::from_utf8(message.body()) {
        Ok(text) => put("body", text.into()),
        Err(_) => put("bodyBase64", base64::engine::general_purpose::STANDARD.encode(message.body()).into()),
    };
    put("reconsumeTimes", message.redeliveries().into());
    put("bornTimestamp", json!(message.born_at()));
    put("storeTimestamp", json!(message.stored_at()));
    object
}
