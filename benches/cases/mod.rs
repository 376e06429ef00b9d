//! The benchmark cases and their contenders. `quick.rs` and `thorough.rs` measure them.

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
mod vector;
mod write;

use std::hint::black_box;

pub const KIB: usize = 1 << 10;
pub const MIB: usize = 1 << 20;

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

/// A way to measure.
pub trait Measure {
    /// Whether to measure all sizes, or only the quick run's.
    fn is_thorough(&self) -> bool;

    /// Whether to measure the case of this name. If not, nothing has to be prepared for it.
    fn wants(&self, what: &str) -> bool;

    /// Measures contenders that do the same work.
    fn measure(&mut self, case: Case, contenders: Vec<Contender<'_>>);
}

/// Measures all cases.
pub fn measure_all(measure: &mut dyn Measure) {
    for group in [
        check::measure,
        index::measure,
        lookup::measure,
        iterate::measure,
        stream::measure,
        map::measure,
        elements::measure,
        slices::measure,
        vector::measure,
        write::measure,
    ] {
        group(measure);
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
