//! Reads the rows of a quantised matrix.

use super::{Model, ReadAt, form, read_full, read_part};
use crate::layout::{Layout, Scales};
use crate::matrix::{Found, Matrix, Part};
use crate::row::Factors;
#[cfg(doc)]
use embedded_safetensors::ErrorKind;
use embedded_safetensors::values::bytes_of_mut;
use embedded_safetensors::{Error, ReadError};

/// Reads the rows of a quantised matrix, in any order, as `f32` or as products with a vector of `i8`. See
/// [the crate](crate#arithmetic) for the arithmetic.
///
/// After an error, your slices and buffers may hold anything. The reader is unchanged, and you can repeat
/// the call.
///
/// # Cancel safety
/// The same holds after a dropped future.
///
/// # Memory
/// At most 136 bytes, 152 with scales in memory. A call takes 80 bytes of stack for 16 scales and their zero
/// points, and 128 for a block of weights and the values of a group. It has no other buffer but yours.
///
/// # Reads
/// A call makes one read for the weights of the row, and for every 16 groups one read for their scales and
/// one for their zero points, if there are any; or one for the global scale.
/// [`with_scales`](Self::with_scales) reads all of these once, beforehand.
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct QuantReader<S, M = ()> {
    source: S,
    layout: Layout,
    scales: M,
}

#[form]
impl<'m, S: ReadAt> QuantReader<&'m mut S> {
    /// Returns a reader for the rows of a matrix, if its tensors match, without I/O.
    ///
    /// # Errors
    /// [`ErrorKind::QuantDtype`], [`ErrorKind::QuantRank`], [`ErrorKind::QuantSize`] and
    /// [`ErrorKind::QuantGroup`] when they do not; [`ErrorKind::OtherModel`] and [`ErrorKind::OutsideData`]
    /// as in [`Model::reader`]; [`ErrorKind::Size`] when the dimensions of a tensor are not those of its
    /// bytes, which is possible only with your own [`Located`](embedded_safetensors::tensor::Located).
    pub fn new(model: &'m mut Model<S>, matrix: &Matrix) -> Result<Self, Error> {
        let layout = matrix.layout(&mut |part| find(model, part))?;
        Ok(Self { source: model.source_mut(), layout, scales: () })
    }
}

#[form]
fn find<S: ReadAt>(model: &mut Model<S>, part: &Part) -> Result<Found, Error> {
    let tensor = model.reader(part)?;
    Ok(Found { dtype: tensor.dtype(), start: tensor.start(), len: tensor.byte_len() })
}

#[form]
impl<S: ReadAt> QuantReader<S> {
    /// Returns the number of bytes that the scales and zero points of all rows take, or the scales and the
    /// global scale, as they are in the file.
    pub const fn scales_len(&self) -> u64 {
        self.layout.scales_len() + self.layout.third_len()
    }

    /// Reads the scales and zero points of all rows into the front of `memory`. Rows and products then read
    /// only weights. They have the same bits.
    ///
    /// *Memory*: [`scales_len`](Self::scales_len) bytes, which the caller provides.
    ///
    /// # Errors
    /// [`ErrorKind::BufferLength`], with the length that is enough, when `memory` is shorter than
    /// [`scales_len`](Self::scales_len); those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn with_scales(
        mut self,
        memory: &mut [u8],
    ) -> Result<QuantReader<S, &[u8]>, ReadError<S::Error>> {
        let (scales, third) = self.layout.split(memory)?;
        read_full(&mut self.source, self.layout.scales.start, scales).await?;
        if let Some(table) = self.layout.third {
            read_full(&mut self.source, table.start, third).await?;
        }
        Ok(QuantReader { source: self.source, layout: self.layout, scales: memory })
    }
}

#[form]
impl<S: ReadAt, M: Scales> QuantReader<S, M> {
    /// Returns the number of rows.
    pub const fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// Returns the number of values in a row.
    pub const fn columns(&self) -> u64 {
        self.layout.columns
    }

    /// Returns how many values of a row share a scale: all of them for matrices of 8-bit integers. The last
    /// group of 8-bit floats may be shorter.
    pub const fn group(&self) -> u64 {
        self.layout.group
    }

    /// Returns the number of bytes that the weights of a row take.
    pub const fn row_len(&self) -> u64 {
        self.layout.weights.row_len
    }

    /// Returns the source.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Fills `values` with a row.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when there is no such row; [`ErrorKind::QuantLength`] unless `values` has
    /// the length of a row; those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn read_row(&mut self, row: u64, values: &mut [f32]) -> Result<(), ReadError<S::Error>> {
        self.layout.check_row(row, values.len())?;
        let tail = self.layout.tail(values);
        read_part(&mut self.source, self.layout.weights.row(row), bytes_of_mut(values), tail).await?;
        let mut factors = Factors::new(&self.layout);
        while factors.count > 0 {
            self.read_factors(row, &mut factors).await?;
            factors.widen(&self.layout, values);
            factors.advance(&self.layout);
        }
        Ok(())
    }

    /// Multiplies a row by a vector of integers. The weights are read into the front of `buffer`; the rest of
    /// it may hold anything afterwards.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideAxis`] when there is no such row; [`ErrorKind::QuantLength`] unless `inputs` has
    /// the length of a row; [`ErrorKind::BufferLength`] when `buffer` is shorter than
    /// [`row_len`](Self::row_len); those of the storage; [`ReadError::UnexpectedEof`].
    pub async fn dot(
        &mut self,
        row: u64,
        inputs: &[i8],
        buffer: &mut [u8],
    ) -> Result<f32, ReadError<S::Error>> {
        self.layout.check_row(row, inputs.len())?;
        let weights = self.layout.front(buffer)?;
        read_part(&mut self.source, self.layout.weights.row(row), buffer, weights.clone()).await?;
        let weights = buffer.get(weights).unwrap_or_default();
        let mut sum = 0.0;
        let mut factors = Factors::new(&self.layout);
        while factors.count > 0 {
            self.read_factors(row, &mut factors).await?;
            sum = factors.add_products(&self.layout, weights, inputs, sum);
            factors.advance(&self.layout);
        }
        Ok(sum)
    }

    /// Reads the scales and zero points of some groups of a row, or the global scale with the first of them.
    async fn read_factors(&mut self, row: u64, factors: &mut Factors) -> Result<(), ReadError<S::Error>> {
        let Self { source, layout, scales } = self;
        if let Some(memory) = scales.memory() {
            factors.copy(layout, row, memory);
            return Ok(());
        }
        let first = factors.first as u64;
        read_full(source, layout.scale_at(row, first), factors.scales(layout)).await?;
        if let Some(third) = layout.third {
            read_full(source, third.row(row).wrapping_add(first), factors.third(layout)).await?;
        }
        Ok(())
    }
}
