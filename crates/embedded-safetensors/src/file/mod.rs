//! Models in files of an operating system: [`FileModel`] by positioned reads, [`MappedModel`] by a map. Both read the header once, and write nothing.
//!
//! Files are written and edited by the crate `safetensors-files`.

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

/// What the crate `safetensors-files` shares with this one.
#[doc(hidden)]
pub mod shared {
    pub use crate::error::spec::PADDING;
    pub use crate::file::header::{read_header, read_up_to, refusal};
    pub use crate::file::open::{Version, other_than_file};
    pub use crate::file::undo::Undo;
    pub use crate::values::native::{Parts, parts};
}
