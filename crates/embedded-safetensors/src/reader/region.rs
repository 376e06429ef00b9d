//! What a reader of values reads from, and how values are filled from it.

use super::filling::Piece;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::values::convert::{Conversion, Element, Loss};

/// The elements that [`Values`](crate::reader::Values) are read from: [`Contiguous`](crate::reader::Contiguous) or
/// [`Sliced`](crate::reader::Sliced). There are no others.
pub trait Region: sealed::Region {}

impl<R: sealed::Region> Region for R {}

/// When a call has read enough.
#[derive(Clone, Copy)]
pub enum Until {
    /// All that was asked for is there.
    Full,
    /// As much is there as one read gives: for the rest there would be many small ones.
    Cut,
}

impl Until {
    /// Whether nothing more is to be read after this piece.
    pub(crate) const fn is_met(self, piece: &Piece) -> bool {
        match self {
            Self::Full => false,
            Self::Cut => piece.is_cut,
        }
    }
}

/// Values on their way to being filled. Its driver reads what [`bytes`](Self::bytes) asks for, then calls
/// [`turn`](Self::turn), until nothing is asked for.
pub trait Fill<R> {
    /// The bytes to be read next, and where in the file they lie. Nothing once all values are there.
    fn bytes(&mut self, region: &R) -> Option<(u64, &mut [u8])>;

    /// Turns the bytes that were read into values.
    fn turn(&mut self, region: &R);

    /// Fills all values from a file in memory. Nothing where they are filled by reads all the same.
    ///
    /// # Errors
    /// [`ReadError::UnexpectedEof`].
    fn turn_from<E>(&mut self, _file: &[u8]) -> Option<Result<(), ReadError<E>>> {
        None
    }

    /// Moves the region to after the values that are there, and says how many these are, of so many that were to be filled.
    fn end(self, region: &mut R, asked: usize) -> usize;
}

pub(super) mod sealed {
    use super::{Conversion, Dtype, Element, Error, ErrorKind, Fill, Loss, Until};

    /// Elements are counted as values are: a C64 is two.
    pub trait Region: Copy {
        type Filling<'b, T: Element>: Fill<Self>;

        fn dtype(&self) -> Dtype;

        /// How many elements there are.
        fn count(&self) -> u64;

        /// How many are still to be read.
        fn remaining(&self) -> u64;

        /// The byte of the file where the tensor begins.
        fn start(&self) -> u64;

        /// The byte of the file where the next element begins.
        fn offset(&self) -> u64;

        /// The byte of the file where the last element ends.
        fn end(&self) -> u64;

        /// The part of the memory of values that a call may use.
        fn room<'b, T>(&self, values: &'b mut [T]) -> &'b mut [T];

        /// Begins to fill the values with the next elements, of which there are as many if all are to be filled.
        fn fill<'b, T: Element>(
            &self,
            conversion: Conversion<T>,
            values: &'b mut [T],
            until: Until,
        ) -> Self::Filling<'b, T>;

        /// # Errors
        /// As [`Conversion::of`], at the tensor's first byte.
        #[inline]
        fn conversion<T: Element>(&self, loss: Loss) -> Result<Conversion<T>, Error> {
            Conversion::of(self.dtype(), loss).map_err(|kind| kind.at(self.start()))
        }

        /// # Errors
        /// [`ErrorKind::BufferLength`] when an element is left and there is no room for one.
        #[inline]
        fn see_room<T>(&self, values: &[T]) -> Result<(), Error> {
            if !values.is_empty() || self.remaining() == 0 {
                return Ok(());
            }
            let needed = size_of::<T>() as u64;
            Err(ErrorKind::BufferLength { needed, capacity: 0 }.at(self.offset()))
        }

        /// # Errors
        /// [`ErrorKind::OutsideElements`] when so many elements are not left.
        #[inline]
        fn see_left(&self, elements: usize) -> Result<(), Error> {
            let (elements, left) = (elements as u64, self.remaining());
            if elements <= left { Ok(()) } else { Err(self.outside(elements - left - 1)) }
        }

        /// Memory for all values that are left.
        ///
        /// # Errors
        /// [`ErrorKind::BufferLength`] when the heap has no room for them.
        #[cfg(feature = "std")]
        fn vec<T: Element>(&self) -> Result<std::vec::Vec<T>, Error> {
            let (left, mut values) = (self.remaining(), std::vec::Vec::new());
            let len = usize::try_from(left).unwrap_or(usize::MAX);
            if values.try_reserve_exact(len).is_err() {
                let needed = left.saturating_mul(size_of::<T>() as u64);
                return Err(ErrorKind::BufferLength { needed, capacity: 0 }.at(self.offset()));
            }
            values.resize(len, T::ZERO);
            Ok(values)
        }

        /// An element is asked for that is so many beyond the end: fewer than memory or a caller's number has, so the sum cannot wrap.
        #[cold]
        fn outside(&self, beyond: u64) -> Error {
            let len = self.count();
            ErrorKind::OutsideElements { asked: len.wrapping_add(beyond), len }.at(self.end())
        }
    }
}
