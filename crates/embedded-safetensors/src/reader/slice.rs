//! The bytes of a slice of a tensor, read piece by piece into buffers of the caller.

use super::values::Values;
use super::{ReadAt, form, read_full};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
use crate::reader::filling::Filling;
use crate::reader::region::Until;
use crate::reader::sliced::Sliced;
use crate::shape::Shape;

/// Reads the bytes of a slice of a tensor, in pieces of any size; [`values`](Self::values) reads its values. Nothing is read that lies outside the slice, but for small gaps,
/// which spares calls of the storage: runs of at most 256 bytes with gaps of at most 64 between them are read together,
/// and moved together in your buffer.
///
/// After an error, and after a future was dropped, nothing is lost: the reader stands where it stood before the
/// call, and the same call may be made again.
///
/// *Memory*: at most 328 bytes and the source. The bytes go straight into your buffers.
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

    /// The shape of the slice.
    pub const fn shape(&self) -> &Shape {
        self.place.plan.shape()
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.place.plan.dtype()
    }

    /// How many bytes the slice has.
    ///
    /// # Errors
    /// [`ErrorKind::PartOfByte`] when it does not consist of whole bytes. Only elements narrower than a byte do that;
    /// they can be read as values.
    pub const fn byte_len(&self) -> Result<u64, Error> {
        self.place.byte_len()
    }

    /// How many elements are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.place.walk.left
    }

    /// Gives the source back.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Reads the next elements into the front of `buffer`, whole elements only; nothing once the slice is at its
    /// end. Elements narrower than a byte come in whole bytes. As much as fits; but where runs are read
    /// together, the chunk ends where the buffer did before they were moved together, so that it is one read. One
    /// element at the least.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when there is no room for an element; [`ErrorKind::PartOfByte`] as
    /// [`byte_len`](Self::byte_len); those of the storage; [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn next_chunk<'b>(
        &mut self,
        buffer: &'b mut [u8],
    ) -> Result<Option<&'b [u8]>, ReadError<S::Error>> {
        let filling = self.place.chunk(buffer.len())?;
        let chunk = self.fill(filling, buffer, Until::Cut).await?;
        Ok(if chunk.is_empty() { None } else { Some(chunk) })
    }

    /// Reads all that is left into the front of `buffer`, and gives that part of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit, with the length it has; [`ErrorKind::PartOfByte`] as
    /// [`next_chunk`](Self::next_chunk); those of the storage; [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn read_to_end<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], ReadError<S::Error>> {
        let filling = self.place.rest(buffer.len())?;
        self.fill(filling, buffer, Until::Full).await
    }

    /// Reads all of the slice as values, from its first element on, wherever this reader stands.
    pub fn values(self) -> Values<S, Sliced> {
        Values::new(self.source, self.place.values())
    }

    /// Goes on behind what it has filled, once that is complete.
    async fn fill<'b>(
        &mut self,
        mut filling: Filling,
        buffer: &'b mut [u8],
        until: Until,
    ) -> Result<&'b [u8], ReadError<S::Error>> {
        let place = &mut self.place;
        while let Some(piece) = filling.next(&place.plan, buffer.len()) {
            read_full(&mut self.source, place.start + piece.offset, piece.room_in(buffer)).await?;
            filling.keep(&place.plan, &piece, buffer);
            if until.is_met(&piece) {
                break;
            }
        }
        place.walk = filling.walk;
        Ok(place.filled(&filling, buffer))
    }
}
