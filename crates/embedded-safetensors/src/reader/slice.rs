//! Reads the bytes of a slice of a tensor.

use super::values::Values;
use super::{ReadAt, form, read_part};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
use crate::reader::region::Until;
use crate::reader::region::sealed::{Block, Region, Run};
use crate::reader::sliced::Sliced;
use crate::shape::Shape;
use core::marker::PhantomData;

/// Reads the bytes of a slice of a tensor, in chunks of any size. [`values`](Self::values) reads its
/// elements as numbers.
///
/// Bytes outside the slice are read only in small gaps, to save calls of the storage: runs of at most 256
/// bytes with gaps of at most 64 bytes between them are read together, and moved together in your buffer.
///
/// After an error, the reader is unchanged, and you can repeat the call.
///
/// *Memory*: at most 328 bytes and the source. The bytes are read directly into your buffers.
///
/// # Cancel safety
/// After a dropped future, too, the reader is unchanged.
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SliceReader<S> {
    source: S,
    place: Sliced,
}

#[form]
impl<S: ReadAt> SliceReader<S> {
    pub(crate) const fn new(source: S, place: Sliced) -> Self {
        Self { source, place }
    }

    /// Returns the shape of the slice.
    pub const fn shape(&self) -> &Shape {
        self.place.plan.shape()
    }

    /// Returns the dtype of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.place.plan.dtype()
    }

    /// Returns how many bytes the slice has.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`] when the slice does not consist of whole bytes. This is possible only with
    /// elements narrower than a byte; they can be read as values.
    pub const fn byte_len(&self) -> Result<u64, Error> {
        self.place.byte_len()
    }

    /// Returns how many elements are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.place.walk.left
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Reads the next elements into the front of `buffer`: as many as fit, or `None` at the end of the
    /// slice.
    ///
    /// The rest of `buffer` may hold anything afterwards.
    ///
    /// A chunk has whole elements, and whole bytes if elements are narrower than a byte. Where runs are
    /// read together, a chunk is one read, so it may be shorter than the buffer, but has at least one
    /// element.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when no element fits into the buffer; [`ErrorKind::PartOfByte`] as
    /// [`byte_len`](Self::byte_len); those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn next_chunk<'b>(
        &mut self,
        buffer: &'b mut [u8],
    ) -> Result<Option<&'b [u8]>, ReadError<S::Error>> {
        let block = self.place.chunk(buffer.len())?;
        let chunk = self.fill(block, buffer, Until::Cut).await?;
        Ok(if chunk.is_empty() { None } else { Some(chunk) })
    }

    /// Reads the rest of the slice into the front of `buffer`, and returns that part. The bytes after it may
    /// hold anything afterwards.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when the rest does not fit, with its length; [`ErrorKind::PartOfByte`]
    /// as [`next_chunk`](Self::next_chunk); those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn read_to_end<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], ReadError<S::Error>> {
        let block = self.place.rest(buffer.len())?;
        self.fill(block, buffer, Until::Full).await
    }

    /// Reads the slice as values, from its first element on, regardless of this reader's position.
    pub fn values(self) -> Values<S, Sliced> {
        Values { source: self.source, region: self.place.values(), dtypes: PhantomData }
    }

    /// Reads into the buffer, and advances once that is complete.
    async fn fill<'b>(
        &mut self,
        mut block: Block,
        buffer: &'b mut [u8],
        until: Until,
    ) -> Result<&'b [u8], ReadError<S::Error>> {
        let mut at = self.place.at();
        let place = &mut self.place;
        while let Some(run) = place.next_run(&at, &block, buffer.len()) {
            let Run { offset, begin, len, reach } = run;
            let room = buffer.get_mut(begin..).unwrap_or_default();
            read_part(&mut self.source, offset, room, 0..len).await?;
            place.keep(&mut at, &mut block, &reach, buffer);
            if until.is_met(&reach) {
                break;
            }
        }
        place.go(at);
        Ok(place.filled(&block, buffer))
    }
}
