//! Properties of the codec's frames: round trips of every typed header, splits of the stream, hostile bytes.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use rocketry_codec::codes::{RequestCode, ResponseCode};
use rocketry_codec::header::{Encoding, FieldBlock, FieldKind, HeaderEntry, Presence};
use rocketry_codec::{Flag, Frame, FrameWriter, Limits, RawRequest, Sender, Wire, WireError, reply, request};

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::Json), Just(Encoding::Binary)]
}

fn writer(encoding: Encoding) -> FrameWriter {
    FrameWriter::new(Sender { encoding, ..Sender::default() })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9_%-]{0,12}", "\\PC{0,8}", "[\u{0}-\u{a0}\u{2027}-\u{202a}\"\\\\]{0,6}"]
}

fn value(kind: FieldKind) -> BoxedStrategy<String> {
    match kind {
        FieldKind::I32 => any::<i32>().prop_map(|value| value.to_string()).boxed(),
        FieldKind::I64 => any::<i64>().prop_map(|value| value.to_string()).boxed(),
        FieldKind::Bool => any::<bool>().prop_map(|value| value.to_string()).boxed(),
        _ => text().boxed(),
    }
}

/// Names and values that the header `entry` can carry, in the order of its declaration.
fn fields(entry: &HeaderEntry) -> BoxedStrategy<Vec<(&'static str, String)>> {
    let one = |spec: &rocketry_codec::header::FieldSpec| {
        let (name, always) = (spec.name, matches!(spec.presence, Presence::Required | Presence::Always));
        (value(spec.kind), any::<bool>()).prop_map(move |(value, there)| (always || there).then_some((name, value)))
    };
    let all: Vec<_> = entry.fields.iter().chain(entry.scope).map(one).collect();
    all.prop_map(|fields| fields.into_iter().flatten().collect()).boxed()
}

fn headers() -> Vec<HeaderEntry> {
    request::ALL.iter().chain(reply::ALL).copied().collect()
}

fn header() -> impl Strategy<Value = (HeaderEntry, Vec<(&'static str, String)>)> {
    any::<Index>().prop_flat_map(|index| {
        let entry = *index.get(&headers());
        fields(&entry).prop_map(move |fields| (entry, fields))
    })
}

fn block(fields: &[(&'static str, String)]) -> FieldBlock {
    let borrowed: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    FieldBlock::of(&borrowed[..])
}

fn command() -> impl Strategy<Value = Frame> {
    let body = prop_oneof![4 => vec(any::<u8>(), 0..300), 1 => (0..200_000_usize).prop_map(|size| vec![7; size])];
    (header(), encoding(), any::<i32>(), any::<i16>(), proptest::option::of(text()), body).prop_map(
        |((_, fields), encoding, opaque, code, remark, body)| {
            let code = ResponseCode(code.into());
            writer(encoding).response(opaque, code, remark.as_deref(), &block(&fields), body.into())
        },
    )
}

/// What a wire makes of `stream` when it arrives in pieces of these sizes.
fn received(stream: &[u8], sizes: &[usize]) -> (Vec<Bytes>, Option<WireError>, usize) {
    let mut wire = Wire::new(&Limits::DEFAULT);
    let (mut frames, mut rest, mut at) = (Vec::new(), stream, 0);
    while !rest.is_empty() {
        let size = sizes.get(at % sizes.len().max(1)).copied().unwrap_or(usize::MAX).max(1);
        at += 1;
        let taken = wire.feed(&rest[..rest.len().min(size)]);
        rest = &rest[taken..];
        loop {
            match wire.next_frame() {
                Ok(Some(frame)) => frames.push(frame.to_bytes()),
                Ok(None) => break,
                Err(error) => return (frames, Some(error), 0),
            }
        }
    }
    (frames, None, wire.pending())
}

fn touch(frame: &Frame) {
    let fields: Vec<_> = frame.fields().collect();
    let _ = (frame.remark(), format!("{frame:?}"), fields.len());
    for entry in headers() {
        if let Ok(block) = (entry.transcode)(frame.fields()) {
            let again = (entry.transcode)(block.fields());
            assert_eq!(again, Ok(block), "{} is not stable", entry.class);
        }
    }
    let again = writer(frame.encoding()).extend(frame, &[("more", "\u{1}")]);
    assert_eq!(again.fields().count(), fields.len() + 1);
    assert_eq!(again.remark(), frame.remark());
}

#[test]
fn every_header_survives_both_encodings() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(24));
    for entry in headers() {
        let strategy = (fields(&entry), any::<i32>());
        let outcome = runner.run(&strategy, |(fields, opaque)| {
            let typed = (entry.transcode)(block(&fields).fields())?;
            prop_assert_eq!(&typed, &block(&fields), "the typed form loses or changes fields");
            for encoding in [Encoding::Json, Encoding::Binary] {
                let raw = RawRequest { code: RequestCode(10), fields: typed.clone(), body: Bytes::new() };
                let built = writer(encoding).raw_request(opaque, Flag::REQUEST, &raw);
                let read = Frame::decode(built.to_bytes(), &Limits::DEFAULT)?;
                prop_assert_eq!(read.opaque(), opaque);
                prop_assert_eq!(&(entry.transcode)(built.fields())?, &typed);
                prop_assert_eq!(&(entry.transcode)(read.fields())?, &typed);
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{}: {error}", entry.class));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn decoding_undoes_encoding(frame in command()) {
        let read = Frame::decode(frame.to_bytes(), &Limits::DEFAULT)?;
        prop_assert_eq!(read.remark(), frame.remark());
        prop_assert_eq!(FieldBlock::of(&read.fields()), FieldBlock::of(&frame.fields()));
        prop_assert_eq!((read.code(), read.opaque(), read.flag()), (frame.code(), frame.opaque(), frame.flag()));
        prop_assert_eq!(read.body(), frame.body());
        prop_assert_eq!(format!("{read:?}"), format!("{frame:?}"));
    }

    #[test]
    fn any_split_gives_the_same_frames_and_the_same_error(
        commands in vec(command(), 0..6),
        tail in vec(any::<u8>(), 0..40),
        flips in vec((any::<Index>(), any::<u8>()), 0..3),
        sizes in vec(prop_oneof![1..20_usize, 1..3_000_usize, 1..100_000_usize], 1..8),
    ) {
        let mut stream: Vec<u8> = commands.iter().flat_map(|frame| frame.to_bytes().to_vec()).collect();
        stream.extend_from_slice(&tail);
        for (at, byte) in flips {
            if !stream.is_empty() {
                let at = at.index(stream.len());
                stream[at] = byte;
            }
        }
        prop_assert_eq!(received(&stream, &sizes), received(&stream, &[]));
    }

    #[test]
    fn what_is_written_is_what_was_pushed(
        commands in vec(command(), 0..8),
        steps in vec(prop_oneof![1..50_usize, 1..20_000_usize], 1..8),
    ) {
        let mut wire = Wire::new(&Limits::DEFAULT);
        let (mut written, mut flushed, mut at) = (Vec::new(), 0_usize, 0);
        for frame in &commands {
            wire.push(frame)?;
            let step = steps[at % steps.len()];
            at += 1;
            let piece: Vec<u8> = wire.segments().flatten().copied().take(step).collect();
            written.extend_from_slice(&piece);
            flushed += wire.advance(piece.len()) as usize;
            prop_assert_eq!(wire.queued_frames(), at - flushed);
        }
        while wire.queued() > 0 {
            let piece: Vec<u8> = wire.segments().flatten().copied().take(10_000).collect();
            written.extend_from_slice(&piece);
            flushed += wire.advance(piece.len()) as usize;
        }
        let expected: Vec<u8> = commands.iter().flat_map(|frame| frame.to_bytes().to_vec()).collect();
        prop_assert_eq!(flushed, commands.len());
        prop_assert!(written == expected, "other bytes than those pushed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300), kind in 0..2_u8) {
        // With a prefix that is right, so that the header is reached.
        let header = u32::try_from(bytes.len()).unwrap_or(0);
        let mut frame = (header + 4).to_be_bytes().to_vec();
        frame.extend_from_slice(&(header | u32::from(kind) << 24).to_be_bytes());
        frame.extend_from_slice(&bytes);
        if let Ok(frame) = Frame::decode(frame.into(), &Limits::DEFAULT) {
            touch(&frame);
        }
        let _ = received(&bytes, &[1]);
    }

    #[test]
    fn no_change_of_a_valid_frame_panics(
        frame in command(),
        changes in vec((any::<Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = frame.to_bytes().to_vec();
        let head = frame.head().len();
        for (at, byte) in changes {
            bytes[8 + at.index(head - 8)] = byte;
        }
        if let Ok(frame) = Frame::decode(bytes.into(), &Limits::DEFAULT) {
            touch(&frame);
        }
    }
}
