//! Filters that brokers evaluate.

use std::collections::BTreeSet;
use std::time::Duration;

use rocketry_core::{FilterExpression, Message, StartAt};

use super::{Env, Outcome, Rt, Watched, Worker, all, beside};
use crate::harness::ensure;

/// A consumer that wants messages by their properties gets those and no others.
///
/// # Errors
/// What differs.
pub async fn brokers_filter_by_properties<R: Rt>(env: &Env<R>) -> Outcome {
    let client = env.client()?;
    let topic = env.create_topic(&client, "by-properties", 2).await?;
    let producer = client.producer(env.name("filtered")).start().await?;
    let message = |number: usize| {
        let region = ["eu", "us", "ap"][number % 3];
        Message::builder(topic.as_str())
            .body(number.to_string())
            .property("price", number.to_string())
            .property("region", region)
            .build()
    };
    let messages = (0..60).map(message).collect::<Result<Vec<_>, _>>()?;
    let receipts = all(messages.into_iter().map(|message| producer.send(message))).await;
    let mut wanted = BTreeSet::new();
    for (number, receipt) in receipts.into_iter().enumerate() {
        let id = receipt?.message_id;
        if number > 20 && number % 3 != 2 {
            wanted.insert(id);
        }
    }
    let seen: Watched<BTreeSet<String>> = Watched::new(BTreeSet::new());
    let into = seen.clone();
    let filter = FilterExpression::sql("price > 20 AND region IN ('eu', 'us')");
    let consumer = client.consumer(env.name("choosers")).subscribe(topic.as_str(), filter).start_at(StartAt::First);
    let consumer = consumer.start().await?;
    let worker: Worker = Box::pin(consumer.run(move |message| {
        into.change(|seen| seen.insert(message.id()));
        std::future::ready(())
    }));
    beside(vec![worker], async {
        seen.until(|seen| seen.is_superset(&wanted)).await;
        Ok(())
    })
    .await?;
    consumer.shutdown(Duration::from_secs(5)).await?;
    let seen = seen.change(std::mem::take);
    ensure(seen == wanted, || format!("{} messages came, {} are wanted", seen.len(), wanted.len()))
}
