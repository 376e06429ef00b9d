//! The documented sizes, which are RAM of a program: those of targets with 64-bit pointers. Where pointers
//! have 32 bits, most are smaller.

use embedded_safetensors::{
    Dtype, Error, ErrorKind, Model, ReadError, Shape, Tensor, TensorInfo, TensorReader, View, WriteError,
    asynch,
    header::{Entries, Entry, Event, HeaderParser, Item, Text},
    index::{Index, IndexMemory, IndexRecord, IndexSize, IndexStorage, IndexedTensor},
    integrity::{Crc32, Sha256, Verifier},
    io::{FileLen, NorFile, Seekable},
    metadata::{Chars, DecodeError, JsonStr, Metadata, MetadataError, MetadataView, Pair},
    query::Query,
    reader::{Contiguous, SliceReader, Sliced, Values},
    slice::{AxisRange, ByteRuns, Run, Runs, SlicePlan},
    stream::{FileReceiver, Receiver, Router, RouterEvent, Status, Target},
    tensor::Location,
    validate::{DuplicateFinder, SortSlot, Summary, Validator},
    values::{AlignedFile, C64, dtypes::Rounded},
    view::{SliceRuns, Tensors},
    write::{
        FilePlan, FileSpec, HeaderEncoder, NextTensor, Placement, PlannedContent, PlannedTensor,
        PlannedTensors, Recording, SpecError, SpecErrorKind, SpecPart, Streaming, TensorSpec, Writer,
    },
};
use safetensors_quant::{Matrix, QuantReader};

/// Asserts at compile time that types have at most these sizes.
macro_rules! at_most {
    ($($size:expr => $($type:ty),+;)+) => { $($(const _: () = assert!(size_of::<$type>() <= $size);)+)+ };
}

/// A pointer, aligned to 8 bytes.
const POINTER: usize = 8;

at_most! {
    1 => Dtype, Status;
    8 => C64, Placement;
    16 => Text<'_>, Chars<'_>, Run, FileLen, Seekable<()>, asynch::Seekable<()>, Metadata<'_>;
    16 => Crc32, SpecPart, PlannedContent<'_>;
    24 => ErrorKind, SortSlot, Summary, Event<'_>, MetadataView<'_>, JsonStr<'_>, Model<()>;
    24 => asynch::Model<()>, Location, NorFile<()>, DecodeError, SpecErrorKind, IndexSize;
    32 => Error, AxisRange, ReadError<()>, MetadataError<()>, PlannedTensor<'_>, NextTensor<'_>;
    40 => Pair<'_>, Contiguous, Values<()>, asynch::Values<()>, TensorSpec<'_>, SpecError, WriteError<()>;
    48 => IndexRecord, FileSpec<'_>;
    56 => IndexedTensor<'_>;
    64 => PlannedTensors<'_>;
    72 => Shape, TensorReader<'_, &mut ()>, asynch::TensorReader<'_, &mut ()>;
    80 => View<'_>, RouterEvent<'_, '_>;
    96 => TensorInfo, Index<'_>, FilePlan<'_>;
    104 => Sha256;
    120 => Entry<'_>, Item<'_>, Writer<'_, ()>, asynch::Writer<'_, ()>;
    120 => Recording<'_, ()>, asynch::Recording<'_, ()>;
    128 => HeaderParser, Query<'_>, AlignedFile<64, 65>;
    136 => QuantReader<()>, safetensors_quant::asynch::QuantReader<()>;
    152 => QuantReader<(), &[u8]>;
    160 => Tensor<'_>;
    168 => [u8; size_of::<Tensor<'_>>() + size_of::<embedded_safetensors::__Link>()];
    176 => Matrix;
    184 => HeaderEncoder<'_>;
    192 => Target<'_, '_>, Verifier<()>;
    232 => Entries<'_>, Receiver<()>, SlicePlan, Runs;
    240 => ByteRuns, Writer<'_, Recording<'_, ()>>;
    256 => SliceRuns<'_>;
    264 => Validator<'_>;
    272 => Router<'_>;
    288 => FileReceiver<'_, '_, ()>;
    328 => Sliced;
    328 + POINTER => SliceReader<&mut ()>, asynch::SliceReader<&mut ()>;
    328 + POINTER => Values<&mut (), Sliced, Rounded>, asynch::Values<&mut (), Sliced, Rounded>;
    344 => DuplicateFinder<'_>;
    352 => Tensors<'_>;
    3 * size_of::<&[u8]>() + 16 => IndexMemory<'_>;
    12 * 48 + 31 * 8 + 224 => IndexStorage<12, 31, 224>;
    0 => Streaming<()>;
}

// What a writer takes where pointers have 32 bits.
#[cfg(target_pointer_width = "32")]
at_most! {
    20 => TensorSpec<'_>;
    24 => SpecError, PlannedTensor<'_>, NextTensor<'_>;
    28 => FileSpec<'_>;
    40 => PlannedTensors<'_>;
    56 => FilePlan<'_>;
    72 => Recording<'_, ()>;
    88 => Writer<'_, ()>;
    120 => HeaderEncoder<'_>;
    160 => Writer<'_, Recording<'_, ()>>;
}

#[cfg(feature = "std")]
mod files {
    use embedded_safetensors::file::{Advice, FileError, FileErrorKind, FileTensor, MapOptions};
    use safetensors_files::checkpoint::{CheckpointErrorKind, Verified};
    use safetensors_files::shards::{PlannedShard, ShardErrorKind, ShardLimits};
    use safetensors_files::{EditError, EditErrorKind, SaveMethod, TensorWriter};

    at_most! {
        1 => SaveMethod, Advice;
        2 => MapOptions;
        16 => TensorWriter<'_, '_>, Verified;
        48 => ShardLimits;
        56 => PlannedShard;
        64 => FileTensor<'_>, FileErrorKind;
        72 => CheckpointErrorKind;
        88 => FileError, EditErrorKind, ShardErrorKind;
        112 => EditError;
    }
}
