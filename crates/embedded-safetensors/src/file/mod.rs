//! Use this when a model is a file on Unix or Windows: [`FileModel`] reads it with positioned reads,
//! [`MappedModel`] maps it into memory. Both read the header once, and write nothing.
//!
//! The crate `safetensors-files` writes and edits files.

mod advice;
mod error;
mod header;
#[allow(unsafe_code)]
mod map_options;
mod mapped;
mod model;
mod open;
mod undo;

pub use advice::Advice;
pub use error::{FileError, FileErrorKind};
pub use map_options::MapOptions;
pub use mapped::MappedModel;
pub use model::{FileModel, FileTensor};

/// Items shared with the crate `safetensors-files`.
#[doc(hidden)]
pub mod shared {
    pub use crate::error::spec::PADDING;
    pub use crate::file::header::{read_header, read_up_to, refusal};
    pub use crate::file::open::{Version, other_than_file};
    pub use crate::file::undo::Undo;
    pub use crate::values::native::{Parts, parts};
}
