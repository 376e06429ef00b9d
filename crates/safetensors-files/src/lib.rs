#![doc = include_str!("../README.md")]
#![cfg(any(unix, windows))]
#![forbid(unsafe_code)]

// Everything goes through `disk`, the few calls of a file system that are needed: `system` makes them, and the tests make them on a
// model of a disk that forgets what was not synced, and stops after any call. A file that takes the place of another is
// `atomic`; a header that is overwritten in place has an `undo` beside it.

mod atomic;
pub mod checkpoint;
mod disk;
mod editor;
mod error;
mod name;
mod opened;
mod output;
mod padding;
mod save;
pub mod shards;
mod system;
mod undo;
mod writer;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

pub use editor::ModelEditor;
pub use error::{EditError, EditErrorKind};
pub use output::{AtomicFile, ClosedFile};
pub use padding::padding_of;
pub use save::SaveMethod;
pub use writer::{FileWriter, TensorWriter, write_file};
