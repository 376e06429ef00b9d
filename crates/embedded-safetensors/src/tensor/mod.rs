//! Use this when you need a tensor's description rather than its bytes: its dtype, its shape, and where it is
//! in the file.

pub(crate) mod info;
pub(crate) mod span;

pub use crate::dtype::DtypeSet;
pub use crate::shape::{ANY_SIZE, MAX_RANK};
pub use info::TensorInfo;
pub use span::{Located, Location};
