//! `demo`: everything in one process, to see that nothing is lost.
//!
//! An embedded name server and broker, a producer, and a group of two members on connections of their own. Every message
//! carries its number; at the end each number was acknowledged and consumed, or the command fails.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::{Either, join, join_all, select};
use futures_util::stream::FuturesUnordered;
use indicatif::ProgressBar;
use rocketry_core::{Message, Notice, StartAt};
use rocketry_driver::io::Runtime;
use rocketry_driver::{Action, Client, Consumer, Notices, Producer, Received};
use serde_json::json;

use crate::args::Demo;
use crate::output::Failure;
use crate::report::{Output, progress};
use crate::serve;
use crate::session::{self, FAREWELL, Interrupt};

const TOPIC: &str = "demo";
const QUEUES: u32 = 8;
const IN_FLIGHT: usize = 256;
/// Without a message for so long, what is missing counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the command.
pub(crate) async fn run<R: Runtime>(args: &Demo, out: Output, interrupt: &Interrupt) -> Result<(), Failure> {
    let local = "127.0.0.1:0".parse().map_err(Failure::operation)?;
    let servers = serve::start::<R>(local, local, &[(TOPIC.to_owned(), QUEUES)]).await?;
    out.text(&format!("name server {}, broker {}", servers.name_server, servers.broker))?;
    let names = servers.name_server.to_string();
    let new_client = || Client::<R>::builder().name_servers(&names).build().map_err(session::failed);
    let clients = [new_client()?, new_client()?, new_client()?];
    let producer = clients[0].producer("demo-producers").start().await.map_err(session::failed)?;
    let notices = [clients[1].notices(), clients[2].notices()];
    let members = [member(&clients[1]).await?, member(&clients[2]).await?];
    let [first, second] = notices;
    let shared = join(owns(first, QUEUES / 2), owns(second, QUEUES / 2));
    if let Either::Right(_) = select(pin!(shared), pin!(session::sleep::<R>(PATIENCE))).await {
        return Err(Failure::operation("the two members did not come to share the queues"));
    }

    let ledger = Ledger::new(args.messages)?;
    let began = Instant::now();
    let work = join(send_all(args.messages, &producer, &ledger), consume_all::<R>(&members, &ledger));
    let finished = interrupt.or(work).await.is_some();
    let seconds = began.elapsed().as_secs_f64();
    ledger.bar.finish_and_clear();
    join_all(clients.iter().map(|client| client.shutdown(FAREWELL))).await;
    servers.server.stop().await;
    if !finished {
        return Err(Failure::operation("interrupted"));
    }
    ledger.report(seconds, out)
}

async fn member<R: Runtime>(client: &Client<R>) -> Result<Consumer, Failure> {
    let consumer = client.consumer("demo-group").subscribe(TOPIC, "*").start_at(StartAt::First);
    consumer.start().await.map_err(session::failed)
}

/// Waits until a member owns so many queues. Before that, the first member may read what the second one will be given.
async fn owns(mut notices: Notices, count: u32) {
    while let Some(notice) = notices.next().await {
        if let Notice::Assigned { topic, queues, .. } = notice
            && topic.as_str() == TOPIC
            && queues.len() == count as usize
        {
            return;
        }
    }
}

async fn send_all(count: u64, producer: &Producer, ledger: &Ledger) {
    let mut on_their_way = FuturesUnordered::new();
    let mut numbers = 0..count;
    loop {
        while on_their_way.len() < IN_FLIGHT {
            let Some(number) = numbers.next() else { break };
            ledger.sent.set(ledger.sent.get() + 1);
            match Message::new(TOPIC, number.to_string()) {
                Ok(message) => on_their_way.push(producer.send(message)),
                Err(error) => ledger.fail(&error.to_string()),
            }
        }
        match on_their_way.next().await {
            Some(Ok(_)) => ledger.acknowledged.set(ledger.acknowledged.get() + 1),
            Some(Err(error)) => ledger.fail(&error.to_string()),
            None => {
                ledger.all_sent.set(true);
                return;
            }
        }
    }
}

/// Both members at once, until everything has come or nothing comes any more.
async fn consume_all<R: Runtime>(members: &[Consumer], ledger: &Ledger) {
    let handled = join_all(members.iter().map(|member| {
        member.run(|message: Received| {
            ledger.note(&message);
            std::future::ready(Action::Succeed)
        })
    }));
    let quiet = async {
        while !ledger.is_over() {
            session::sleep::<R>(Duration::from_millis(20)).await;
        }
    };
    if let Either::Left((results, _)) = select(pin!(handled), pin!(quiet)).await {
        for error in results.into_iter().filter_map(Result::err) {
            ledger.fail(&error.to_string());
        }
    }
}

/// What was sent, acknowledged and seen.
struct Ledger {
    seen: RefCell<Vec<u16>>,
    sent: Cell<u64>,
    acknowledged: Cell<u64>,
    consumed: Cell<u64>,
    duplicates: Cell<u64>,
    all_sent: Cell<bool>,
    last: Cell<Instant>,
    failure: RefCell<Option<String>>,
    bar: ProgressBar,
}

impl Ledger {
    fn new(messages: u64) -> Result<Self, Failure> {
        let count = usize::try_from(messages).ok().filter(|count| *count <= 1 << 32);
        let count = count.ok_or_else(|| Failure::usage(format!("--messages {messages}: at most 2^32")))?;
        Ok(Self {
            seen: RefCell::new(vec![0; count]),
            sent: Cell::new(0),
            acknowledged: Cell::new(0),
            consumed: Cell::new(0),
            duplicates: Cell::new(0),
            all_sent: Cell::new(false),
            last: Cell::new(Instant::now()),
            failure: RefCell::new(None),
            bar: progress(messages, "consumed"),
        })
    }

    fn note(&self, message: &Received) {
        self.last.set(Instant::now());
        let number = std::str::from_utf8(message.body()).ok().and_then(|text| text.parse::<usize>().ok());
        let mut seen = self.seen.borrow_mut();
        let Some(times) = number.and_then(|number| seen.get_mut(number)) else {
            return self.fail("a message came that was not sent");
        };
        *times = times.saturating_add(1);
        if *times > 1 {
            self.duplicates.set(self.duplicates.get() + 1);
        } else {
            self.consumed.set(self.consumed.get() + 1);
            if self.consumed.get().is_multiple_of(256) {
                self.bar.set_position(self.consumed.get());
            }
        }
    }

    fn fail(&self, text: &str) {
        self.failure.borrow_mut().get_or_insert_with(|| text.to_owned());
    }

    fn is_over(&self) -> bool {
        let all = self.all_sent.get() && self.consumed.get() >= self.acknowledged.get();
        all || self.last.get().elapsed() > PATIENCE
    }

    fn report(&self, seconds: f64, out: Output) -> Result<(), Failure> {
        let lost = self.seen.borrow().iter().filter(|times| **times == 0).count();
        let object = json!({
            "sent": self.sent.get(),
            "acknowledged": self.acknowledged.get(),
            "consumed": self.consumed.get(),
            "duplicates": self.duplicates.get(),
            "lost": lost,
            "seconds": seconds,
        });
        out.object(object.as_object().ok_or_else(|| Failure::operation("no object"))?)?;
        match self.failure.borrow().as_ref() {
            Some(failure) => Err(Failure::operation(failure)),
            None if lost > 0 => Err(Failure::operation(format!("{lost} messages are lost"))),
            None => Ok(()),
        }
    }
}
