//! Contiguous elements: which are next, and at which byte of the file.

use super::region::sealed::{Block, Reach, Region, Run};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::span::Span;
use crate::util::bytes::{low_usize, touched_bytes};
use crate::values::convert::{bits_of_value, values_in, values_of_element};
use core::ops::Range;

/// Contiguous elements, all of a tensor or a range of its rows, and how far they have been read.
///
/// *Memory*: 40 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Contiguous {
    /// The tensor's first byte in the file.
    start: u64,
    dtype: Dtype,
    /// The first of these elements, counted from the tensor's first.
    first: u64,
    next: u64,
    end: u64,
}

/// A tensor as rows: a row has all elements with the same index of axis 0.
struct Matrix<'t> {
    tensor: &'t Span,
    /// How many elements a row has.
    row_len: u64,
    rows: u64,
}

impl Contiguous {
    fn new(tensor: &Span, first: u64, end: u64) -> Self {
        Self { start: tensor.start(), dtype: tensor.dtype(), first, next: first, end }
    }

    /// Returns all elements of a tensor.
    pub(crate) fn all(tensor: &Span) -> Self {
        Self::new(tensor, 0, values_in(tensor.dtype(), tensor.len()))
    }

    /// Returns one row of a tensor.
    ///
    /// # Errors
    /// As [`Matrix::new`]; [`ErrorKind::OutsideAxis`] when there is no such row.
    pub(crate) fn row(tensor: &Span, dims: &[u64], row: u64) -> Result<Self, Error> {
        let matrix = Matrix::new(tensor, dims)?;
        if row < matrix.rows { Ok(matrix.run(row, row + 1)) } else { Err(matrix.outside(row)) }
    }

    /// Returns the rows of this range; none if it ends before it begins.
    ///
    /// # Errors
    /// As [`Matrix::new`]; [`ErrorKind::OutsideAxis`] when it begins or ends beyond the last row.
    pub(crate) fn rows(tensor: &Span, dims: &[u64], rows: Range<u64>) -> Result<Self, Error> {
        let (matrix, Range { start, end }) = (Matrix::new(tensor, dims)?, rows);
        match start.max(end) <= matrix.rows {
            true => Ok(matrix.run(start, end.max(start))),
            false if start < end && start <= matrix.rows => Err(matrix.outside(end - 1)),
            false => Err(matrix.outside(start)),
        }
    }

    /// Continues at this element.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] beyond the end; the position is then unchanged.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), Error> {
        match position.checked_sub(self.count()) {
            None | Some(0) => self.next = self.first + position,
            Some(beyond) => return Err(self.outside(beyond)),
        }
        Ok(())
    }

    /// # Errors
    /// As [`seek`](Self::seek).
    pub(crate) fn skip(&mut self, elements: u64) -> Result<(), Error> {
        self.seek(self.next.wrapping_sub(self.first).saturating_add(elements))
    }

    /// Returns the byte in which an element begins, and how many bits of it belong to earlier elements. The
    /// tensor must have the element, or end there. It has fewer than 2^64 bits, so nothing can wrap.
    #[inline]
    const fn place(&self, element: u64) -> (u64, u8) {
        let bits = element.wrapping_mul(bits_of_value(self.dtype) as u64);
        let [low, ..] = bits.to_le_bytes();
        (self.start.wrapping_add(bits >> 3), low & 7)
    }
}

impl Region for Contiguous {
    type At = u64;
    const IS_ONE_RUN: bool = true;

    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn count(&self) -> u64 {
        self.end.wrapping_sub(self.first)
    }

    fn at(&self) -> u64 {
        self.next
    }

    fn go(&mut self, at: u64) {
        self.next = at;
    }

    fn left(&self, at: &u64) -> u64 {
        self.end.wrapping_sub(*at)
    }

    fn start(&self) -> u64 {
        self.start
    }

    fn offset(&self) -> u64 {
        self.place(self.next).0
    }

    fn end(&self) -> u64 {
        self.place(self.end).0
    }

    #[inline]
    fn next_run(&self, at: &u64, block: &Block, _: usize) -> Option<Run> {
        if block.is_full() {
            return None;
        }
        let (offset, skip) = self.place(*at);
        let bits = block.most.wrapping_mul(bits_of_value(self.dtype).into());
        let len = low_usize(touched_bytes(bits.wrapping_add(skip.into())));
        let reach = Reach { end: at.wrapping_add(block.most), skip, is_cut: false };
        Some(Run { offset, begin: 0, len, reach })
    }

    #[inline]
    fn keep(&self, at: &mut u64, block: &mut Block, reach: &Reach, _: &mut [u8]) {
        *at = reach.end;
        (block.filled, block.skip) = (block.most, reach.skip);
    }
}

impl<'t> Matrix<'t> {
    /// # Errors
    /// [`ErrorKind::TooManyRanges`] for a scalar; [`ErrorKind::OutsideTensor`] when these are the
    /// dimensions of another tensor.
    fn new(tensor: &'t Span, dims: &[u64]) -> Result<Self, Error> {
        let (dtype, error) = (tensor.dtype(), |kind: ErrorKind| kind.at(tensor.start()));
        let [rows, inner @ ..] = dims else {
            return Err(error(ErrorKind::TooManyRanges { asked: 1, rank: 0 }));
        };
        // If a tensor has no rows, its other dimensions may be of any size.
        let row_len = inner.iter().fold(values_of_element(dtype), |len, dim| len.saturating_mul(*dim));
        match rows.checked_mul(row_len) {
            Some(elements) if elements <= values_in(dtype, tensor.len()) => {
                Ok(Self { tensor, row_len, rows: *rows })
            }
            _ => Err(error(ErrorKind::OutsideTensor { asked: u64::MAX, len: tensor.len() })),
        }
    }

    /// Returns the elements from row `from` to the row before `to`. Both must exist.
    fn run(&self, from: u64, to: u64) -> Contiguous {
        // Neither can wrap: the tensor has at least that many elements.
        let [first, end] = [from, to].map(|row| row.wrapping_mul(self.row_len));
        Contiguous::new(self.tensor, first, end)
    }

    fn outside(&self, asked: u64) -> Error {
        ErrorKind::OutsideAxis { axis: 0, asked, size: self.rows }.at(self.tensor.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_width_are_counted_exactly() {
        for &dtype in Dtype::ALL {
            for eights in (0..1000).chain([1 << 40, u64::MAX >> 7]) {
                let elements = eights * 8;
                let bytes = elements.checked_mul(dtype.bits().into()).map(|bits| bits / 8);
                let Some(bytes) = bytes else { continue };
                assert_eq!(
                    values_in(dtype, bytes),
                    elements * values_of_element(dtype),
                    "{dtype}, {bytes} bytes"
                );
            }
        }
    }
}
