//! Storage that files are read from and written to: slices, and with features `embedded_io`, NOR flash and
//! files of `std`. Implement [`ReadAt`] and [`WriteAt`] for storage of your own.

#[cfg(feature = "embedded-io")]
pub(crate) mod embedded_io;
#[cfg(all(feature = "std", any(unix, windows)))]
mod file;
#[cfg(feature = "embedded-storage")]
pub(crate) mod nor;
pub(crate) mod read;
pub(crate) mod write;

#[cfg(feature = "embedded-io")]
pub use embedded_io::Seekable;
#[cfg(feature = "embedded-storage")]
pub use nor::{FlashError, FlashFile};

pub use read::{FileLen, ReadAt, ReadError};
pub use write::{WriteAt, WriteError};
