//! The selection on one axis.

use crate::error::ErrorKind;
use crate::util::bytes::quotient;
use core::num::NonZero;
use core::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A selection on one axis: all of it, a range with or without a step, or one index.
///
/// Any range of `u64` converts to it: `(2..5).into()`, `(..=7).into()`, `AxisRange::from(1..).step_by(2)`.
/// Cast a `usize` with `as u64`. Conversions are not const; [`new`](Self::new),
/// [`starting_at`](Self::starting_at) and [`ALL`](Self::ALL) are.
///
/// A range keeps its axis; an [index](Self::index) drops it. As in numpy, a range that begins where the
/// axis ends is empty, and so is one that ends before it begins. A range that goes beyond the end is an
/// error, where numpy truncates it.
///
/// *Memory*: 32 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AxisRange {
    start: u64,
    end: End,
    step: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum End {
    Open,
    Before(u64),
    With(u64),
    /// A single index.
    Index,
}

/// The indices of an axis that are selected.
#[derive(Clone, Copy)]
pub(crate) struct Steps {
    pub(crate) first: u64,
    pub(crate) count: u64,
    /// The distance between indices; only meaningful if there are at least two.
    pub(crate) step: u64,
    pub(crate) keeps_axis: bool,
}

impl AxisRange {
    /// The complete axis, as `(..).into()`.
    pub const ALL: Self = Self { start: 0, end: End::Open, step: 1 };

    /// Creates the range `begin..end`. Unlike the conversion from a range, this is const.
    ///
    /// ```
    /// use embedded_safetensors::{Dtype, ErrorKind, slice::{AxisRange, SlicePlan}};
    ///
    /// /// The rows 100 to 199 of a matrix, and the columns from 64 on.
    /// const ROWS: Result<SlicePlan, ErrorKind> =
    ///     SlicePlan::new(Dtype::F16, &[300, 80], &[AxisRange::new(100, 200), AxisRange::starting_at(64)]);
    ///
    /// assert_eq!(ROWS?.shape().dims(), [100, 16]);
    /// # Ok::<(), ErrorKind>(())
    /// ```
    pub const fn new(begin: u64, end: u64) -> Self {
        Self { start: begin, end: End::Before(end), step: 1 }
    }

    /// Creates the range `begin..`. Unlike the conversion from a range, this is const.
    pub const fn starting_at(begin: u64) -> Self {
        Self { start: begin, ..Self::ALL }
    }

    /// Creates a selection of one index. The result has one axis less.
    pub const fn index(index: u64) -> Self {
        Self { start: index, end: End::Index, step: 1 }
    }

    /// Selects every `step`-th index of the range, starting with the first. It has no effect on a single
    /// index.
    ///
    /// A step of 0 is reported when the range is applied to an axis: [`ErrorKind::ZeroStep`].
    pub const fn step_by(self, step: u64) -> Self {
        Self { step, ..self }
    }

    /// Returns the selected indices of an axis of this size.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`], [`ErrorKind::ZeroStep`].
    pub(crate) const fn on(self, axis: u64, size: u64) -> Result<Steps, ErrorKind> {
        if let End::Index = self.end {
            let index = Steps { first: self.start, count: 1, step: 1, keeps_axis: false };
            return if self.start < size { Ok(index) } else { Err(outside(axis, self.start, size)) };
        }
        let Some(step) = NonZero::new(self.step) else {
            return Err(ErrorKind::ZeroStep { axis: in_byte(axis) });
        };
        match self.end_on(size) {
            Err(asked) => Err(outside(axis, asked, size)),
            Ok(end) => {
                let count = match end.checked_sub(self.start) {
                    None | Some(0) => 0,
                    Some(len) => quotient(len - 1, step) + 1,
                };
                Ok(Steps { first: self.start, count, step: self.step, keeps_axis: true })
            }
        }
    }

    /// Returns the end of the range, or as an error the first requested index that is out of range.
    const fn end_on(self, size: u64) -> Result<u64, u64> {
        match self.end {
            _ if self.start > size => Err(self.start),
            End::Before(end) if end > size => Err(end - 1),
            End::With(last) if last >= size => Err(last),
            End::Before(end) => Ok(end),
            End::With(last) => Ok(last + 1),
            End::Open | End::Index => Ok(size),
        }
    }
}

const fn outside(axis: u64, asked: u64, size: u64) -> ErrorKind {
    ErrorKind::OutsideAxis { axis: in_byte(axis), asked, size }
}

/// Axes after the 256th are all reported as 255.
const fn in_byte(axis: u64) -> u8 {
    let [low, ..] = axis.to_le_bytes();
    if axis > 255 { 255 } else { low }
}

impl From<RangeFull> for AxisRange {
    fn from(_: RangeFull) -> Self {
        Self::ALL
    }
}

impl From<Range<u64>> for AxisRange {
    fn from(range: Range<u64>) -> Self {
        Self::new(range.start, range.end)
    }
}

impl From<RangeFrom<u64>> for AxisRange {
    fn from(range: RangeFrom<u64>) -> Self {
        Self::starting_at(range.start)
    }
}

impl From<RangeTo<u64>> for AxisRange {
    fn from(range: RangeTo<u64>) -> Self {
        Self::new(0, range.end)
    }
}

impl From<RangeInclusive<u64>> for AxisRange {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self { start: *range.start(), end: End::With(*range.end()), step: 1 }
    }
}

impl From<RangeToInclusive<u64>> for AxisRange {
    fn from(range: RangeToInclusive<u64>) -> Self {
        Self::from(0..=range.end)
    }
}
