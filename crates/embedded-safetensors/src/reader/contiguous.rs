//! Arithmetic of a tensor that is read as values: which elements are next, and whether there is room for them.

use super::place::{Origin, Place};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::span::Span;
use crate::util::bytes::front;
use crate::values::convert::{Conversion, Element, Loss};
use core::ops::Range;

/// Values to be filled, and how elements become them.
pub(crate) type Task<'b, T> = (Conversion<T>, &'b mut [T]);

/// Elements that lie behind each other, all of a tensor or a row, and how far they have been read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Cursor {
    origin: Origin,
    /// The first of them, counted from the tensor's first.
    first: u64,
    next: u64,
    end: u64,
}

impl Cursor {
    /// All elements of a tensor.
    pub(crate) fn all(tensor: &Span) -> Self {
        let origin = Origin::new(tensor);
        Self { origin, first: 0, next: 0, end: origin.elements(tensor.len()) }
    }

    /// One row of a tensor.
    ///
    /// # Errors
    /// As [`RowCursor::new`]; [`ErrorKind::OutsideAxis`] when there is no such row.
    pub(crate) fn row(tensor: &Span, dims: &[u64], row: u64) -> Result<Self, Error> {
        let RowCursor { origin, row_len, size, .. } = RowCursor::all(tensor, dims)?;
        if row >= size {
            return Err(origin.error(ErrorKind::OutsideAxis { axis: 0, asked: row, size }));
        }
        let first = row.wrapping_mul(row_len); // cannot wrap: `all` saw to it
        Ok(Self { origin, first, next: first, end: first.wrapping_add(row_len) })
    }

    pub(crate) const fn dtype(&self) -> Dtype {
        self.origin.dtype()
    }

    pub(crate) const fn len(&self) -> u64 {
        self.end.wrapping_sub(self.first)
    }

    pub(crate) const fn position(&self) -> u64 {
        self.next.wrapping_sub(self.first)
    }

    pub(crate) const fn remaining(&self) -> u64 {
        self.end.wrapping_sub(self.next)
    }

    /// Goes on at this element.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] beyond the end; it then stays where it was.
    pub(crate) fn seek(&mut self, position: u64) -> Result<(), Error> {
        let len = self.len();
        if position > len {
            let end = self.origin.place(self.end);
            return Err(ErrorKind::OutsideElements { asked: position, len }.at(end.offset));
        }
        self.next = self.first + position;
        Ok(())
    }

    /// # Errors
    /// As [`seek`](Self::seek).
    pub(crate) fn skip(&mut self, elements: u64) -> Result<(), Error> {
        self.seek(self.position().saturating_add(elements))
    }

    /// The next values, as many as there is room for; none at the end.
    ///
    /// # Errors
    /// As [`Conversion::of`]; [`ErrorKind::BufferLength`] when there is no room for a value.
    #[inline]
    pub(crate) fn piece<'b, T: Element>(
        &self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<Task<'b, T>, Error> {
        let conversion = self.origin.conversion(loss)?;
        self.see_room(self.remaining().min(1), values)?;
        Ok((conversion, front(values, self.remaining())))
    }

    /// All the rest of the values.
    ///
    /// # Errors
    /// As [`Conversion::of`]; [`ErrorKind::BufferLength`] when it does not fit.
    #[inline]
    pub(crate) fn rest<'b, T: Element>(&self, loss: Loss, values: &'b mut [T]) -> Result<Task<'b, T>, Error> {
        let conversion = self.origin.conversion(loss)?;
        self.see_room(self.remaining(), values)?;
        Ok((conversion, front(values, self.remaining())))
    }

    /// Where the next element lies.
    pub(crate) const fn place(&self) -> Place {
        self.origin.place(self.next)
    }

    /// Goes on behind the values that were filled.
    pub(crate) fn advance(&mut self, values: usize) {
        self.next = self.next.wrapping_add(values as u64);
    }

    fn see_room<T>(&self, needed: u64, values: &[T]) -> Result<(), Error> {
        self.origin.see_room(self.next, needed, values)
    }
}

impl Origin {
    /// # Errors
    /// [`ErrorKind::BufferLength`] unless so many values from the element `next` on have room.
    #[inline]
    fn see_room<T>(&self, next: u64, needed: u64, values: &[T]) -> Result<(), Error> {
        if needed <= values.len() as u64 { Ok(()) } else { Err(self.no_room(next, needed, values)) }
    }

    #[cold]
    fn no_room<T>(&self, next: u64, needed: u64, values: &[T]) -> Error {
        let end = self.place(next.wrapping_add(values.len() as u64));
        let needed = needed.saturating_mul(size_of::<T>() as u64);
        ErrorKind::BufferLength { needed, capacity: size_of_val(values) as u64 }.at(end.offset)
    }
}

/// The rows of a tensor, which lie behind each other: what has the same index of axis 0. And how far they have been
/// read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct RowCursor {
    origin: Origin,
    /// Elements of a row.
    row_len: u64,
    /// Rows of the tensor.
    size: u64,
    next: u64,
    end: u64,
}

impl RowCursor {
    /// # Errors
    /// [`ErrorKind::TooManyRanges`] for a scalar; [`ErrorKind::OutsideTensor`] when these dimensions are another
    /// tensor's.
    fn all(tensor: &Span, dims: &[u64]) -> Result<Self, Error> {
        let origin = Origin::new(tensor);
        let [size, inner @ ..] = dims else {
            return Err(origin.error(ErrorKind::TooManyRanges { asked: 1, rank: 0 }));
        };
        // Dimensions of a tensor without rows may be of any size.
        let row_len = inner.iter().fold(origin.values_of_element(), |len, dim| len.saturating_mul(*dim));
        match size.checked_mul(row_len) {
            Some(elements) if elements <= origin.elements(tensor.len()) => {
                Ok(Self { origin, row_len, size: *size, next: 0, end: *size })
            }
            _ => Err(origin.error(ErrorKind::OutsideTensor { asked: u64::MAX, len: tensor.len() })),
        }
    }

    /// The rows of this range; none where it ends before it begins.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when it ends or begins beyond the last row; as [`all`](Self::all).
    pub(crate) fn new(tensor: &Span, dims: &[u64], rows: Range<u64>) -> Result<Self, Error> {
        let mut cursor = Self::all(tensor, dims)?;
        cursor.seek(rows.start)?;
        if rows.end > cursor.end && rows.start < rows.end {
            return Err(cursor.outside(rows.end - 1));
        }
        cursor.end = rows.end.max(rows.start);
        Ok(cursor)
    }

    pub(crate) const fn dtype(&self) -> Dtype {
        self.origin.dtype()
    }

    pub(crate) const fn row_len(&self) -> u64 {
        self.row_len
    }

    pub(crate) const fn position(&self) -> u64 {
        self.next
    }

    pub(crate) const fn remaining(&self) -> u64 {
        self.end.wrapping_sub(self.next)
    }

    /// Goes on at this row, up to the end of the range.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] beyond the end of the range; it then stays where it was.
    pub(crate) fn seek(&mut self, row: u64) -> Result<(), Error> {
        if row > self.end {
            return Err(self.outside(row));
        }
        self.next = row;
        Ok(())
    }

    fn outside(&self, asked: u64) -> Error {
        self.origin.error(ErrorKind::OutsideAxis { axis: 0, asked, size: self.size })
    }

    /// The values of the next row; nothing at the end.
    ///
    /// # Errors
    /// As [`Conversion::of`]; [`ErrorKind::BufferLength`] when it does not fit.
    #[inline]
    pub(crate) fn row<'b, T: Element>(
        &self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<Option<Task<'b, T>>, Error> {
        let conversion = self.origin.conversion(loss)?;
        if self.next >= self.end {
            return Ok(None);
        }
        self.origin.see_room(self.first(), self.row_len, values)?;
        Ok(Some((conversion, front(values, self.row_len))))
    }

    /// Where the next row lies.
    pub(crate) const fn place(&self) -> Place {
        self.origin.place(self.first())
    }

    /// Goes on behind a row.
    pub(crate) fn advance(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// The first element of the next row.
    const fn first(&self) -> u64 {
        self.next.wrapping_mul(self.row_len) // cannot wrap: the tensor has as many
    }
}
