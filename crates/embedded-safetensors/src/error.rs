//! What can be wrong, where, and with which numbers.

use core::fmt;

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
    /// The member's key in the header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::Offsets => "data_offsets",
        }
    }
}

/// What an index has memory for.
///
/// *Memory*: one byte, `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IndexPart {
    /// Tensors.
    Tensors,
    /// Dimensions, those of all shapes together.
    Dims,
    /// Bytes of names, all together.
    Names,
}

impl IndexPart {
    const fn name(self) -> &'static str {
        match self {
            Self::Tensors => "tensors",
            Self::Dims => "dimensions in its shapes",
            Self::Names => "bytes of names",
        }
    }
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
    /// [`Router`](crate::Router)). At: the first offset that is out of order.
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
        /// Which of the names that a search looked for, counted from 0.
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
}

impl ErrorKind {
    /// The stable text code, `area.fault`, shared with the conformance vectors. Never renamed.
    pub const fn code(self) -> &'static str {
        use Field::{Dtype, Offsets, Shape};
        match self {
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
            Self::ListType(Offsets) => "offsets.type",
            Self::ListType(Shape | Dtype) => "shape.type",
            Self::NotAnInteger(Offsets) => "offsets.integer",
            Self::NotAnInteger(Shape | Dtype) => "shape.integer",
            Self::IntegerRange(Offsets) => "offsets.range",
            Self::IntegerRange(Shape | Dtype) => "shape.range",
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
            Self::Changed => "usage.changed",
            Self::NotFound { .. } => "usage.missing",
            Self::NoWindow => "usage.window",
            Self::OutsideTensor { .. } => "usage.range",
            Self::OutsideData { .. } => "usage.tensor",
            Self::Block { .. } => "usage.block",
        }
    }

    /// Whose fault it is: the file's, the memory's, or the caller's.
    pub const fn blame(self) -> Blame {
        match self {
            Self::Rank { .. } | Self::NameLength { .. } => Blame::Limit,
            Self::OutOfOrder | Self::SlotCount { .. } | Self::NoText => Blame::Limit,
            Self::ValueLength { .. } | Self::BufferLength { .. } => Blame::Limit,
            Self::MetadataLength { .. } | Self::Index { .. } => Blame::Limit,
            Self::Changed | Self::NotFound { .. } | Self::NoWindow => Blame::Usage,
            Self::OutsideTensor { .. } | Self::OutsideData { .. } | Self::Block { .. } => Blame::Usage,
            _ => Blame::File,
        }
    }

    /// This kind, at byte `at` of the file.
    pub const fn at(self, at: u64) -> Error {
        Error { kind: self, at }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Missing(field) => write!(f, "the entry has no \"{}\"", field.name()),
            Self::Repeated(field) => write!(f, "the entry has \"{}\" twice", field.name()),
            Self::ListType(field) => write!(f, "\"{}\" is not an array", field.name()),
            Self::NotAnInteger(field) => {
                write!(f, "a number in \"{}\" is not a plain non-negative integer", field.name())
            }
            Self::IntegerRange(field) => {
                write!(f, "a number in \"{}\" is larger than 18446744073709551615", field.name())
            }
            Self::UnexpectedByte(byte) => in_words(f, byte, "does not belong here in a JSON text"),
            Self::ControlCharacter(byte) => in_words(f, byte, "must be escaped inside a string"),
            Self::Escape(byte) => in_words(f, byte, "does not belong into an escape sequence"),
            Self::Trailing(byte) => in_words(f, byte, "stands after the end of the header's object"),
            _ => self.with_numbers(f),
        }
    }
}

impl ErrorKind {
    fn with_numbers(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderTooLarge { length } => {
                let length = Bytes(length);
                write!(f, "the header claims {length}, more than the {MAX_HEADER_LEN} that are allowed")
            }
            Self::HeaderBeyondFile { length, present } => {
                let length = Bytes(length);
                write!(f, "the header claims {length}, but the file has only {present} of them")
            }
            Self::SubByte { elements, bits } => {
                write!(f, "{elements} elements of {bits} bits do not fill whole bytes")
            }
            Self::Size { range, needed } => {
                write!(f, "the offsets span {}, but dtype and shape need {needed}", Bytes(range))
            }
            Self::Reversed { begin, end } => write!(f, "begins at {begin}, but ends before that, at {end}"),
            Self::Hole { begin, previous_end } => hole(f, begin, previous_end),
            Self::Overlap { begin, previous_end } => overlap(f, begin, previous_end),
            Self::DataShort { needed, present } => {
                write!(f, "the tensors need {} of data, but the file has only {present}", Bytes(needed))
            }
            Self::DataTrailing { needed } => {
                write!(f, "the tensors end after {} of data, but the file goes on", Bytes(needed))
            }
            Self::Rank { limit } => {
                write!(f, "the tensor has more than the {limit} dimensions that can be held")
            }
            Self::NameLength { needed, capacity } => {
                write!(f, "the name has {}, but there is memory for {capacity}", Bytes(needed))
            }
            Self::SlotCount { capacity } => {
                write!(f, "{capacity} slots are too few to tell the header's names apart")
            }
            _ => self.of_reading(f),
        }
    }

    /// What is said of memory for the data, and of requests for it.
    fn of_reading(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ValueLength { needed, capacity } => {
                write!(f, "the value has {}, but there is memory for {capacity}", Bytes(needed))
            }
            Self::MetadataLength { needed, capacity } => {
                write!(f, "\"__metadata__\" needs {} of memory, but there are {capacity}", Bytes(needed))
            }
            Self::Index { part, needed, capacity } => {
                let part = part.name();
                write!(f, "the header has {needed} {part}, but the index has memory for {capacity}")
            }
            Self::BufferLength { needed, capacity } => {
                write!(f, "{} must fit into the buffer, but it has {capacity}", Bytes(needed))
            }
            Self::NotFound { wanted: None } => f.write_str("no search has found this tensor"),
            Self::NotFound { wanted: Some(wanted) } => {
                write!(f, "the file has no tensor of the name that was asked for (number {wanted}, from 0)")
            }
            Self::OutsideTensor { asked, len } => {
                write!(f, "byte {asked} was asked for of a tensor that has {}", Bytes(len))
            }
            Self::OutsideData { end, data_len } => {
                write!(f, "the tensor ends at byte {end} of the data, which has {}", Bytes(data_len))
            }
            Self::Block { asked } => {
                write!(f, "chunks cannot begin at multiples of {asked}: not a power of two")
            }
            _ => f.write_str(self.plain()),
        }
    }

    const fn plain(self) -> &'static str {
        match self {
            Self::FileTooShort => "the file is shorter than the 8 bytes of the header's length",
            Self::Utf8 => "the header is not valid UTF-8",
            Self::UnexpectedEnd => "the header ends before its JSON text does",
            Self::Surrogate => "half a surrogate pair",
            Self::Number => "not a JSON number",
            Self::Depth => "more than 127 brackets are open at once",
            Self::HeaderType => "the header is not a JSON object",
            Self::EntryType => "the entry is not an object",
            Self::EntryArray => "the entry is an array, not an object",
            Self::DtypeType => "\"dtype\" is not a string",
            Self::DtypeObject => "\"dtype\" is an object, not a string",
            Self::DtypeUnknown => "there is no such dtype",
            Self::OffsetsCount => "\"data_offsets\" does not have exactly two numbers",
            Self::MetadataType => "\"__metadata__\" is neither an object nor null",
            Self::MetadataValue => "a value in \"__metadata__\" is not a string",
            Self::MetadataTwice => "\"__metadata__\" stands twice in the header",
            Self::Overflow => "the size of the tensor, counted in bits, does not fit into 64 bits",
            Self::NameTwice => "an earlier tensor has the same name",
            Self::KeyTwice => "an earlier key of \"__metadata__\" is the same",
            Self::NoText => "two names may be the same, and there is no memory to compare them in",
            Self::OutOfOrder => {
                "the header does not list its tensors in the order of their offsets, and there is no memory to sort them in"
            }
            Self::Changed => "the header is not the same as in the pass before",
            Self::NoWindow => "the window has no room for a single byte",
            _ => "malformed",
        }
    }
}

fn in_words(f: &mut fmt::Formatter<'_>, byte: u8, rest: &str) -> fmt::Result {
    if byte.is_ascii_graphic() {
        write!(f, "'{}' {rest}", byte as char)
    } else {
        write!(f, "byte 0x{byte:02x} {rest}")
    }
}

/// A number of bytes, in words.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

fn hole(f: &mut fmt::Formatter<'_>, begin: u64, previous_end: u64) -> fmt::Result {
    let gap = begin.saturating_sub(previous_end);
    let belong = if gap == 1 { "belongs" } else { "belong" };
    match previous_end {
        0 => write!(f, "begins at {begin}, but the data begins at 0")?,
        _ => write!(f, "begins at {begin}, but the tensor before it ends at {previous_end}")?,
    }
    write!(f, " ({} {belong} to no tensor)", Bytes(gap))
}

fn overlap(f: &mut fmt::Formatter<'_>, begin: u64, previous_end: u64) -> fmt::Result {
    let shared = Bytes(previous_end.saturating_sub(begin));
    write!(
        f,
        "begins at {begin}, inside the tensor before it, which ends at {previous_end} ({shared} too early)"
    )
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}] at byte {}: {}", self.kind.code(), self.at, self.kind)
    }
}

impl core::error::Error for Error {}

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
