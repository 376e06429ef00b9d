//! Any numbers as models that are written, edited, joined and saved: the files are those that the reference
//! would write.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::files(&mut support::random::Random::of(input)));
