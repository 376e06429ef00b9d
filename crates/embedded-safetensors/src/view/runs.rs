//! A part of a tensor in memory, where it lies.

use super::tensor::Tensor;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::reader::sliced::Sliced;
use crate::slice::range::AxisRange;
use crate::slice::walk::ByteRuns;
use crate::util::bytes::index_below;
use core::iter::FusedIterator;

/// The bytes of a slice of a tensor in memory, run by run, where they lie.
///
/// *Memory*: 256 bytes, whatever the number of runs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SliceRuns<'a> {
    tensor: &'a [u8],
    runs: ByteRuns,
}

impl<'a> Tensor<'a> {
    /// The bytes of a part of the tensor, where they lie: one range for each axis, outermost first, where axes without
    /// a range are taken whole. What lies side by side is one run; rows of a matrix are.
    ///
    /// [`reader`](Self::reader) and [`TensorReader::slice`](crate::TensorReader::slice) copy a part instead, or make values
    /// of it.
    ///
    /// # Errors
    /// As [`SlicePlan::new`](crate::slice::SlicePlan::new): [`ErrorKind::OutsideAxis`] names the axis, what was asked for and
    /// the size. [`ErrorKind::PartOfByte`] when not all runs begin and end with whole bytes.
    pub fn slice_runs(&self, ranges: &[AxisRange]) -> Result<SliceRuns<'a>, Error> {
        let place = Sliced::new(&self.span(), self.shape().dims(), ranges)?;
        Ok(SliceRuns { tensor: self.bytes(), runs: place.byte_runs()? })
    }
}

impl<'a> Iterator for SliceRuns<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let run = self.runs.next()?;
        let index = |at| index_below(at, usize::MAX).unwrap_or(usize::MAX);
        // The plan saw to it that the tensor has them.
        Some(self.tensor.get(index(run.start)..index(run.end)).unwrap_or_default())
    }
}

impl FusedIterator for SliceRuns<'_> {}
