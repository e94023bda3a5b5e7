//! LZ4 frames.
//!
//! The blocks are decoded straight into a body of exactly the right size: a first pass adds up what the blocks'
//! sequences expand to, which is cheap, refuses a bomb before anything is allocated and finds most damage.

use lz4_flex::block::{compress_into, decompress_into, decompress_into_with_dict, get_maximum_output_size};
use rocketry_codec::message::Compression;
use twox_hash::XxHash32;

use crate::error::{CompressError, InflateError};
use crate::without_slack;

const MAGIC: u32 = 0x184D_2204;
/// Frames of application data, sixteen magics, that readers skip.
const SKIPPABLE: u32 = 0x184D_2A50;
/// Version 1, independent blocks of at most 4 MiB, no checksums, no size, and the check byte of these: what Java
/// writes.
const JAVA_DESCRIPTOR: [u8; 3] = [0x60, 0x70, 0x73];
const JAVA_BLOCK: usize = 4 * 1024 * 1024;
/// Top bit of a block's size word: the block is stored as it is.
const STORED: u32 = 0x8000_0000;
/// How far back a block that is not independent may refer.
const WINDOW: usize = 64 * 1024;

const CORRUPT: InflateError = InflateError::Corrupt(Compression::Lz4);

pub(crate) fn compress(body: &[u8]) -> Result<Vec<u8>, CompressError> {
    let failed = CompressError::Failed(Compression::Lz4);
    let largest = body.len().min(JAVA_BLOCK);
    let mut out = Vec::with_capacity(get_maximum_output_size(largest) + 15);
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&JAVA_DESCRIPTOR);
    for chunk in body.chunks(JAVA_BLOCK) {
        let word = out.len();
        let start = word + 4;
        out.resize(start + get_maximum_output_size(chunk.len()), 0);
        let packed = compress_into(chunk, out.get_mut(start..).unwrap_or_default()).map_err(|_| failed)?;
        out.truncate(start + packed);
        let mut size = u32::try_from(packed).map_err(|_| failed)?;
        if packed >= chunk.len() {
            out.truncate(start);
            out.extend_from_slice(chunk);
            size = u32::try_from(chunk.len()).map_err(|_| failed)? | STORED;
        }
        if let Some(bytes) = out.get_mut(word..start) {
            bytes.copy_from_slice(&size.to_le_bytes());
        }
    }
    out.extend_from_slice(&0_u32.to_le_bytes());
    Ok(without_slack(out))
}

/// Several frames one after the other are one body, as Java reads them.
pub(crate) fn inflate(body: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
    let mut total = 0_usize;
    walk(body, |event| match event {
        Event::Block(block) => {
            total += block.inflated_len()?;
            if total > limit { Err(InflateError::TooLarge { limit }) } else { Ok(()) }
        }
        Event::Start | Event::End(_) => Ok(()),
    })?;
    let mut out = vec![0; total];
    let mut at = 0;
    let mut frame_start = 0;
    walk(body, |event| match event {
        Event::Start => {
            frame_start = at;
            Ok(())
        }
        Event::Block(block) => {
            let (before, rest) = out.split_at_mut_checked(at).ok_or(CORRUPT)?;
            at += block.inflate_into(before.get(frame_start..).unwrap_or_default(), rest)?;
            Ok(())
        }
        Event::End(end) => end.check(out.get(frame_start..at).unwrap_or_default()),
    })?;
    if at == total { Ok(out) } else { Err(CORRUPT) }
}

/// What a walk over frames meets.
enum Event<'a> {
    Start,
    Block(Block<'a>),
    End(End),
}

/// One block of a frame.
struct Block<'a> {
    data: &'a [u8],
    max: usize,
    stored: bool,
    independent: bool,
}

/// What a frame says about its content.
struct End {
    size: Option<u64>,
    checksum: Option<u32>,
}

/// Header of a frame.
struct Descriptor {
    independent: bool,
    block_checksums: bool,
    content_checksum: bool,
    content_size: Option<u64>,
    max_block: usize,
}

fn walk<'a>(body: &'a [u8], mut on: impl FnMut(Event<'a>) -> Result<(), InflateError>) -> Result<(), InflateError> {
    let mut input = Input { rest: body };
    let mut frames = 0;
    while !input.rest.is_empty() || frames == 0 {
        let magic = input.word()?;
        if magic & 0xFFFF_FFF0 == SKIPPABLE {
            let len = input.len()?;
            input.take(len)?;
            frames += 1;
            continue;
        }
        if magic != MAGIC {
            return Err(CORRUPT);
        }
        let descriptor = Descriptor::read(&mut input)?;
        on(Event::Start)?;
        while let Some(block) = descriptor.block(&mut input)? {
            on(Event::Block(block))?;
        }
        let checksum = if descriptor.content_checksum { Some(input.word()?) } else { None };
        on(Event::End(End { size: descriptor.content_size, checksum }))?;
        frames += 1;
    }
    Ok(())
}

impl Descriptor {
    fn read(input: &mut Input<'_>) -> Result<Self, InflateError> {
        let whole = input.rest;
        let [flags, sizes] = input.array()?;
        if flags >> 6 != 1 || flags & 0x02 != 0 || sizes & 0x8F != 0 {
            return Err(CORRUPT);
        }
        let max_block = match sizes >> 4 {
            4 => 64 * 1024,
            5 => 256 * 1024,
            6 => 1024 * 1024,
            7 => 4 * 1024 * 1024,
            _ => return Err(CORRUPT),
        };
        let content_size = if flags & 0x08 != 0 { Some(u64::from_le_bytes(input.array()?)) } else { None };
        if flags & 0x01 != 0 {
            return Err(InflateError::NeedsDictionary);
        }
        let described = whole.get(..whole.len() - input.rest.len()).unwrap_or_default();
        let [check] = input.array()?;
        if check != hash(described).to_le_bytes()[1] {
            return Err(CORRUPT);
        }
        Ok(Self {
            independent: flags & 0x20 != 0,
            block_checksums: flags & 0x10 != 0,
            content_checksum: flags & 0x04 != 0,
            content_size,
            max_block,
        })
    }

    /// The next block; `None` at the end mark.
    fn block<'a>(&self, input: &mut Input<'a>) -> Result<Option<Block<'a>>, InflateError> {
        let word = input.word()?;
        if word == 0 {
            return Ok(None);
        }
        let len = usize::try_from(word & !STORED).map_err(|_| CORRUPT)?;
        if len > self.max_block {
            return Err(CORRUPT);
        }
        let data = input.take(len)?;
        if self.block_checksums && input.word()? != hash(data) {
            return Err(CORRUPT);
        }
        Ok(Some(Block { data, max: self.max_block, stored: word & STORED != 0, independent: self.independent }))
    }
}

impl Block<'_> {
    /// What the block expands to, by its sequences: each is a token, literals, and a match except in the last.
    fn inflated_len(&self) -> Result<usize, InflateError> {
        if self.stored {
            return Ok(self.data.len());
        }
        let mut input = Input { rest: self.data };
        let mut total = 0_usize;
        loop {
            let [token] = input.array().map_err(|_| CORRUPT)?;
            let literals = input.length(token >> 4).ok_or(CORRUPT)?;
            input.take(literals).map_err(|_| CORRUPT)?;
            total += literals;
            if input.rest.is_empty() {
                break;
            }
            input.array::<2>().map_err(|_| CORRUPT)?;
            total += input.length(token & 0x0F).ok_or(CORRUPT)? + 4;
            if total > self.max {
                return Err(CORRUPT);
            }
        }
        if total > self.max { Err(CORRUPT) } else { Ok(total) }
    }

    /// Writes the block at the start of `out`; `frame` is what the frame gave so far.
    fn inflate_into(&self, frame: &[u8], out: &mut [u8]) -> Result<usize, InflateError> {
        let len = self.inflated_len()?;
        let out = out.get_mut(..len).ok_or(CORRUPT)?;
        if self.stored {
            out.copy_from_slice(self.data);
            return Ok(len);
        }
        let written = if self.independent || frame.is_empty() {
            decompress_into(self.data, out)
        } else {
            let window = frame.get(frame.len().saturating_sub(WINDOW)..).unwrap_or_default();
            decompress_into_with_dict(self.data, out, window)
        };
        if written.map_err(|_| CORRUPT)? == len { Ok(len) } else { Err(CORRUPT) }
    }
}

impl End {
    fn check(&self, content: &[u8]) -> Result<(), InflateError> {
        let size_differs = self.size.is_some_and(|size| usize::try_from(size) != Ok(content.len()));
        let sum_differs = self.checksum.is_some_and(|checksum| checksum != hash(content));
        if size_differs || sum_differs { Err(CORRUPT) } else { Ok(()) }
    }
}

/// Bytes still to be read.
struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], InflateError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(InflateError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InflateError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(InflateError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn word(&mut self) -> Result<u32, InflateError> {
        self.array().map(u32::from_le_bytes)
    }

    fn len(&mut self) -> Result<usize, InflateError> {
        usize::try_from(self.word()?).map_err(|_| CORRUPT)
    }

    /// A length in a sequence: four bits, and while the last part was at its largest, another byte. No length of a
    /// block of 4 MiB comes near overflowing.
    fn length(&mut self, nibble: u8) -> Option<usize> {
        let mut length = usize::from(nibble);
        if nibble == 15 {
            loop {
                let (byte, rest) = self.rest.split_first()?;
                self.rest = rest;
                length += usize::from(*byte);
                if *byte != u8::MAX {
                    break;
                }
            }
        }
        Some(length)
    }
}

fn hash(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}
