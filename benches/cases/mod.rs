//! What is measured, and beside what. How it is measured is the business of those who run it: `quick.rs` and `thorough.rs`.

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

/// One of those who do the same work: `ours`, the `reference`, or a floor, which is less work than anybody can do with and
/// bears the name of it.
pub struct Contender<'a> {
    pub name: &'static str,
    pub work: Box<dyn FnMut() + 'a>,
}

/// What the work comes to is kept from the compiler, which would else leave it undone.
pub fn contender<'a, T>(name: &'static str, mut work: impl FnMut() -> T + 'a) -> Contender<'a> {
    Contender { name, work: Box::new(move || drop::<T>(black_box(work()))) }
}

pub fn ours<'a, T>(work: impl FnMut() -> T + 'a) -> Contender<'a> {
    contender("ours", work)
}

pub fn reference<'a, T>(work: impl FnMut() -> T + 'a) -> Contender<'a> {
    contender("reference", work)
}

/// A number of bytes or tensors, and what a case is called.
pub struct Case {
    pub what: String,
    /// What each call works on.
    pub amount: Amount,
}

#[derive(Clone, Copy)]
pub enum Amount {
    Bytes(usize),
    Tensors(usize),
}

/// Those who measure.
pub trait Measure {
    /// Whether all sizes are wanted, or those that tell most.
    fn is_thorough(&self) -> bool;

    /// Whether the case of this name is to be measured. If not, nothing has to be made for it.
    fn wants(&self, what: &str) -> bool;

    /// Measures contenders that do the same work.
    fn measure(&mut self, case: Case, contenders: Vec<Contender<'_>>);
}

/// Every case there is.
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

/// How many bytes, for people.
pub fn size(bytes: usize) -> String {
    match bytes {
        usize::MAX => "whole".to_owned(),
        _ if bytes >= MIB && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ if bytes >= KIB && bytes.is_multiple_of(KIB) => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} B"),
    }
}
