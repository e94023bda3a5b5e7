use super::*;
use proptest::prelude::*;
use rocketry_codec::message::{RecordVersion, StoredRecord, SysFlag};

const ALL: [Compression; 3] = [Compression::Zlib, Compression::Lz4, Compression::Zstd];

/// What Java's codecs make of 5000 times `a` (wire, appendix A).
const JAVA: [(Compression, &str); 3] = [
    (Compression::Zlib, "785eedc13101000000c2a0aceb5fc2147e4001000000006f034b6f66f2"),
    (Compression::Lz4, "04224d186070731e0000001f610100ffffffffffffffffffffffffffffffffffffff8250616161616100000000"),
    (Compression::Zstd, "28b52ffd00584c0000106161010083d3032c010000"),
];

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn packed(compression: Compression, body: &[u8]) -> Vec<u8> {
    compress(compression, Level::default(), body).unwrap()
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn bodies_of_java() {
    for (compression, text) in JAVA {
        assert_eq!(inflate(compression, &unhex(text), 5000), Ok(vec![b'a'; 5000]), "{compression:?}");
        let refused = Err(InflateError::TooLarge { limit: 4999 });
        assert_eq!(inflate(compression, &unhex(text), 4999), refused, "{compression:?}");
    }
}

#[test]
fn what_is_written_starts_as_java_starts_it() {
    for (compression, start) in
        [(Compression::Zlib, "78"), (Compression::Lz4, "04224d18607073"), (Compression::Zstd, "28b52ffd")]
    {
        assert!(packed(compression, b"body").starts_with(&unhex(start)), "{compression:?}");
    }
}

#[test]
fn sizes_round_trip_and_the_limit_is_exact() {
    for compression in ALL {
        for len in [0, 1, 255, 256, 257, 4096, 1024 * 1024, 5 * 1024 * 1024] {
            for body in [vec![b'x'; len], noise(len)] {
                let packed = packed(compression, &body);
                assert_eq!(inflate(compression, &packed, len).as_ref(), Ok(&body), "{compression:?} {len}");
                assert_eq!(inflate(compression, &packed, len + 1).as_ref(), Ok(&body), "{compression:?} {len}");
                if len > 0 {
                    let refused = Err(InflateError::TooLarge { limit: len - 1 });
                    assert_eq!(inflate(compression, &packed, len - 1), refused, "{compression:?} {len}");
                }
            }
        }
    }
}

#[test]
fn levels_are_taken_to_what_the_codec_has() {
    for compression in ALL {
        for level in [i32::MIN, -1, 0, 1, 9, 22, i32::MAX] {
            let packed = compress(compression, Level::new(level), b"body body body").unwrap();
            assert_eq!(inflate(compression, &packed, 100).unwrap(), b"body body body");
        }
    }
}

#[test]
fn every_cut_is_noticed() {
    for (compression, text) in JAVA {
        let whole = unhex(text);
        for len in 0..whole.len() {
            let cut = inflate(compression, &whole[..len], DEFAULT_LIMIT);
            assert_eq!(cut, Err(InflateError::Truncated), "{compression:?} cut to {len}");
        }
    }
}

#[test]
fn garbage_is_refused_and_never_handed_out() {
    for compression in ALL {
        assert_eq!(inflate(compression, b"plain text, not compressed", 1000), Err(InflateError::Corrupt(compression)));
    }
    assert!(inflate(Compression::Zlib, &unhex("1f8b0800000000000003"), 1000).is_err(), "gzip is not zlib");
}

#[test]
fn frames_one_after_the_other_are_one_body() {
    for compression in [Compression::Lz4, Compression::Zstd] {
        let two = [packed(compression, b"one "), packed(compression, b"two")].concat();
        assert_eq!(inflate(compression, &two, 7).unwrap(), b"one two");
        assert_eq!(inflate(compression, &two, 6), Err(InflateError::TooLarge { limit: 6 }));
        let mut trailing = packed(compression, b"one");
        trailing.extend_from_slice(b"tail");
        assert_eq!(inflate(compression, &trailing, 100), Err(InflateError::Corrupt(compression)));
    }
    // zlib streams say where they end, and Java ignores what follows.
    let mut trailing = packed(Compression::Zlib, b"one");
    trailing.extend_from_slice(b"tail");
    assert_eq!(inflate(Compression::Zlib, &trailing, 100).unwrap(), b"one");
}

#[test]
fn windows_and_dictionaries_are_refused() {
    // A ZSTD frame header with a window of 16 MiB, then one that names dictionary 1.
    assert_eq!(inflate(Compression::Zstd, &unhex("28b52ffd0070010000"), 100), Err(InflateError::WindowTooLarge));
    assert_eq!(inflate(Compression::Zstd, &unhex("28b52ffd010001010000"), 100), Err(InflateError::NeedsDictionary));
    // An LZ4 descriptor and a zlib header with the dictionary bit; the zlib library does not tell it from damage.
    assert!(inflate(Compression::Zlib, &unhex("78bb00000001"), 100).is_err());
    assert_eq!(inflate(Compression::Lz4, &unhex("04224d18617000000000"), 100), Err(InflateError::NeedsDictionary));
}

/// An LZ4 frame with this descriptor, whose check byte is computed by trial, and these bytes after it.
fn lz4_frame(descriptor: &str, rest: &str) -> Vec<u8> {
    let frame = |check: u8| [unhex("04224d18"), unhex(descriptor), vec![check], unhex(rest)].concat();
    (0..=u8::MAX)
        .map(frame)
        .find(|frame| inflate(Compression::Lz4, frame, 1000) != Err(InflateError::Corrupt(Compression::Lz4)))
        .unwrap_or_else(|| frame(0))
}

#[test]
fn lz4_frames_of_other_writers() {
    // Linked blocks: the second refers to the first. "abcdefgh" stored, then 8 bytes from 8 back and 5 literals.
    let linked =
        lz4_frame("4040", "080000806162636465666768 09000000 04 0800 50 3132333435 00000000".replace(' ', "").as_str());
    assert_eq!(inflate(Compression::Lz4, &linked, 1000).unwrap(), b"abcdefghabcdefgh12345");
    // The same blocks called independent refer to nothing.
    let broken =
        lz4_frame("6040", "080000806162636465666768 09000000 04 0800 50 3132333435 00000000".replace(' ', "").as_str());
    assert_eq!(inflate(Compression::Lz4, &broken, 1000), Err(InflateError::Corrupt(Compression::Lz4)));
    // A content size that is right, then one that is not.
    let sized = lz4_frame("68400300000000000000", "0300008061626300000000");
    assert_eq!(inflate(Compression::Lz4, &sized, 1000).unwrap(), b"abc");
    let wrong = lz4_frame("68400400000000000000", "0300008061626300000000");
    assert!(inflate(Compression::Lz4, &wrong, 1000).is_err());
    // Checksums of block and content: xxHash32 of "abc" is 32d153ff.
    let summed = lz4_frame("7440", "03000080616263ff53d13200000000ff53d132");
    assert_eq!(inflate(Compression::Lz4, &summed, 1000).unwrap(), b"abc");
    let wrong = lz4_frame("7440", "03000080616263ff53d13200000000ff53d133");
    assert!(inflate(Compression::Lz4, &wrong, 1000).is_err());
    // A skippable frame in front, and alone.
    let skipped = [unhex("5f2a4d1802000000ffff"), packed(Compression::Lz4, b"abc")].concat();
    assert_eq!(inflate(Compression::Lz4, &skipped, 1000).unwrap(), b"abc");
    // The legacy format is another one.
    assert!(inflate(Compression::Lz4, &unhex("02214c1800000000"), 1000).is_err());
}

#[test]
fn messages_are_inflated_by_their_system_flag() {
    for compression in ALL {
        let body = packed(compression, b"what the producer sent");
        let message = message(SysFlag(0x8).with_compression(compression), &body);
        let plain = plain_body(&message, 100).unwrap();
        assert_eq!(plain, "what the producer sent");
        assert_eq!(message.with_body(plain).compression(), Ok(None));
    }
    // Type 0 with the compressed bit is zlib, as senders before 4.9.4 write it.
    let old = message(SysFlag(SysFlag::COMPRESSED), &packed(Compression::Zlib, b"old"));
    assert_eq!(plain_body(&old, 100).unwrap(), "old");
    assert_eq!(plain_body(&old, 2), Err(InflateError::TooLarge { limit: 2 }));
    let plain = message(SysFlag(0x300), b"never compressed");
    assert_eq!(plain_body(&plain, 1).unwrap().as_ptr(), plain.body_bytes().as_ptr());
    assert_eq!(plain_body(&message(SysFlag(0x701), b"raw"), 100), Err(InflateError::UnknownCodec));
}

#[test]
fn kept_state_carries_nothing_over() {
    let mut codecs = Codecs::new(Level::new(3));
    let large = noise(300_000);
    let bodies: [&[u8]; 4] = [b"first", b"", &large, b"second body, second body"];
    for _ in 0..2 {
        for compression in ALL {
            for body in bodies {
                let packed = codecs.compress(compression, body).unwrap();
                assert_eq!(codecs.inflate(compression, &packed, body.len()).as_deref(), Ok(body), "{compression:?}");
                // What fails in the middle must not spoil the next body.
                assert!(codecs.inflate(compression, &packed[..packed.len() - 1], 1 << 20).is_err());
                assert!(body.is_empty() || codecs.inflate(compression, &packed, body.len() - 1).is_err());
            }
        }
    }
}

#[test]
fn slack_is_given_back() {
    let mut out = Vec::with_capacity(1000);
    out.push(1);
    assert!(without_slack(out).capacity() < 1000);
}

fn message(sys_flag: SysFlag, body: &[u8]) -> StoredMessage {
    let record = StoredRecord {
        version: RecordVersion::V1,
        queue_id: 0,
        flag: 0,
        queue_offset: 0,
        commit_log_offset: 0,
        sys_flag,
        born_timestamp: 0,
        born_host: ([127, 0, 0, 1], 1).into(),
        store_timestamp: 0,
        store_host: ([127, 0, 0, 1], 2).into(),
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body,
        topic: "t",
        properties: b"",
    };
    let mut out = Vec::new();
    record.encode(&mut out).unwrap();
    StoredMessage::decode(out.into()).unwrap()
}

fn codec() -> impl Strategy<Value = Compression> {
    prop_oneof![Just(Compression::Zlib), Just(Compression::Lz4), Just(Compression::Zstd)]
}

proptest! {
    #[test]
    fn what_is_compressed_is_inflated(compression in codec(), body in proptest::collection::vec(0_u8..4, 0..3000)) {
        prop_assert_eq!(inflate(compression, &packed(compression, &body), body.len()), Ok(body));
    }

    #[test]
    fn any_bytes_are_refused_or_inflated_within_the_limit(
        compression in codec(), prefix in any::<bool>(), noise in proptest::collection::vec(any::<u8>(), 0..200), limit in 0_usize..5000,
    ) {
        let start = if prefix { packed(compression, &[b'p'; 300]) } else { Vec::new() };
        let body = [&start[..start.len().saturating_sub(noise.len() % 8)], &noise].concat();
        if let Ok(inflated) = inflate(compression, &body, limit) {
            prop_assert!(inflated.len() <= limit);
        }
    }

    #[test]
    fn a_flipped_bit_never_panics(compression in codec(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut body = packed(compression, &noise(300));
        let at = at.index(body.len());
        body[at] ^= 1 << bit;
        let _ = inflate(compression, &body, 10_000);
    }
}
