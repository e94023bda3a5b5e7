use super::*;
use alloc::string::ToString;
use proptest::prelude::*;
use std::collections::HashSet;
use std::vec::Vec;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn offset_id_of_the_specification() {
    let id = OffsetId { host: SocketAddr::from(([10, 9, 8, 7], 10911)), offset: 0x1234 };
    assert_eq!(id.to_string(), "0A09080700002A9F0000000000001234");
    assert_eq!("0a09080700002a9f0000000000001234".parse(), Ok(id));
    let text = "20010DB800000000000000000000000200002A9F0000000000001234";
    let id: OffsetId = text.parse().unwrap();
    assert_eq!(id.host.to_string(), "[2001:db8::2]:10911");
    assert_eq!(id.to_string(), text);
}

#[test]
fn ids_of_a_wrong_length_or_alphabet_are_refused() {
    for text in ["", "0A", "0A09080700002A9F000000000000123", "0A09080700002A9F000000000000123G", "é"] {
        assert!(text.parse::<OffsetId>().is_err(), "{text}");
        assert!(text.parse::<UniqueId>().is_err(), "{text}");
    }
    assert!("0A09080700012A9F0000000000001234".parse::<OffsetId>().is_err(), "port above 65535");
}

#[test]
fn months_begin_where_the_calendar_says() {
    // 2024-02-01, 2024-03-01 (leap year), 2023-12-01, 2024-01-01, in UTC.
    assert_eq!(month_bounds_ms(1_709_164_800_000, 0), (1_706_745_600_000, 1_709_251_200_000));
    assert_eq!(month_bounds_ms(1_704_067_199_999, 0), (1_701_388_800_000, 1_704_067_200_000));
    assert_eq!(month_bounds_ms(1_704_067_200_000, 0).0, 1_704_067_200_000);
    // Eight hours east, January begins eight hours earlier.
    assert_eq!(month_bounds_ms(1_704_067_200_000, 28_800).0, 1_704_067_200_000 - 28_800_000);
    assert_eq!(month_bounds_ms(0, 0), (0, 31 * DAY_MS));
    assert_eq!(month_bounds_ms(-1, 0), (-31 * DAY_MS, 0));
}

#[test]
fn ids_carry_their_parts() {
    let mut generator = UniqueIdGenerator::new(LOOPBACK, 0x0012_3830, 0x5FFD_2B27, 0);
    let now = 1_704_067_200_000 + 0x0112_A1D3;
    generator.counter = 0x5F;
    let id = generator.next_id(now);
    assert_eq!(id.to_string(), "7F00000138305FFD2B270112A1D3005F");
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(id.nearly_time_ms(now + 5, 0), now);
    // A reader in the next month, before the id's moment in it, takes it for last month's.
    assert_eq!(id.nearly_time_ms(1_706_745_600_000 + 1, 0), now);
}

#[test]
fn the_end_of_a_long_month_does_not_overflow() {
    let mut generator = UniqueIdGenerator::new(LOOPBACK, 1, 1, 0);
    let now = 1_704_067_200_000 + 30 * DAY_MS;
    assert_eq!(generator.next_id(now).month_millis, 2_592_000_000);
}

#[test]
fn a_million_ids_of_sixteen_generators_and_two_containers_are_distinct() {
    let mut seen = HashSet::new();
    // Sixteen producers of one process and two processes with the same address and process id: salts differ.
    for salt in 0..18 {
        let mut generator = UniqueIdGenerator::new(LOOPBACK, 7, salt, 0);
        for index in 0..60_000_i64 {
            assert!(seen.insert(generator.next_id(1_700_000_000_000 + index / 1000)));
        }
    }
}

#[test]
fn a_clock_that_stands_still_or_steps_back_repeats_nothing() {
    let mut generator = UniqueIdGenerator::new(LOOPBACK, 7, 1, 0);
    let start = 1_704_067_200_000;
    let mut seen = HashSet::new();
    for now in [start, start - 3_600_000, start - 1] {
        for _ in 0..70_000 {
            assert!(seen.insert(generator.next_id(now)));
        }
    }
    // Stepping back over the start of a month must not fall into the old month's numbers either.
    assert!(seen.iter().all(|id| id.month_millis < 10));
    for now in 0..70_000 {
        assert!(seen.insert(generator.next_id(start - 70_000 + now)));
    }
}

#[test]
fn client_ids() {
    let id = ClientId { ip: LOOPBACK, instance: "DEFAULT", unit: None, stream: StreamRequests::Off };
    assert_eq!(id.to_string(), "127.0.0.1@DEFAULT");
    let id = ClientId { unit: Some("u"), stream: StreamRequests::On, ..id };
    assert_eq!(id.to_string(), "127.0.0.1@DEFAULT@u@STREAM");
    let id = ClientId { ip: IpAddr::V6(Ipv6Addr::LOCALHOST), unit: Some(" "), stream: StreamRequests::Off, ..id };
    assert_eq!(id.to_string(), "[::1]@DEFAULT");
    assert_eq!(instance_name(42, 7), "42#7");
}

#[test]
fn correlation_ids_are_version_4_uuids() {
    assert_eq!(correlation_id([0xFF; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    assert_eq!(correlation_id([0; 16]), "00000000-0000-4000-8000-000000000000");
    let bytes: [u8; 16] = core::array::from_fn(|index| u8::try_from(index).unwrap());
    assert_eq!(correlation_id(bytes), "00010203-0405-4607-8809-0a0b0c0d0e0f");
}

proptest! {
    #[test]
    fn offset_ids_round_trip(v6 in any::<bool>(), ip in any::<u128>(), port in any::<u16>(), offset in any::<i64>()) {
        let ip = if v6 { IpAddr::V6(ip.into()) } else { IpAddr::V4(Ipv4Addr::from((ip >> 96) as u32)) };
        let id = OffsetId { host: SocketAddr::new(ip, port), offset };
        prop_assert_eq!(id.to_string().len(), if v6 { 56 } else { 32 });
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn any_text_is_refused_or_read_exactly(text in "[0-9A-F]{0,60}|.{0,60}") {
        if let Ok(id) = text.parse::<UniqueId>() {
            prop_assert_eq!(id.to_string(), text.to_uppercase());
        }
    }

    #[test]
    fn every_moment_is_inside_its_month(ms in -4_000_000_000_000_i64..8_000_000_000_000, zone in -43_200..50_400_i32) {
        let (start, end) = month_bounds_ms(ms, zone);
        prop_assert!(start <= ms && ms < end);
        let days = (end - start) / DAY_MS;
        prop_assert!((28..=31).contains(&days) && (end - start) % DAY_MS == 0);
    }

    #[test]
    fn any_walk_of_the_clock_gives_distinct_ids(steps in proptest::collection::vec(-5_000_i64..5_000, 1..300)) {
        let mut generator = UniqueIdGenerator::new(LOOPBACK, 7, 1, 0);
        let mut now = 1_700_000_000_000_i64;
        let ids: Vec<UniqueId> = steps.iter().map(|step| { now += step; generator.next_id(now) }).collect();
        prop_assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }
}
