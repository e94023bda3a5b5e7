use super::*;
use crate::codes::RequestCode;
use crate::encoder::{FrameWriter, Sender};

fn frame(opaque: i32, body: usize) -> Frame {
    let body: Vec<u8> = (0..body).map(|at| at.to_le_bytes()[0]).collect();
    FrameWriter::new(Sender::default()).request_as(RequestCode::HEART_BEAT, opaque, &[("k", "v")][..], body.into())
}

fn written(wire: &mut Wire, step: usize) -> (Vec<u8>, Vec<u32>) {
    let (mut bytes, mut flushed) = (Vec::new(), Vec::new());
    while wire.queued() > 0 {
        let piece: Vec<u8> = wire.segments().flatten().copied().take(step).collect();
        bytes.extend_from_slice(&piece);
        flushed.push(wire.advance(piece.len()));
    }
    (bytes, flushed)
}

#[test]
fn what_is_pushed_is_written_in_order_and_counted() {
    let frames = [frame(1, 0), frame(2, 10_000), frame(3, 4096), frame(4, 4097), frame(5, 7)];
    let expected: Vec<u8> = frames.iter().flat_map(|frame| frame.to_bytes().to_vec()).collect();
    for step in [1, 3, 100, 5_000, usize::MAX] {
        let mut wire = Wire::new(&Limits::DEFAULT);
        for frame in &frames {
            wire.push(frame).unwrap();
        }
        assert_eq!((wire.queued(), wire.queued_frames()), (expected.len(), 5));
        assert!(wire.segments().all(|segment| !segment.is_empty()));
        let (bytes, flushed) = written(&mut wire, step);
        assert_eq!(bytes, expected);
        assert_eq!(flushed.iter().sum::<u32>(), 5);
        assert_eq!((wire.queued(), wire.queued_frames(), wire.segments().count()), (0, 0, 0));
    }
}

#[test]
fn a_frame_counts_as_flushed_with_its_last_byte() {
    let mut wire = Wire::new(&Limits::DEFAULT);
    let frame = frame(1, 9_000);
    wire.push(&frame).unwrap();
    assert_eq!(wire.advance(frame.wire_len() - 1), 0);
    assert_eq!(wire.advance(1), 1);
    assert_eq!(wire.advance(1), 0, "more than was queued changes nothing");
}

#[test]
fn small_frames_make_one_segment() {
    let mut wire = Wire::new(&Limits::DEFAULT);
    for opaque in 0..100 {
        wire.push(&frame(opaque, 100)).unwrap();
    }
    assert_eq!(wire.segments().count(), 1);
    wire.push(&frame(100, 5_000)).unwrap();
    assert_eq!(wire.segments().count(), 2);
}

#[test]
fn a_queue_that_never_runs_empty_stays_small() {
    let mut wire = Wire::new(&Limits::DEFAULT);
    let frame = frame(1, 1_000);
    wire.push(&frame).unwrap();
    let mut flushed = 0_u32;
    for _ in 0..10_000 {
        wire.push(&frame).unwrap();
        flushed += wire.advance(frame.wire_len());
    }
    assert_eq!((flushed, wire.queued_frames()), (10_000, 1));
    assert!(wire.out.copied.capacity() <= 4 * KEPT);
}

#[test]
fn limits_of_frame_and_queue_are_kept() {
    let size = frame(1, 100).wire_len();
    let limits = Limits { frame: size, write_queue: 2 * size, ..Limits::DEFAULT };
    let mut wire = Wire::new(&limits);
    assert!(wire.push(&frame(1, 101)).is_err());
    assert_eq!(wire.queued(), 0);
    wire.push(&frame(1, 100)).unwrap();
    wire.push(&frame(1, 100)).unwrap();
    assert!(wire.push(&frame(1, 0)).is_err());
    assert_eq!((wire.queued(), wire.queued_frames()), (2 * size, 2));
}

#[test]
fn two_wires_pass_frames() {
    let (mut here, mut there) = (Wire::new(&Limits::DEFAULT), Wire::new(&Limits::DEFAULT));
    for opaque in 0..50 {
        here.push(&frame(opaque, usize::try_from(opaque).unwrap() * 997)).unwrap();
    }
    let (bytes, _) = written(&mut here, 10_000);
    let mut rest = &bytes[..];
    let mut seen = 0;
    while !rest.is_empty() {
        let taken = there.feed(rest);
        rest = &rest[taken..];
        while let Some(frame) = there.next_frame().unwrap() {
            assert_eq!((frame.opaque(), frame.body().len()), (seen, usize::try_from(seen).unwrap() * 997));
            seen += 1;
        }
    }
    assert_eq!((seen, there.pending()), (50, 0));
}
