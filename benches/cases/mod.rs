//! The benchmark cases and their contenders.

mod check;
mod elements;
pub mod files;
pub mod headers;
mod index;
mod iterate;
mod lookup;
mod map;
mod slices;
mod stream;
mod write;

use criterion::{Criterion, Throughput};
use std::hint::black_box;
use std::time::Duration;

pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;

/// Short, because there are so many cases.
const TIME: Duration = Duration::from_secs(1);

/// One of several implementations of the same work: `ours`, the `reference`, or a floor, which is less work
/// than any implementation can do and is named after it.
pub struct Contender<'a> {
    pub name: &'static str,
    pub work: Box<dyn FnMut() + 'a>,
}

/// Creates a contender. Its result goes through `black_box`, so that the compiler does not remove the work.
pub fn contender<'a, T>(name: &'static str, mut work: impl FnMut() -> T + 'a) -> Contender<'a> {
    Contender { name, work: Box::new(move || drop::<T>(black_box(work()))) }
}

pub fn ours<'a, T>(work: impl FnMut() -> T + 'a) -> Contender<'a> {
    contender("ours", work)
}

pub fn reference<'a, T>(work: impl FnMut() -> T + 'a) -> Contender<'a> {
    contender("reference", work)
}

/// The name of a case, and the number of bytes or tensors.
pub struct Case {
    pub what: String,
    /// The amount of work of a call.
    pub amount: Amount,
}

#[derive(Clone, Copy)]
pub enum Amount {
    Bytes(usize),
    Tensors(usize),
}

pub struct Bench {
    criterion: Criterion,
    /// A part of the names of the cases to prepare. Criterion decides which of these are measured.
    wanted: Option<String>,
}

impl Bench {
    pub fn new() -> Self {
        let criterion = Criterion::default().warm_up_time(TIME / 4).measurement_time(TIME).sample_size(20);
        let wanted = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
        Self { criterion: criterion.configure_from_args(), wanted }
    }

    pub fn measure_all(mut self) {
        for group in [
            check::measure,
            index::measure,
            lookup::measure,
            iterate::measure,
            stream::measure,
            map::measure,
            elements::measure,
            slices::measure,
            write::measure,
        ] {
            group(&mut self);
        }
        self.criterion.final_summary();
    }

    /// Whether to measure the case of this name. If not, nothing has to be prepared for it.
    pub fn wants(&self, what: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| what.contains(wanted))
    }

    /// Measures contenders that do the same work.
    pub fn measure(&mut self, case: Case, contenders: Vec<Contender<'_>>) {
        let mut group = self.criterion.benchmark_group(case.what);
        group.throughput(match case.amount {
            Amount::Bytes(bytes) => Throughput::Bytes(bytes as u64),
            Amount::Tensors(tensors) => Throughput::Elements(tensors as u64),
        });
        for Contender { name, mut work } in contenders {
            group.bench_function(name, |bencher| bencher.iter(&mut work));
        }
    }
}

/// Formats a number of bytes.
pub fn size(bytes: usize) -> String {
    match bytes {
        usize::MAX => "whole".to_owned(),
        _ if bytes >= MIB && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ if bytes >= KIB && bytes.is_multiple_of(KIB) => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} B"),
    }
}
