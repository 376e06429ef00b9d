//! A tensor's elements, read as values of a type of the caller's choice.

use super::{ReadAt, form, read_full};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
use crate::reader::contiguous::Cursor;
use crate::reader::place::Place;
use crate::reader::turning::Turning;
use crate::values::convert::{Conversion, Element, Loss};

/// Reads the elements of a tensor, or of one of its rows, as values: `f32`, `i32`, whatever [`Element`] lists.
///
/// The bytes are read into the memory of the values and turned there, so there is no other buffer. A call is one
/// read of the storage where that gives all that it is asked for, with two exceptions: more than 64 KiB of values that
/// are not as they lie in the file come in blocks of that size, and elements of 64 bits that become an `f32` in
/// several reads, each for half of the values that are left.
///
/// Elements of 4 and 6 bits may be read in any number, from any of them on. A C64 tensor is read as F32, real parts first,
/// and has twice as many elements.
///
/// After an error, and after a future was dropped, nothing is lost but what the values held, which may be anything: the
/// reader stands where it stood before the call, and the same call may be made again.
///
/// *Memory*: at most 40 bytes and the source.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ElementReader<S> {
    source: S,
    cursor: Cursor,
}

#[form]
impl<S: ReadAt> ElementReader<S> {
    pub(crate) const fn new(source: S, cursor: Cursor) -> Self {
        Self { source, cursor }
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.cursor.dtype()
    }

    /// How many elements there are, the ones that were read included.
    #[expect(clippy::len_without_is_empty)]
    pub const fn len(&self) -> u64 {
        self.cursor.len()
    }

    /// How many elements lie before the next one to be read.
    pub const fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// How many elements are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.cursor.remaining()
    }

    /// Gives the source back.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Goes on at element `position`, forwards or backwards.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideElements`] beyond the end; the reader then stays where it is.
    pub fn seek(&mut self, position: u64) -> Result<(), Error> {
        self.cursor.seek(position)
    }

    /// Goes on `elements` further.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn skip(&mut self, elements: u64) -> Result<(), Error> {
        self.cursor.skip(elements)
    }

    /// Reads the next values into the front of `values`, as many as fit, if each of them is exact; nothing once all
    /// are read. It waits until they are there.
    ///
    /// # Errors
    /// [`ErrorKind::Lossy`] when the dtype has values that `T` does not have; [`ErrorKind::NoConversion`];
    /// [`ErrorKind::BufferLength`] when there is no room for one; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn next_lossless<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        self.next(Loss::None, values).await
    }

    /// As [`next_lossless`](Self::next_lossless), but values that `T` does not have are rounded to the nearest, of two
    /// as near ones to the even one.
    ///
    /// # Errors
    /// As [`next_lossless`](Self::next_lossless), but for [`ErrorKind::Lossy`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn next_rounded<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        self.next(Loss::Rounded, values).await
    }

    /// Reads all values that are left into the front of `values`, if each of them is exact, and gives that part
    /// of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when they do not fit, with the length that they have; otherwise as
    /// [`next_lossless`](Self::next_lossless).
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn read_lossless<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        self.read(Loss::None, values).await
    }

    /// As [`read_lossless`](Self::read_lossless), but rounded as by [`next_rounded`](Self::next_rounded).
    ///
    /// # Errors
    /// As [`read_lossless`](Self::read_lossless), but for [`ErrorKind::Lossy`].
    ///
    /// # Cancel safety
    /// When the future is dropped, the reader stands where it stood. Make the call again.
    pub async fn read_rounded<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        self.read(Loss::Rounded, values).await
    }

    async fn next<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        let (conversion, values) = self.cursor.piece(loss, values)?;
        fill(&mut self.source, self.cursor.place(), conversion, values).await?;
        self.cursor.advance(values.len());
        Ok(if values.is_empty() { None } else { Some(values) })
    }

    async fn read<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        let (conversion, values) = self.cursor.rest(loss, values)?;
        fill(&mut self.source, self.cursor.place(), conversion, values).await?;
        self.cursor.advance(values.len());
        Ok(values)
    }
}

/// Fills all of the values from this place on.
///
/// # Errors
/// Those of the storage; [`ReadError::UnexpectedEof`]. The values may then hold anything.
// Not an `async fn`: the future of one would hold what it is given twice.
#[form]
pub(super) fn fill<S: ReadAt, T: Element>(
    source: &mut S,
    place: Place,
    conversion: Conversion<T>,
    values: &mut [T],
) -> impl Future<Output = Result<(), ReadError<S::Error>>> {
    let mut turning = Turning::new(place, conversion, values);
    async move {
        if let Some(file) = source.in_memory() {
            return turning.turn_from(file);
        }
        while let Some((offset, bytes)) = turning.bytes() {
            read_full(source, offset, bytes).await?;
            turning.turn();
        }
        Ok(())
    }
}
