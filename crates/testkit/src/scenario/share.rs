//! Members of one group.

use std::collections::BTreeSet;
use std::time::Duration;

use rocketry_core::{Message, Notice, StartAt};
use rocketry_driver::{Client, Consumer, Notices, Producer};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside, race};
use crate::harness::{Failure, ensure};

/// Messages of one round.
const ROUND: usize = 200;

/// What both members saw: who, and which message.
type Seen = Vec<(&'static str, String)>;

struct Member<R: Rt> {
    client: Client<R::Net>,
    consumer: Consumer,
    notices: Notices,
    worker: Worker,
}

async fn member<R: Rt>(
    env: &Env<R>,
    topic: &str,
    who: &'static str,
    seen: &Watched<Seen>,
) -> Result<Member<R>, Failure> {
    join(env, env.client()?, topic, who, seen).await
}

async fn join<R: Rt>(
    env: &Env<R>,
    client: Client<R::Net>,
    topic: &str,
    who: &'static str,
    seen: &Watched<Seen>,
) -> Result<Member<R>, Failure> {
    let notices = client.notices();
    let group = env.name("sharing");
    let consumer = client.consumer(group).subscribe(topic, "*").start_at(StartAt::First).start().await?;
    let into = seen.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen| seen.push((who, message.id())));
        std::future::ready(())
    }));
    Ok(Member { client, consumer, notices, worker })
}

/// Waits until a member owns so many queues of the topic.
async fn owns(notices: &mut Notices, topic: &str, count: usize) -> Outcome {
    while let Some(notice) = notices.next().await {
        if let Notice::Assigned { topic: of, queues, .. } = notice
            && of.as_str() == topic
            && queues.len() == count
        {
            return Ok(());
        }
    }
    Err(Failure::from("the client closed"))
}

async fn send_round(producer: &Producer, topic: &str) -> Result<BTreeSet<String>, Failure> {
    let messages = (0..ROUND).map(|number| Message::new(topic, number.to_string())).collect::<Result<Vec<_>, _>>()?;
    let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
    receipts.into_iter().map(|receipt| Ok(receipt?.message_id)).collect()
}

async fn arrives(seen: &Watched<Seen>, sent: &BTreeSet<String>) -> Result<Seen, Failure> {
    seen.until(|seen| seen.iter().map(|(_, id)| id).collect::<BTreeSet<_>>().is_superset(&sent.iter().collect())).await;
    Ok(seen.change(std::mem::take))
}

/// Two members of a group share the queues of a topic. One leaves in order: the other takes its queues. It comes back,
/// and they share again. All messages arrive, whoever is there.
///
/// # Errors
/// What differs.
pub async fn two_consumers_share_and_one_leaves<R: Rt>(env: &Env<R>) -> Outcome {
    let sender = env.client()?;
    let topic = env.create_topic(&sender, "shared", 4).await?;
    let producer = sender.producer(env.name("sharing-producers")).start().await?;
    let seen: Watched<Seen> = Watched::new(Vec::new());
    let mut one = member(env, &topic, "one", &seen).await?;
    let mut two = member(env, &topic, "two", &seen).await?;
    let one_worker = one.worker;
    let two_worker = two.worker;
    beside(vec![one_worker], async {
        beside(vec![two_worker], async {
            owns(&mut one.notices, &topic, 2).await?;
            owns(&mut two.notices, &topic, 2).await?;
            let sent = send_round(&producer, &topic).await?;
            let shares = arrives(&seen, &sent).await?;
            for who in ["one", "two"] {
                let share = shares.iter().filter(|(by, _)| *by == who).count();
                ensure(share > 0, || format!("{who} saw none of {} messages", sent.len()))?;
            }
            two.consumer.shutdown(Duration::from_secs(5)).await?;
            two.client.shutdown(Duration::from_secs(5)).await?;
            Ok(())
        })
        .await?;
        owns(&mut one.notices, &topic, 4).await?;
        let sent = send_round(&producer, &topic).await?;
        arrives(&seen, &sent).await?;
        let mut again = member(env, &topic, "again", &seen).await?;
        beside(vec![again.worker], async {
            owns(&mut again.notices, &topic, 2).await?;
            let sent = send_round(&producer, &topic).await?;
            arrives(&seen, &sent).await?;
            Ok(())
        })
        .await
    })
    .await
}

/// Two members share; one of them is killed in the middle of its work, its connections closed without a goodbye. The
/// other takes its queues and what it had not finished. A new member comes, and they share again. All messages arrive.
///
/// # Errors
/// What differs.
pub async fn a_killed_member_loses_nothing<R: Rt>(env: &Env<R>) -> Outcome {
    let sender = env.client()?;
    let topic = env.create_topic(&sender, "killed-member", 4).await?;
    let producer = sender.producer(env.name("killed-producers")).start().await?;
    let seen: Watched<Seen> = Watched::new(Vec::new());
    let mut one = member(env, &topic, "one", &seen).await?;
    let one_worker = one.worker;
    beside(vec![one_worker], async {
        owns(&mut one.notices, &topic, 4).await?;
        let (victim, driver) = env.builder().build_parts()?;
        let work = async {
            // The handle outlives the driver: a dropped client would say goodbye.
            let mut two = join(env, victim.clone(), &topic, "two", &seen).await?;
            beside(vec![two.worker], async {
                owns(&mut two.notices, &topic, 2).await?;
                owns(&mut one.notices, &topic, 2).await?;
                let sent = send_round(&producer, &topic).await?;
                // It dies with messages cached, and perhaps with some handled that are not saved.
                seen.until(|seen| seen.iter().any(|(who, _)| *who == "two")).await;
                Ok(sent)
            })
            .await
        };
        let dies = async {
            driver.await;
            Err(Failure::from("the driver ended by itself"))
        };
        // Whoever drops the driver first has killed the client: nobody is left to say goodbye.
        let sent = race(work, dies).await?;
        arrives(&seen, &sent).await?;
        owns(&mut one.notices, &topic, 4).await?;
        let mut again = member(env, &topic, "again", &seen).await?;
        beside(vec![again.worker], async {
            owns(&mut again.notices, &topic, 2).await?;
            let sent = send_round(&producer, &topic).await?;
            arrives(&seen, &sent).await.map(drop)
        })
        .await
    })
    .await
}
