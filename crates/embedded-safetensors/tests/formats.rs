//! Every type with `Debug` or `Display` can be logged by defmt. The test is that this compiles; the output
//! is tested on an emulated board (`firmware/netduinoplus2`).

use defmt::Format;
use embedded_safetensors::asynch::{Bytes, Part, ReadAhead};
use embedded_safetensors::{
    error::*, header::*, index::*, integrity::*, io::*, metadata::*, query::*, reader::*, slice::*,
    stream::*, tensor::*, validate::*, values::*, view::*, write::*, *,
};
use std::fs;
use std::path::{Path, PathBuf};

fn formats<T: Format + ?Sized>() {}

/// A placeholder for a device.
#[derive(Format)]
struct Device;

macro_rules! all_format {
    ($($type:ty,)*) => {
        #[test]
        fn every_public_type_can_be_logged() {
            $(formats::<$type>();)*
        }

        /// The names as the modules spell them.
        const LOGGED: &[&str] = &[$(stringify!($type)),*];
    };
}

all_format! {
    AlignedFile<4, 8>,
    AxisRange,
    Target<'static, 'static>,
    ByteRuns,
    C64,
    Chars<'static>,
    Class,
    PlannedContent<'static>,
    Contiguous,
    DecodeError,
    Dtype,
    NextTensor<'static>,
    DuplicateFinder<'static>,
    Entries<'static>,
    Entry<'static>,
    Error,
    ErrorKind,
    Event<'static>,
    Field,
    FileLen,
    FilePlan<'static>,
    FileSpec<'static>,
    NorError<embedded_storage::nor_flash::NorFlashErrorKind>,
    NorFile<Device>,
    Validator<'static>,
    HeaderEncoder<'static>,
    HeaderParser,
    Index<'static>,
    IndexMemory<'static>,
    IndexPart,
    IndexRecord,
    IndexSize,
    IndexStorage<1, 1, 1>,
    IndexedTensor<'static>,
    Item<'static>,
    Location,
    Metadata<'static>,
    MetadataError<Device>,
    MetadataView<'static>,
    Model<Device>,
    Pair<'static>,
    Placement,
    PlannedTensor<'static>,
    PlannedTensors<'static>,
    Progress,
    JsonStr<'static>,
    ReadError<Device>,
    ReadError<core::convert::Infallible>,
    Receiver<[Target<'static, 'static>; 2]>,
    Status,
    Recording<'static, Device>,
    RouterEvent<'static, 'static>,
    Router<'static>,
    Run,
    Runs,
    Seekable<Device>,
    Shape,
    SliceReader<Device>,
    SlicePlan,
    SliceRuns<'static>,
    Sliced,
    SortSlot,
    SpecError,
    SpecErrorKind,
    Streaming<Device>,
    Summary,
    Tensor<'static>,
    TensorInfo,
    TensorReader<'static, Device>,
    TensorSpec<'static>,
    Tensors<'static>,
    Text<'static>,
    Values<Device>,
    Values<Device, Sliced, values::dtypes::Rounded>,
    View<'static>,
    Query<'static>,
    SpecPart,
    WriteError<Device>,
    Writer<'static, Streaming<Device>>,
    DtypeSet,
    NamedTensor<8>,
    Crc32,
    EmbeddedSum,
    FileReceiver<'static, 'static, Device>,
    QuantRole,
    QueryIndex,
    Sha256,
    Verifier<Sha256>,
    Bytes,
    Part<'static, f32>,
    ReadAhead<'static, Device, TensorInfo>,
    asynch::Model<Device>,
    asynch::Seekable<Device>,
    asynch::SliceReader<Device>,
    asynch::TensorReader<'static, Device>,
    asynch::Values<Device>,
    asynch::Writer<'static, asynch::Recording<'static, Device>>,
}

/// Public names that are not types, or belong to types that need an operating system, and so are never
/// logged on a device.
const OTHERS: [&str; 30] = [
    "KEY",
    "Sum",
    "ZEROS",
    "ANY_SIZE",
    "Advice",
    "Align",
    "Alignment",
    "Array",
    "Element",
    "FileError",
    "FileErrorKind",
    "FileModel",
    "FileTensor",
    "Located",
    "MAX_HEADER_LEN",
    "MAX_RANK",
    "MapOptions",
    "MappedModel",
    "Native",
    "OwnedIndex",
    "PADDING",
    "Parts",
    "ReadAt",
    "Region",
    "Sink",
    "Undo",
    "Version",
    "WriteAt",
    "__Embedded",
    "__Link",
];

#[test]
fn no_public_type_is_missing() {
    let text: String =
        pages().iter().map(|page| fs::read_to_string(page).expect("readable source")).collect();
    let uses = text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let words = uses.flat_map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let types = ["pub struct ", "pub enum "].map(|sign| text.split(sign).skip(1));
    let types =
        types.into_iter().flatten().filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
    let names =
        words.chain(types).filter(|word| word.trim_start_matches('_').starts_with(char::is_uppercase));
    let is_logged = |name: &str| LOGGED.iter().any(|logged| logged.split('<').next() == Some(name));
    let mut missing: Vec<_> = names.filter(|name| !is_logged(name) && !OTHERS.contains(name)).collect();
    missing.sort_unstable();
    missing.dedup();
    assert_eq!(missing, ["Embedded", "Link"]);
}

/// The files that declare all public names: the crate root and its modules.
fn pages() -> Vec<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let below =
        fs::read_dir(&source).expect("source directory").map(|entry| entry.expect("directory entry").path());
    let mut pages: Vec<_> =
        below.map(|path| if path.is_dir() { path.join("mod.rs") } else { path }).collect();
    pages.sort();
    pages
}
