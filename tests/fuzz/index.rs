//! Any numbers as headers with similar names: their index is a map.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::index(&mut support::random::Random::of(input)));
