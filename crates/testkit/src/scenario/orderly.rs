//! Orderly consumption: one handler at a time in each queue, offsets that rise by one, one member for each queue.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rocketry_core::{Message, MessageQueue, StartAt};
use rocketry_driver::{Client, Consumer, Producer, Received};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside, race};
use crate::harness::{Failure, ensure};

/// Messages of one round.
const ROUND: usize = 120;
/// Every so many messages one is refused when it comes for the first time.
const REFUSED: i64 = 7;

/// What handlers did.
#[derive(Debug, Default)]
struct Log {
    /// By queue: who had which offset, in the order in which handlers ended, and whether it was accepted.
    ended: BTreeMap<MessageQueue, Vec<(&'static str, i64, bool)>>,
    running: BTreeMap<MessageQueue, &'static str>,
    refused: BTreeSet<String>,
    accepted: BTreeSet<String>,
    wrong: Vec<String>,
}

/// A handler that runs; it counts as ended when it is dropped, too.
struct Running {
    log: Watched<Log>,
    queue: MessageQueue,
}

impl Running {
    fn new(log: &Watched<Log>, who: &'static str, message: &Received) -> Self {
        let queue = message.queue().clone();
        log.change(|log| {
            if let Some(other) = log.running.insert(queue.clone(), who) {
                log.wrong.push(format!("handlers of {other} and {who} run in {queue} at once"));
            }
        });
        Self { log: log.clone(), queue }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.log.change(|log| log.running.remove(&self.queue));
    }
}

async fn handle<R: Rt>(log: Watched<Log>, who: &'static str, message: Received) -> Result<(), &'static str> {
    let _running = Running::new(&log, who, &message);
    // Long enough for another handler to begin, if one may.
    R::sleep(Duration::from_millis(1)).await;
    log.change(|log| {
        let refuses = message.queue_offset() % REFUSED == 3 && log.refused.insert(message.id());
        let ended = log.ended.entry(message.queue().clone()).or_default();
        ended.push((who, message.queue_offset(), !refuses));
        if refuses {
            return Err("refused once");
        }
        log.accepted.insert(message.id());
        Ok(())
    })
}

/// Within one ownership offsets rise by one, but for a refused message, which comes again; a new owner begins at or below
/// the next message.
fn check(log: &Log) -> Outcome {
    ensure(log.wrong.is_empty(), || log.wrong.join("; "))?;
    for (queue, ended) in &log.ended {
        for pair in ended.windows(2) {
            let [(who, offset, accepted), (then, next, _)] = pair else { continue };
            let expected = if *accepted { offset + 1 } else { *offset };
            let fits = if who == then { *next == expected } else { *next <= expected };
            ensure(fits, || format!("{queue}: {who} had {offset} (accepted: {accepted}), then {then} has {next}"))?;
        }
    }
    Ok(())
}

async fn send_round(producer: &Producer, topic: &str) -> Result<BTreeSet<String>, Failure> {
    let messages = (0..ROUND).map(|number| Message::new(topic, number.to_string())).collect::<Result<Vec<_>, _>>()?;
    let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
    receipts.into_iter().map(|receipt| Ok(receipt?.message_id)).collect()
}

async fn join<R: Rt>(
    env: &Env<R>,
    client: &Client<R::Net>,
    topic: &str,
    who: &'static str,
    log: &Watched<Log>,
) -> Result<(Consumer, Worker), Failure> {
    let consumer = client.consumer(env.name("in-order")).subscribe(topic, "*").start_at(StartAt::First).orderly();
    let consumer = consumer.configure(|config| config.suspend_time = Duration::from_millis(50)).start().await?;
    let log = log.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| handle::<R>(log.clone(), who, message)));
    Ok((consumer, worker))
}

async fn all_accepted(log: &Watched<Log>, sent: &BTreeSet<String>) {
    log.until(|log| log.accepted.is_superset(sent)).await;
}

/// Two members of an orderly group; one leaves in order, and the other takes its queues at once.
///
/// # Errors
/// What differs.
pub async fn order_is_kept_when_a_member_leaves<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "in-order", 4).await?;
    let producer = client.producer(env.name("in-order-producers")).start().await?;
    let log: Watched<Log> = Watched::new(Log::default());
    let mut sent = send_round(&producer, &topic).await?;
    let (_one, worker) = join(env, &client, &topic, "one", &log).await?;
    beside(vec![worker], async {
        all_accepted(&log, &sent).await;
        let second = env.client()?;
        let (two, worker) = join(env, &second, &topic, "two", &log).await?;
        beside(vec![worker], async {
            sent.extend(send_round(&producer, &topic).await?);
            all_accepted(&log, &sent).await;
            sent.extend(send_round(&producer, &topic).await?);
            let report = two.shutdown(Duration::from_secs(10)).await?;
            ensure(report.unfinished_handlers == 0, || format!("{report:?}"))
        })
        .await?;
        second.shutdown(Duration::from_secs(5)).await?;
        sent.extend(send_round(&producer, &topic).await?);
        all_accepted(&log, &sent).await;
        Ok(())
    })
    .await?;
    log.change(|log| check(log))
}

/// Two members of an orderly group; one is killed in the middle of its work. The other has its queues once their locks
/// have ended, and order is kept.
///
/// # Errors
/// What differs.
pub async fn order_is_kept_when_a_member_is_killed<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "in-order-killed", 4).await?;
    let producer = client.producer(env.name("in-order-killers")).start().await?;
    let log: Watched<Log> = Watched::new(Log::default());
    let mut sent = send_round(&producer, &topic).await?;
    let (_one, worker) = join(env, &client, &topic, "one", &log).await?;
    beside(vec![worker], async {
        all_accepted(&log, &sent).await;
        let (victim, driver) = env.builder().build_parts()?;
        let work = async {
            // The handle outlives the driver: a dropped client would say goodbye.
            let (_two, worker) = join(env, &victim.clone(), &topic, "two", &log).await?;
            beside(vec![worker], async {
                let mut more = BTreeSet::new();
                while !log.change(|log| log.ended.values().flatten().any(|(who, ..)| *who == "two")) {
                    more.extend(send_round(&producer, &topic).await?);
                }
                Ok(more)
            })
            .await
        };
        let dies = async {
            driver.await;
            Err(Failure::from("the driver ended by itself"))
        };
        sent.extend(race(work, dies).await?);
        sent.extend(send_round(&producer, &topic).await?);
        all_accepted(&log, &sent).await;
        Ok(())
    })
    .await?;
    log.change(|log| check(log))
}
