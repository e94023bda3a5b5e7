#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| rocketry_testkit::fuzz::sql_filter(data));
