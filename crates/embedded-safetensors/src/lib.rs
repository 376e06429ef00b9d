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
#[path = "error/log.rs"]
mod log;

#[cfg(feature = "embedded-io-async")]
pub mod asynch;
#[path = "util/bytes.rs"]
mod bytes;
#[path = "validate/mod.rs"]
mod check;
#[cfg(all(feature = "checkpoint", any(unix, windows)))]
mod checkpoint;
#[path = "values/convert/mod.rs"]
mod convert;
mod dtype;
#[path = "validate/duplicates.rs"]
mod duplicates;
#[path = "reader/element/mod.rs"]
mod element;
mod error;
#[cfg(all(feature = "std", any(unix, windows)))]
mod file;
#[path = "util/fingerprint.rs"]
mod fingerprint;
#[path = "reader/slice.rs"]
mod gather;
#[path = "util/siphash.rs"]
mod hash;
mod header;
mod index;
#[path = "index/build.rs"]
mod indexing;
#[path = "tensor/info.rs"]
mod info;
#[cfg(feature = "serde-json-core")]
#[path = "query/decode.rs"]
mod json;
#[path = "validate/order.rs"]
mod layout;
#[path = "query/list.rs"]
mod list;
#[path = "tensor/location.rs"]
mod location;
#[cfg(all(feature = "std", any(unix, windows)))]
#[path = "file/mapped/mod.rs"]
mod map;
mod model;
#[allow(unsafe_code)]
#[path = "values/native.rs"]
mod native;
#[path = "query/metadata.rs"]
mod pairs;
#[path = "query/pump.rs"]
mod pass;
#[path = "header/progress.rs"]
mod progress;
#[path = "stream/receiver.rs"]
mod receiver;
#[path = "stream/router.rs"]
mod router;
#[path = "query/find.rs"]
mod search;
#[path = "error/sentence.rs"]
mod sentence;
mod shape;
#[cfg(all(feature = "shards", any(unix, windows)))]
mod shards;
#[path = "io/sink/mod.rs"]
mod sink;
mod slice;
#[path = "util/top_k.rs"]
mod smallest;
#[path = "io/source/mod.rs"]
mod source;
#[path = "tensor/span.rs"]
mod span;
#[path = "reader/tensor.rs"]
mod tensor;
#[path = "query/value.rs"]
mod value;
mod view;
mod write;

pub use check::{HeaderCheck, Summary, check, check_header};
#[cfg(all(feature = "checkpoint", any(unix, windows)))]
pub use checkpoint::{
    error::{CheckpointError, CheckpointFault},
    verify::{Verified, verify_checkpoint},
    write::{Checkpoint, recover_checkpoint, write_checkpoint},
};
pub use convert::Element;
pub use dtype::Dtype;
pub use duplicates::DuplicateCheck;
pub use element::{ElementReader, Rows};
pub use error::{Blame, Error, ErrorKind, Field, IndexPart, MAX_HEADER_LEN};
#[cfg(all(feature = "std", any(unix, windows)))]
pub use file::{
    draft::Draft,
    error::{FileError, FileFault},
    model::{FileModel, FileTensor},
    save::Saved,
    writer::{FileWriter, TensorWriter, write_file},
};
pub use gather::SliceReader;
pub use header::entry::{Entries, Entry, Item};
pub use header::{Event, HeaderParser, Text};
pub use index::memory::{IndexMemory, IndexRecord, IndexSize, IndexStorage};
pub use index::{Index, IndexedTensor};
pub use info::TensorInfo;
#[cfg(feature = "serde-json-core")]
pub use json::{DecodeError, MetadataError};
pub use location::{Locate, Location};
#[cfg(all(feature = "std", any(unix, windows)))]
pub use map::{Advice, MapOptions, MappedModel};
pub use model::Model;
#[doc(hidden)]
pub use native::{Align, Alignment};
pub use native::{AlignedFile, Array, C64, Native};
pub use pairs::{Metadata, Pair};
pub use progress::Progress;
pub use receiver::{Binding, Receiver, Reception, bind, bind_optional};
pub use router::{Routed, Router};
pub use search::Wanted;
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
pub use sink::WriteAt;
pub use slice::plan::SlicePlan;
pub use slice::range::AxisRange;
pub use slice::walk::{ByteRuns, Run, Runs};
pub use smallest::Slot;
#[cfg(feature = "embedded-io")]
pub use source::io::Seekable;
#[cfg(feature = "embedded-storage")]
pub use source::nor::{FlashError, FlashFile};
pub use source::{FileLen, ReadAt, ReadError};
pub use tensor::TensorReader;
pub use view::{Chars, MetadataView, Quoted, SliceRuns, Tensor, Tensors, View};
#[doc(hidden)]
pub use view::{Embedded as __Embedded, Link as __Link, room as __room};
pub use write::cursor::Due;
pub use write::encoder::HeaderEncoder;
pub use write::error::{SpecError, SpecFault, Which, WriteError};
pub use write::layout::{Content, PlannedTensor, PlannedTensors};
pub use write::plan::FilePlan;
pub use write::recorder::Recorder;
pub use write::spec::{FileSpec, Placement, TensorSpec};
#[cfg(feature = "embedded-io")]
pub use write::writer::Writer;
