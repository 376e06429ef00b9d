//! The sources of a reader of values, and how values are filled from them.

use super::filling::Piece;
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::values::convert::{Conversion, Element, Loss};

/// The elements that [`Values`](crate::reader::Values) reads: [`Contiguous`](crate::reader::Contiguous) or
/// [`Sliced`](crate::reader::Sliced). There are no others.
pub trait Region: sealed::Region {}

impl<R: sealed::Region> Region for R {}

/// When a call has read enough.
#[derive(Clone, Copy)]
pub enum Until {
    /// When everything requested has been read.
    Full,
    /// After one read, if the rest would need many small reads.
    Cut,
}

impl Until {
    /// Whether to stop after this piece.
    pub(crate) const fn is_met(self, piece: &Piece) -> bool {
        match self {
            Self::Full => false,
            Self::Cut => piece.is_cut,
        }
    }
}

/// Values that are being filled. The caller reads the bytes that [`bytes`](Self::bytes) requests, then
/// calls [`convert`](Self::convert), until `bytes` returns `None`.
pub trait Fill<R> {
    /// Returns the offset in the file of the next read, the memory for it, and how many bytes at its front
    /// the read fills. The rest may hold anything afterwards. `None` once all values are filled.
    fn bytes(&mut self, region: &R) -> Option<(u64, &mut [u8], usize)>;

    /// Converts the bytes that were read into values.
    fn convert(&mut self, region: &R);

    /// Fills all values from a file in memory. `None` if they must be filled by reads even so.
    ///
    /// # Errors
    /// [`ReadError::UnexpectedEof`].
    fn convert_from<E>(&mut self, _file: &[u8]) -> Option<Result<(), ReadError<E>>> {
        None
    }

    /// Advances the region by the values that were filled, and returns how many there are. `asked` is how
    /// many were requested.
    fn end(self, region: &mut R, asked: usize) -> usize;
}

pub(super) mod sealed {
    use super::{Conversion, Dtype, Element, Error, ErrorKind, Fill, Loss, Until};

    /// Elements are counted in values: a C64 has two.
    pub trait Region: Copy {
        type Filling<'b, T: Element>: Fill<Self>;

        fn dtype(&self) -> Dtype;

        /// How many elements there are.
        fn count(&self) -> u64;

        /// How many elements are still to be read.
        fn remaining(&self) -> u64;

        /// The byte of the file at which the tensor begins.
        fn start(&self) -> u64;

        /// The byte of the file at which the next element begins.
        fn offset(&self) -> u64;

        /// The byte of the file at which the last element ends.
        fn end(&self) -> u64;

        /// Returns the part of the values that a call may use.
        fn room<'b, T>(&self, values: &'b mut [T]) -> &'b mut [T];

        /// Starts to fill the values with the next elements. To fill all values, as many elements must be
        /// left.
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
        /// [`ErrorKind::BufferLength`] when elements are left and `values` is empty.
        #[inline]
        fn check_room<T>(&self, values: &[T]) -> Result<(), Error> {
            if !values.is_empty() || self.remaining() == 0 {
                return Ok(());
            }
            let needed = size_of::<T>() as u64;
            Err(ErrorKind::BufferLength { needed, capacity: 0 }.at(self.offset()))
        }

        /// # Errors
        /// [`ErrorKind::OutsideElements`] when fewer elements are left.
        #[inline]
        fn check_left(&self, elements: usize) -> Result<(), Error> {
            let (elements, left) = (elements as u64, self.remaining());
            if elements <= left { Ok(()) } else { Err(self.outside(elements - left - 1)) }
        }

        /// Allocates memory for all values that are left.
        ///
        /// # Errors
        /// [`ErrorKind::BufferLength`] when the allocation fails.
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

        /// The error for a request that goes `beyond` elements past the end. The sum cannot wrap, because
        /// the number comes from a slice or from the caller.
        #[cold]
        fn outside(&self, beyond: u64) -> Error {
            let len = self.count();
            ErrorKind::OutsideElements { asked: len.wrapping_add(beyond), len }.at(self.end())
        }
    }
}
