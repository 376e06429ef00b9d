//! A tensor's bytes, read piece by piece into buffers of the caller.

#[cfg(feature = "embedded-io")]
use super::eio;
use super::slice::SliceReader;
use super::values::Values;
use super::{ReadAt, form, read_full};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
#[cfg(feature = "embedded-io")]
use crate::io::read::arrived;
use crate::reader::contiguous::Contiguous;
use crate::reader::sliced::Sliced;
use crate::slice::range::AxisRange;
#[cfg(doc)]
use crate::tensor::location::Located;
use crate::tensor::span::Span;
use core::ops::Range;

/// Reads the bytes of one tensor, in pieces of any size, from any place, as often as you like.
///
/// After an error, and after a future was dropped, nothing is lost: the reader stands where it stood before the
/// call, and the same call may be made again.
///
/// *Memory*: at most 72 bytes. The bytes go straight into your buffers.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TensorReader<'t, S> {
    source: S,
    span: Span,
    dims: &'t [u64],
}

#[form]
impl<'t, S: ReadAt> TensorReader<'t, S> {
    pub(crate) const fn new(source: S, span: Span, dims: &'t [u64]) -> Self {
        Self { source, span, dims }
    }

    /// Ends chunks at multiples of `block` bytes in the file, so that all but the first begin at one: the
    /// sector of a card, the unit of a DMA. The first chunk is shorter for it. Chunks hold whole elements all the
    /// same: where an element lies across such a place, the chunk does not end there, and a buffer smaller than a
    /// block is filled as far as it goes.
    ///
    /// # Errors
    /// [`ErrorKind::Block`] unless `block` is a power of two.
    pub fn aligned_to(mut self, block: u64) -> Result<Self, Error> {
        self.span.set_block(block)?;
        Ok(self)
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.span.dtype()
    }

    /// The dimensions, outermost first.
    pub const fn dims(&self) -> &'t [u64] {
        self.dims
    }

    /// How many bytes the tensor has.
    pub const fn byte_len(&self) -> u64 {
        self.span.len()
    }

    /// How many bytes of the tensor lie before the next one to be read.
    pub const fn position(&self) -> u64 {
        self.span.position()
    }

    /// How many bytes are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.span.remaining()
    }

    /// Reads the next chunk into the front of `buffer`, as much as fits of whole elements; nothing once
    /// the tensor is at its end. Elements narrower than a byte come in whole bytes: two of 4 bits, four
    /// of 6 bits. It waits until the chunk is complete; where the storage gives all that it is asked for, that
    /// is one read.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when there is no room for an element; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. The next call reads the same chunk from its
    /// first byte on.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    #[cfg_attr(not(target_pointer_width = "64"), inline)] // or it would take its flash for every call
    pub async fn next_chunk<'b>(
        &mut self,
        buffer: &'b mut [u8],
    ) -> Result<Option<&'b [u8]>, ReadError<S::Error>> {
        let capacity = buffer.len();
        let len = self.span.piece(capacity);
        let Some(piece @ [_, ..]) = buffer.get_mut(..len) else {
            let is_over = self.remaining() == 0;
            return if is_over { Ok(None) } else { Err(ReadError::Format(self.span.no_room(capacity))) };
        };
        read_full(&mut self.source, self.span.offset(), piece).await?;
        self.span.advance(len);
        Ok(Some(piece))
    }

    /// Reads all that is left into the front of `buffer`, and gives that part of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit, with the length it has; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. The next call reads all of it again; to
    /// keep what has been read, take [`next_chunk`](Self::next_chunk).
    pub async fn read_to_end<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], ReadError<S::Error>> {
        let piece = self.span.rest(buffer)?;
        read_full(&mut self.source, self.span.offset(), piece).await?;
        self.span.advance(piece.len());
        Ok(piece)
    }

    /// Reads from byte `offset` of the tensor on: as much as there is, up to the length of `buffer`, and
    /// says how many bytes that is. Where [`next_chunk`](Self::next_chunk) goes on stays as it was.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] when `offset` lies beyond the end of the tensor; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// The reader does not move, whether the future is dropped or not. Make the call again.
    pub async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError<S::Error>> {
        let (offset, piece) = self.span.fill(offset, buffer)?;
        read_full(&mut self.source, offset, piece).await?;
        Ok(piece.len())
    }

    /// Goes on at byte `position` of the tensor, forwards or backwards. Inside an element, the next
    /// chunk begins with the rest of that element.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] beyond the end of the tensor; the reader then stays where it is.
    pub fn seek(&mut self, position: u64) -> Result<(), Error> {
        self.span.seek(position)
    }

    /// Goes on `bytes` further.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        self.span.skip(bytes)
    }

    /// Reads all of the tensor as values, from its first element on, wherever this reader stands. Blocks that
    /// chunks were to be [aligned to](Self::aligned_to) do not count there.
    pub fn values(self) -> Values<S> {
        let region = Contiguous::all(&self.span);
        Values::new(self.source, region)
    }

    /// Reads one row as values: all that has the index `row` of axis 0, of a vector one element, of a tensor of rank 3 a matrix.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when there is no such row; [`ErrorKind::TooManyRanges`] for a scalar, which has
    /// none; [`ErrorKind::OutsideTensor`] when the dimensions are those of another tensor, as only a [`Located`] of
    /// your own can say.
    pub fn row(self, row: u64) -> Result<Values<S>, Error> {
        let region = Contiguous::row(&self.span, self.dims, row)?;
        Ok(Values::new(self.source, region))
    }

    /// Reads rows as values, each after the one before: [`Values::read_exact`] with memory for a row reads the next one. A
    /// range that ends before it begins has none.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when the range ends or begins beyond the last row; otherwise as [`row`](Self::row).
    pub fn rows(self, rows: Range<u64>) -> Result<Values<S>, Error> {
        let region = Contiguous::rows(&self.span, self.dims, rows)?;
        Ok(Values::new(self.source, region))
    }

    /// Reads a part of the tensor: one range for each axis, outermost first, where axes without a range are taken
    /// whole. It does not matter where this reader stands.
    ///
    /// A tensor of more than [`MAX_RANK`](crate::tensor::MAX_RANK) dimensions can be sliced too, if what is left of it has no more
    /// than that: [`Model::build_index`](crate::Model::build_index) keeps all of its dimensions, where `find` has no room for them.
    ///
    /// # Errors
    /// As [`SlicePlan::new`](crate::slice::SlicePlan::new): [`ErrorKind::OutsideAxis`] names the axis, what was asked for and
    /// the size.
    pub fn slice(self, ranges: &[AxisRange]) -> Result<SliceReader<S>, Error> {
        let place = Sliced::new(&self.span, self.dims, ranges)?;
        Ok(SliceReader::new(self.source, place))
    }
}

/// Bytes as they come, elements or not. An interrupted read of the storage is made again by its adapter.
///
/// # Cancel safety
/// When the future of `read` is dropped, no byte is lost: the reader stands where it stood. `read_exact` makes
/// many reads, and the reader then stands behind those that were complete; [`TensorReader::seek`] goes back.
#[cfg(feature = "embedded-io")]
#[form]
impl<S: ReadAt<Error: eio::Error>> eio::Read for TensorReader<'_, S> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let (offset, piece) = self.span.fill(self.position(), buffer)?;
        if piece.is_empty() {
            return Ok(0);
        }
        let len = arrived(self.source.read_at(offset, piece).await, offset, piece.len())?;
        self.span.skip(len as u64)?;
        Ok(len)
    }
}

#[cfg(feature = "embedded-io")]
impl<S: ReadAt<Error: eio::Error>> eio::ErrorType for TensorReader<'_, S> {
    type Error = ReadError<S::Error>;
}
