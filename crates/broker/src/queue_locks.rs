//! LOCK_BATCH_MQ and UNLOCK_BATCH_MQ (`spec/broker.md` 7); the locks themselves are in [`crate::locks`].

use rocketry_codec::body::JsonBody;
use rocketry_codec::body::lock::{LockReply, LockRequest};
use rocketry_codec::body::queue::QueueName;

use crate::locks;
use crate::shell::{Call, Shell};
use crate::state::State;

/// LOCK_BATCH_MQ: the queues that the client holds now, possibly none.
pub(crate) fn lock(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match LockRequest::decode(call.frame.body()) {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    let now = shell.now.at;
    let mut locked = request.queues;
    locked.retain(|queue| state.locks.lock(now, &request.consumer_group, &request.client_id, name(queue)));
    shell.respond_body(call.to, LockReply { locked }.encode());
}

/// UNLOCK_BATCH_MQ: releases what the client holds; always a success.
pub(crate) fn unlock(state: &mut State, shell: &mut Shell, call: &Call<'_>) {
    let request = match LockRequest::decode(call.frame.body()) {
        Ok(request) => request,
        Err(error) => return shell.malformed(call.to, error),
    };
    for queue in &request.queues {
        state.locks.unlock(&request.consumer_group, &request.client_id, &name(queue));
    }
    shell.respond_ok(call.to);
}

fn name(queue: &QueueName) -> locks::QueueName {
    locks::QueueName {
        topic: queue.topic.as_str().into(),
        broker: queue.broker_name.as_str().into(),
        queue: queue.queue_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use core::time::Duration;
    use rocketry_codec::request::{LockBatchMq, UnlockBatchMq};
    use std::prelude::v1::*;

    fn queue(queue_id: i32) -> QueueName {
        QueueName { topic: "T".into(), broker_name: "broker-a".into(), queue_id }
    }

    fn request(client: &str, queues: &[i32]) -> String {
        let queues = queues.iter().map(|id| queue(*id)).collect();
        LockRequest { client_id: client.into(), consumer_group: "g".into(), queues, only_this_broker: false }.encode()
    }

    #[test]
    fn a_client_gets_the_queues_that_nobody_else_holds() {
        let mut world = World::new();
        let conn = world.connect();
        let lock = |world: &mut World, client: &str, queues: &[i32]| -> Vec<i32> {
            let frame = world.ask(conn, &LockBatchMq::default(), request(client, queues));
            let reply = LockReply::decode(frame.body()).expect("a list");
            reply.locked.iter().map(|queue| queue.queue_id).collect()
        };
        assert_eq!(lock(&mut world, "a", &[0, 1]), [0, 1]);
        assert_eq!(lock(&mut world, "b", &[1, 2]), [2]);
        assert_eq!(lock(&mut world, "b", &[0]), [] as [i32; 0]);
        assert_eq!(world.ask(conn, &UnlockBatchMq::default(), request("a", &[0, 2])).code(), 0);
        assert_eq!(lock(&mut world, "b", &[0]), [0]);
        world.pass(Duration::from_millis(60_001));
        assert_eq!(lock(&mut world, "a", &[0, 1, 2]), [0, 1, 2]);
    }
}
