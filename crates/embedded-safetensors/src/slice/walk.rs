//! A position in a slice, and the runs from there on.

use super::plan::{Nest, SlicePlan};
use crate::dtype::Dtype;
use crate::shape::MAX_RANK;
use core::iter::FusedIterator;
use core::ops::Range;

/// Elements of a slice that are contiguous in the tensor.
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Run {
    /// The first element, counted in elements of the tensor.
    pub first: u64,
    /// How many elements, at least one. All runs of a slice have the same length.
    pub elements: u64,
}

/// An iterator over the runs of a [`SlicePlan`].
///
/// *Memory*: 232 bytes, whatever the number of runs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Runs {
    nest: Nest,
    walk: Walk,
}

/// An iterator over the same runs as byte ranges, counted from the tensor's first byte.
///
/// *Memory*: 240 bytes, whatever the number of runs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ByteRuns {
    runs: Runs,
    dtype: Dtype,
}

/// A position in a slice: one of its elements, or its end.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Walk {
    /// The next element of the tensor; after the last one, the end of its run.
    pub(crate) at: u64,
    /// How many elements of the run are left.
    pub(crate) run_left: u64,
    /// How many elements of the slice are left.
    pub(crate) left: u64,
    /// How many repetitions of each loop are left.
    loops_left: [u64; MAX_RANK],
}

impl Runs {
    pub(crate) const fn new(plan: &SlicePlan) -> Self {
        Self { nest: *plan.nest(), walk: plan.walk() }
    }
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let Walk { at: first, run_left: elements, .. } = self.walk;
        self.walk.advance(&self.nest, elements);
        if elements > 0 { Some(Run { first, elements }) } else { None }
    }
}

impl FusedIterator for Runs {}

impl ByteRuns {
    pub(crate) const fn new(plan: &SlicePlan) -> Self {
        Self { runs: Runs::new(plan), dtype: plan.dtype() }
    }
}

impl Iterator for ByteRuns {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        // Neither can wrap: the number of the tensor's bits fits 64 bits.
        let bytes = |elements: u64| elements.wrapping_mul(self.dtype.bits().into()) >> 3;
        let Run { first, elements } = self.runs.next()?;
        Some(bytes(first)..bytes(first + elements))
    }
}

impl FusedIterator for ByteRuns {}

impl Walk {
    pub(crate) const fn new(nest: &Nest, elements: u64) -> Self {
        let mut loops_left = [0; MAX_RANK];
        let (mut to, mut from): (&mut [u64], &[_]) = (&mut loops_left, &nest.loops);
        while let ([left, to_rest @ ..], [of, from_rest @ ..]) = (to, from) {
            *left = of.count - 1;
            (to, from) = (to_rest, from_rest);
        }
        Self { at: nest.first, run_left: nest.run, left: elements, loops_left }
    }

    /// Advances by this many elements of the run, and at its end to the next run.
    #[inline]
    pub(crate) fn advance(&mut self, nest: &Nest, elements: u64) {
        self.at += elements;
        self.run_left -= elements;
        self.left -= elements;
        if self.run_left == 0 && self.left > 0 {
            self.cross_gap(nest);
        }
    }

    /// How many elements are between this run and the next one.
    pub(crate) fn gap_ahead(&self, nest: &Nest) -> u64 {
        let mut loops = nest.loops.iter().zip(&self.loops_left);
        loops.find_map(|(of, left)| (*left > 0).then_some(of.gap)).unwrap_or(u64::MAX)
    }

    #[inline]
    fn cross_gap(&mut self, nest: &Nest) {
        self.run_left = nest.run;
        for (of, left) in nest.loops.iter().zip(&mut self.loops_left) {
            if *left > 0 {
                *left -= 1;
                self.at += of.gap;
                return;
            }
            *left = of.count - 1;
        }
    }
}
