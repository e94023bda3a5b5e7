use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rocketry_core::{Certainty, Limits, Message, OnUnreachable, OpErrorKind};

use super::builder::Driver;
use super::*;
use crate::io::{Connect, Connecting};
use crate::producer::{Producer, Sending};
use crate::testing::{ByHand, CountingWaker, poll};

/// Every attempt to connect stays open: nobody answers and nobody refuses.
struct Silence;

impl Connect for Silence {
    fn connect(&self, _endpoint: &rocketry_machine::Endpoint) -> Connecting {
        Box::pin(std::future::pending())
    }
}

fn client(sends: usize) -> (Client<ByHand>, Driver) {
    let mut limits = Limits::standard();
    limits.sends = sends;
    let builder = Client::builder().name_servers("127.0.0.1:9876").connector(Silence).limits(limits);
    builder.on_unreachable(OnUnreachable::Wait).build_parts().expect("good settings")
}

/// Polls the driver until it waits; whether it has ended.
fn drive(driver: &mut Driver) -> bool {
    let counter = CountingWaker::new();
    loop {
        let before = counter.count();
        if poll(driver, &counter.waker()).is_ready() {
            return true;
        }
        if counter.count() == before {
            return false;
        }
    }
}

fn block_on<T>(driver: &mut Driver, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    for _ in 0..100 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        drive(driver);
    }
    panic!("it does not end");
}

fn started(client: &Client<ByHand>, driver: &mut Driver) -> Producer {
    block_on(driver, client.producer("group").start()).expect("it waits for a name server")
}

fn send(producer: &Producer, body: &'static str) -> Pin<Box<Sending>> {
    Box::pin(producer.send(Message::new("topic", body).expect("a good message")))
}

#[test]
fn sends_beyond_the_limit_wait_in_order_and_a_dropped_one_makes_room() {
    let (client, mut driver) = client(1);
    let producer = started(&client, &mut driver);
    let counters: Vec<_> = (0..4).map(|_| CountingWaker::new()).collect();
    let mut sends: Vec<_> = ["a", "b", "c", "d"].map(|body| send(&producer, body)).into();
    for (send, counter) in sends.iter_mut().zip(&counters) {
        assert!(poll(send, &counter.waker()).is_pending());
    }
    let waiting = |core: &ClientCore| core.shell.peek(|host| (host.ops.in_flight(), host.ops.queued()));
    assert_eq!(waiting(&client.core), (1, 3), "one is on its way");
    drop(sends.remove(1));
    assert_eq!(waiting(&client.core), (1, 2), "one that waited is gone from the queue");
    drop(sends.remove(0));
    assert_eq!(waiting(&client.core), (1, 1), "its room went to the next");
    let on_its_way = client.core.shell.peek(|host| host.ops.first_queued_body());
    assert_eq!(on_its_way.as_deref(), Some(&b"d"[..]), "c came before d");
    drop(sends);
    assert_eq!(waiting(&client.core), (0, 0), "nothing leaks");
}

#[test]
fn dropping_the_driver_ends_every_operation_with_what_is_known() {
    let (client, mut driver) = client(1);
    let producer = started(&client, &mut driver);
    let (mut sent, mut queued) = (send(&producer, "sent"), send(&producer, "queued"));
    let counter = CountingWaker::new();
    assert!(poll(&mut sent, &counter.waker()).is_pending());
    assert!(poll(&mut queued, &counter.waker()).is_pending());
    drop(driver);
    assert_eq!(counter.count(), 2, "both are woken");
    for (send, certainty) in [(&mut sent, Certainty::Unknown), (&mut queued, Certainty::NotSent)] {
        let Poll::Ready(Err(Error::Failed(error))) = poll(send, Waker::noop()) else { panic!("it has ended") };
        assert_eq!((error.kind, error.certainty), (OpErrorKind::Stopping, certainty));
    }
    let late = poll(&mut send(&producer, "late"), Waker::noop());
    assert!(matches!(late, Poll::Ready(Err(Error::DriverGone))));
    assert!(client.is_closed());
}

#[test]
fn dropping_all_handles_ends_the_driver_at_its_next_poll() {
    let (client, mut driver) = client(10);
    let producer = started(&client, &mut driver);
    drop(client);
    assert!(!drive(&mut driver), "the producer still holds the client");
    let counter = CountingWaker::new();
    assert!(poll(&mut driver, &counter.waker()).is_pending());
    drop(producer);
    assert_eq!(counter.count(), 1);
    assert!(poll(&mut driver, &counter.waker()).is_ready());
}

#[test]
fn shutting_down_twice_is_fine_and_what_comes_after_is_refused() {
    let (client, mut driver) = client(10);
    let producer = started(&client, &mut driver);
    block_on(&mut driver, client.shutdown(Duration::from_secs(1))).expect("nothing is unfinished");
    assert!(client.is_closed());
    block_on(&mut driver, client.shutdown(Duration::from_secs(1))).expect("it is closed already");
    block_on(&mut driver, producer.shutdown(Duration::from_secs(1))).expect("it is stopped already");
    let late = poll(&mut send(&producer, "late"), Waker::noop());
    assert!(matches!(late, Poll::Ready(Err(error)) if error.is_closed()));
    assert!(block_on(&mut driver, client.notices().next()).is_none());
}

#[test]
fn a_start_that_is_given_up_leaves_nothing_behind() {
    let (client, mut driver) = client(10);
    {
        let mut start = pin!(client.producer("group").start());
        assert!(start.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() || !drive(&mut driver));
    }
    drive(&mut driver);
    block_on(&mut driver, client.producer("group").start()).expect("the group is free again");
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let error = Client::<ByHand>::builder().name_servers("localhost").build_parts().expect_err("no port");
    assert!(error.to_string().contains("\"localhost\""), "{error}");
    let error = Client::<ByHand>::builder().build_parts().expect_err("no name server");
    assert!(error.to_string().contains("name_servers"), "{error}");
    let error = Client::<ByHand>::builder().name_servers("a:1").build().expect_err("no runtime");
    assert!(matches!(error, Error::Io(_)));
}

#[test]
fn the_id_of_a_stream_client_says_so() {
    let builder = || Client::<ByHand>::builder().name_servers("127.0.0.1:9876").connector(Silence).instance("one");
    let (plain, _driver) = builder().unit("u").build_parts().expect("good settings");
    let (stream, _driver) = builder().unit("u").stream_requests().build_parts().expect("good settings");
    assert_eq!(stream.client_id(), format!("{}@STREAM", plain.client_id()));
}
