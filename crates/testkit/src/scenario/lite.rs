//! Lite consumers: polls, seeks, commits, queues by hand, single pulls.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use rocketry_core::{Commit, Message, MessageQueue, PullOnce, PullStatus, SeekTo, StartAt};
use rocketry_driver::{DelayLevel, LiteConsumer, Producer, Received};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside};
use crate::harness::{Failure, ensure};

/// How long one poll waits; a scenario polls until it has what it waits for.
const WAIT: Duration = Duration::from_millis(500);
/// How long a broker may hold a single pull.
const HOLD: Duration = Duration::from_secs(20);
/// Messages of each queue.
const EACH: usize = 20;

type Offsets = BTreeMap<MessageQueue, Vec<i64>>;

async fn send(producer: &Producer, queues: &[MessageQueue], count: usize) -> Outcome {
    let mut sends = Vec::new();
    for queue in queues {
        for number in 0..count {
            // Some bodies are large enough to be compressed.
            let body = format!("{number} {}", "lite ".repeat(if number % 7 == 0 { 2_000 } else { 1 }));
            let message = Message::new(queue.topic.as_str(), body)?;
            sends.push(producer.send(message).to_queue(queue.clone()));
        }
    }
    for receipt in all(sends).await {
        receipt?;
    }
    Ok(())
}

fn note(offsets: &mut Offsets, messages: &[Received]) -> Outcome {
    for message in messages {
        ensure(std::str::from_utf8(message.body()).is_ok_and(|body| body.contains("lite")), || {
            format!("the body of message {} is not as it was sent", message.id())
        })?;
        offsets.entry(message.queue().clone()).or_default().push(message.queue_offset());
    }
    Ok(())
}

/// Polls until so many messages have come.
async fn poll(consumer: &LiteConsumer, count: usize) -> Result<Offsets, Failure> {
    let mut offsets = Offsets::new();
    while offsets.values().map(Vec::len).sum::<usize>() < count {
        note(&mut offsets, &consumer.poll(16, WAIT).await?)?;
    }
    Ok(offsets)
}

fn expect(offsets: &Offsets, queue: &MessageQueue, wanted: impl Iterator<Item = i64>) -> Outcome {
    let (seen, wanted) = (offsets.get(queue).cloned().unwrap_or_default(), wanted.collect::<Vec<_>>());
    ensure(seen == wanted, || format!("of {queue} came {seen:?} instead of {wanted:?}"))
}

/// Back to the middle of one queue, to the beginning of the other, and nowhere else.
async fn seek_both(consumer: &LiteConsumer, first: &MessageQueue, second: &MessageQueue) -> Outcome {
    consumer.seek(first, 7).await?;
    ensure(consumer.seek_to(second, SeekTo::Begin).await? == 0, || "the beginning is not 0".into())?;
    let offsets = poll(consumer, 2 * EACH - 7).await?;
    expect(&offsets, first, 7..EACH as i64)?;
    expect(&offsets, second, 0..EACH as i64)?;
    let beyond = consumer.seek(first, EACH as i64 + 1).await;
    ensure(beyond.is_err(), || "a seek beyond the end is accepted".into())?;
    Ok(())
}

/// To the end of one queue: only news come of it. The other is committed as far as it was handed over, then elsewhere.
async fn seek_to_ends(
    consumer: &LiteConsumer,
    producer: &Producer,
    first: &MessageQueue,
    second: &MessageQueue,
) -> Outcome {
    consumer.seek(second, 3).await?;
    let end = consumer.seek_to(first, SeekTo::End).await?;
    ensure(end == EACH as i64 && consumer.max_offset(first).await? == end, || format!("the end is said to be {end}"))?;
    ensure(consumer.min_offset(first).await? == 0, || "the oldest offset is not 0".into())?;
    send(producer, std::slice::from_ref(first), 1).await?;
    let offsets = poll(consumer, EACH - 3 + 1).await?;
    expect(&offsets, first, end..=end)?;
    expect(&offsets, second, 3..EACH as i64)?;
    consumer.commit(Commit::All).await?;
    consumer.commit(Commit::Offsets(vec![(second.clone(), 15)])).await?;
    let committed = [consumer.committed(first).await?, consumer.committed(second).await?];
    ensure(committed == [Some(end + 1), Some(15)], || format!("{committed:?} are committed"))
}

/// A subscribed lite consumer: everything comes once and in order; after a seek a queue comes again from there; what was
/// committed stays, what was not comes again for a successor.
///
/// # Errors
/// What differs.
pub async fn lite_pull_with_seek<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "lite", 2).await?;
    let producer = client.producer(env.name("lite-producers")).start().await?;
    let group = env.name("lite-consumers");
    let start = || {
        let builder = client.lite_consumer(&group).subscribe(topic.as_str(), "*").start_at(StartAt::First);
        builder.auto_commit(None).start()
    };
    let consumer = start().await?;
    let queues = consumer.queues(topic.as_str()).await?;
    let [first, second] = queues.as_slice() else { return Err(format!("{queues:?} are not two").into()) };
    send(&producer, &queues, EACH).await?;
    let all_of = || 0..EACH as i64;
    let offsets = poll(&consumer, 2 * EACH).await?;
    expect(&offsets, first, all_of())?;
    expect(&offsets, second, all_of())?;
    ensure(consumer.assignment() == queues, || "it does not have both queues".into())?;
    seek_both(&consumer, first, second).await?;
    seek_to_ends(&consumer, &producer, first, second).await?;
    consumer.shutdown(Duration::from_secs(10)).await?;
    let successor = start().await?;
    let offsets = poll(&successor, EACH - 15).await?;
    expect(&offsets, first, std::iter::empty())?;
    expect(&offsets, second, 15..EACH as i64)?;
    client.shutdown(Duration::from_secs(5)).await?;
    let closed = successor.poll(1, WAIT).await;
    ensure(closed.is_err_and(|error| error.is_closed()), || "a poll of a closed client does not say so".into())
}

/// Single pulls and the position of a queue that is not assigned, once its last message can be read.
async fn single_pulls(consumer: &LiteConsumer, second: &MessageQueue) -> Outcome {
    let last = consumer.pull(PullOnce::new(second.clone(), EACH as i64 - 1, 1).waiting(HOLD)).await?;
    ensure(last.status == PullStatus::Found, || format!("a pull that may wait says {:?}", last.status))?;
    let found = consumer.pull(PullOnce::new(second.clone(), 4, 3)).await?;
    let mut offsets = Offsets::new();
    note(&mut offsets, &found.messages)?;
    expect(&offsets, second, 4..7)?;
    let heading = (found.status, found.next, found.min, found.max);
    ensure(heading == (PullStatus::Found, 7, 0, EACH as i64), || format!("the pull says {heading:?}"))?;
    let end = EACH as i64;
    for (offset, status) in [(end, PullStatus::NoNew), (end + 9, PullStatus::OffsetIllegal)] {
        let pulled = consumer.pull(PullOnce::new(second.clone(), offset, 3)).await?;
        ensure(pulled.status == status, || format!("a pull from {offset} says {:?}", pulled.status))?;
    }
    consumer.save_offset(second, 11).await?;
    let committed = consumer.committed(second).await?;
    ensure(committed == Some(11), || format!("{committed:?} is stored"))
}

/// Assigned queues, pauses, single pulls with their statuses, positions of any queue, and sending back to a push consumer.
///
/// # Errors
/// What differs.
pub async fn lite_queues_by_hand_and_single_pulls<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "by-hand", 2).await?;
    let producer = client.producer(env.name("by-hand-producers")).start().await?;
    let builder = client.lite_consumer(env.name("by-hand-consumers")).start_at(StartAt::First);
    let consumer = builder.start().await?;
    let queues = consumer.queues(topic.as_str()).await?;
    let [first, second] = queues.as_slice() else { return Err(format!("{queues:?} are not two").into()) };
    send(&producer, &queues, EACH).await?;
    consumer.assign([first.clone()]).await?;
    let refused = consumer.subscribe(topic.as_str(), "*").await;
    ensure(refused.is_err(), || "it subscribes although queues are assigned".into())?;
    let offsets = poll(&consumer, EACH).await?;
    expect(&offsets, first, 0..EACH as i64)?;
    expect(&offsets, second, std::iter::empty())?;
    // A paused queue brings nothing after a seek; resumed it does.
    consumer.pause([first.clone()]).await?;
    consumer.seek(first, 5).await?;
    ensure(consumer.poll(16, WAIT).await?.is_empty(), || "a paused queue is read".into())?;
    consumer.resume([first.clone()]).await?;
    expect(&poll(&consumer, EACH - 5).await?, first, 5..EACH as i64)?;
    single_pulls(&consumer, second).await?;
    consumer.shutdown(Duration::from_secs(10)).await?;
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// A message that a lite consumer sends back comes to a push consumer of its group.
///
/// # Errors
/// What differs.
pub async fn lite_sends_back_to_its_group<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "lite-back", 1).await?;
    let producer = client.producer(env.name("lite-back-producers")).start().await?;
    let group = env.name("lite-back-consumers");
    let consumer = client.lite_consumer(&group).start().await?;
    let queues = consumer.queues(topic.as_str()).await?;
    let receipt = producer.send(Message::new(topic.as_str(), "lite")?).to_queue(queues[0].clone()).await?;
    // A broker lets a message be read a moment after it has stored it.
    let found = consumer.pull(PullOnce::new(queues[0].clone(), 0, 1).waiting(HOLD)).await?;
    let message = found.messages.first().ok_or("it is not there")?;
    consumer.save_offset(&queues[0], 1).await?;
    consumer.send_back(message, Some(DelayLevel::ONE_SECOND)).await?;
    consumer.shutdown(Duration::from_secs(10)).await?;
    let push = client.consumer(&group).subscribe(topic.as_str(), "*").start_at(StartAt::First).start().await?;
    let seen: Watched<BTreeSet<(String, i32)>> = Watched::new(BTreeSet::new());
    let into = seen.clone();
    let worker: Worker = Box::pin(push.run(move |message| {
        into.change(|seen| seen.insert((message.id(), message.redeliveries())));
        std::future::ready(())
    }));
    beside(vec![worker], async {
        seen.until(|seen| seen.contains(&(receipt.message_id.clone(), 1))).await;
        Ok(())
    })
    .await?;
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// The messages as a stream. What was not taken from a stream that is dropped, and what a dropped poll would have brought,
/// comes again.
///
/// # Errors
/// What differs.
pub async fn a_lite_stream_loses_nothing_when_dropped<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "lite-stream", 1).await?;
    let producer = client.producer(env.name("lite-stream-producers")).start().await?;
    let builder = client.lite_consumer(env.name("lite-stream-consumers")).subscribe(topic.as_str(), "*");
    let consumer = builder.start_at(StartAt::First).start().await?;
    let queues = consumer.queues(topic.as_str()).await?;
    send(&producer, &queues, EACH).await?;
    let mut offsets = Offsets::new();
    for taken in [3, 4] {
        let mut messages = consumer.messages();
        for _ in 0..taken {
            let message = messages.next().await.ok_or("the stream ended")??;
            note(&mut offsets, &[message])?;
        }
    }
    expect(&offsets, &queues[0], 0..7)?;
    let mut rest = consumer.messages();
    while offsets.values().map(Vec::len).sum::<usize>() < EACH {
        let message = rest.next().await.ok_or("the stream ended")??;
        note(&mut offsets, &[message])?;
    }
    expect(&offsets, &queues[0], 0..EACH as i64)?;
    // A poll that is given up when a message has come for it, and nobody has looked yet.
    let mut given_up = Box::pin(consumer.poll(16, Duration::from_secs(60)));
    let waits = poll_fn(|cx| Poll::Ready(given_up.as_mut().poll(cx).is_pending())).await;
    ensure(waits, || "a poll ends although there is no message".into())?;
    send(&producer, &queues, 1).await?;
    while consumer.position(&queues[0]) != Some(EACH as i64 + 1) {
        // Nobody is told when a message has come for a poll but the poll.
        R::sleep(Duration::from_millis(20)).await;
    }
    drop(given_up);
    let message = rest.next().await.ok_or("the stream ended")??;
    ensure(message.queue_offset() == EACH as i64, || format!("{} came instead", message.queue_offset()))?;
    client.shutdown(Duration::from_secs(5)).await?;
    ensure(rest.next().await.is_none(), || "the stream goes on after the shutdown".into())
}

/// New queues of a topic are told, and read from their beginning by a consumer that subscribes.
///
/// # Errors
/// What differs.
pub async fn lite_tells_of_new_queues<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.builder().configure(|config| config.route_interval = WAIT).build()?;
    let topic = env.create_topic(&client, "growing", 1).await?;
    let producer = client.producer(env.name("growing-producers")).start().await?;
    let builder = client.lite_consumer(env.name("growing-consumers")).subscribe(topic.as_str(), "*");
    let consumer = builder.start().await?;
    let mut changes = consumer.queue_changes(topic.as_str()).await?;
    ensure(changes.known().len() == 1, || format!("{:?} are known", changes.known()))?;
    env.create_topic(&client, "growing", 3).await?;
    let queues = changes.next().await.ok_or("the client closed")?;
    ensure(queues.len() == 3, || format!("{queues:?} are told"))?;
    send(&producer, &queues[2..], 5).await?;
    expect(&poll(&consumer, 5).await?, &queues[2], 0..5)?;
    client.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}
