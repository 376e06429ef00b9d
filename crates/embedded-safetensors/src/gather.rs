//! A part of a tensor, read piece by piece into buffers of the caller.

use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::shape::Shape;
use crate::slice::filling::Filling;
use crate::slice::place::Place;
use crate::slice::range::AxisRange;
use crate::source::{ReadAt, ReadError, read_full};
use crate::tensor::TensorReader;

impl<S: ReadAt> TensorReader<'_, S> {
    /// Reads a part of the tensor: one range for each axis, outermost first, where axes without a range are taken
    /// whole. It does not matter where this reader stands.
    ///
    /// ```
    /// use embedded_safetensors::{AxisRange, Model, ReadAt, ReadError};
    ///
    /// /// The words 100 to 199 of an embedding, and of those the first 64 numbers each.
    /// fn words<S: ReadAt>(model: &mut Model<S>, to: &mut [u8]) -> Result<usize, ReadError<S::Error>> {
    ///     let embedding = model.find("wte", &mut [0; 512])?.ok_or(not_found())?;
    ///     let mut words = model.tensor(&embedding)?.slice(&[(100..200).into(), (..64).into()])?;
    ///     Ok(words.read_all(to)?.len())
    /// }
    /// # use embedded_safetensors::{Error, ErrorKind};
    /// # fn not_found() -> Error { ErrorKind::NotFound { wanted: None }.at(0) }
    /// # let header = br#"{"wte":{"dtype":"U8","shape":[300,80],"data_offsets":[0,24000]}}"#;
    /// # let file = [&(header.len() as u64).to_le_bytes(), &header[..], &[7; 24000]].concat();
    /// # let mut model = Model::open(&file[..], &mut [0; 512])?;
    /// # assert_eq!(words(&mut model, &mut [0; 6400]), Ok(6400));
    /// # Ok::<(), ReadError<core::convert::Infallible>>(())
    /// ```
    ///
    /// # Errors
    /// As [`SlicePlan::new`](crate::SlicePlan::new): [`ErrorKind::OutsideAxis`] names the axis, what was asked for and
    /// the size.
    ///
    /// # Panics
    /// Never.
    pub fn slice(self, ranges: &[AxisRange]) -> Result<SliceReader<S>, Error> {
        let place = Place::new(self.span(), self.dims(), ranges)?;
        Ok(SliceReader { source: self.into_source(), place })
    }
}

/// Reads a part of a tensor, in pieces of any size. Nothing is read that lies outside the slice, but for gaps that are
/// so small that reading them costs less than a call of the storage: runs of at most 256 bytes with gaps of at most 64
/// between them are read together, and moved together in your buffer.
///
/// After an error nothing is lost: the reader stands where it stood before the call that failed, and the
/// same call may be made again.
///
/// *Memory*: at most 336 bytes. The bytes go straight into your buffers.
#[derive(Debug)]
pub struct SliceReader<S> {
    source: S,
    place: Place,
}

impl<S: ReadAt> SliceReader<S> {
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

    /// The storage.
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
    /// [`byte_len`](Self::byte_len), and where values were read up to the middle of a byte; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Panics
    /// Never.
    pub fn next_chunk<'b>(&mut self, buffer: &'b mut [u8]) -> Result<Option<&'b [u8]>, ReadError<S::Error>> {
        let filling = self.place.chunk(buffer.len())?;
        let chunk = self.fill(filling, buffer, true)?;
        Ok(if chunk.is_empty() { None } else { Some(chunk) })
    }

    /// Reads all that is left into the front of `buffer`, and gives that part of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit, with the length it has; [`ErrorKind::PartOfByte`] as
    /// [`next_chunk`](Self::next_chunk); those of the storage; [`ReadError::UnexpectedEof`].
    ///
    /// # Panics
    /// Never.
    pub fn read_all<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], ReadError<S::Error>> {
        let filling = self.place.rest(buffer.len())?;
        self.fill(filling, buffer, false)
    }

    /// Goes on behind what it has filled, once that is complete.
    fn fill<'b>(
        &mut self,
        filling: Filling,
        buffer: &'b mut [u8],
        one_piece_of_many: bool,
    ) -> Result<&'b [u8], ReadError<S::Error>> {
        let filled = read_pieces(&mut self.source, &self.place, filling, buffer, one_piece_of_many)?;
        self.place.walk = filled.walk;
        Ok(self.place.filled(&filled, buffer))
    }
}

/// Reads until the buffer has all that it may have; or, where it is enough, up to the end of a piece that it cuts.
fn read_pieces<S: ReadAt>(
    source: &mut S,
    place: &Place,
    mut filling: Filling,
    buffer: &mut [u8],
    is_enough_when_cut: bool,
) -> Result<Filling, ReadError<S::Error>> {
    while let Some(piece) = filling.next(&place.plan, buffer.len()) {
        read_full(source, place.start + piece.offset, Filling::room_for(&piece, buffer))?;
        filling.keep(&place.plan, &piece, buffer);
        if piece.is_cut && is_enough_when_cut {
            break;
        }
    }
    Ok(filling)
}
