#![doc = include_str!("../README.md")]
#![cfg(any(unix, windows))]
#![forbid(unsafe_code)]

// All file access goes through the trait in `disk`. `system` implements it for the operating system.
// `simulated` implements it for tests, on a disk that loses unsynced data and can fail at any call. `atomic`
// replaces files, and `claim` removes what killed programs left of them; `undo` protects what is
// overwritten in place.

#[cfg(feature = "ndarray")]
mod array;
mod atomic;
mod change;
pub mod checkpoint;
mod claim;
mod disk;
mod editor;
mod error;
mod name;
mod opened;
mod output;
mod padding;
mod save;
pub mod shards;
mod sum;
mod system;
#[doc(hidden)]
pub mod threads;
mod undo;
mod writer;

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

#[cfg(feature = "ndarray")]
pub use array::array_view;
pub use change::NewBytes;
pub use editor::ModelEditor;
pub use error::{EditError, EditErrorKind};
pub use output::{AtomicFile, ClosedFile};
pub use padding::padding_in;
pub use save::SaveMethod;
pub use writer::{FileWriter, TensorWriter, save, write_file};
