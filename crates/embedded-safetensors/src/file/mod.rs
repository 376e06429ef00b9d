//! Models in files of an operating system.
//!
//! To read: [`FileModel`] by positioned reads, [`MappedModel`] by a map. To write: [`write_file`], or [`FileWriter`] for tensors in any
//! order. To edit: [`Draft`]. After a crash a file is the old one or the new one, whole.

// Everything goes through `disk`, the few calls of a file system that are needed: `system` makes them, and the tests make them on a
// model of a disk that forgets what was not synced, and stops after any call. A file that takes the place of another is
// `atomic`; a header that is overwritten in place has an `undo` beside it.

pub(crate) mod atomic;
pub(crate) mod disk;
pub(crate) mod draft;
pub(crate) mod error;
pub(crate) mod header;
pub(crate) mod mapped;
pub(crate) mod model;
#[cfg(any(feature = "shards", feature = "checkpoint"))]
pub(crate) mod name;
pub(crate) mod opened;
mod padding;
mod places;
pub(crate) mod save;
pub(crate) mod system;
mod undo;
pub(crate) mod writer;

#[cfg(test)]
pub(crate) mod forgetful;
#[cfg(test)]
mod tests;

pub use draft::Draft;
pub use error::{FileError, FileFault};
pub use mapped::{Advice, MapOptions, MappedModel};
pub use model::{FileModel, FileTensor};
pub use save::Saved;
pub use writer::{FileWriter, TensorWriter, write_file};
