//! All operations on a model in storage, one at a time, while the storage has faults.

mod asynch;
mod blocking;

use std::fmt::Debug;

use embedded_safetensors::{Error, ReadAt, ReadError, index::Index, metadata::MetadataError};
use serde::Deserialize;

use crate::executor::finish;
use crate::mock::{Plan, Reads, Storage};
use crate::sources::{CUSTOM, SourceKind};
use crate::waiting::{self, Waits};

/// Declares the operations on a model, in groups.
macro_rules! operations {
    ($($(#[$about:meta])+ $group:ident { $($name:ident: $call:literal,)+ })+) => {
        /// An operation on a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $($(#[doc = $call] $name,)+)+
        }

        $($(#[$about])+ pub const $group: &[Operation] = &[$(Operation::$name),+];)+
    };
}

operations! {
    /// The operations that open a model.
    OPENING {
        Open: "`Model::open`.",
        OpenSorting: "`Model::open_unordered`, with a slot alone.",
        OpenIndexed: "`Model::open_indexed`.",
    }
    /// The operations that query the header of an open model.
    QUERYING {
        CheckUnchanged: "`Model::check_unchanged`.",
        Find: "`Model::find`.",
        FindAll: "`Model::find_all`.",
        ForEach: "`Model::for_each`.",
        List: "`Model::list`.",
        Metadata: "`Model::metadata_value`.",
        MetadataString: "`Model::metadata_string`.",
        AllMetadata: "`Model::metadata`.",
        MetadataAs: "`Model::metadata_as`.",
        MetadataValueAs: "`Model::metadata_value_as`.",
        Index: "`Model::build_index`.",
        IndexSize: "`Model::index_size`.",
        CheckNames: "`Model::validate_names`, with few slots.",
    }
    /// The operations that read a tensor as a whole, or rows of it.
    READING {
        NextChunk: "`TensorReader::next_chunk`, to the end.",
        ReadAll: "`TensorReader::read_to_end`.",
        ReadAt: "`TensorReader::read_at`, from the end to the front.",
        Read: "`embedded_io::Read`, to the end.",
        NextValues: "`Values::read`, to the end.",
        ReadValues: "`Values::read_exact`, rounded.",
        SameValues: "`Values::read_exact`, of the type of the elements.",
        Row: "`TensorReader::row`, from the last row to the first.",
        Rows: "`TensorReader::rows`, a row by each `Values::read_exact`.",
    }
    /// The operations that read it in slices.
    SLICING {
        Slices: "`SliceReader::next_chunk`, to the end, column by column.",
        WholeSlices: "`SliceReader::read_to_end`, column by column.",
        SlicesAsValues: "`SliceReader::values`, by `Values::read` to the end, column by column.",
        WholeSlicesAsValues: "`SliceReader::values`, by `Values::read_exact`, rounded, column by column.",
        SlicesAsSameValues: "`SliceReader::values`, by `Values::read_exact`, of the elements' type, column by column.",
    }
}

impl Operation {
    /// Whether it returns bytes of a tensor.
    pub fn reads_data(self) -> bool {
        READING.contains(&self) || SLICING.contains(&self)
    }
}

/// The tensor that is found and read: F32, in rows.
pub const TENSOR: &str = "fc1.weight";

/// The outcome of an operation: its answer as text, or the bytes read.
pub type Outcome = Result<Vec<u8>, AnyReadError>;

/// A [`ReadError`] of any storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyReadError {
    /// [`ReadError::Format`].
    Format(Error),
    /// [`ReadError::Source`].
    Source,
    /// [`ReadError::UnexpectedEof`].
    Eof(u64),
}

impl<E> From<ReadError<E>> for AnyReadError {
    fn from(error: ReadError<E>) -> Self {
        match error {
            ReadError::Format(error) => Self::Format(error),
            ReadError::Source(_) => Self::Source,
            ReadError::UnexpectedEof { at } => Self::Eof(at),
        }
    }
}

/// An operation and its memory.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The operation.
    pub operation: Operation,
    /// Bytes of the window.
    pub window: usize,
    /// How often a call is repeated after a storage error or a drop.
    pub retries: usize,
    /// The wait, counted from 0, at which the future of each call is dropped before it is repeated.
    pub dropped_at: Option<usize>,
}

/// The blocking API over a kind of source, or the asynchronous one.
#[derive(Clone, Copy)]
pub enum Form {
    /// The blocking one.
    Blocking(SourceKind),
    /// The asynchronous one; the storage waits before and after each call.
    Asynch(waiting::SourceKind),
}

impl Form {
    /// Returns how many bytes reads of this source return by default.
    pub fn reads(self) -> &'static [Reads] {
        match self {
            Self::Blocking(kind) => kind.reads,
            Self::Asynch(_) => CUSTOM.reads,
        }
    }
}

impl Setup {
    /// Runs the operation. The storage has no faults while the model is opened and the tensor is found; then
    /// it follows the plan. Opening operations follow it from the start.
    pub fn run(self, form: Form, storage: &Storage<'_>, plan: Plan) -> Outcome {
        let start_faults = || storage.set_plan(plan);
        match form {
            Form::Blocking(kind) => self.run_with(kind.source(storage), start_faults),
            Form::Asynch(kind) => {
                let source = kind.source(storage, Waits { before: 1, after: 1 });
                finish(asynch::Run(self).run(source, start_faults))
            }
        }
    }

    /// Runs the operation of the blocking API on a source that has no faults until `start_faults` is called.
    pub fn run_with<S: ReadAt<Error: embedded_io::Error>>(
        self,
        source: S,
        start_faults: impl FnOnce(),
    ) -> Outcome {
        blocking::Run(self).run(source, start_faults)
    }
}

/// Returns the bytes of the element that became this value. A cast would make a signalling NaN quiet.
#[expect(clippy::cast_possible_truncation, reason = "it was an `f32`")]
fn as_f32(value: &f64) -> [u8; 4] {
    let bits = value.to_bits();
    let of_nan = (bits >> 32) as u32 & 1 << 31 | 0xFF << 23 | (bits >> 29) as u32 & 0x7F_FFFF;
    let element = if value.is_nan() { of_nan } else { (*value as f32).to_bits() };
    element.to_le_bytes()
}

/// The `__metadata__` of every file here.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is read as words")]
struct Metadata<'t> {
    unit: &'t str,
    seed: u64,
}

/// The text comes from the validated header, so it always decodes.
fn expect_decoded<T, E>(decoded: Result<T, MetadataError<E>>) -> Result<T, ReadError<E>> {
    decoded.map_err(|error| match error {
        MetadataError::Read(error) => error,
        MetadataError::Decode(error) => panic!("other text was decoded: {error:?}"),
    })
}

fn entries(index: &Index<'_>) -> Vec<u8> {
    debug_bytes(&index.by_offset().collect::<Vec<_>>())
}

fn debug_bytes(answer: &impl Debug) -> Vec<u8> {
    format!("{answer:?}").into_bytes()
}
