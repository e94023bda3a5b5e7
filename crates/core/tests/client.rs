//! The client machine by hand: GO_AWAY, and the laws that can be seen from outside.

#![allow(clippy::expect_used)] // the helpers expect what the tests are about

use std::time::Duration;

use bytes::Bytes;
use rocketry_core::codec::codes::ResponseCode;
use rocketry_core::codec::encoder::{FrameWriter, RawRequest};
use rocketry_core::codec::frame::Frame;
use rocketry_core::codec::reply::NoFields;
use rocketry_core::codec::request::GetBrokerConfig;
use rocketry_core::machine::{
    CloseReason, ConnId, Endpoint, Fingerprint, Input, LinkError, Machine, Moment, Now, Output, PeerInfo, Seed,
    UnixMillis,
};
use rocketry_core::{
    Call, Certainty, Client, Command, Config, Control, Event, OpErrorKind, OpId, Outcome, Peer, ProducerConfig,
};

fn at(millis: u64) -> Now {
    Now::new(Moment::from_millis(millis), UnixMillis::new(1_700_000_000_000))
}

fn client() -> Client {
    let config = Config::new(vec![Endpoint::new("ns", 9876)], "me");
    Client::new(config, Seed::from(1), at(0)).expect("settings")
}

fn call(client: &mut Client, now: Now) -> OpId {
    let request = RawRequest::new(&GetBrokerConfig::default(), Bytes::from_static(b"body"));
    let call = Call::new(Peer::Address(Endpoint::new("broker", 10911)), request);
    client.submit(now, Command::Call(call)).expect("room")
}

fn outputs(client: &mut Client) -> Vec<Output<Frame, Event>> {
    std::iter::from_fn(|| client.poll_output())
        .filter(|output| !matches!(output, Output::Event(Event::Notice(_))))
        .collect()
}

fn opened(outputs: &[Output<Frame, Event>]) -> ConnId {
    let mut opens = outputs.iter().filter_map(|output| match output {
        Output::Open { conn, .. } => Some(*conn),
        _ => None,
    });
    opens.next().expect("a connection is asked for")
}

fn sent(outputs: &[Output<Frame, Event>]) -> Frame {
    let mut frames = outputs.iter().filter_map(|output| match output {
        Output::Send { frame, .. } => Some(frame.clone()),
        _ => None,
    });
    frames.next().expect("a frame is sent")
}

fn done(outputs: Vec<Output<Frame, Event>>) -> (OpId, Outcome) {
    let mut dones = outputs.into_iter().filter_map(|output| match output {
        Output::Event(Event::Done { op, outcome }) => Some((op, outcome)),
        _ => None,
    });
    dones.next().expect("an operation ends")
}

fn answer(client: &mut Client, now: Now, conn: ConnId, request: &Frame, code: ResponseCode) {
    let frame =
        FrameWriter::default().response(request.opaque(), code, Some("said"), &NoFields::default(), Bytes::new());
    client.handle_input(now, Input::Frame { conn, frame });
}

#[test]
fn go_away_is_answered_by_one_retry_on_a_new_connection() {
    let mut client = client();
    let op = call(&mut client, at(0));
    let first = outputs(&mut client);
    let (old, request) = (opened(&first), sent(&first));
    client.handle_input(at(1), Input::Opened { conn: old, peer: PeerInfo::default() });
    answer(&mut client, at(2), old, &request, ResponseCode::GO_AWAY);
    let second = outputs(&mut client);
    let (new, again) = (opened(&second), sent(&second));
    assert_ne!(new, old);
    assert_ne!(again.opaque(), request.opaque());
    assert_eq!((again.code(), again.body()), (request.code(), request.body()));
    let closed = second.iter().any(|output| {
        matches!(output, Output::Close { conn, why: CloseReason::Unused | CloseReason::GoAway } if *conn == old)
    });
    assert!(closed, "nothing waits on the old connection any more: {second:?}");
    answer(&mut client, at(3), new, &again, ResponseCode::SUCCESS);
    match done(outputs(&mut client)) {
        (ended, Outcome::Reply(frame)) => assert_eq!((ended, frame.response_code()), (op, ResponseCode::SUCCESS)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_go_away_is_an_answer_like_any_other() {
    let mut client = client();
    call(&mut client, at(0));
    let first = outputs(&mut client);
    answer(&mut client, at(2), opened(&first), &sent(&first), ResponseCode::GO_AWAY);
    let second = outputs(&mut client);
    answer(&mut client, at(3), opened(&second), &sent(&second), ResponseCode::GO_AWAY);
    match done(outputs(&mut client)) {
        (_, Outcome::Reply(frame)) => assert_eq!(frame.response_code(), ResponseCode::GO_AWAY),
        other => panic!("{other:?}"),
    }
    assert_eq!(client.calls_in_flight(), 0);
}

#[test]
fn an_old_connection_drains_before_it_closes() {
    let mut client = client();
    call(&mut client, at(0));
    let first = outputs(&mut client);
    let (old, one) = (opened(&first), sent(&first));
    call(&mut client, at(0));
    let two = sent(&outputs(&mut client));
    answer(&mut client, at(2), old, &one, ResponseCode::GO_AWAY);
    let second = outputs(&mut client);
    assert!(
        !second.iter().any(|output| matches!(output, Output::Close { .. })),
        "another call waits there: {second:?}"
    );
    answer(&mut client, at(3), old, &two, ResponseCode::SUCCESS);
    let third = outputs(&mut client);
    assert!(third.iter().any(|output| matches!(output, Output::Close { conn, .. } if *conn == old)), "{third:?}");
    done(third);
}

#[test]
fn a_lost_link_says_whether_the_request_was_whole_on_the_wire() {
    for (flushed, certainty) in [(0, Certainty::NotSent), (1, Certainty::Unknown)] {
        let mut client = client();
        call(&mut client, at(0));
        let conn = opened(&outputs(&mut client));
        client.handle_input(at(1), Input::Opened { conn, peer: PeerInfo::default() });
        if flushed > 0 {
            client.handle_input(at(1), Input::Flushed { conn, frames: flushed });
        }
        client.handle_input(at(2), Input::Closed { conn, cause: LinkError::Reset });
        match done(outputs(&mut client)) {
            (_, Outcome::Failed(error)) => {
                assert_eq!(error.certainty, certainty);
                assert!(matches!(error.kind, OpErrorKind::Unreachable { cause: LinkError::Reset, .. }));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn net_05_a_silent_peer_loses_its_connection() {
    let mut client = client();
    call(&mut client, at(0));
    let conn = opened(&outputs(&mut client));
    client.handle_input(at(1), Input::Opened { conn, peer: PeerInfo::default() });
    client.handle_input(at(1), Input::Flushed { conn, frames: 1 });
    // Its time began before the connection stood: the peer gets another chance.
    client.handle_timeout(at(3_000));
    assert!(!outputs(&mut client).iter().any(|output| matches!(output, Output::Close { .. })));
    call(&mut client, at(4_000));
    outputs(&mut client);
    client.handle_input(at(4_001), Input::Flushed { conn, frames: 1 });
    client.handle_timeout(at(7_000));
    let outputs = outputs(&mut client);
    let closed = |output: &Output<Frame, Event>| matches!(output, Output::Close { conn: closed, why: CloseReason::Unresponsive } if *closed == conn);
    assert!(outputs.iter().any(closed), "{outputs:?}");
    assert!(matches!(done(outputs), (_, Outcome::Failed(error)) if error.certainty == Certainty::Unknown));
}

#[test]
fn queued_output_is_due_and_early_ticks_change_nothing() {
    let mut client = client();
    client.handle_timeout(at(5));
    call(&mut client, at(7));
    assert_eq!(client.poll_timeout().map(|deadline| deadline.at), Some(Moment::from_millis(7)), "law 4");
    outputs(&mut client);
    let due = client.poll_timeout().expect("a call has a deadline").at;
    let before = client.fingerprint();
    for millis in [8, 100, 2_000] {
        assert!(Moment::from_millis(millis) < due);
        client.handle_timeout(at(millis));
        assert_eq!(client.fingerprint(), before, "law 3, at {millis}");
    }
    client.handle_timeout(Now::new(due, UnixMillis::new(0)));
    let progress = client.poll_output().is_some() || client.poll_timeout().is_some_and(|next| next.at > due);
    assert!(progress, "law 2");
}

#[test]
fn when_outputs_are_polled_changes_nothing() {
    let run = |drain: bool| {
        let mut client = client();
        let mut seen = Vec::new();
        let start = Command::Control(Control::StartProducer(Box::new(ProducerConfig::new("g"))));
        client.submit(at(0), start).expect("room");
        for millis in 0..200 {
            call(&mut client, at(millis * 50));
            client.handle_timeout(at(millis * 50));
            if drain {
                seen.extend(outputs(&mut client));
            }
        }
        seen.extend(outputs(&mut client));
        (format!("{seen:?}"), client.fingerprint())
    };
    assert_eq!(run(true), run(false), "law 1");
    assert_eq!(run(true), run(true), "law 8");
}

#[test]
fn a_shutdown_ends_every_operation_once() {
    let mut client = client();
    let mut open: Vec<OpId> = (0..5).map(|_| call(&mut client, at(0))).collect();
    let shutdown = Command::Control(Control::Shutdown { within: Duration::from_secs(1) });
    open.push(client.submit(at(1), shutdown).expect("a stop is always taken"));
    client.handle_timeout(at(2_000));
    for output in outputs(&mut client) {
        if let Output::Event(Event::Done { op, .. }) = output {
            let known = open.iter().position(|waiting| *waiting == op).expect("each ends once");
            open.swap_remove(known);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(client.submit(at(2_001), Command::Control(Control::Route("t".into()))).is_err());
    assert_eq!(client.poll_timeout(), None, "nothing is left to wait for");
}
