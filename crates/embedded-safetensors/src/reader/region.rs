//! The sources of values: which bytes of the file to read next, and how many elements they have.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::io::ReadError;
use crate::util::bytes::index_below;

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
