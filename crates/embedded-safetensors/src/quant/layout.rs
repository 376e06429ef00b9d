//! A quantised matrix whose tensors match: where its rows are.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::util::bytes::low_usize;
use core::ops::Range;

/// The layout of a matrix: the constructor that was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) enum Scheme {
    /// Integers of 8 bits, with a scale for the matrix or for each row.
    Q8,
    /// Integers of 4 bits, with a scale for each group of a row.
    Q4,
    /// Floats of 4 bits, with a power of two for each 32 values of a row.
    Mxfp4,
}

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) enum Format {
    Signed,
    Unsigned,
    /// Integers of 4 bits, two a byte.
    Narrow,
    /// Floats of 4 bits, two a byte.
    Floats,
}

/// A tensor with as many bytes for each row.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Table {
    /// The offset of its first byte in the file.
    pub(crate) start: u64,
    /// How many bytes a row has; 0 if all rows share one element.
    pub(crate) row_len: u64,
}

/// Where everything is. The tensors match.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Layout {
    pub(crate) format: Format,
    /// The dtype of the scales.
    pub(crate) scale: Dtype,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// How many values of a row share a scale.
    pub(crate) group: u64,
    /// How many groups a row has.
    pub(crate) groups: u64,
    pub(crate) weights: Table,
    pub(crate) scales: Table,
    pub(crate) zeros: Option<Table>,
}

impl Format {
    pub(crate) const fn of(scheme: Scheme, weights: Dtype) -> Self {
        match (scheme, weights) {
            (Scheme::Q8, Dtype::I8) => Self::Signed,
            (Scheme::Q8, _) => Self::Unsigned,
            (Scheme::Q4, _) => Self::Narrow,
            (Scheme::Mxfp4, _) => Self::Floats,
        }
    }

    /// Whether values have 4 bits.
    pub(crate) const fn is_narrow(self) -> bool {
        matches!(self, Self::Narrow | Self::Floats)
    }

    /// Returns how many bytes this many values take.
    pub(crate) const fn bytes(self, values: usize) -> usize {
        if self.is_narrow() { values >> 1 } else { values }
    }
}

impl Table {
    /// Returns the offset of a row in the file. It is inside the tensor, so it cannot overflow.
    pub(crate) const fn row(self, row: u64) -> u64 {
        self.start.wrapping_add(self.row_len.wrapping_mul(row))
    }
}

impl Layout {
    /// Checks that there is such a row, and that it has as many values as the caller's slice.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`], [`ErrorKind::QuantLength`].
    pub(crate) fn check_row(&self, row: u64, given: usize) -> Result<(), Error> {
        let (given, needed) = (given as u64, self.columns);
        let kind = match () {
            () if row >= self.rows => ErrorKind::OutsideAxis { axis: 0, asked: row, size: self.rows },
            () if given != needed => ErrorKind::QuantLength { given, needed },
            () => return Ok(()),
        };
        Err(kind.at(self.weights.start))
    }

    /// Returns the part of the caller's buffer that a row of weights fills.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit.
    pub(crate) fn front(&self, buffer: &[u8]) -> Result<Range<usize>, Error> {
        let (needed, capacity) = (self.weights.row_len, buffer.len() as u64);
        if needed > capacity {
            return Err(ErrorKind::BufferLength { needed, capacity }.at(self.weights.start + capacity));
        }
        Ok(0..low_usize(needed))
    }

    /// Returns which bytes at the end of `values` a row of weights fills. Values are then filled from the
    /// front: each ends at or before the first weight that is not used yet.
    pub(crate) fn tail(&self, values: &[f32]) -> Range<usize> {
        let end = size_of_val(values);
        end.saturating_sub(low_usize(self.weights.row_len))..end
    }

    /// Returns how many bytes a scale has.
    pub(crate) const fn scale_len(&self) -> usize {
        (self.scale.bits() >> 3) as usize
    }
}
