//! Golden records, damaged at random, through the fuzz bodies: whatever a peer sends, no record reaches beyond its
//! fence, hides a neighbour or panics.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use rocketry_codec::message::{Messages, StoredMessage};
use rocketry_compress::plain_body;
use rocketry_testkit::fuzz;
use rocketry_testkit::vectors::{hex, load};

/// The records of Java, each by itself.
fn records() -> Vec<Vec<u8>> {
    load("messages.jsonl").iter().map(|line| hex(&line["bytes"])).collect()
}

/// A few records one after the other, with some bytes overwritten.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let records = records();
    let some = proptest::collection::vec(proptest::sample::select(records), 1..4);
    let hits = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (some, hits, any::<prop::sample::Index>()).prop_map(|(some, hits, cut)| {
        let mut body = some.concat();
        for (at, value) in hits {
            let at = at.index(body.len());
            body[at] = value;
        }
        // Most bodies keep their end.
        let keep = cut.index(body.len() * 4);
        body.truncate(keep.max(1));
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_records(body in damaged()) {
        fuzz::message_batch(&body);
    }

    #[test]
    fn damaged_bodies_are_inflated_within_the_limit_or_refused(body in damaged(), limit in 0_usize..2000) {
        for message in Messages::new(body.into()).flatten() {
            if let Ok(plain) = plain_body(&message, limit) {
                prop_assert!(plain.len() <= limit || message.compression() == Ok(None));
            }
        }
    }

    #[test]
    fn property_bytes(bytes in proptest::collection::vec(prop_oneof![Just(1_u8), Just(2), any::<u8>()], 0..300)) {
        fuzz::properties(&bytes);
    }
}

#[test]
fn every_cut_of_a_record_leaves_its_neighbour() {
    let records = records();
    let (Some(first), Some(second)) = (records.first(), records.last()) else { panic!("no records") };
    for len in 4..first.len() {
        let mut cut = first[..len].to_vec();
        cut[..4].copy_from_slice(&u32::try_from(len).expect("a short record").to_be_bytes());
        let walked: Vec<_> = Messages::new([cut, second.clone()].concat().into()).collect();
        assert_eq!(walked.len(), 2);
        assert!(walked[0].is_err(), "cut to {len}");
        let whole = StoredMessage::decode(second.clone().into()).expect("a message of Java");
        assert_eq!(walked[1].as_ref().map(StoredMessage::offset_id).ok(), Some(whole.offset_id()));
    }
}
