// Its examples are tested where the features are on that they use.
#![cfg_attr(any(not(doctest), all(feature = "embedded-io", feature = "shards", feature = "checkpoint")), doc = include_str!("../README.md"))]
#![no_std]
#![deny(unsafe_code)]

// Lengths and counts that fit into 32 bits are turned into `usize`.
#[cfg(target_pointer_width = "16")]
compile_error!("embedded-safetensors needs pointers of at least 32 bits");

#[cfg(feature = "std")]
extern crate std;

#[macro_use]
mod error;

#[cfg(feature = "embedded-io-async")]
pub mod asynch;
#[cfg(all(feature = "checkpoint", any(unix, windows)))]
mod checkpoint;
mod dtype;
#[cfg(all(feature = "std", any(unix, windows)))]
mod file;
mod header;
mod index;
mod io;
mod model;
mod query;
mod reader;
mod shape;
#[cfg(all(feature = "shards", any(unix, windows)))]
mod shards;
mod slice;
mod stream;
mod tensor;
mod util;
mod validate;
mod values;
mod view;
mod write;

#[cfg(all(feature = "checkpoint", any(unix, windows)))]
pub use checkpoint::{
    error::{CheckpointError, CheckpointFault},
    verify::{Verified, verify_checkpoint},
    write::{Checkpoint, recover_checkpoint, write_checkpoint},
};
pub use dtype::Dtype;
pub use error::spec::{SpecError, SpecFault, Which};
pub use error::{Blame, Error, ErrorKind, Field, IndexPart, MAX_HEADER_LEN};
#[cfg(all(feature = "std", any(unix, windows)))]
pub use file::mapped::{Advice, MapOptions, MappedModel};
#[cfg(all(feature = "std", any(unix, windows)))]
pub use file::{
    draft::Draft,
    error::{FileError, FileFault},
    model::{FileModel, FileTensor},
    save::Saved,
    writer::{FileWriter, TensorWriter, write_file},
};
pub use header::entry::{Entries, Entry, Item};
pub use header::progress::Progress;
pub use header::{Event, HeaderParser, Text};
pub use index::memory::{IndexMemory, IndexRecord, IndexSize, IndexStorage};
pub use index::{Index, IndexedTensor};
#[cfg(feature = "embedded-io")]
pub use io::embedded_io::Seekable;
#[cfg(feature = "embedded-storage")]
pub use io::nor::{FlashError, FlashFile};
pub use io::{FileLen, ReadAt, ReadError, WriteAt, WriteError};
pub use model::Model;
#[cfg(feature = "serde-json-core")]
pub use query::decode::{DecodeError, MetadataError};
pub use query::find::Wanted;
pub use query::metadata::{Metadata, Pair};
pub use reader::slice::SliceReader;
pub use reader::tensor::TensorReader;
pub use reader::{rows::Rows, values::ElementReader};
pub use shape::{MAX_RANK, Shape, Strides};
#[cfg(all(feature = "shards", any(unix, windows)))]
pub use shards::{
    error::{ShardError, ShardFault},
    index::ShardIndex,
    limits::{ShardLimit, ShardLimits},
    model::ShardedModel,
    plan::{PlannedShard, ShardPlan},
    size::parse_shard_size,
};
pub use slice::plan::SlicePlan;
pub use slice::range::AxisRange;
pub use slice::walk::{ByteRuns, Run, Runs};
pub use stream::receiver::{Binding, Receiver, Reception, bind, bind_optional};
pub use stream::router::{Routed, Router};
pub use tensor::info::TensorInfo;
pub use tensor::location::{Locate, Location};
pub use util::top_k::Slot;
pub use validate::duplicates::DuplicateCheck;
pub use validate::{HeaderCheck, Summary, check, check_header};
pub use values::convert::Element;
#[doc(hidden)]
pub use values::native::{Align, Alignment};
pub use values::native::{AlignedFile, Array, C64, Native};
pub use view::{Chars, MetadataView, Quoted, SliceRuns, Tensor, Tensors, View};
#[doc(hidden)]
pub use view::{Embedded as __Embedded, Link as __Link, room as __room};
pub use write::cursor::Due;
pub use write::encoder::HeaderEncoder;
pub use write::layout::{Content, PlannedTensor, PlannedTensors};
pub use write::plan::FilePlan;
pub use write::recorder::Recorder;
pub use write::spec::{FileSpec, Placement, TensorSpec};
#[cfg(feature = "embedded-io")]
pub use write::writer::Writer;
