//! Any numbers as files that arrive in any pieces, or are recorded, while calls of the storage fail and the
//! power may be cut at each; and as values that arrive.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::receivers(&mut support::random::Random::of(input)));
