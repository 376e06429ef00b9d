//! Where the bytes of one tensor lie.

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind};
use crate::tensor::info::TensorInfo;

/// The place of a tensor's bytes, and how wide its elements are.
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
    /// # Errors
    /// [`ErrorKind::OutsideData`] when the tensor does not lie in data of this length, which begin at byte `data_start`.
    #[inline]
    pub(crate) fn check_inside(&self, data_start: u64, data_len: u64) -> Result<(), Error> {
        if self.begin > self.end || self.end > data_len {
            return Err(ErrorKind::OutsideData { end: self.end, data_len }.at(data_start + data_len));
        }
        Ok(())
    }
}

/// What tells where a tensor lies: a [`TensorInfo`], a [`Query`](crate::query::Query) that was found, a tensor
/// of an [`Index`](crate::index::Index).
pub trait Located {
    /// The place of the tensor.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when it was looked for in vain, or not yet.
    fn locate(&self) -> Result<Location, Error>;

    /// The tensor's dimensions, outermost first. Not meaningful where [`locate`](Self::locate) fails.
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
