//! Broadcasting: every member gets every message, and goes on where it was.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rocketry_core::{Message, StartAt};
use rocketry_driver::{Client, Producer};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside};
use crate::harness::{Failure, ensure};

const ROUND: usize = 50;

type Seen = Watched<Vec<String>>;

async fn send_round(producer: &Producer, topic: &str) -> Result<BTreeSet<String>, Failure> {
    let messages = (0..ROUND).map(|number| Message::new(topic, number.to_string())).collect::<Result<Vec<_>, _>>()?;
    let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
    receipts.into_iter().map(|receipt| Ok(receipt?.message_id)).collect()
}

/// A member with a folder for its positions.
async fn join<R: Rt>(
    env: &Env<R>,
    topic: &str,
    folder: &Path,
    seen: &Seen,
) -> Result<(Client<R::Net>, Worker), Failure> {
    let client = env.builder().offset_folder(folder).build()?;
    let builder = client.consumer(env.name("hearers")).subscribe(topic, "*").start_at(StartAt::First).broadcasting();
    let consumer = builder.start().await?;
    let into = seen.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen| seen.push(message.id()));
        std::future::ready(())
    }));
    Ok((client, worker))
}

async fn hears(seen: &Seen, sent: &BTreeSet<String>) {
    seen.until(|seen| sent.iter().all(|id| seen.contains(id))).await;
}

/// Two members; both get everything. One stops and comes back: it gets what it has missed, and nothing twice.
///
/// # Errors
/// What differs.
pub async fn everybody_hears_everything_and_goes_on_after_a_restart<R: Rt>(env: &Env<R>) -> Outcome {
    let sender = env.client()?;
    let topic = env.create_topic(&sender, "broadcast", 4).await?;
    let producer = sender.producer(env.name("speakers")).start().await?;
    let home = std::env::temp_dir().join(format!("rocketry-{}-{}-{}", std::process::id(), env.prefix, R::NAME));
    let (one, two) = (Seen::default(), Seen::default());
    let (_first, worker) = join(env, &topic, &home.join("one"), &one).await?;
    let mut sent = send_round(&producer, &topic).await?;
    beside(vec![worker], async {
        let (second, worker) = join(env, &topic, &home.join("two"), &two).await?;
        beside(vec![worker], async {
            hears(&one, &sent).await;
            hears(&two, &sent).await;
            second.shutdown(Duration::from_secs(10)).await?;
            Ok(())
        })
        .await?;
        sent.extend(send_round(&producer, &topic).await?);
        hears(&one, &sent).await;
        let (_again, worker) = join(env, &topic, &home.join("two"), &two).await?;
        beside(vec![worker], async {
            hears(&two, &sent).await;
            Ok(())
        })
        .await
    })
    .await?;
    for (who, seen) in [("one", one), ("two", two)] {
        let seen = seen.change(std::mem::take);
        ensure(seen.len() == 2 * ROUND, || format!("{who} saw {} messages of {}", seen.len(), 2 * ROUND))?;
    }
    std::fs::remove_dir_all(home)?;
    Ok(())
}
