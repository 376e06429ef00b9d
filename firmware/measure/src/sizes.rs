//! The sizes that the documentation promises for targets with 32-bit pointers. A larger type does not
//! compile.

use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError, Shape, Tensor, TensorInfo, TensorReader, View,
    header::{Entries, Entry, Event, HeaderParser, Item, Text},
    index::{IndexRecord, IndexStorage},
    integrity::{Crc32, Sha256, Verifier},
    io::{FileLen, NorFile, Seekable},
    metadata::{Chars, JsonStr, Metadata, MetadataView, Pair},
    query::Query,
    reader::{Contiguous, SliceReader, Sliced, Values},
    slice::{AxisRange, ByteRuns, Run, Runs, SlicePlan},
    stream::{FileReceiver, Receiver, Router, RouterEvent, Status, Target},
    tensor::Location,
    validate::{DuplicateFinder, SortSlot, Summary, Validator},
    values::{C64, dtypes::Rounded},
    view::{SliceRuns, Tensors},
    write::{FilePlan, HeaderEncoder, Recording, Writer},
};
use safetensors_quant::{Matrix, QuantReader};

macro_rules! at_most {
    ($($type:ty: $bytes:expr,)*) => { $(const _: () = assert!(size_of::<$type>() <= $bytes);)* };
}

/// A pointer to storage, aligned to 8 bytes.
const POINTER: usize = 8;

at_most! {
    HeaderParser: 128,
    Validator<'_>: 264,
    DuplicateFinder<'_>: 344,
    Entries<'_>: 232,
    Entry<'_>: 120,
    Item<'_>: 120,
    Event<'_>: 24,
    Text<'_>: 16,
    SortSlot: 24,
    Summary: 24,
    Error: 32,
    ErrorKind: 24,
    Dtype: 1,
    Shape: 72,
    TensorInfo: 96,
    Location: 24,
    Query<'_>: 112,
    IndexRecord: 48,
    // Aligned to 8 bytes.
    IndexStorage<10, 20, 100>: 10 * 48 + 20 * 8 + 104,
}

at_most! {
    Model<()>: 24,
    FileLen: 16,
    ReadError<()>: 32,
    Seekable<()>: 16,
    NorFile<()>: 24,
    TensorReader<'_, &mut ()>: 72,
    AxisRange: 32,
    SlicePlan: 232,
    Run: 16,
    Runs: 232,
    ByteRuns: 240,
    Contiguous: 40,
    Sliced: 328,
    SliceReader<&mut ()>: 328 + POINTER,
    Values<()>: 40,
    Values<&mut (), Sliced, Rounded>: 328 + POINTER,
    Matrix: 176,
    QuantReader<&mut ()>: 136,
}

at_most! {
    View<'_>: 80,
    Tensor<'_>: 160,
    Tensors<'_>: 352,
    SliceRuns<'_>: 256,
    MetadataView<'_>: 24,
    JsonStr<'_>: 24,
    Chars<'_>: 16,
    Metadata<'_>: 16,
    Pair<'_>: 40,
    C64: 8,
}

at_most! {
    Receiver<()>: 232,
    Target<'_, '_>: 144,
    Status: 1,
    Router<'_>: 272,
    RouterEvent<'_, '_>: 80,
    FileReceiver<'_, '_, ()>: 248,
    FilePlan<'_>: 56,
    HeaderEncoder<'_>: 120,
    Writer<'_, ()>: 88,
    Writer<'_, Recording<'_, ()>>: 160,
    Crc32: 8,
    Sha256: 104,
    Verifier<Sha256>: 264,
}

#[cfg(feature = "panics")]
mod asynchronous {
    use super::POINTER;
    use embedded_safetensors::asynch::{Model, ReadAhead, Seekable, SliceReader, TensorReader, Values};
    use embedded_safetensors::reader::Sliced;
    use embedded_safetensors::tensor::TensorInfo;
    use embedded_safetensors::values::dtypes::Rounded;

    at_most! {
        Model<()>: 24,
        ReadAhead<'_, (), TensorInfo>: 64,
        Seekable<()>: 16,
        TensorReader<'_, &mut ()>: 72,
        SliceReader<&mut ()>: 328 + POINTER,
        Values<()>: 40,
        Values<&mut (), Sliced, Rounded>: 328 + POINTER,
    }
}
