//! Brokers that go and come back.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rocketry_core::{Certainty, Message, StartAt};

use super::{Env, Outcome, Rt, Watched, Worker, beside};
use crate::harness::{Failure, ensure};

/// A broker that can be taken away without a word and brought back with what it had stored.
pub trait Restart {
    /// Takes it away.
    fn kill(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>>;

    /// Brings it back at the same address.
    fn start(&mut self) -> Pin<Box<dyn Future<Output = Outcome> + '_>>;
}

/// The broker goes and comes back while messages are sent and consumed: no acknowledged message is lost, both sides
/// recover without help, and every failed send says whether it may have happened.
///
/// # Errors
/// What differs.
pub async fn a_restarted_broker_is_found_again<R: Rt>(env: &Env<R>, broker: &mut dyn Restart) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "restarted", 4).await?;
    let producer = client.producer(env.name("restart-producers")).start().await?;
    let group = env.name("restart-consumers");
    let consumer = client.consumer(group).subscribe(topic.as_str(), "*").start_at(StartAt::First).start().await?;
    let seen = Watched::new(BTreeSet::new());
    let into = seen.clone();
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen: &mut BTreeSet<String>| seen.insert(message.id()));
        std::future::ready(())
    }));
    let send = async |number: usize| {
        let message = Message::new(topic.as_str(), number.to_string())?;
        Ok::<_, Failure>(producer.send(message).within(Duration::from_secs(1)).await)
    };
    beside(vec![worker], async {
        let mut acknowledged = BTreeSet::new();
        for number in 0..50 {
            acknowledged.insert(send(number).await??.message_id);
        }
        broker.kill().await?;
        let failed = send(50).await?;
        let error = match failed {
            Ok(receipt) => return Err(Failure::from(format!("stored by nobody: {receipt:?}"))),
            Err(error) => error,
        };
        let certainty = error.certainty();
        ensure(certainty != Certainty::Applied, || format!("nobody can have applied it: {error}"))?;
        broker.start().await?;
        let mut number = 51;
        loop {
            if let Ok(receipt) = send(number).await? {
                acknowledged.insert(receipt.message_id);
                break;
            }
            // The client goes on trying by itself; a failed send is how one looks whether it has succeeded.
            R::sleep(Duration::from_millis(50)).await;
            number += 1;
        }
        for number in number + 1..number + 50 {
            acknowledged.insert(send(number).await??.message_id);
        }
        seen.until(|seen| seen.is_superset(&acknowledged)).await;
        Ok(())
    })
    .await
}
