//! Reads the rows of a quantised matrix.

use super::{ReadAt, form, read_full, read_part};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::io::ReadError;
use crate::quant::layout::Layout;
use crate::quant::row::Factors;
use crate::values::native::bytes_of_mut;

/// Reads the rows of a quantised matrix, in any order, as `f32` or as products with a vector of `i8`. See
/// [`quant`](crate::quant#arithmetic) for the arithmetic. [`Model::quantized`](crate::Model::quantized)
/// creates one without I/O.
///
/// After an error, your slices and buffers may hold anything. The reader is unchanged, and you can repeat
/// the call.
///
/// # Cancel safety
/// The same holds after a dropped future.
///
/// # Memory
/// At most 136 bytes. A call takes 80 bytes of stack for 16 scales and their zero points, and 128 for a block
/// of weights and the values of a group. It has no other buffer but yours.
///
/// # Reads
/// A call makes one read for the weights of the row, and for every 16 groups one read for their scales and
/// one for their zero points, if there are any.
#[form]
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct QuantReader<S> {
    source: S,
    layout: Layout,
}

#[form]
impl<S: ReadAt> QuantReader<S> {
    pub(crate) const fn new(source: S, layout: Layout) -> Self {
        Self { source, layout }
    }

    /// Returns the number of rows.
    pub const fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// Returns the number of values in a row.
    pub const fn columns(&self) -> u64 {
        self.layout.columns
    }

    /// Returns how many values of a row share a scale: all of them for matrices of 8-bit integers.
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
        let mut factors = Factors::new(&self.layout, 0);
        while factors.count > 0 {
            self.read_factors(row, &mut factors).await?;
            factors.widen(&self.layout, values);
            factors = Factors::new(&self.layout, factors.first + factors.count);
        }
        Ok(())
    }

    /// Multiplies a row by a vector of integers. The weights are read into the front of `buffer`.
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
        let mut factors = Factors::new(&self.layout, 0);
        while factors.count > 0 {
            self.read_factors(row, &mut factors).await?;
            sum = factors.add_products(&self.layout, weights, inputs, sum);
            factors = Factors::new(&self.layout, factors.first + factors.count);
        }
        Ok(sum)
    }

    /// Reads the scales and zero points of some groups of a row.
    async fn read_factors(&mut self, row: u64, factors: &mut Factors) -> Result<(), ReadError<S::Error>> {
        let Self { source, layout } = self;
        let first = factors.first as u64;
        let scale = layout.scales.row(row).wrapping_add(first.wrapping_mul(layout.scale_len() as u64));
        read_full(source, scale, factors.scales(layout)).await?;
        if let Some(zeros) = layout.zeros {
            read_full(source, zeros.row(row).wrapping_add(first), factors.zeros()).await?;
        }
        Ok(())
    }
}
