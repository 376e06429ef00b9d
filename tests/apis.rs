//! Reads one file through every API: all give the verdict of full validation, and the same tensors, metadata
//! and bytes.
//!
//! `cargo xtask fuzz` does the same with generated files.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use support::random::Random;
use support::share::{self, Half};
use support::{apis, headers};

/// Longer files test nothing that shorter ones do not, and every API reads them.
const LONGEST: usize = 100_000;
const CASES: u64 = 10_000;

halves! { every_api_agrees_on_every_vector }

fn every_api_agrees_on_every_vector(half: Half) {
    let random = RefCell::new(Random::new(share::seed()));
    half.each(LONGEST, |_, file| catch_panic(|| apis::compare(file, &mut random.borrow_mut())));
}

#[test]
fn every_api_agrees_on_random_files() {
    let seed = share::seed();
    for case in 0..share::of(CASES) {
        let mut random = Random::new(Random::new(seed.wrapping_add(case)).number());
        let file = headers::file(&mut random);
        let outcome = catch_panic(|| apis::compare_quickly(&file, &mut random));
        let start = &file[..file.len().min(2000)];
        assert!(outcome.is_ok(), "seed {seed}, case {case}: {outcome:?}\n{}", start.escape_ascii());
    }
}

/// The panic message itself goes to standard error.
fn catch_panic(compare: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(compare))
        .unwrap_or_else(|_| Err("an API returns something else".to_owned()))
}
