//! Use this when you connect storage: these are the traits of storage for files.
//!
//! They exist already for slices and, with features, for `embedded_io`, NOR flash and files of `std`.
//! Implement [`ReadAt`] and [`WriteAt`] for storage of your own.

#[cfg(all(feature = "std", any(unix, windows)))]
mod file;
#[cfg(feature = "embedded-io")]
pub(crate) mod kinds;
#[cfg(feature = "embedded-storage")]
mod nor;
#[cfg(any(feature = "embedded-storage", feature = "embedded-storage-async"))]
pub(crate) mod nor_error;
pub(crate) mod read;
mod read_at;
#[cfg(feature = "embedded-io")]
mod seekable;
pub(crate) mod write;
mod write_at;

#[cfg(feature = "embedded-io")]
use embedded_io as eio;
use embedded_safetensors_macros::blocking as form;
#[cfg(feature = "embedded-storage")]
use embedded_storage::nor_flash;
#[cfg(any(feature = "embedded-io", all(feature = "std", any(unix, windows))))]
use write_at::invalidate;

#[cfg(feature = "embedded-storage")]
pub use nor::NorFile;
#[cfg(any(feature = "embedded-storage", feature = "embedded-storage-async"))]
pub use nor_error::NorError;
pub use read::{FileLen, ReadError, read_full, read_part};
pub use read_at::ReadAt;
#[cfg(feature = "embedded-io")]
pub use seekable::Seekable;
pub use write::WriteError;
pub use write_at::WriteAt;
pub(crate) use write_at::write_full;
