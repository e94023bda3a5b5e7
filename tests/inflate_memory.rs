//! Bodies that inflate to 1 GiB (COD-18): the inflater stops at its limit, and what the process needs at its peak,
//! above what it needs idle, stays below the limit and what the codec is allowed.
//!
//! Each bomb is inflated in a process of its own, since a peak cannot be measured twice in one. The process reads its
//! bomb from its input and writes three numbers: resident memory before, peak after, both in KiB, and 1 when the bomb
//! was refused for its size.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use flate2::{Compress, FlushCompress, Status};
use rocketry_codec::message::Compression;
use rocketry_compress::{InflateError, Level, compress, inflate};

const MIB: usize = 1024 * 1024;
const CHILD: &str = "--inflate";

/// A bomb, by the name of its codec, and the memory its codec may use beside the output.
struct Bomb {
    name: &'static str,
    body: Vec<u8>,
    allowance: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, name, length, limit] = arguments.as_slice()
        && mode == CHILD
    {
        child(codec(name), length.parse().unwrap(), limit.parse().unwrap());
        return;
    }
    if !cfg!(target_os = "linux") {
        println!("peak memory is read from /proc, which only Linux has");
        return;
    }
    let bombs = [
        Bomb { name: "zlib", body: zlib(), allowance: MIB },
        Bomb { name: "lz4", body: lz4(), allowance: 9 * MIB },
        Bomb { name: "zstd", body: zstd(), allowance: (8 + 1) * MIB },
    ];
    for bomb in &bombs {
        for limit in [64 * MIB, 5 * MIB + 7] {
            let [before, after, refused] = measure(bomb, limit);
            let used = after.saturating_sub(before) * 1024;
            println!("{}: {} bytes of input, limit {limit}, {used} bytes at the peak", bomb.name, bomb.body.len());
            assert_eq!(refused, 1, "{} was not refused for its size", bomb.name);
            assert!(used < limit + bomb.allowance, "{} needed {used} bytes, limit {limit}", bomb.name);
        }
    }
}

fn codec(name: &str) -> Compression {
    match name {
        "zlib" => Compression::Zlib,
        "lz4" => Compression::Lz4,
        _ => Compression::Zstd,
    }
}

/// Inflates in a process of its own and reads its three numbers.
fn measure(bomb: &Bomb, limit: usize) -> [usize; 3] {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, bomb.name, &bomb.body.len().to_string(), &limit.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(&bomb.body).unwrap();
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success(), "{} ended with {}", bomb.name, output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    let numbers: Vec<usize> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn child(codec: Compression, length: usize, limit: usize) {
    let mut body = vec![0; length];
    std::io::stdin().read_exact(&mut body).unwrap();
    let before = status("VmRSS:");
    let result = inflate(codec, &body, limit);
    let after = status("VmHWM:");
    println!("{before} {after} {}", u8::from(result == Err(InflateError::TooLarge { limit })));
}

/// A line of the process's own status, in KiB.
fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).expect(name);
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// 1 MiB of zlib. The stream is flushed to a whole byte after 16 MiB of zeros, and what was written between two
/// flushes is repeated. Its checksum is wrong; nobody gets that far.
fn zlib() -> Vec<u8> {
    let zeros = vec![0; 16 * MIB];
    let mut state = Compress::new(flate2::Compression::new(9), true);
    let mut body = segment(&mut state, &zeros);
    let repeated = segment(&mut state, &zeros);
    for _ in 0..63 {
        body.extend_from_slice(&repeated);
    }
    assert!(body.len() < 5 * MIB / 4);
    body
}

fn segment(state: &mut Compress, zeros: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(MIB);
    let status = state.compress_vec(zeros, &mut out, FlushCompress::Sync).unwrap();
    assert!(status == Status::Ok && out.len() < MIB);
    out
}

/// 4.2 MiB of LZ4: 256 blocks of 4 MiB of zeros.
fn lz4() -> Vec<u8> {
    let frame = compress(Compression::Lz4, Level::default(), &vec![0; 4 * MIB]).unwrap();
    let (header, rest) = frame.split_at(7);
    let (block, end) = rest.split_at(rest.len() - 4);
    [header, &block.repeat(256), end].concat()
}

/// A ZSTD frame with a window of 8 MiB, the largest that is accepted, and 8,192 blocks that repeat one byte 128 Ki
/// times.
fn zstd() -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 13 << 3];
    let count: u32 = 8192;
    for index in 1..=count {
        let last = u32::from(index == count);
        let header = (128 * 1024) << 3 | 1 << 1 | last;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}
