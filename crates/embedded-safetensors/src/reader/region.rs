//! The sources of values: which bytes of the file to read next, and how many elements they have.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::tensor::span::Span;
use crate::util::bytes::{index_below, low_usize, touched_bytes};
use crate::values::convert::{bits_of_value, values_in, values_of_element};
use core::ops::Range;
use sealed::{Block, Reach, Region as _, Run};

/// The elements that [`Values`](crate::reader::Values) reads: [`Contiguous`](crate::reader::Contiguous) or
/// [`Sliced`](crate::reader::Sliced). There are no others.
pub trait Region: sealed::Region {}

impl<R: sealed::Region> Region for R {}

/// When a call has read enough.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// When everything requested has been read.
    Full,
    /// After one read, if the rest would need many small reads.
    Cut,
}

impl Until {
    /// Whether to stop after such a run.
    pub(crate) const fn is_met(self, reach: &sealed::Reach) -> bool {
        match self {
            Self::Full => false,
            Self::Cut => reach.is_cut,
        }
    }
}

pub(crate) mod sealed {
    use super::{Dtype, Error, ErrorKind, ReadError, index_below};

    /// Elements are counted in values: a C64 has two.
    ///
    /// To fill a block, the caller reads each [next run](Self::next_run) into it, and calls
    /// [`keep`](Self::keep) afterwards.
    pub trait Region: Copy {
        /// A position in the region.
        type At: Copy;

        /// Whether one run fills a block, so that values can be made straight from a file in memory.
        const IS_ONE_RUN: bool;

        fn dtype(&self) -> Dtype;

        /// How many elements there are.
        fn count(&self) -> u64;

        /// The position of the next element.
        fn at(&self) -> Self::At;

        /// Continues at this position.
        fn go(&mut self, at: Self::At);

        /// How many elements there are from this position on.
        fn left(&self, at: &Self::At) -> u64;

        /// The byte of the file at which the tensor begins.
        fn start(&self) -> u64;

        /// The byte of the file at which the next element begins.
        fn offset(&self) -> u64;

        /// The byte of the file at which the last element ends.
        fn end(&self) -> u64;

        /// Returns what to read next, or `None` once the block is filled. The block has space for `room`
        /// bytes, and at least for one more element.
        fn next_run(&self, at: &Self::At, block: &Block, room: usize) -> Option<Run>;

        /// Moves the elements that were read to the end of the filled ones, and advances.
        fn keep(&self, at: &mut Self::At, block: &mut Block, reach: &Reach, memory: &mut [u8]);

        /// How many elements are still to be read.
        fn remaining(&self) -> u64 {
            self.left(&self.at())
        }

        /// The error for a request that goes `beyond` elements past the end. The sum cannot wrap, because
        /// the number comes from a slice or from the caller.
        #[cold]
        fn outside(&self, beyond: u64) -> Error {
            let len = self.count();
            ErrorKind::OutsideElements { asked: len.wrapping_add(beyond), len }.at(self.end())
        }
    }

    /// A buffer that is being filled with elements.
    #[derive(Clone, Copy)]
    pub struct Block {
        /// How many elements have been filled.
        pub(crate) filled: u64,
        /// How many elements to fill.
        pub(crate) most: u64,
        /// How many bits of the first byte are before the first element.
        pub(crate) skip: u8,
    }

    /// Bytes to read.
    #[derive(Clone, Copy)]
    pub struct Run {
        /// The byte of the file to read from.
        pub(crate) offset: u64,
        /// The byte of the block to read to.
        pub(crate) begin: usize,
        /// How many bytes to read.
        pub(crate) len: usize,
        pub(crate) reach: Reach,
    }

    /// How far a run reaches: apart from it, because a future stores it while the run is read.
    #[derive(Clone, Copy)]
    pub struct Reach {
        /// The end of the last element, counted in elements of the tensor.
        pub(crate) end: u64,
        /// How many bits of the first byte are before the first element.
        pub(crate) skip: u8,
        /// Whether the block was too small to read all elements that are close enough to be read together.
        pub(crate) is_cut: bool,
    }

    impl Block {
        pub(crate) const fn new(most: u64) -> Self {
            Self { filled: 0, most, skip: 0 }
        }

        pub(crate) const fn is_full(&self) -> bool {
            self.filled == self.most
        }
    }

    impl Run {
        /// Returns these bytes of a file in memory.
        ///
        /// # Errors
        /// [`ReadError::UnexpectedEof`].
        pub(crate) fn part_of<'f, E>(&self, file: &'f [u8]) -> Result<&'f [u8], ReadError<E>> {
            let from = index_below(self.offset, file.len()).and_then(|begin| file.get(begin..));
            let at = self.offset.max(file.len() as u64);
            from.and_then(|from| from.get(..self.len)).ok_or(ReadError::UnexpectedEof { at })
        }
    }
}

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

    /// Returns the bytes of a tensor, as elements.
    #[cfg(feature = "embedded-io-async")]
    pub(crate) fn bytes(tensor: &Span) -> Self {
        Self { dtype: Dtype::U8, ..Self::new(tensor, 0, tensor.len()) }
    }

    /// Returns how many elements a row has; 1 in a scalar.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] when these are the dimensions of another tensor.
    #[cfg(feature = "embedded-io-async")]
    pub(crate) fn row_len(tensor: &Span, dims: &[u64]) -> Result<u64, Error> {
        if dims.is_empty() { Ok(1) } else { Ok(Matrix::new(tensor, dims)?.row_len) }
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

    /// Returns the byte in which an element begins. The tensor must have the element, or end there. It has
    /// fewer than 2^64 bits, so nothing can wrap.
    #[inline]
    const fn byte_of(&self, element: u64) -> u64 {
        self.start.wrapping_add(element.wrapping_mul(bits_of_value(self.dtype) as u64) >> 3)
    }
}

impl sealed::Region for Contiguous {
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
        self.byte_of(self.next)
    }

    fn end(&self) -> u64 {
        self.byte_of(self.end)
    }

    #[inline]
    fn next_run(&self, at: &u64, block: &Block, _: usize) -> Option<Run> {
        if block.is_full() {
            return None;
        }
        let width = bits_of_value(self.dtype).into();
        let before = at.wrapping_mul(width);
        let (offset, skip) = (self.start.wrapping_add(before >> 3), before.to_le_bytes()[0] & 7);
        let bits = block.most.wrapping_mul(width).wrapping_add(skip.into());
        let len = low_usize(touched_bytes(bits));
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
