//! Starting and stopping.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use rocketry_core::{Message, StartAt};
use rocketry_driver::Producer;

use super::{Env, Outcome, Rt, Watched, Worker, all, beside};
use crate::harness::{Failure, ensure};

async fn send(producer: &Producer, topic: &str, count: usize) -> Result<BTreeSet<String>, Failure> {
    let messages = (0..count).map(|number| Message::new(topic, number.to_string())).collect::<Result<Vec<_>, _>>()?;
    let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
    receipts.into_iter().map(|receipt| Ok(receipt?.message_id)).collect()
}

/// A shutdown waits for handlers that have begun, saves positions and leaves the group: a successor begins where it
/// ended, and sees nothing twice.
///
/// # Errors
/// What differs.
pub async fn graceful_shutdown_drains<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "drained", 1).await?;
    let producer = client.producer(env.name("drain-producers")).start().await?;
    let group = env.name("drain-consumers");
    let first = send(&producer, &topic, 10).await?;
    let (begun, gate, ended) = (Watched::new(0), Watched::new(false), Watched::new(BTreeSet::new()));
    let builder = client.consumer(&group).subscribe(topic.as_str(), "*").start_at(StartAt::First);
    let consumer = builder.start().await?;
    let (begin, open, end) = (begun.clone(), gate.clone(), ended.clone());
    let worker: Worker = Box::pin(consumer.run(move |message| {
        let (begin, open, end) = (begin.clone(), open.clone(), end.clone());
        async move {
            begin.change(|begun| *begun += 1);
            open.until(|open| *open).await;
            end.change(|ended: &mut BTreeSet<String>| ended.insert(message.id()));
        }
    }));
    beside(vec![worker], async {
        begun.until(|begun| *begun == 10).await;
        let stop = consumer.shutdown(Duration::from_secs(20));
        let let_go = async {
            gate.change(|open| *open = true);
            Ok(())
        };
        let (report, ()) = both(stop, let_go).await?;
        ensure(report.unfinished_handlers == 0, || format!("{report:?}"))
    })
    .await?;
    ended.until(|ended| *ended == first).await;
    let second = send(&producer, &topic, 5).await?;
    let builder = client.consumer(&group).subscribe(topic.as_str(), "*").start_at(StartAt::First);
    let successor = builder.start().await?;
    let seen = Watched::new(BTreeSet::new());
    let into = seen.clone();
    let worker: Worker = Box::pin(successor.run(move |message| {
        into.change(|seen: &mut BTreeSet<String>| seen.insert(message.id()));
        std::future::ready(())
    }));
    beside(vec![worker], async {
        seen.until(|seen| seen.is_superset(&second)).await;
        Ok(())
    })
    .await?;
    let seen = seen.change(std::mem::take);
    ensure(seen == second, || format!("{} messages were seen twice", seen.difference(&second).count()))?;
    client.shutdown(Duration::from_secs(5)).await?;
    ensure(client.is_closed(), || "the driver still runs".into())
}

async fn both<A, B>(
    one: impl Future<Output = Result<A, rocketry_driver::Error>>,
    other: impl Future<Output = Result<B, rocketry_driver::Error>>,
) -> Result<(A, B), Failure> {
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|cx| {
        use std::task::Poll;
        // In this order, so that the first has begun when the second runs.
        if first.is_none()
            && let Poll::Ready(output) = one.as_mut().poll(cx)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = other.as_mut().poll(cx)
        {
            second = Some(output);
        }
        if first.is_some() && second.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    match (first, second) {
        (Some(first), Some(second)) => Ok((first?, second?)),
        _ => Err(Failure::from("neither ended")),
    }
}

/// The stream of deliveries: one that is answered is done with, one that is dropped unanswered comes again, and what a
/// dropped stream had not handed out is handed out by another.
///
/// # Errors
/// What differs.
pub async fn deliveries_are_answered_by_hand<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "stream", 1).await?;
    let producer = client.producer(env.name("stream-producers")).start().await?;
    let sent = send(&producer, &topic, 6).await?;
    let group = env.name("stream-consumers");
    let consumer = client.consumer(&group).subscribe(topic.as_str(), "*").start_at(StartAt::First).start().await?;
    let closed = || Failure::from("the stream ended");
    let mut seen = BTreeSet::new();
    let mut deliveries = consumer.deliveries();
    let dropped = deliveries.next().await.ok_or_else(closed)?;
    let dropped_id = dropped.id();
    drop(dropped);
    let answered = deliveries.next().await.ok_or_else(closed)?;
    seen.insert(answered.id());
    answered.succeed();
    drop(deliveries);
    let mut deliveries = consumer.deliveries();
    while seen != sent {
        let delivery = deliveries.next().await.ok_or_else(closed)?;
        let (id, redeliveries) = (delivery.id(), delivery.redeliveries());
        let expected = i32::from(id == dropped_id);
        ensure(redeliveries == expected, || format!("{id} came with {redeliveries} redeliveries"))?;
        ensure(seen.insert(id.clone()), || format!("{id} came twice"))?;
        delivery.succeed();
    }
    consumer.shutdown(Duration::from_secs(5)).await?;
    ensure(deliveries.next().await.is_none(), || "the stream goes on after the end".into())
}

/// A consumer that is shut down by one of its own handlers ends, at the latest when the time is over.
///
/// # Errors
/// What differs.
pub async fn shutdown_inside_a_handler_ends<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "suicide", 1).await?;
    let producer = client.producer(env.name("suicide-producers")).start().await?;
    send(&producer, &topic, 1).await?;
    let group = env.name("suicide-consumers");
    let consumer = client.consumer(&group).subscribe(topic.as_str(), "*").start_at(StartAt::First).start().await?;
    let inner = consumer.clone();
    let run = consumer.run(move |_| {
        let inner = inner.clone();
        async move { inner.shutdown(Duration::from_millis(200)).await.map(|_| ()) }
    });
    run.await?;
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// Every send that is on its way when the client shuts down ends, one way or the other.
///
/// # Errors
/// When the shutdown does not end.
pub async fn unfinished_sends_end_at_the_deadline<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "unfinished", 4).await?;
    let producer = client.producer(env.name("unfinished-producers")).start().await?;
    let messages = (0..100).map(|number| Message::new(topic.as_str(), number.to_string()));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    let sends = all(messages.into_iter().map(|message| producer.send(message)));
    let stop = async { client.shutdown(Duration::from_secs(1)).await };
    let (results, _) = both(async { Ok(sends.await) }, stop).await?;
    ensure(results.len() == 100, || format!("{} of 100 sends have ended", results.len()))
}

/// Sends whose futures are dropped at any point leave nothing behind: what comes after them works, and nothing is
/// unfinished at the end.
///
/// # Errors
/// What differs.
pub async fn dropped_sends_leave_nothing_behind<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "given-up", 4).await?;
    let producer = client.producer(env.name("given-up-producers")).start().await?;
    let mut sends = Vec::new();
    for number in 0..300 {
        let send = producer.send(Message::new(topic.as_str(), number.to_string())?);
        // Some are dropped before anything happened, some on their way, some when the answer is there.
        sends.push(polled(send, number % 3));
    }
    let given_up = all(sends).await.iter().filter(|ended| !**ended).count();
    ensure(given_up > 0, || "no send was given up".into())?;
    send(&producer, &topic, 50).await?;
    let report = client.shutdown(Duration::from_secs(5)).await?;
    ensure(report.unfinished_sends == 0, || format!("{report:?}"))
}

/// Polls a future so many times and drops it. Whether it ended before.
async fn polled(future: impl Future, times: usize) -> bool {
    let mut future = std::pin::pin!(future);
    let mut left = times;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return std::task::Poll::Ready(false);
        }
        left -= 1;
        let ended = future.as_mut().poll(cx).is_ready();
        if ended || left == 0 { std::task::Poll::Ready(ended) } else { std::task::Poll::Pending }
    })
    .await
}

/// Dropping all handles ends the driver; nothing that was there goes on.
///
/// # Errors
/// When it does not.
pub async fn dropped_handles_close_the_client<R: Rt>(env: &Env<R>) -> Outcome {
    let (client, driver) = env.builder().build_parts()?;
    let ended = Watched::new(false);
    let into = ended.clone();
    let watched = async move {
        driver.await;
        into.change(|ended| *ended = true);
        Ok(())
    };
    beside(vec![Box::pin(watched)], async {
        let producer = client.producer(env.name("dropped-producers")).start().await?;
        let topic = env.create_topic(&client, "dropped", 1).await?;
        send(&producer, &topic, 1).await?;
        drop(producer);
        drop(client);
        ended.until(|ended| *ended).await;
        Ok(())
    })
    .await
}
