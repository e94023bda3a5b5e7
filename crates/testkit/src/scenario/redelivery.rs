//! Messages that come again: failed handlers, panics, cancelled handlers.

use std::collections::BTreeMap;
use std::future::Future;

use rocketry_core::{Message, StartAt};
use rocketry_driver::{Action, Client, Consumer};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside};
use crate::harness::{Failure, ensure};

/// One message as a handler saw it: id, topic, body, redeliveries.
type One = (String, String, Vec<u8>, i32);
/// All that handlers saw.
type Seen = Vec<One>;

/// Sends a few messages and starts a consumer for them. Returns their ids and the topic.
async fn begin<R: Rt>(
    env: &Env<R>,
    client: &Client<R::Net>,
    what: &str,
    messages: usize,
) -> Result<(Vec<String>, String, Consumer), Failure> {
    let topic = env.create_topic(client, what, 2).await?;
    let producer = client.producer(env.name(&format!("{what}-producers"))).start().await?;
    let sends = (0..messages).map(|number| Message::new(topic.as_str(), format!("body {number}")));
    let sends = sends.collect::<Result<Vec<_>, _>>()?.into_iter().map(|message| producer.send(message));
    let mut ids = Vec::new();
    for receipt in all(sends).await {
        ids.push(receipt?.message_id);
    }
    let group = env.name(&format!("{what}-consumers"));
    let consumer = client.consumer(group).subscribe(topic.as_str(), "*").start_at(StartAt::First).start().await?;
    Ok((ids, topic, consumer))
}

/// Waits until each message was seen twice, and checks what was seen.
async fn each_twice(ids: &[String], topic: &str, seen: &Watched<Seen>) -> Outcome {
    seen.until(|seen| seen.iter().filter(|(_, _, _, redeliveries)| *redeliveries == 1).count() >= ids.len()).await;
    let seen = seen.change(std::mem::take);
    let mut times: BTreeMap<&str, Vec<&One>> = BTreeMap::new();
    for one in &seen {
        times.entry(&one.0).or_default().push(one);
    }
    for (number, id) in ids.iter().enumerate() {
        let seen = times.get(id.as_str()).cloned().unwrap_or_default();
        let attempts: Vec<i32> = seen.iter().map(|(_, _, _, redeliveries)| *redeliveries).collect();
        ensure(attempts == [0, 1], || format!("message {number} was seen with redeliveries {attempts:?}"))?;
        for (_, of, body, _) in seen {
            ensure(of == topic, || format!("message {number} came with topic {of}"))?;
            ensure(*body == format!("body {number}").into_bytes(), || format!("message {number} has another body"))?;
        }
    }
    ensure(times.len() == ids.len(), || format!("{} ids were seen, {} sent", times.len(), ids.len()))
}

/// A handler that fails the first time sees each message again through the retry topic, with its own topic and id.
///
/// # Errors
/// What differs.
pub async fn a_failed_handler_sees_its_message_again<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let (ids, topic, consumer) = begin(env, &client, "fails-once", 20).await?;
    let seen: Watched<Seen> = Watched::new(Vec::new());
    let (into, soon) = (seen.clone(), env.soon);
    let worker: Worker = Box::pin(consumer.run(move |message| {
        let again = message.redeliveries() == 0;
        into.change(|seen| seen.push(one(&message)));
        async move { if again { soon } else { Action::Succeed } }
    }));
    beside(vec![worker], each_twice(&ids, &topic, &seen)).await
}

/// A handler that panics means retry, at once and for its message alone.
///
/// # Errors
/// What differs.
pub async fn a_panic_means_retry<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let (ids, topic, consumer) = begin(env, &client, "panics-once", 3).await?;
    let seen: Watched<Seen> = Watched::new(Vec::new());
    let into = seen.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen| seen.push(one(&message)));
        let first = message.redeliveries() == 0;
        async move {
            assert!(!first, "on purpose: the handler panics at the first delivery");
        }
    }));
    beside(vec![worker], each_twice(&ids, &topic, &seen)).await
}

/// A worker that is dropped gives its handlers up: their messages come again, at once and not after the consume timeout.
///
/// # Errors
/// What differs.
pub async fn a_cancelled_handler_means_retry<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let (ids, topic, consumer) = begin(env, &client, "cancelled", 3).await?;
    let seen: Watched<Seen> = Watched::new(Vec::new());
    let first = |seen: Watched<Seen>| {
        consumer.run(move |message| {
            seen.change(|seen| seen.push(one(&message)));
            std::future::pending::<()>()
        })
    };
    let stuck: Worker = Box::pin(first(seen.clone()));
    beside(vec![stuck], started(&seen, ids.len())).await?;
    let into = seen.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen| seen.push(one(&message)));
        std::future::ready(())
    }));
    beside(vec![worker], each_twice(&ids, &topic, &seen)).await
}

fn started(seen: &Watched<Seen>, count: usize) -> impl Future<Output = Outcome> {
    let seen = seen.clone();
    async move {
        seen.until(|seen| seen.len() >= count).await;
        Ok(())
    }
}

fn one(message: &rocketry_driver::Received) -> One {
    (message.id(), message.topic().to_string(), message.body().to_vec(), message.redeliveries())
}
