//! A slice of a tensor in memory, in place.

use super::tensor::Tensor;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::reader::sliced::Sliced;
use crate::slice::range::AxisRange;
use crate::slice::walk::ByteRuns;
use crate::util::bytes::index_below;
use core::iter::FusedIterator;

/// The bytes of a slice of a tensor in memory, in place, one contiguous run at a time.
///
/// *Memory*: 256 bytes, whatever the number of runs.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SliceRuns<'a> {
    tensor: &'a [u8],
    runs: ByteRuns,
}

impl<'a> Tensor<'a> {
    /// Returns the bytes of a slice of the tensor, in place: one range for each axis, outermost first. Axes
    /// without a range are included entirely. Adjacent bytes form one run, such as the rows of a matrix.
    ///
    /// [`reader`](Self::reader) and [`TensorReader::slice`](crate::TensorReader::slice) copy a slice instead,
    /// or convert it to values.
    ///
    /// # Errors
    /// As [`SlicePlan::new`](crate::slice::SlicePlan::new): [`ErrorKind::OutsideAxis`] has the axis, the
    /// requested range and the size. [`ErrorKind::PartOfByte`] when not all runs begin and end with whole
    /// bytes.
    pub fn slice_runs(&self, ranges: &[AxisRange]) -> Result<SliceRuns<'a>, Error> {
        let sliced = Sliced::new(&self.span(), self.shape().dims(), ranges)?;
        Ok(SliceRuns { tensor: self.bytes(), runs: sliced.byte_runs()? })
    }
}

impl<'a> Iterator for SliceRuns<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let run = self.runs.next()?;
        let index = |at| index_below(at, usize::MAX).unwrap_or(usize::MAX);
        // The plan has checked the range.
        Some(self.tensor.get(index(run.start)..index(run.end)).unwrap_or_default())
    }
}

impl FusedIterator for SliceRuns<'_> {}
