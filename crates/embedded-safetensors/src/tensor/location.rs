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
    /// What the header of its model is recognised by; 0 if that is not known.
    pub(crate) header: u32,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

/// The data of an open model.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// What the header is recognised by. Not 0.
    pub(crate) header: u32,
}

impl Location {
    /// Checks that the tensor belongs to this model, and that it is inside its data.
    ///
    /// # Errors
    /// [`ErrorKind::OtherModel`], [`ErrorKind::OutsideData`].
    pub(crate) fn check_in(&self, data: Data) -> Result<(), Error> {
        let Data { start: data_start, len: data_len, header } = data;
        if self.header != 0 && self.header != header {
            return Err(ErrorKind::OtherModel.at(data_start));
        }
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
        Ok(Location { dtype: self.dtype(), header: 0, begin: self.begin(), end: self.end() })
    }

    fn dims(&self) -> &[u64] {
        self.shape().dims()
    }
}
