//! Measures the cases that tell most, and first opens of processes, in about a minute, for `cargo xtask measure speed`, which makes ratios of what
//! this prints: an object on a line for each case, with what it is, how many `bytes` or `tensors` each call works on, and the nanoseconds that a
//! call takes each of the contenders.
//!
//! The machine may be busy with other things. These only ever make a call slower, so the best time of many short rounds counts, of the processor's time, and
//! all contenders take turns in each round.
//!
//! Words behind the name of the program are the beginnings of the cases to be measured.

use std::time::Duration;

mod cases;
mod clock;
mod cold;
mod one_tensor;
mod vector;
mod vector_by_reference;

use cases::{Amount, Case, Contender, Measure, measure_all};
use clock::Start;

/// How long each contender of a case is measured, if that is enough for some rounds.
const TIME: Duration = Duration::from_millis(100);
const FEWEST_ROUNDS: usize = 5;

/// Shorter times than this are not measured but as many calls as take so long.
const ROUND: Duration = Duration::from_micros(100);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match cold::Door::asked_for(&words) {
        Some((door, path)) => println!("{}", door.open(path).as_nanos()),
        None => {
            let mut quick = Quick { wanted: words };
            measure_all(&mut quick);
            cold::measure(&quick);
        }
    }
}

struct Quick {
    /// All where there is none.
    wanted: Vec<String>,
}

impl Measure for Quick {
    fn is_thorough(&self) -> bool {
        false
    }

    fn wants(&self, what: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| what.starts_with(wanted))
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

/// One line, with the nanoseconds of a call of each.
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
    /// Finds out how many calls make a round. The first call finds caches as nobody else does.
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
