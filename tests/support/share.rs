//! How much of what takes long a run does: all of it, or a part for a quick run.

/// One in so many, where `SUITE_SHARE` is set.
fn share() -> usize {
    std::env::var("SUITE_SHARE").map_or(1, |text| text.parse().expect("SUITE_SHARE is a number")).max(1)
}

/// Whether this run takes the case of this number: others with each `DIFFERENTIAL_SEED`.
pub fn takes(number: usize) -> bool {
    let share = share();
    let seed = std::env::var("DIFFERENTIAL_SEED").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    let first = usize::try_from(seed % share as u64).expect("less than the share");
    number % share == first
}

/// So many cases, or the share of them.
pub fn of(cases: u64) -> u64 {
    (cases / share() as u64).max(1)
}
