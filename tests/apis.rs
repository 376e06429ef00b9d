//! One file through every API: they all give the verdict of the whole check, and the same tensors, metadata and bytes.
//!
//! `cargo xtask fuzz` does the same with files that a fuzzer makes up.

use std::panic::{AssertUnwindSafe, catch_unwind};

use support::random::Random;
use support::{apis, headers, share};

/// Of longer files nothing else can be said than of short ones, and every API reads them.
const LONGEST: usize = 100_000;
const CASES: u64 = 10_000;

#[test]
fn every_vector_is_the_same_to_every_api() {
    let manifest = vectors::load();
    let mut problems = Vec::new();
    let mut random = Random::new(share::seed());
    for vector in manifest.vectors.iter().filter(|vector| vector.length <= LONGEST) {
        let file = vector.bytes();
        if let Err(problem) = caught(|| apis::compare(&file, &mut random)) {
            problems.push(format!("{}: {problem}", vector.id));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_random_file_is_the_same_to_every_api() {
    let seed = share::seed();
    for case in 0..share::of(CASES) {
        let mut random = Random::new(Random::new(seed.wrapping_add(case)).number());
        let file = headers::file(&mut random);
        let outcome = caught(|| apis::compare_quickly(&file, &mut random));
        let start = &file[..file.len().min(2000)];
        assert!(outcome.is_ok(), "seed {seed}, case {case}: {outcome:?}\n{}", start.escape_ascii());
    }
}

/// What was said of it before a panic is on standard error.
fn caught(compare: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(compare)).unwrap_or_else(|_| Err("an API gives something else".to_owned()))
}
