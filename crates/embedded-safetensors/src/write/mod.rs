//! Use this when a device or program writes a safetensors file: to a stream from front to back, or to storage
//! that can be written at any position.
//!
//! A file is described by a [`FileSpec`], laid out by a [`FilePlan`], and written by a [`Writer`]. In storage
//! that can be written at any position, an unfinished file is never valid.

// Each file imports only from earlier ones in this list: decimal, escape, spec, order, layout, text, plan,
// encoder, cursor, writer; then streaming and recording, the two kinds of sink.
pub(crate) mod cursor;
mod decimal;
mod encoder;
mod escape;
mod layout;
mod order;
pub(crate) mod plan;
pub(crate) mod recording;
pub(crate) mod spec;
#[cfg(feature = "embedded-io")]
mod streaming;
mod text;
mod writer;

// Imports of the files that are compiled in both forms.
use crate::io::{WriteAt, write_full};
#[cfg(feature = "embedded-io")]
use embedded_io as eio;
use embedded_safetensors_macros::blocking as form;

pub use crate::error::spec::{SpecError, SpecErrorKind, SpecPart};
pub use cursor::NextTensor;
pub use encoder::HeaderEncoder;
pub use layout::{PlannedContent, PlannedTensor, PlannedTensors};
pub use plan::FilePlan;
pub use recording::Recording;
pub use spec::{FileSpec, Placement, TensorSpec};
#[cfg(feature = "embedded-io")]
pub use streaming::Streaming;
pub use writer::{Sink, Writer};
