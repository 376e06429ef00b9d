//! Arithmetic for contiguous elements: which are next, and at which byte.

use super::converting::Converting;
use super::place::{Origin, Place};
use super::region::Until;
use super::region::sealed::Region;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::span::Span;
use crate::util::bytes::front;
use crate::values::convert::{Conversion, Element};
use core::ops::Range;

/// Contiguous elements, all of a tensor or a range of its rows, and how far they have been read.
///
/// *Memory*: 40 bytes, `Copy`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Contiguous {
    origin: Origin,
    /// The first of these elements, counted from the tensor's first.
    first: u64,
    next: u64,
    end: u64,
}

/// A tensor as rows: a row has all elements with the same index of axis 0.
struct Matrix {
    origin: Origin,
    /// How many elements a row has.
    row_len: u64,
    rows: u64,
}

impl Contiguous {
    /// Returns all elements of a tensor.
    pub(crate) fn all(tensor: &Span) -> Self {
        let origin = Origin::new(tensor);
        Self { origin, first: 0, next: 0, end: origin.elements(tensor.len()) }
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

    pub(crate) const fn position(&self) -> u64 {
        self.next.wrapping_sub(self.first)
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
        self.seek(self.position().saturating_add(elements))
    }

    /// Advances by the values that were filled.
    pub(crate) fn advance(&mut self, values: usize) {
        self.next = self.next.wrapping_add(values as u64);
    }

    /// Returns where the next element is.
    const fn place(&self) -> Place {
        self.origin.place(self.next)
    }
}

impl Region for Contiguous {
    type Filling<'b, T: Element> = Converting<'b, T>;

    fn dtype(&self) -> Dtype {
        self.origin.dtype()
    }

    fn count(&self) -> u64 {
        self.end.wrapping_sub(self.first)
    }

    fn remaining(&self) -> u64 {
        self.end.wrapping_sub(self.next)
    }

    fn start(&self) -> u64 {
        self.origin.start()
    }

    fn offset(&self) -> u64 {
        self.place().offset
    }

    fn end(&self) -> u64 {
        self.origin.place(self.end).offset
    }

    #[inline]
    fn room<'b, T>(&self, values: &'b mut [T]) -> &'b mut [T] {
        front(values, self.remaining())
    }

    #[inline]
    fn fill<'b, T: Element>(
        &self,
        conversion: Conversion<T>,
        values: &'b mut [T],
        _: Until,
    ) -> Converting<'b, T> {
        Converting::new(self.place(), conversion, values)
    }
}

impl Matrix {
    /// # Errors
    /// [`ErrorKind::TooManyRanges`] for a scalar; [`ErrorKind::OutsideTensor`] when these are the
    /// dimensions of another tensor.
    fn new(tensor: &Span, dims: &[u64]) -> Result<Self, Error> {
        let origin = Origin::new(tensor);
        let [rows, inner @ ..] = dims else {
            return Err(origin.error(ErrorKind::TooManyRanges { asked: 1, rank: 0 }));
        };
        // If a tensor has no rows, its other dimensions may be of any size.
        let row_len = inner.iter().fold(origin.values_of_element(), |len, dim| len.saturating_mul(*dim));
        match rows.checked_mul(row_len) {
            Some(elements) if elements <= origin.elements(tensor.len()) => {
                Ok(Self { origin, row_len, rows: *rows })
            }
            _ => Err(origin.error(ErrorKind::OutsideTensor { asked: u64::MAX, len: tensor.len() })),
        }
    }

    /// Returns the elements from row `from` to the row before `to`. Both must exist.
    fn run(&self, from: u64, to: u64) -> Contiguous {
        // Neither can wrap: the tensor has at least that many elements.
        let [first, end] = [from, to].map(|row| row.wrapping_mul(self.row_len));
        Contiguous { origin: self.origin, first, next: first, end }
    }

    fn outside(&self, asked: u64) -> Error {
        self.origin.error(ErrorKind::OutsideAxis { axis: 0, asked, size: self.rows })
    }
}
