//! Updates of models: faults at every write and erasure, hostile offers, and signatures. Firmware runs some
//! of the faults, too.
#![allow(missing_docs, clippy::cast_possible_truncation)]

mod device;
mod hostile;
#[allow(dead_code)] // some of it is for the tests of the core
mod nor;
#[cfg(feature = "ed25519")]
mod signatures;

/// `PROVE` says for how many times five seeds; without it there are some thousand cases.
#[test]
fn no_fault_loses_a_model() {
    let seeds = std::env::var("PROVE").ok().map(|seeds| 5 * seeds.parse::<u64>().expect("a number"));
    let runs = device::sweep(0..seeds.unwrap_or(1), if seeds.is_some() { 1 } else { 8 });
    println!("{runs} runs");
    assert!(runs > 2000);
}
