//! Storage that files are read from and written to.

#[cfg(feature = "embedded-io")]
pub(crate) mod embedded_io;
#[cfg(all(feature = "std", any(unix, windows)))]
mod file;
#[cfg(feature = "embedded-storage")]
pub(crate) mod nor;
pub(crate) mod read;
pub(crate) mod write;

pub use read::{FileLen, ReadAt, ReadError};
pub use write::{WriteAt, WriteError};
