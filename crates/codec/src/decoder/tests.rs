use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::codes::RequestCode;
use crate::encoder::{FrameWriter, Sender};

fn frame(opaque: i32, body: usize) -> Frame {
    let body: Vec<u8> = (0..body).map(|at| at.to_le_bytes()[0]).collect();
    FrameWriter::new(Sender::default()).request_as(RequestCode::HEART_BEAT, opaque, &[("k", "v")][..], body.into())
}

/// Feeds `stream` in pieces of the given sizes, the last one over and over.
fn run(stream: &[u8], sizes: &[usize], limits: &Limits) -> (Vec<(i32, Bytes)>, Option<WireError>, usize) {
    let mut deframer = Deframer::new(limits);
    let mut frames = Vec::new();
    let mut sizes = sizes.iter().copied();
    let mut size = sizes.next().unwrap_or(usize::MAX);
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rest.len().min(size));
        size = sizes.next().unwrap_or(size);
        rest = tail;
        let mut piece = piece;
        while !piece.is_empty() {
            let taken = deframer.feed(piece);
            piece = &piece[taken..];
            loop {
                match deframer.next_frame() {
                    Ok(Some(frame)) => frames.push((frame.opaque(), frame.into_body())),
                    Ok(None) => break,
                    Err(error) => return (frames, Some(error), 0),
                }
            }
        }
    }
    (frames, None, deframer.pending())
}

fn error(bytes: &[u8]) -> Option<WireError> {
    run(bytes, &[], &Limits::DEFAULT).1
}

#[test]
fn cod_05_hostile_lengths_fail_at_once_and_take_no_memory() {
    for (bytes, text) in [
        (&[0, 0, 0, 0][..], "frame length is malformed"),
        (&[0xFF; 4], "frame length (negative) is malformed"),
        (&[0x7F, 0xFF, 0xFF, 0xFF], "frame (setting: frame limit) of 2147483651 is above the limit of 16777216"),
        (&[0, 0, 0, 3], "frame length is malformed"),
        (&[0, 0, 0, 10, 0, 0, 0, 20], "header length of 20 is above the limit of 6"),
        (&[0, 0, 0, 10, 2, 0, 0, 6], "serialize type is malformed"),
        (&[0, 0, 0, 4, 0, 0, 0, 0], "header length is malformed"),
    ] {
        let error = error(bytes).unwrap_or_else(|| panic!("{bytes:?} was taken"));
        assert!(error.to_string().starts_with(text), "{bytes:?}: {error}");
        let mut deframer = Deframer::new(&Limits::DEFAULT);
        assert_eq!(deframer.feed(bytes), bytes.len());
        assert_eq!(deframer.next_frame().err(), Some(error));
        assert_eq!(deframer.next_frame().err(), Some(error), "an error stays");
        assert_eq!((deframer.buffer.capacity(), deframer.feed(b"more")), (0, 0));
    }
}

#[test]
fn cod_06_other_protocols_are_named_with_the_likely_mistake() {
    for (bytes, protocol, mistake) in [
        (&b"PRI * HTTP/2.0\r\n"[..], "HTTP/2", "gRPC proxy"),
        (b"GET / HTTP/1.1\r\n", "HTTP", "console"),
        (b"HTTP/1.1 400 Bad", "HTTP", "console"),
        (b"\x16\x03\x01\x02\x00", "TLS", "without TLS"),
        (b"\x15\x03\x03\x00\x02", "TLS", "without TLS"),
    ] {
        let text = error(bytes).map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains(protocol) && text.contains(mistake), "{text}");
    }
}

#[test]
fn cod_07_any_split_gives_the_same_frames() {
    let frames = [frame(1, 0), frame(2, 300), frame(-3, 1)];
    let stream: Vec<u8> = frames.iter().flat_map(|frame| frame.to_bytes().to_vec()).collect();
    let whole = run(&stream, &[], &Limits::DEFAULT);
    assert_eq!(
        whole.0.iter().map(|(opaque, body)| (*opaque, body.len())).collect::<Vec<_>>(),
        [(1, 0), (2, 300), (-3, 1)]
    );
    for cut in 1..stream.len() {
        assert_eq!(run(&stream, &[cut, usize::MAX], &Limits::DEFAULT), whole, "cut at {cut}");
    }
    assert_eq!(run(&stream, &[1], &Limits::DEFAULT), whole);
    assert_eq!(run(&stream[..stream.len() - 1], &[7], &Limits::DEFAULT).2, frames[2].wire_len() - 1);
}

#[test]
fn cod_07_a_frame_at_the_limit_passes_and_one_byte_more_fails() {
    let head = frame(1, 0).wire_len();
    let limits = Limits { frame: head + 100, ..Limits::DEFAULT };
    assert_eq!(run(&frame(1, 100).to_bytes(), &[13], &limits).0.len(), 1);
    let error = run(&frame(1, 101).to_bytes(), &[13], &limits).1;
    assert!(matches!(error, Some(WireError { kind: WireErrorKind::TooLarge { .. }, offset: 0 })));
    let head = frame(1, 0).wire_len();
    assert_eq!(run(&frame(1, 16_777_216 - head).to_bytes(), &[], &Limits::DEFAULT).0.len(), 1);
    assert!(run(&frame(1, 16_777_217 - head).to_bytes(), &[], &Limits::DEFAULT).1.is_some());
}

#[test]
fn large_frames_between_small_ones_arrive_whole_in_any_pieces() {
    let sizes = [10, 40_000, 200_000, 5, 70_000, 900_000, 3, 60_000, 60_000, 0];
    let frames: Vec<_> = sizes.iter().zip(0..).map(|(size, opaque)| frame(opaque, *size)).collect();
    let stream: Vec<u8> = frames.iter().flat_map(|frame| frame.to_bytes().to_vec()).collect();
    let whole = run(&stream, &[], &Limits::DEFAULT);
    assert_eq!(whole.0.len(), frames.len());
    for (frame, (opaque, body)) in frames.iter().zip(&whole.0) {
        assert_eq!((frame.opaque(), frame.body()), (*opaque, body));
    }
    for size in [1_000, 1_448, 65_536, 131_071] {
        assert_eq!(run(&stream, &[size], &Limits::DEFAULT), whole, "pieces of {size}");
    }
}

#[test]
fn a_large_frame_grows_its_buffer_with_what_arrives() {
    let mut deframer = Deframer::new(&Limits::DEFAULT);
    assert_eq!(deframer.feed(&[0, 0xFF, 0xFF, 0xF0, 0, 0, 0, 30]), 8);
    assert!(matches!(deframer.next_frame(), Ok(None)));
    assert!(deframer.space().len() <= OWN);
    assert!(deframer.buffer.capacity() <= OWN);
}

#[test]
fn a_large_body_owns_its_memory_and_the_chunk_goes_on() {
    let small = frame(1, 10).to_bytes();
    let large = frame(2, 100_000).to_bytes();
    let mut deframer = Deframer::new(&Limits::DEFAULT);
    let stream = [&small[..], &large[..20]].concat();
    assert_eq!(deframer.feed(&stream), stream.len());
    assert_eq!(deframer.next_frame().unwrap().map(|frame| frame.body_block()), Some(CHUNK));
    assert!(deframer.next_frame().unwrap().is_none());
    let mut rest = &large[20..];
    while !rest.is_empty() {
        let taken = deframer.feed(rest);
        rest = &rest[taken..];
    }
    let frame = deframer.next_frame().unwrap().unwrap();
    assert_eq!(frame.body_block(), large.len());
    let body = frame.into_body();
    assert!(body.is_unique(), "the head is gone and nothing else shares the buffer");
    assert_eq!(deframer.feed(&small), small.len());
    assert!(deframer.next_frame().unwrap().is_some());
}
