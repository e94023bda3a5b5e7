//! Transactions: committed messages arrive, those rolled back never do, and forgotten ones are asked about.

use std::collections::BTreeSet;
use std::time::Duration;

use rocketry_core::{Message, Resolution, StartAt};

use super::{Env, Outcome, Rt, Watched, Worker, beside, race};
use crate::harness::{Failure, ensure};

/// Messages of each kind.
const EACH: usize = 10;

/// Half of the messages are committed, half rolled back.
///
/// # Errors
/// What differs.
pub async fn commits_arrive_and_rollbacks_do_not<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "transactions", 4).await?;
    let producer = client.producer(env.name("transactors")).start().await?;
    let mut committed = BTreeSet::new();
    for number in 0..2 * EACH {
        let resolution = if number % 2 == 0 { Resolution::Commit } else { Resolution::Rollback };
        let message = Message::builder(topic.as_str()).body(number.to_string()).tag("t").key("k").build()?;
        let local = |_| std::future::ready(resolution);
        let transaction = producer.send_in_transaction(message, local).await?;
        transaction.told?;
        if resolution == Resolution::Commit {
            committed.insert(transaction.receipt.message_id);
        }
    }
    let seen: Watched<BTreeSet<String>> = Watched::new(BTreeSet::new());
    let into = seen.clone();
    let consumer = client.consumer(env.name("settlers")).subscribe(topic.as_str(), "t").start_at(StartAt::First);
    let consumer = consumer.start().await?;
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen| seen.insert(message.id()));
        std::future::ready(())
    }));
    beside(vec![worker], async {
        seen.until(|seen| seen.is_superset(&committed)).await;
        Ok(())
    })
    .await?;
    let seen = seen.change(std::mem::take);
    ensure(seen == committed, || format!("{} of {} messages", seen.len(), committed.len()))
}

/// A producer is killed between its half message and the end of its transaction: another member of its group is asked,
/// and commits. One that does not decide is asked again. The broker must look for such messages every few seconds.
///
/// # Errors
/// What differs.
pub async fn a_forgotten_transaction_is_asked_about<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "forgotten", 1).await?;
    let group = env.name("forgetful");
    let (victim, driver) = env.builder().build_parts()?;
    let half = Watched::new(None);
    let into = half.clone();
    let work = async {
        let producer = victim.clone().producer(&group).start().await?;
        let message = Message::new(topic.as_str(), "of a dead producer")?;
        let local = |receipt: rocketry_core::SendReceipt| {
            into.change(|half| *half = Some(receipt.message_id));
            std::future::pending::<Resolution>()
        };
        let decided = async { producer.send_in_transaction(message, local).await.map(drop).map_err(Failure::from) };
        let begun = async {
            half.until(Option::is_some).await;
            Ok(())
        };
        race(decided, begun).await
    };
    let dies = async {
        driver.await;
        Err(Failure::from("the driver ended by itself"))
    };
    race(work, dies).await?;
    let id = half.change(Option::take).ok_or("no half message")?;
    let heir = client.producer(&group).topic(topic.as_str()).start().await?;
    let mut checks = heir.transaction_checks();
    let closed = || Failure::from("the client closed");
    let first = checks.next().await.ok_or_else(closed)?;
    ensure(first.id() == id, || format!("{} is asked about", first.id()))?;
    ensure(first.topic().as_str() == topic, || format!("topic {}", first.topic()))?;
    first.resolve(Resolution::Unknown).await?;
    let second = checks.next().await.ok_or_else(closed)?;
    ensure(second.id() == id, || format!("{} is asked about", second.id()))?;
    second.resolve(Resolution::Commit).await?;
    let consumer = client.consumer(env.name("heirs")).subscribe(topic.as_str(), "*").start_at(StartAt::First);
    let consumer = consumer.start().await?;
    let delivery = consumer.deliveries().next().await.ok_or_else(closed)?;
    ensure(delivery.id() == id && delivery.body() == b"of a dead producer", || format!("{} came", delivery.id()))?;
    delivery.succeed();
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}
