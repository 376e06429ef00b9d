//! Reads the bytes of a tensor.

#[cfg(feature = "embedded-io")]
use super::eio;
use super::slice::SliceReader;
use super::values::Values;
use super::{ReadAt, feed, form, read_full};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::integrity::Sum;
use crate::io::ReadError;
#[cfg(feature = "embedded-io")]
use crate::io::read::arrived;
use crate::reader::region::Contiguous;
use crate::reader::sliced::Sliced;
use crate::slice::range::AxisRange;
#[cfg(doc)]
use crate::tensor::span::Located;
use crate::tensor::span::Span;
use core::marker::PhantomData;
use core::ops::Range;

/// Reads the bytes of one tensor into your buffers: in chunks, or at any offset, as often as you like.
///
/// [`next_chunk`](Self::next_chunk) returns whole elements, as they are in the file: little-endian and not
/// aligned. To read numbers, use [`values`](Self::values), [`row`](Self::row), [`rows`](Self::rows) or
/// [`slice`](Self::slice). They consume the reader; [`Model::reader`](crate::Model::reader) creates a new
/// one without I/O.
///
/// After an error, the reader is unchanged, and you can repeat the call.
///
/// *Memory*: at most 72 bytes. The bytes are read directly into your buffers.
///
/// # Cancel safety
/// After a dropped future, too, the reader is unchanged.
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TensorReader<'t, S> {
    pub(crate) source: S,
    pub(crate) span: Span,
    pub(crate) dims: &'t [u64],
}

#[form]
impl<'t, S: ReadAt> TensorReader<'t, S> {
    /// Makes chunks end at multiples of `block` bytes in the file, such as the sectors of a card or the
    /// units of a DMA controller. All chunks but the first then begin at such a boundary; the first one may
    /// be shorter.
    ///
    /// Chunks still consist of whole elements: if an element crosses a boundary, the chunk does not end
    /// there. A buffer smaller than a block is filled as usual.
    ///
    /// # Errors
    /// [`ErrorKind::Block`] unless `block` is a power of two.
    pub fn aligned_to(mut self, block: u64) -> Result<Self, Error> {
        self.span.set_block(block)?;
        Ok(self)
    }

    /// Returns the dtype of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.span.dtype()
    }

    /// Returns the dimensions, outermost first.
    pub const fn dims(&self) -> &'t [u64] {
        self.dims
    }

    /// Returns the length of the tensor in bytes.
    pub const fn byte_len(&self) -> u64 {
        self.span.len()
    }

    /// Returns the offset, within the tensor, of the next byte to be read.
    pub const fn position(&self) -> u64 {
        self.span.position()
    }

    /// Returns how many bytes are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.span.remaining()
    }

    /// Returns the offset of the tensor's first byte in the file.
    pub const fn start(&self) -> u64 {
        self.span.start()
    }

    /// Reads the next chunk into the front of `buffer`: as many whole elements as fit, or `None` at the end
    /// of the tensor.
    ///
    /// Elements narrower than a byte are read in whole bytes: two of 4 bits, four of 6 bits. The call
    /// returns when the chunk is complete. That takes one read, if the storage returns as many bytes as
    /// requested.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when no element fits into the buffer; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    #[cfg_attr(not(target_pointer_width = "64"), inline)] // `always` would cost flash for every call
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

    /// Reads the rest of the tensor into the front of `buffer`, and returns that part.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`], with the length of the rest, when it does not fit; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    pub async fn read_to_end<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], ReadError<S::Error>> {
        let piece = self.span.rest(buffer)?;
        read_full(&mut self.source, self.span.offset(), piece).await?;
        self.span.advance(piece.len());
        Ok(piece)
    }

    /// Reads from byte `offset` of the tensor, and returns how many bytes it read: the length of
    /// `buffer`, or fewer at the end of the tensor. The position of [`next_chunk`](Self::next_chunk) is
    /// unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] when `offset` is beyond the end of the tensor; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    pub async fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, ReadError<S::Error>> {
        let (offset, piece) = self.span.fill(offset, buffer)?;
        read_full(&mut self.source, offset, piece).await?;
        Ok(piece.len())
    }

    /// Computes a sum of all bytes of the tensor, through the buffer, or in place if the file is
    /// [in memory](ReadAt::in_memory). The position of [`next_chunk`](Self::next_chunk) is unchanged.
    ///
    /// *Memory*: that of the sum.
    ///
    /// # Errors
    /// [`ErrorKind::NoWindow`] when the buffer is empty; those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn sum<H: Sum>(
        &mut self,
        mut sum: H,
        buffer: &mut [u8],
    ) -> Result<H::Value, ReadError<S::Error>> {
        let begin = self.span.start();
        feed(&mut self.source, begin, begin + self.span.len(), &mut sum, buffer).await?;
        Ok(sum.finish())
    }

    /// Moves to byte `position` of the tensor, forwards or backwards. If that is inside an element, the
    /// next chunk begins with the rest of the element.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideTensor`] when `position` is beyond the end of the tensor. The position
    /// is then unchanged.
    pub fn seek(&mut self, position: u64) -> Result<(), Error> {
        self.span.seek(position)
    }

    /// Skips `bytes` bytes.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        self.span.skip(bytes)
    }

    /// Reads the tensor as values, from its first element. This reader's position and its [block
    /// alignment](Self::aligned_to) have no effect.
    pub fn values(self) -> Values<S> {
        let region = Contiguous::all(&self.span);
        Values { source: self.source, region, dtypes: PhantomData }
    }

    /// Reads one row as values: all elements with the index `row` on axis 0. In a vector that is one
    /// element, in a tensor of rank 3 a matrix.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when there is no such row; [`ErrorKind::TooManyRanges`] for a scalar,
    /// which has none; [`ErrorKind::OutsideTensor`] when the dimensions are those of another tensor, which
    /// is possible only with your own [`Located`].
    pub fn row(self, row: u64) -> Result<Values<S>, Error> {
        let region = Contiguous::row(&self.span, self.dims, row)?;
        Ok(Values { source: self.source, region, dtypes: PhantomData })
    }

    /// Reads consecutive rows as values: each [`Values::read_exact`] with a buffer for one row reads the
    /// next row. A range that ends before it begins is empty.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when the range begins or ends beyond the last row; otherwise as
    /// [`row`](Self::row).
    pub fn rows(self, rows: Range<u64>) -> Result<Values<S>, Error> {
        let region = Contiguous::rows(&self.span, self.dims, rows)?;
        Ok(Values { source: self.source, region, dtypes: PhantomData })
    }

    /// Reads a part of the tensor: one range for each axis, outermost first. Axes without a range are read
    /// in full. This reader's position has no effect.
    ///
    /// A tensor of more than [`MAX_RANK`](crate::tensor::MAX_RANK) dimensions can be sliced too, if the
    /// result has at most that many. To find such a tensor, use an [index](crate::Model::build_index), which
    /// stores all dimensions; `find` cannot.
    ///
    /// # Errors
    /// As [`SlicePlan::new`](crate::slice::SlicePlan::new): [`ErrorKind::OutsideAxis`] reports the axis,
    /// the requested index and the size.
    pub fn slice(self, ranges: &[AxisRange]) -> Result<SliceReader<S>, Error> {
        let place = Sliced::new(&self.span, self.dims, ranges)?;
        Ok(SliceReader::new(self.source, place))
    }
}

/// Reads bytes without regard to elements. The storage adapter repeats interrupted reads.
///
/// # Cancel safety
/// If the future of `read` is dropped, the reader is unchanged and no byte is lost. `read_exact` makes many
/// reads: if its future is dropped, the reader is after those that were complete, and
/// [`TensorReader::seek`] goes back.
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
