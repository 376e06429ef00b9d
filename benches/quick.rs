//! Measures the quick run's cases, and first opens in processes, in about a minute. `cargo xtask measure
//! speed` computes ratios from the output: a JSON object on a line for each case, with its name, the
//! `bytes` or `tensors` of a call, and the nanoseconds of a call for each contender.
//!
//! Other load can only make a call slower. So the best processor time of many short rounds counts, and all
//! contenders take turns in each round.
//!
//! Arguments select the cases whose names begin with them.

use std::time::Duration;

mod cases;
mod clock;
mod cold;
mod one_tensor;
mod vector;
mod vector_by_reference;

use cases::{Amount, Case, Contender, Measure, measure_all};
use clock::Start;

/// How long each contender of a case is measured, if there are enough rounds.
const TIME: Duration = Duration::from_millis(100);
const FEWEST_ROUNDS: usize = 5;

/// The shortest round; faster calls are repeated.
const ROUND: Duration = Duration::from_micros(100);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match cold::Api::from_words(&words) {
        Some((api, path)) => println!("{}", api.open(path).as_nanos()),
        None => {
            let mut quick = Quick { names: words };
            measure_all(&mut quick);
            cold::measure(&quick);
        }
    }
}

struct Quick {
    /// The beginnings of names; empty for all cases.
    names: Vec<String>,
}

impl Measure for Quick {
    fn is_thorough(&self) -> bool {
        false
    }

    fn wants(&self, what: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| what.starts_with(name))
    }

    fn measure(&mut self, case: Case, contenders: Vec<Contender<'_>>) {
        let mut timed: Vec<Timed<'_>> = contenders.into_iter().map(Timed::new).collect();
        while timed.iter().any(|timed| !timed.is_done()) {
            timed.iter_mut().filter(|timed| !timed.is_done()).for_each(Timed::round);
        }
        let times: Vec<_> = timed.iter().map(|timed| (timed.contender.name, timed.best)).collect();
        print(&case, &times);
    }
}

/// Prints a line with the nanoseconds of a call of each contender.
fn print(case: &Case, times: &[(&str, f64)]) {
    let (amount, number) = match case.amount {
        Amount::Bytes(bytes) => ("bytes", bytes as f64),
        Amount::Tensors(tensors) => ("tensors", tensors as f64),
    };
    println!("{}", serde_json::json!({ "what": case.what, amount: number, "times": times }));
}

/// A contender, and its best time for a call in nanoseconds.
struct Timed<'a> {
    contender: Contender<'a>,
    calls: u32,
    rounds: usize,
    time: Duration,
    best: f64,
}

impl<'a> Timed<'a> {
    /// Determines the number of calls in a round. The first call only warms the caches.
    fn new(contender: Contender<'a>) -> Self {
        let mut timed = Self { contender, calls: 1, rounds: 0, time: Duration::ZERO, best: f64::INFINITY };
        (timed.contender.work)();
        while timed.call() < ROUND {
            timed.calls *= 2;
        }
        timed
    }

    fn is_done(&self) -> bool {
        self.rounds >= FEWEST_ROUNDS && self.time >= TIME
    }

    fn round(&mut self) {
        let time = self.call();
        self.rounds += 1;
        self.time += time;
        self.best = self.best.min(time.as_secs_f64() * 1e9 / f64::from(self.calls));
    }

    fn call(&mut self) -> Duration {
        let start = Start::now();
        for _ in 0..self.calls {
            (self.contender.work)();
        }
        start.elapsed()
    }
}
