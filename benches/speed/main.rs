//! How long the data path takes, against a plain copy of the same bytes in the same run: a quick measurement that
//! `cargo xtask test speed` judges. `cargo bench` has the thorough one.
//!
//! Prints a line for each case: what it is, then the nanoseconds of both, `ours=` and `copying=`, and `most=`, the most that
//! the one may be of the other, where there is a limit.

use std::time::{Duration, Instant};

mod reading;
mod writing;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// How often a measurement is made: the best one counts, for a machine is never faster than it is.
const ROUNDS: usize = 30;

fn main() {
    reading::measure();
    writing::measure();
}

/// The best times of so many calls of the one and of the other.
fn best_times(calls: usize, mut ours: impl FnMut(), mut copy: impl FnMut()) -> [Duration; 2] {
    let (mut best, mut best_copy) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        best_copy = best_copy.min(time(calls, &mut copy));
        best = best.min(time(calls, &mut ours));
    }
    [best, best_copy]
}

fn time(calls: usize, mut call: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed()
}

fn report(what: &str, times: [Duration; 2], most: Option<f64>) {
    let [ours, copying] = times.map(|time| time.as_nanos());
    let limit = most.map_or(String::new(), |most| format!(" most={most}"));
    println!("{what}: ours={ours} copying={copying}{limit}");
}
