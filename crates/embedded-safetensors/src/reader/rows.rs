//! A tensor's rows, read as values one by one.

#[cfg(doc)]
use super::ElementReader;
use super::values::fill;
use super::{ReadAt, form};
use crate::dtype::Dtype;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
use crate::reader::contiguous::RowCursor;
use crate::values::convert::{Element, Loss};

/// Reads the rows of a tensor as values, one a call: what a product of a matrix and a vector needs. A row is all that
/// has the same index of the outermost axis: of a vector one element, of a tensor of rank 3 a matrix.
///
/// Values are read and turned as an [`ElementReader`] does it, and what is said of errors
/// there holds here too.
///
/// *Memory*: at most 48 bytes and the source.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rows<S> {
    source: S,
    cursor: RowCursor,
}

#[form]
impl<S: ReadAt> Rows<S> {
    pub(crate) const fn new(source: S, cursor: RowCursor) -> Self {
        Self { source, cursor }
    }

    /// The type of the elements.
    pub const fn dtype(&self) -> Dtype {
        self.cursor.dtype()
    }

    /// How many elements a row has. Of C64 twice as many as the shape says. A tensor without rows may say
    /// `u64::MAX`.
    pub const fn row_len(&self) -> u64 {
        self.cursor.row_len()
    }

    /// The index of the next row, in the tensor.
    pub const fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// How many rows are still to be read.
    pub const fn remaining(&self) -> u64 {
        self.cursor.remaining()
    }

    /// Gives the source back.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Goes on at row `row` of the tensor, forwards or backwards, also to before the range.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] beyond the end of the range; it then stays where it is.
    pub fn seek(&mut self, row: u64) -> Result<(), Error> {
        self.cursor.seek(row)
    }

    /// Reads the next row into the front of `values`, if each value is exact; nothing once all rows are read. It
    /// waits until the row is there.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`] when it does not fit; otherwise as
    /// [`ElementReader::next_lossless`].
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

    async fn next<'b, T: Element>(
        &mut self,
        loss: Loss,
        values: &'b mut [T],
    ) -> Result<Option<&'b [T]>, ReadError<S::Error>> {
        let Some((conversion, values)) = self.cursor.row(loss, values)? else { return Ok(None) };
        fill(&mut self.source, self.cursor.place(), conversion, values).await?;
        self.cursor.advance();
        Ok(Some(values))
    }
}
