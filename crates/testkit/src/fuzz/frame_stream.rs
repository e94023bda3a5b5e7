//! The deframer and the write queue: any split of a stream gives the same frames and the same error (COD-05 to COD-07).

use bytes::Bytes;
use rocketry_codec::decoder::Deframer;
use rocketry_codec::error::WireError;
use rocketry_codec::frame::Frame;
use rocketry_codec::limits::Limits;
use rocketry_codec::wire::Wire;

/// Room that a deframer may offer beside twice the bytes that it holds.
const ROOM: usize = 256 * 1024;

/// Cuts a stream as its first bytes say and compares with the stream in one piece; then writes the frames back.
///
/// The input is one byte whose low four bits tell how many sizes of chunks follow, these sizes (0 counts as 1), and
/// the stream. The sizes are used in turn, over and over.
///
/// # Panics
/// Where a split changes what is read, where memory is taken for what is only announced, or where the written frames
/// are not the bytes that were read.
pub fn frame_stream(data: &[u8]) {
    let Some((count, rest)) = data.split_first() else { return };
    let (sizes, stream) = rest.split_at(rest.len().min(usize::from(count & 0x0F)));
    let whole = Outcome::of(stream, &[]);
    assert_eq!(Outcome::of(stream, sizes), whole, "the split changed what was read");
    let read: Vec<u8> = whole.frames.concat();
    assert!(stream.starts_with(&read), "frames are not the bytes of the stream");
    if whole.error.is_none() {
        assert_eq!(read.len() + whole.pending, stream.len(), "bytes were lost");
    }
    write_back(&whole.frames, sizes, &read);
}

/// What a stream gave.
#[derive(Debug, PartialEq)]
struct Outcome {
    frames: Vec<Bytes>,
    error: Option<WireError>,
    pending: usize,
}

impl Outcome {
    fn of(stream: &[u8], sizes: &[u8]) -> Self {
        let mut deframer = Deframer::new(&Limits::DEFAULT);
        let mut outcome = Self { frames: Vec::new(), error: None, pending: 0 };
        for chunk in Chunks::new(stream, sizes) {
            let mut chunk = chunk;
            while !chunk.is_empty() {
                let taken = deframer.feed(chunk);
                assert!(taken > 0, "no room though every frame was taken");
                chunk = &chunk[taken..];
                loop {
                    match deframer.next_frame() {
                        Ok(Some(frame)) => outcome.frames.push(frame.to_bytes()),
                        Ok(None) => break,
                        Err(error) => {
                            assert_eq!(deframer.next_frame().err(), Some(error), "an error did not stay");
                            assert!(deframer.space().is_empty(), "a failed deframer asks for more");
                            outcome.error = Some(error);
                            return outcome;
                        }
                    }
                }
                let (pending, room) = (deframer.pending(), deframer.space().len());
                assert!(room > 0 && room <= ROOM + 2 * pending, "{room} bytes of room for {pending} that came");
            }
        }
        outcome.pending = deframer.pending();
        outcome
    }
}

/// Queues the frames and takes them off the queue in pieces of the given sizes.
fn write_back(frames: &[Bytes], sizes: &[u8], wanted: &[u8]) {
    let mut wire = Wire::new(&Limits::DEFAULT);
    for bytes in frames {
        let frame = Frame::decode(bytes.clone(), &Limits::DEFAULT).expect("a frame of a stream is a frame");
        wire.push(&frame).expect("few frames fit the queue");
    }
    assert_eq!((wire.queued(), wire.queued_frames()), (wanted.len(), frames.len()));
    let (mut written, mut flushed) = (Vec::new(), 0);
    for chunk in Chunks::new(wanted, sizes) {
        let queued: Vec<u8> = wire.segments().flatten().copied().take(chunk.len()).collect();
        flushed += wire.advance(queued.len());
        written.extend_from_slice(&queued);
    }
    assert_eq!(written, wanted, "the written bytes are others");
    assert_eq!((flushed as usize, wire.queued(), wire.queued_frames()), (frames.len(), 0, 0));
}

/// A stream in pieces; without sizes in one.
struct Chunks<'a> {
    rest: &'a [u8],
    sizes: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl<'a> Chunks<'a> {
    fn new(rest: &'a [u8], sizes: &'a [u8]) -> Self {
        Self { rest, sizes: sizes.iter().cycle() }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let size = self.sizes.next().map_or(usize::MAX, |size| usize::from(*size).max(1));
        let (chunk, rest) = self.rest.split_at(size.min(self.rest.len()));
        self.rest = rest;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_their_sizes() {
        let chunks: Vec<&[u8]> = Chunks::new(b"abcdefg", &[2, 0, 3]).collect();
        assert_eq!(chunks, [&b"ab"[..], b"c", b"def", b"g"]);
        assert_eq!(Chunks::new(b"abc", &[]).count(), 1);
    }
}
