//! A quantised matrix whose tensors match: where its rows are.

use crate::{blocks, low_usize};
use core::ops::Range;
use embedded_safetensors::{Dtype, Error, ErrorKind};

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
    /// Floats of 4 bits, with a scale for each 16 values of a row, which is multiplied by that of the matrix.
    Nvfp4,
    /// The same, but scales are divided by that of the matrix.
    Nvfp4Packed,
    /// Floats of 8 bits, with a scale for each block of 128 rows and 128 columns.
    Fp8,
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
    /// Floats of 8 bits.
    WideFloats,
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
    pub(crate) scheme: Scheme,
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
    /// The zero points, or the global scale.
    pub(crate) third: Option<Table>,
}

/// Where the scales and zero points are when a row is read: `()` stands for the storage, `&[u8]` for memory.
/// Sealed: no other type implements it.
pub trait Scales: sealed::Scales {}

impl<M: sealed::Scales> Scales for M {}

mod sealed {
    pub trait Scales {
        /// Those of all rows as they are in the file, first the scales, if they are in memory.
        fn memory(&self) -> Option<&[u8]>;
    }

    impl Scales for () {
        fn memory(&self) -> Option<&[u8]> {
            None
        }
    }

    impl Scales for &[u8] {
        fn memory(&self) -> Option<&[u8]> {
            Some(self)
        }
    }
}

impl Scheme {
    /// Whether the third tensor is a global scale.
    pub(crate) const fn has_global_scale(self) -> bool {
        matches!(self, Self::Nvfp4 | Self::Nvfp4Packed)
    }

    /// Returns the logarithm of the number of rows that share their scales.
    pub(crate) const fn row_shift(self) -> u32 {
        if matches!(self, Self::Fp8) { 7 } else { 0 }
    }
}

impl Format {
    pub(crate) const fn of(scheme: Scheme, weights: Dtype) -> Self {
        match (scheme, weights) {
            (Scheme::Q8, Dtype::I8) => Self::Signed,
            (Scheme::Q8, _) => Self::Unsigned,
            (Scheme::Q4, _) => Self::Narrow,
            (Scheme::Fp8, _) => Self::WideFloats,
            _ => Self::Floats,
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
    #[inline(always)]
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

    /// Returns the offset in the file of the scale of a group of a row.
    pub(crate) const fn scale_at(&self, row: u64, group: u64) -> u64 {
        let row = row >> self.scheme.row_shift();
        self.scales.row(row).wrapping_add(group.wrapping_mul(self.scale_len() as u64))
    }

    /// Returns how many bytes all scales take.
    pub(crate) const fn scales_len(&self) -> u64 {
        self.len_of(self.scales, blocks(self.rows, self.scheme.row_shift()), self.scale_len() as u64)
    }

    /// Returns how many bytes all zero points take, or the global scale.
    pub(crate) const fn third_len(&self) -> u64 {
        match self.third {
            Some(_) if self.scheme.has_global_scale() => size_of::<f32>() as u64,
            Some(zeros) => self.len_of(zeros, self.rows, 1),
            None => 0,
        }
    }

    /// Returns how many bytes a table with these rows and elements of this length has. It is a tensor, so
    /// nothing can wrap.
    const fn len_of(&self, table: Table, rows: u64, element: u64) -> u64 {
        match table.row_len {
            0 => self.groups.wrapping_mul(element),
            row_len => rows.wrapping_mul(row_len),
        }
    }

    /// Splits the memory for the scales and the third tensor.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when they do not fit.
    pub(crate) fn split<'m>(&self, memory: &'m mut [u8]) -> Result<(&'m mut [u8], &'m mut [u8]), Error> {
        let (needed, capacity) = (self.scales_len() + self.third_len(), memory.len() as u64);
        let front = memory.get_mut(..low_usize(needed)).filter(|_| needed <= capacity);
        front
            .and_then(|front| front.split_at_mut_checked(low_usize(self.scales_len())))
            .ok_or(ErrorKind::BufferLength { needed, capacity }.at(self.scales.start))
    }

    /// Returns how many bytes a scale has.
    pub(crate) const fn scale_len(&self) -> usize {
        (self.scale.bits() >> 3) as usize
    }
}
