//! The location of one tensor's bytes.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::info::TensorInfo;

/// The location of a tensor's bytes, and the width of its elements.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Location {
    pub(crate) dtype: Dtype,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Location {
    /// Checks that the tensor is inside the data.
    ///
    /// # Errors
    /// [`ErrorKind::OutsideData`] when the tensor is not inside data of this length, which begins at byte
    /// `data_start`.
    #[inline]
    pub(crate) fn check_inside(&self, data_start: u64, data_len: u64) -> Result<(), Error> {
        if self.begin > self.end || self.end > data_len {
            return Err(ErrorKind::OutsideData { end: self.end, data_len }.at(data_start + data_len));
        }
        Ok(())
    }
}

/// A value that knows where a tensor is: a [`TensorInfo`], a [`Query`](crate::query::Query) that was found, a
/// tensor of an [`Index`](crate::index::Index).
pub trait Located {
    /// Returns the location of the tensor.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when a query did not find it, or has not run yet.
    fn locate(&self) -> Result<Location, Error>;

    /// Returns the tensor's dimensions, outermost first. Not meaningful if [`locate`](Self::locate) fails.
    fn dims(&self) -> &[u64];
}

impl Located for TensorInfo {
    fn locate(&self) -> Result<Location, Error> {
        Ok(Location { dtype: self.dtype(), begin: self.begin(), end: self.end() })
    }

    fn dims(&self) -> &[u64] {
        self.shape().dims()
    }
}
