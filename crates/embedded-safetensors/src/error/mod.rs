//! What is wrong with a file, a device or a call: every error has a stable code, a sentence, and the byte
//! where it was found.

#[macro_use]
pub(crate) mod log;
pub(crate) mod sentence;
pub(crate) mod spec;

use crate::dtype::Dtype;

/// The longest header the format allows, in bytes (inclusive).
pub const MAX_HEADER_LEN: u64 = 100_000_000;

/// One fault: what it is and the byte of the file where it shows.
///
/// *Memory*: 32 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, with the numbers that matter.
    pub kind: ErrorKind,
    /// Offset in the file, counted from 0. For a fault of the file's length it is the byte where
    /// the file ends too early or the first byte that should not be there.
    pub at: u64,
}

/// Who can mend an error.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Blame {
    /// The file is not a sound safetensors file.
    File,
    /// The file may be sound; the memory given to the reader is too small to tell or to hold it.
    Limit,
    /// The caller broke a contract; the file was not judged.
    Usage,
}

/// The three members that every tensor entry has.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Field {
    /// `"dtype"`
    Dtype,
    /// `"shape"`
    Shape,
    /// `"data_offsets"`
    Offsets,
}

impl Field {
    /// As a part of a set of fields.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

names! {
    Field:
    /// The member's key in the header.
    name:
    Self::Dtype => "dtype",
    Self::Shape => "shape",
    Self::Offsets => "data_offsets",
}

/// What an index has memory for.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum IndexPart {
    /// Tensors.
    Tensors,
    /// Dimensions, those of all shapes together.
    Dims,
    /// Bytes of names, all together.
    Names,
}

/// What is wrong. Each kind has a stable text code ([`code`](Self::code)); `Display` is one sentence.
///
/// *Memory*: 24 bytes, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Fewer than 8 bytes: not even the header length is there. At: the end of the file.
    FileTooShort,
    /// The header claims more than [`MAX_HEADER_LEN`] bytes. At: byte 0.
    HeaderTooLarge {
        /// The length it claims.
        length: u64,
    },
    /// The file ends before its header does. At: the end of the file.
    HeaderBeyondFile {
        /// The length the header claims.
        length: u64,
        /// How many bytes of it are there.
        present: u64,
    },
    /// Not UTF-8. At: the first byte of the bad sequence.
    Utf8,
    /// A byte that no JSON text has at this place. At: that byte.
    UnexpectedByte(u8),
    /// The header ends inside its JSON text. At: the end of the header.
    UnexpectedEnd,
    /// A raw control character inside a string. At: that byte.
    ControlCharacter(u8),
    /// A byte that does not belong into an escape sequence. At: that byte.
    Escape(u8),
    /// Half a surrogate pair. At: the backslash of the half.
    Surrogate,
    /// Not a JSON number: a leading zero, or digits missing. At: the byte that shows it.
    Number,
    /// More than 127 brackets open at once. At: the 128th.
    Depth,
    /// Something other than whitespace after the header's object. At: its first byte.
    Trailing(u8),
    /// The header is JSON, but not an object. At: its first byte.
    HeaderType,
    /// A tensor's entry is not an object. At: the value's first byte.
    EntryType,
    /// A tensor's entry is an array; only the reference's JSON library takes that. At: the bracket.
    EntryArray,
    /// An entry lacks one of its three members. At: the entry's closing brace.
    Missing(Field),
    /// An entry has one of its three members twice. At: the second key.
    Repeated(Field),
    /// The dtype is not a string. At: the value's first byte.
    DtypeType,
    /// The dtype is an object; only the reference's JSON library takes that. At: the brace.
    DtypeObject,
    /// No such dtype. At: the string's opening quote.
    DtypeUnknown,
    /// Shape or offsets are not an array. At: the value's first byte.
    ListType(Field),
    /// A number in shape or offsets is not a plain non-negative integer. At: the byte that shows it.
    NotAnInteger(Field),
    /// A number in shape or offsets is above 2^64 - 1. At: its first digit.
    IntegerRange(Field),
    /// The offsets are not exactly two. At: the bracket that comes too early, the comma too many.
    OffsetsCount,
    /// `__metadata__` is neither an object nor null. At: the value's first byte.
    MetadataType,
    /// A value in `__metadata__` is not a string. At: the value's first byte.
    MetadataValue,
    /// `__metadata__` stands twice in the header. At: the second one's opening quote.
    MetadataTwice,
    /// Number of elements or bits, multiplied left to right, exceeds 2^64 - 1. At: the dimension
    /// that overflows, or the shape's bracket when it is the width of the dtype.
    Overflow,
    /// The tensor does not fill whole bytes. At: the shape's opening bracket.
    SubByte {
        /// How many elements the shape has.
        elements: u64,
        /// How wide one is.
        bits: u8,
    },
    /// The offsets span another number of bytes than dtype and shape need. At: the first offset.
    Size {
        /// Bytes from the first to the second offset.
        range: u64,
        /// Bytes that dtype and shape need.
        needed: u64,
    },
    /// The second offset lies before the first. At: the first offset.
    Reversed {
        /// The first offset.
        begin: u64,
        /// The second offset.
        end: u64,
    },
    /// Bytes that belong to no tensor. At: the first offset of the tensor behind the hole.
    Hole {
        /// Where the tensor begins.
        begin: u64,
        /// Where the tensor before it ends (0: there is none).
        previous_end: u64,
    },
    /// Bytes that belong to two tensors. At: the first offset of the later of the two.
    Overlap {
        /// Where the tensor begins.
        begin: u64,
        /// Where the tensor before it ends.
        previous_end: u64,
    },
    /// The file ends before its tensors do. At: the end of the file.
    DataShort {
        /// Bytes of data that the header describes.
        needed: u64,
        /// Bytes of data in the file.
        present: u64,
    },
    /// Bytes after the last tensor. At: the first of them.
    DataTrailing {
        /// Bytes of data that the header describes.
        needed: u64,
    },
    /// Two tensors have the same name. At: the second name's opening quote.
    NameTwice,
    /// Two keys in `__metadata__` are the same. At: the second key's opening quote.
    KeyTwice,
    /// The tensor has more dimensions than a shape in memory holds. At: the first one too many.
    Rank {
        /// How many can be held.
        limit: u8,
    },
    /// A name is longer than the memory given for it. At: the name's opening quote.
    NameLength {
        /// The name's length in bytes.
        needed: u64,
        /// The memory given for it.
        capacity: u64,
    },
    /// The header does not list its tensors in the order of their offsets, and no memory was given to sort
    /// them in: slots ([`Model::open_sorting`](crate::Model::open_sorting)) or an index
    /// ([`Model::open_indexed`](crate::Model::open_indexed), and for streams that come once
    /// [`Router`](crate::stream::Router)). At: the first offset that is out of order.
    OutOfOrder,
    /// More names share one hash than there are slots to tell them apart in. At: the end of the header.
    SlotCount {
        /// How many slots were given; twice as many is a good next try, and two at the least.
        capacity: u64,
    },
    /// Two names may be the same, and there is no memory to compare them in. At: the second one's
    /// opening quote.
    NoText,
    /// A value of `__metadata__` is longer than the memory given for it. At: the value's opening quote.
    ValueLength {
        /// The value's length in bytes.
        needed: u64,
        /// The memory given for it.
        capacity: u64,
    },
    /// There is too little memory to read `__metadata__` in. At: its opening quote, or that of a value whose
    /// strings need memory to be unescaped in.
    MetadataLength {
        /// Bytes that are enough.
        needed: u64,
        /// Bytes that there are.
        capacity: u64,
    },
    /// The index has too little memory for the header. At: the end of the header.
    Index {
        /// For what of it.
        part: IndexPart,
        /// How many of them the header has.
        needed: u64,
        /// How many there is memory for.
        capacity: u64,
    },
    /// A buffer is too small for what must go into it: one element of a tensor that is read in chunks, or
    /// the whole tensor that it is bound to. At: the first byte that has no room.
    BufferLength {
        /// Bytes that must fit.
        needed: u64,
        /// Bytes that there is room for.
        capacity: u64,
    },
    /// The header changed between two passes over it. At: the place where that shows.
    Changed,
    /// The file has no tensor of a name that was asked for. At: the end of the header; byte 0 when the bytes
    /// are asked for of a tensor that no search has found.
    NotFound {
        /// Which of the names that a search looked for, counted from 0; none where one tensor alone is asked for.
        wanted: Option<u64>,
    },
    /// A window of 0 bytes. At: the byte that could not be read.
    NoWindow,
    /// A place beyond the end of a tensor. At: the end of the tensor.
    OutsideTensor {
        /// The byte of the tensor that was asked for.
        asked: u64,
        /// How many bytes the tensor has.
        len: u64,
    },
    /// A place beyond the last element of what is read as values, or more elements than are left. At: the end of that.
    OutsideElements {
        /// The element that was asked for, the last one of many.
        asked: u64,
        /// How many there are.
        len: u64,
    },
    /// A tensor that ends beyond the end of the file's data: it belongs to another file. At: the end
    /// of the data.
    OutsideData {
        /// Where the tensor ends.
        end: u64,
        /// How long the data is.
        data_len: u64,
    },
    /// Chunks were to begin at multiples of a number that is not a power of two. At: the tensor's first byte.
    Block {
        /// That number.
        asked: u64,
    },
    /// Elements of one type were asked for in place, and the tensor has another. At: the tensor's first byte.
    DtypeMismatch {
        /// What the tensor has.
        found: Dtype,
        /// What was asked for.
        asked: Dtype,
    },
    /// An array of one shape was asked for in place, and the tensor has another. At: the tensor's first byte.
    ShapeMismatch,
    /// Values were asked for without loss, and the type asked for does not hold all of them. At: the tensor's
    /// first byte.
    Lossy {
        /// What the tensor has.
        from: Dtype,
        /// What was asked for.
        to: Dtype,
    },
    /// Values were asked for as a type that they cannot be turned into, not even with loss. At: the tensor's
    /// first byte.
    NoConversion {
        /// What the tensor has.
        from: Dtype,
        /// What was asked for.
        to: Dtype,
    },
    /// Elements were asked for in place, and do not lie where the machine can read their type. At: the tensor's
    /// first byte.
    Misaligned {
        /// At multiples of what they must begin.
        unit: u8,
        /// How many bytes behind one they begin in memory.
        over: u8,
        /// How many bytes behind one they begin in the file; 0 when only the file's own place is wrong.
        over_in_file: u8,
    },
    /// Elements were asked for in place on a machine whose numbers have their high byte first. At: the tensor's
    /// first byte.
    BigEndian,
    /// A row, an index or a range beyond the end of an axis. At: the tensor's first byte.
    OutsideAxis {
        /// Which axis, counted from 0, outermost first.
        axis: u8,
        /// The index that was asked for, the last one of a range, or where a range was to begin.
        asked: u64,
        /// How long the axis is.
        size: u64,
    },
    /// More ranges than the tensor has axes, or a row of a scalar. At: the tensor's first byte.
    TooManyRanges {
        /// How many were given; 1 for a row.
        asked: u64,
        /// How many axes there are.
        rank: u64,
    },
    /// A range with a step of 0. At: the tensor's first byte.
    ZeroStep {
        /// Which axis, counted from 0, outermost first.
        axis: u8,
    },
    /// The bytes were asked for of a part that does not begin and end with whole bytes. At: the byte that has
    /// elements of the part and others.
    PartOfByte {
        /// How wide an element is.
        bits: u8,
    },
    /// More bytes were given to be written than the tensor that is due still takes. At: the byte that comes next.
    TooManyBytes {
        /// Which tensor is due, by its place in what the file was to hold.
        tensor: u32,
        /// How many bytes were given.
        given: u64,
        /// How many it takes.
        left: u64,
    },
    /// A whole tensor was given to be written, and has not the bytes that it must have. At: the byte that comes next.
    TensorLength {
        /// Which tensor, by its place in what the file was to hold.
        tensor: u32,
        /// How many bytes were given.
        given: u64,
        /// How many it has.
        needed: u64,
    },
    /// Values were given to be written, and the tensor that is due has elements of another type. At: the byte that comes next.
    ValueType {
        /// Which tensor is due, by its place in what the file was to hold.
        tensor: u32,
        /// The type of the values.
        given: Dtype,
        /// That of its elements.
        needed: Dtype,
    },
    /// A tensor was given to be written whose turn it is not. At: the byte that comes next.
    NotDue {
        /// Which tensor is due, by its place in what the file was to hold.
        tensor: u32,
    },
    /// Data were given to be written, and all tensors are complete. At: the end of the file.
    NothingDue,
    /// A file was to be finished that does not have all its bytes yet. At: the first one that is missing.
    Incomplete {
        /// Which tensor lacks bytes, the first one that does, by its place in what the file was to hold.
        tensor: u32,
        /// How many bytes are missing, all tensors together.
        missing: u64,
    },
    /// The storage has too little room for the file that is to be written. At: the first byte that has no room.
    Capacity {
        /// How many bytes the file takes, in whole units of the storage.
        needed: u64,
        /// How many there is room for.
        capacity: u64,
    },
    /// The storage is written in units, and the data would begin inside of one. At: the first byte of the data.
    Unit {
        /// At multiples of how many bytes units begin.
        unit: u64,
    },
    /// The storage holds more bytes than the file that is to be written, and cannot be cut: what is left behind it would make it
    /// unsound. At: the end of the file.
    Longer {
        /// How many bytes the storage holds.
        len: u64,
        /// How many the file will have.
        file_len: u64,
    },
    /// The partition does not begin where the flash can erase. At: byte 0.
    Partition {
        /// The address at which it begins.
        start: u32,
        /// At multiples of how many bytes the flash erases.
        sector: u32,
    },
}

names! {
    ErrorKind:
    /// The stable text code, `area.fault`, shared with the conformance vectors. Never renamed.
    code:
    Self::FileTooShort => "container.short",
    Self::HeaderTooLarge { .. } => "container.header-too-large",
    Self::HeaderBeyondFile { .. } => "container.header-beyond-file",
    Self::Utf8 => "text.utf8",
    Self::UnexpectedByte(_) => "json.syntax",
    Self::UnexpectedEnd => "json.end",
    Self::ControlCharacter(_) => "json.control",
    Self::Escape(_) => "json.escape",
    Self::Surrogate => "json.surrogate",
    Self::Number => "json.number",
    Self::Depth => "json.depth",
    Self::Trailing(_) => "json.trailing",
    Self::HeaderType => "header.type",
    Self::EntryType => "entry.type",
    Self::EntryArray => "entry.array",
    Self::Missing(_) => "entry.missing",
    Self::Repeated(_) => "entry.repeated",
    Self::DtypeType => "dtype.type",
    Self::DtypeObject => "dtype.object",
    Self::DtypeUnknown => "dtype.unknown",
    Self::ListType(Field::Offsets) => "offsets.type",
    Self::ListType(Field::Shape | Field::Dtype) => "shape.type",
    Self::NotAnInteger(Field::Offsets) => "offsets.integer",
    Self::NotAnInteger(Field::Shape | Field::Dtype) => "shape.integer",
    Self::IntegerRange(Field::Offsets) => "offsets.range",
    Self::IntegerRange(Field::Shape | Field::Dtype) => "shape.range",
    Self::OffsetsCount => "offsets.count",
    Self::MetadataType => "metadata.type",
    Self::MetadataValue => "metadata.value",
    Self::MetadataTwice => "metadata.twice",
    Self::Overflow => "tensor.overflow",
    Self::SubByte { .. } => "tensor.subbyte",
    Self::Size { .. } => "tensor.size",
    Self::Reversed { .. } => "layout.reversed",
    Self::Hole { .. } => "layout.hole",
    Self::Overlap { .. } => "layout.overlap",
    Self::DataShort { .. } => "data.short",
    Self::DataTrailing { .. } => "data.trailing",
    Self::NameTwice => "name.duplicate",
    Self::KeyTwice => "metadata.duplicate",
    Self::Rank { .. } => "limit.rank",
    Self::NameLength { .. } => "limit.name",
    Self::OutOfOrder => "limit.order",
    Self::SlotCount { .. } => "limit.slots",
    Self::NoText => "limit.text",
    Self::ValueLength { .. } => "limit.value",
    Self::MetadataLength { .. } => "limit.metadata",
    Self::Index { .. } => "limit.index",
    Self::BufferLength { .. } => "limit.buffer",
    Self::BigEndian => "limit.endian",
    Self::Changed => "usage.changed",
    Self::NotFound { .. } => "usage.missing",
    Self::NoWindow => "usage.window",
    Self::OutsideTensor { .. } => "usage.range",
    Self::OutsideElements { .. } => "usage.element",
    Self::OutsideData { .. } => "usage.tensor",
    Self::Block { .. } => "usage.block",
    Self::DtypeMismatch { .. } | Self::ValueType { .. } => "usage.dtype",
    Self::ShapeMismatch => "usage.shape",
    Self::Lossy { .. } => "usage.lossy",
    Self::NoConversion { .. } => "usage.conversion",
    Self::Misaligned { .. } => "usage.aligned",
    Self::OutsideAxis { .. } => "usage.slice",
    Self::TooManyRanges { .. } => "usage.axes",
    Self::ZeroStep { .. } => "usage.step",
    Self::PartOfByte { .. } => "usage.subbyte",
    Self::Capacity { .. } => "limit.capacity",
    Self::TooManyBytes { .. } | Self::TensorLength { .. } => "usage.length",
    Self::NotDue { .. } => "usage.due",
    Self::NothingDue => "usage.complete",
    Self::Incomplete { .. } => "usage.incomplete",
    Self::Unit { .. } => "usage.unit",
    Self::Longer { .. } => "usage.longer",
    Self::Partition { .. } => "usage.partition",
}

impl ErrorKind {
    /// Whose fault it is: the file's, the memory's, or the caller's.
    pub const fn blame(self) -> Blame {
        match self {
            Self::Rank { .. } | Self::NameLength { .. } => Blame::Limit,
            Self::OutOfOrder | Self::SlotCount { .. } | Self::NoText => Blame::Limit,
            Self::ValueLength { .. } | Self::BufferLength { .. } => Blame::Limit,
            Self::MetadataLength { .. } | Self::Index { .. } | Self::BigEndian => Blame::Limit,
            Self::Capacity { .. } => Blame::Limit,
            Self::Changed | Self::NotFound { .. } | Self::NoWindow => Blame::Usage,
            Self::OutsideTensor { .. } | Self::OutsideData { .. } | Self::Block { .. } => Blame::Usage,
            Self::DtypeMismatch { .. } | Self::ShapeMismatch | Self::Misaligned { .. } => Blame::Usage,
            Self::Lossy { .. } | Self::NoConversion { .. } | Self::PartOfByte { .. } => Blame::Usage,
            Self::OutsideAxis { .. } | Self::TooManyRanges { .. } | Self::ZeroStep { .. } => Blame::Usage,
            Self::OutsideElements { .. } | Self::Unit { .. } | Self::Incomplete { .. } => Blame::Usage,
            Self::TooManyBytes { .. } | Self::TensorLength { .. } => Blame::Usage,
            Self::NotDue { .. } | Self::NothingDue | Self::ValueType { .. } => Blame::Usage,
            Self::Longer { .. } | Self::Partition { .. } => Blame::Usage,
            _ => Blame::File,
        }
    }

    /// This kind, at byte `at` of the file.
    pub const fn at(self, at: u64) -> Error {
        Error { kind: self, at }
    }
}

impl core::error::Error for Error {}

impl core::error::Error for ErrorKind {}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    /// `InvalidData` for a bad file, `OutOfMemory` for a limit, `InvalidInput` for a caller's mistake.
    fn from(error: Error) -> Self {
        let kind = match error.kind.blame() {
            Blame::File => std::io::ErrorKind::InvalidData,
            Blame::Limit => std::io::ErrorKind::OutOfMemory,
            Blame::Usage => std::io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}
