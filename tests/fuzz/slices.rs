//! Any numbers as tensors, and slices of them, from every kind of source: bytes and values are those of a
//! naive model.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::slices(&mut support::random::Random::of(input)));
