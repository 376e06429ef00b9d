//! How much of what takes long a run does: all of it, or a part for a quick run.

use std::sync::OnceLock;

/// One in so many, where `SUITE_SHARE` is set.
fn share() -> usize {
    static SHARE: OnceLock<usize> = OnceLock::new();
    let read =
        || std::env::var("SUITE_SHARE").map_or(1, |text| text.parse().expect("SUITE_SHARE is a number"));
    *SHARE.get_or_init(|| read().max(1))
}

/// `SUITE_SEED`: other random cases with each, and other parts of what is shared out.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    let read = || std::env::var("SUITE_SEED").map_or(0, |text| text.parse().expect("a number"));
    *SEED.get_or_init(read)
}

/// A small number that is another with each seed.
fn offset() -> usize {
    usize::try_from(seed() % (1 << 30)).expect("it is small")
}

/// Whether this run takes the case of this number.
pub fn takes(number: usize) -> bool {
    number % share() == offset() % share()
}

/// So many cases, or the share of them.
pub fn of(cases: u64) -> u64 {
    (cases / share() as u64).max(1)
}

/// The share of these cases, and at least one of them. Lists with other numbers give other parts of themselves.
pub fn part<T>(cases: impl IntoIterator<Item = T>, number: usize) -> impl Iterator<Item = T> {
    let cases: Vec<T> = cases.into_iter().collect();
    let step = share().min(cases.len()).max(1);
    cases.into_iter().skip((offset() + number) % step).step_by(step)
}
