//! Messages out and back.

use std::collections::BTreeMap;

use rocketry_core::{Message, StartAt};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside};
use crate::harness::ensure;

/// Messages of one round trip.
const MESSAGES: usize = 2_000;
/// Sends that are on their way at once.
const IN_FLIGHT: usize = 100;

/// 2,000 messages with tags, keys, properties and bodies of all sizes, some large enough to be compressed, come back with
/// equal ids, bodies and properties, none lost.
///
/// # Errors
/// What differs.
pub async fn many_out_and_back<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "round-trip", 4).await?;
    let producer = client.producer(env.name("producers")).topic(topic.as_str()).start().await?;
    let mut sent = BTreeMap::new();
    for chunk in 0..MESSAGES / IN_FLIGHT {
        let numbers = chunk * IN_FLIGHT..(chunk + 1) * IN_FLIGHT;
        let messages = numbers.clone().map(|number| message(&topic, number)).collect::<Result<Vec<_>, _>>()?;
        let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
        for (number, receipt) in numbers.zip(receipts) {
            let before = sent.insert(receipt?.message_id, number);
            ensure(before.is_none(), || format!("two messages have the id of {before:?}"))?;
        }
    }
    let received: Watched<BTreeMap<String, Result<usize, String>>> = Watched::new(BTreeMap::new());
    let builder = client.consumer(env.name("consumers")).subscribe(topic.as_str(), "*").start_at(StartAt::First);
    let consumer = builder.start().await?;
    let into = received.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|received| received.insert(message.id(), check(&message)));
        std::future::ready(())
    }));
    beside(vec![worker], async {
        received.until(|received| received.len() >= MESSAGES).await;
        Ok(())
    })
    .await?;
    let received = received.change(std::mem::take);
    for (id, number) in &sent {
        let back = received.get(id);
        ensure(back == Some(&Ok(*number)), || format!("message {number} with id {id} came back as {back:?}"))?;
    }
    ensure(received.len() == sent.len(), || format!("{} ids came back that nobody sent", received.len() - sent.len()))?;
    client.shutdown(std::time::Duration::from_secs(5)).await?;
    Ok(())
}

fn message(topic: &str, number: usize) -> Result<Message, rocketry_core::MessageError> {
    Message::builder(topic)
        .body(body(number))
        .tag(if number.is_multiple_of(2) { "even" } else { "odd" })
        .key(format!("key-{number}"))
        .property("number", number.to_string())
        .build()
}

/// Every size from a byte to 8 KiB, some compressible and some not.
fn body(number: usize) -> Vec<u8> {
    let mut state = number as u64;
    let size = 1 + number * 37 % 8_192;
    let noisy = number.is_multiple_of(3);
    let byte = |at: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if noisy { state.to_be_bytes()[0] } else { (at / 64).to_le_bytes()[0] }
    };
    (0..size).map(byte).collect()
}

/// The number of a message whose parts all agree on it.
fn check(message: &rocketry_driver::Received) -> Result<usize, String> {
    let number: usize = message.property("number").and_then(|text| text.parse().ok()).ok_or("no number")?;
    let tag = if number.is_multiple_of(2) { "even" } else { "odd" };
    if message.tag() != Some(tag) {
        return Err(format!("tag {:?}", message.tag()));
    }
    if message.keys().collect::<Vec<_>>() != [format!("key-{number}")] {
        return Err(format!("keys {:?}", message.keys().collect::<Vec<_>>()));
    }
    if message.body() != body(number) {
        return Err(format!("a body of {} bytes that is not that of message {number}", message.body().len()));
    }
    Ok(number)
}

/// Messages that are sent one-way arrive too, with the ids that were said.
///
/// # Errors
/// What differs.
pub async fn oneway_arrives<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "oneway", 1).await?;
    let producer = client.producer(env.name("producers")).start().await?;
    let mut sent = Vec::new();
    for number in 0..20 {
        sent.push(producer.send_oneway(Message::new(topic.as_str(), format!("body {number}"))?).await?);
    }
    let received = Watched::new(Vec::new());
    let builder = client.consumer(env.name("consumers")).subscribe(topic.as_str(), "*").start_at(StartAt::First);
    let consumer = builder.start().await?;
    let into = received.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|received: &mut Vec<String>| received.push(message.id()));
        std::future::ready(())
    }));
    beside(vec![worker], async {
        received.until(|received| received.len() >= sent.len()).await;
        Ok(())
    })
    .await?;
    let mut received = received.change(std::mem::take);
    received.sort();
    sent.sort();
    ensure(received == sent, || format!("sent {sent:?}, received {received:?}"))
}
