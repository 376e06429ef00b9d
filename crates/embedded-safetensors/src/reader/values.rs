//! A tensor's elements, read as values of a type of the caller's choice.

use super::cursor::Cursor;
use super::fill::fill;
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::{ReadAt, ReadError};
use crate::values::convert::{Element, Loss};

/// Reads the elements of a tensor, or of one of its rows, as values: `f32`, `i32`, whatever [`Element`] lists.
///
/// The bytes are read into the memory of the values and turned there, so there is no other buffer; of a file
/// [in memory](ReadAt::in_memory) values are made where they are wanted, and nothing is read. A call is one read of the
/// storage where that gives all that it is asked for, but for values of more than 64 KiB that are not
/// as they lie in the file, which come in blocks of that size, and for elements of 64 bits that become an `f32`, which
/// come in several reads, each for half of the values that are left.
///
/// Elements of 4 and 6 bits may be read in any number, from any of them on. A C64 tensor is read as F32, real parts first,
/// and has twice as many elements.
///
/// After an error nothing is lost but what the values held, which may be anything: the reader stands where it stood
/// before the call that failed, and the same call may be made again.
///
/// *Memory*: at most 40 bytes and the source; on a Cortex-M3 at most 128 bytes of stack more than streaming the bytes
/// takes.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ElementReader<S> {
    source: S,
    cursor: Cursor,
}

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
    /// are read. It blocks until they are there.
    ///
    /// # Errors
    /// [`ErrorKind::Lossy`] when the dtype has values that `T` does not have; [`ErrorKind::NoConversion`];
    /// [`ErrorKind::BufferLength`] when there is no room for one; those of the storage;
    /// [`ReadError::UnexpectedEof`].
    ///
    /// # Panics
    /// Never.
    pub fn next_lossless<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        self.next(Loss::None, values)
    }

    /// As [`next_lossless`](Self::next_lossless), but values that `T` does not have are rounded to the nearest, of two
    /// as near ones to the even one.
    ///
    /// # Errors
    /// As [`next_lossless`](Self::next_lossless), but for [`ErrorKind::Lossy`].
    ///
    /// # Panics
    /// Never.
    pub fn next_rounded<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        self.next(Loss::Rounded, values)
    }

    /// Reads all values that are left into the front of `values`, if each of them is exact, and gives that part
    /// of it.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when they do not fit, with the length that they have; otherwise as
    /// [`next_lossless`](Self::next_lossless).
    ///
    /// # Panics
    /// Never.
    pub fn read_lossless<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        self.read(Loss::None, values)
    }

    /// As [`read_lossless`](Self::read_lossless), but rounded as by [`next_rounded`](Self::next_rounded).
    ///
    /// # Errors
    /// As [`read_lossless`](Self::read_lossless), but for [`ErrorKind::Lossy`].
    ///
    /// # Panics
    /// Never.
    pub fn read_rounded<'b, T: Element>(
        &mut self,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        self.read(Loss::Rounded, values)
    }

    fn next<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        let (conversion, values) = self.cursor.piece(loss, values)?;
        fill(&mut self.source, self.cursor.place(), conversion, values)?;
        self.cursor.advance(values.len());
        Ok(if values.is_empty() { None } else { Some(values) })
    }

    fn read<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<&'b [T], ReadError<S::Error>> {
        let (conversion, values) = self.cursor.rest(loss, values)?;
        fill(&mut self.source, self.cursor.place(), conversion, values)?;
        self.cursor.advance(values.len());
        Ok(values)
    }
}
