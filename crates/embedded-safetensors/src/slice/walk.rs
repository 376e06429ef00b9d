//! A place in a slice, and the runs from there on.

use super::plan::{Nest, SlicePlan};
use crate::dtype::Dtype;
use crate::shape::MAX_RANK;
use core::iter::FusedIterator;
use core::ops::Range;

/// Elements of a slice that lie beside each other in the tensor.
///
/// *Memory*: 16 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Run {
    /// The first one, counted in elements of the tensor.
    pub first: u64,
    /// How many, at least one: as many as in all runs of the slice.
    pub elements: u64,
}

/// The runs of a [`SlicePlan`], made one by one.
///
/// *Memory*: 232 bytes, whatever the number of runs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Runs {
    nest: Nest,
    walk: Walk,
}

/// The same runs as ranges of bytes, counted from the tensor's first byte.
///
/// *Memory*: 240 bytes, whatever the number of runs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ByteRuns {
    runs: Runs,
    dtype: Dtype,
}

/// A place in a slice: an element of it, or its end.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Walk {
    /// The element of the tensor that comes next; behind the last one, the end of its run.
    pub(crate) at: u64,
    /// How many elements of its run are left.
    pub(crate) run_left: u64,
    /// How many of the slice.
    pub(crate) left: u64,
    /// How many times of each loop.
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
        // Neither can wrap: the tensor's bits were counted.
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

    /// Goes on behind so many elements of the run, and at its end to the next one.
    #[inline]
    pub(crate) fn advance(&mut self, nest: &Nest, elements: u64) {
        self.at += elements;
        self.run_left -= elements;
        self.left -= elements;
        if self.run_left == 0 && self.left > 0 {
            self.cross_gap(nest);
        }
    }

    /// How many elements lie between this run and the next one.
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
