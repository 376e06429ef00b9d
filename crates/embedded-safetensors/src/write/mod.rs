//! Files written front to back ([`Writer`]), or recorded in storage that is written at any place ([`Recorder`]). [`FileSpec`] describes
//! what the file is to hold, and is sorted into a [`FilePlan`].

// What a file is to hold is described (`spec`), checked and laid out (`plan`, in the order that `order` makes), its header spelled piece by
// piece (`text`, whole entries at once by `whole`) into any buffer (`encoder`), and its data taken in the order of the file (`cursor`).

pub(crate) mod cursor;
mod decimal;
pub(crate) mod encoder;
mod escape;
pub(crate) mod layout;
mod order;
mod text;
pub(crate) mod plan;
mod recording;
pub(crate) mod spec;
mod whole;
#[cfg(feature = "embedded-io")]
mod writer;

// What the files of both forms import.
use crate::io::{WriteAt, write_full};
#[cfg(feature = "embedded-io")]
use embedded_io as eio;
use embedded_safetensors_macros::blocking as form;

pub use crate::error::spec::{SpecError, SpecFault, Which};
pub use cursor::Due;
pub use encoder::HeaderEncoder;
pub use layout::{Content, PlannedTensor, PlannedTensors};
pub use plan::FilePlan;
pub use recording::Recorder;
pub use spec::{FileSpec, Placement, TensorSpec};
#[cfg(feature = "embedded-io")]
pub use writer::Writer;
