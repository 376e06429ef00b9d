//! Files described ([`FileSpec`]), planned ([`FilePlan`]) and written ([`Writer`]): from front to back, or into storage that is written at any
//! position, where half a file is none.

// Each file imports only from those before it: decimal, escape, spec, order, layout, text, plan, encoder, cursor, writer; then streaming and
// recording, the two kinds of sink.
pub(crate) mod cursor;
mod decimal;
mod encoder;
mod escape;
mod layout;
mod order;
pub(crate) mod plan;
mod recording;
pub(crate) mod spec;
#[cfg(feature = "embedded-io")]
mod streaming;
mod text;
mod writer;

// What the files of both forms import.
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
