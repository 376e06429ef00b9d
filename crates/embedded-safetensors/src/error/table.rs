//! The table of errors: the meaning, position, code and sentence of each. Everything else about an error
//! is generated from its line here.
//!
//! Of the codes for files, `tensor.` and `layout.reversed` concern one tensor; all other `layout.` codes
//! and `*.duplicate` compare entries; `data.` and `container.header-beyond-file` need the length of the
//! file; `integrity.` are no verdict on the format, but on the bytes of one file. The parser finds all others
//! at the byte it reads. `wrong_model` after a code: a program that works with its own model gets this
//! error only from another one.

use super::sentence::Part::{Byte, Bytes, Hex, Member, Number, Role, Type, Types};
use super::sentence::{Sentence, fits};
use super::{Class, Error, IndexPart, MAX_HEADER_LEN, QuantRole, QueryIndex};
use crate::dtype::{Dtype, DtypeSet};
#[cfg(feature = "defmt")]
use crate::error::log::Named;
use core::convert::Infallible;

/// Generates [`ErrorKind`] and [`Fault`] from the table.
///
/// A sentence has `{}` for each of its parts. Of several sentences, the first whose condition holds is used.
macro_rules! errors {
    ($($class:ident {$(
        $(#[doc = $doc:literal])*
        $name:ident $(($value:ident: $type:ty))?
            $({$($(#[$field_doc:meta])* $field:ident: $field_type:ty,)*})?
            = $code:literal $($wrong_model:ident)?
            {$($(if $case:expr =>)? $text:literal $(, $part:expr)*);+ $(;)?}
    )*})*) => {
        /// What is wrong. Each kind has a stable text code ([`code`](Self::code)); `Display` is one sentence.
        ///
        /// *Memory*: 24 bytes, `Copy`.
        ///
        /// ```
        /// use embedded_safetensors::error::Class;
        /// # use embedded_safetensors::ErrorKind;
        ///
        /// # let act = |kind: ErrorKind|
        /// match kind.class() {
        ///     Class::File => "ask for the file again",
        ///     Class::Limit => "give it more memory, or use another call",
        ///     Class::Usage => "correct the program",
        /// }
        /// # ;
        /// # assert_eq!(act(ErrorKind::NoWindow), "correct the program");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ErrorKind {$($(
            $(#[doc = $doc])*
            $name $(($type))? $({$($(#[$field_doc])* $field: $field_type),*})?,
        )*)*}

        impl ErrorKind {
            /// The stable text code, `area.fault`, shared with the conformance vectors. Never renamed.
            pub const fn code(self) -> &'static str {
                match self { $($(Self::$name { .. } => $code,)*)* }
            }

            /// Which side must act.
            pub const fn class(self) -> Class {
                match self { $($(Self::$name { .. })|* => Class::$class,)* }
            }

            /// Returns whether the file may be valid, but is not a model for this program: it lacks a tensor,
            /// dtype, shape or sum that the caller requested, or needs more memory than the caller gave. (A
            /// query that was not looked up yet is also [`NotFound`](Self::NotFound).) A
            /// device that has another model uses that one. `false` for all kinds of [`Class::File`], and for
            /// [`Changed`](Self::Changed): the file was replaced, or its bits read differently each time.
            ///
            /// ```
            /// use embedded_safetensors::{Model, ReadError, query::Query};
            /// # let other = b"\x08\0\0\0\0\0\0\0{}      ";
            ///
            /// let mut net = [Query::required("fc.weight").shape(&[2])];
            /// let opened = Model::open_with(&other[..], &mut net, &mut [0; 64]);
            /// let Err(ReadError::Format(error)) = opened else { unreachable!() };
            /// assert!(error.kind.is_wrong_model(), "{error}");
            /// ```
            pub const fn is_wrong_model(self) -> bool {
                match self {$($(
                    Self::$name { .. } => const { is_marked(&[$(stringify!($wrong_model))?]) },
                )*)*}
            }

            /// Each kind: its class, its code, its meaning and position, and whether it
            /// [is a wrong model](Self::is_wrong_model).
            #[doc(hidden)]
            pub const ALL: &'static [(Class, &'static str, &'static str, bool)] = &[$($(
                (Class::$class, $code, concat!($($doc),*), is_marked(&[$(stringify!($wrong_model))?])),
            )*)*];

            /// This kind, at byte `at` of the file.
            pub const fn at(self, at: u64) -> Error {
                Error { kind: self, at }
            }

            /// The sentence that `Display` writes.
            #[allow(unused_variables)] // a sentence may leave out a number
            pub(crate) const fn sentence(self) -> Sentence {
                match self {$($(
                    Self::$name $(($value))? $({$($field),*})? => {$(
                        $(if $case)? {
                            const { assert!(fits($text, &[$(stringify!($part)),*])) }
                            return Sentence::of($text, &[$($part),*]);
                        }
                    )+}
                )*)*}
            }
        }

        #[cfg(feature = "defmt")]
        impl defmt::Format for Named<ErrorKind> {
            fn format(&self, f: defmt::Formatter<'_>) {
                let code = match self.0 { $($(ErrorKind::$name { .. } => defmt::intern!($code),)*)* };
                defmt::write!(f, "{=istr}", code);
            }
        }

        #[cfg(feature = "defmt")]
        impl defmt::Format for ErrorKind {
            #[allow(unused_variables)]
            fn format(&self, f: defmt::Formatter<'_>) {
                match *self {$($(
                    Self::$name $(($value))? $({$($field),*})? => {$(
                        $(if $case)? { return defmt::write!(f, $text $(, $part)*); }
                    )+}
                )*)*}
            }
        }

        /// An [`ErrorKind`] without its numbers, in two bytes. A kind with numbers is [`Numbered`]; the
        /// code that stopped the parser fills them in. An entire [`ErrorKind`] would be copied from frame
        /// to frame, and headers are read on small stacks.
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code)] // kinds that no parser finds
        pub(crate) enum Fault {
            $($($name $(($type))? $((replace!($($field)* => Infallible)))?,)*)*
            Numbered(Numbered),
        }

        impl Fault {
            pub(crate) const OTHER: Self = Self::Numbered(Numbered::Other);
            pub(crate) const RANK: Self = Self::Numbered(Numbered::Rank);

            /// Returns the kind, or `Err` if its numbers must be filled in first.
            pub(crate) const fn kind(self) -> Result<ErrorKind, Numbered> {
                match self {
                    $($(Self::$name $(($value))? $((replace!($($field)* => none)))? =>
                        plain!($name $(($value))? $({none $($field)*})?),)*)*
                    Self::Numbered(numbered) => Err(numbered),
                }
            }
        }
    };
}

/// Whether a line of the table has the mark `wrong_model`.
const fn is_marked(marks: &[&str]) -> bool {
    !marks.is_empty()
}

/// Kinds whose numbers are filled in later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    HeaderTooLarge,
    HeaderBeyondFile,
    Rank,
    /// The error that `tensor::info::mismatch` finds.
    Mismatch,
    /// An error of the parser's caller, which knows its kind and numbers.
    Other,
}

/// Expands to `$other`, whatever is repeated.
macro_rules! replace {
    ($($each:ident)* => $other:ident) => {
        $other
    };
}

/// Makes a kind without numbers. A [`Fault`] of a kind with numbers cannot be constructed.
macro_rules! plain {
    ($kind:ident) => {
        Ok(ErrorKind::$kind)
    };
    ($kind:ident ($value:ident)) => {
        Ok(ErrorKind::$kind($value))
    };
    ($kind:ident {$none:ident $($field:ident)*}) => {
        match $none {}
    };
}

errors! {
    // The file is not a valid safetensors file, or not the expected one.
    File {
        /// Fewer than 8 bytes. At: the end of the file.
        FileTooShort = "container.short" { "the file is too short for the 8-byte length of its header" }
        /// The header claims more than 100,000,000 bytes. At: byte 0.
        HeaderTooLarge {
            /// The length it claims.
            length: u64,
        } = "container.header-too-large" {
            if length == u64::MAX =>
                "the first 8 bytes are 0xff, as in erased flash: no file was written here, or not all of it";
            if begins(length, b"version ") =>
                "it is a pointer of Git LFS instead of the file: fetch the file with `git lfs pull`";
            if begins(length, b"<!doctyp") || begins(length, b"<html") =>
                "it is a web page instead of the file, such as an error or a login: download the file again";
            "header too large: its length is {}, at most {} are allowed",
                Bytes(length), Number(MAX_HEADER_LEN);
        }
        /// The file ends before its header does. At: the end of the file.
        HeaderBeyondFile {
            /// The length the header claims.
            length: u64,
            /// How many bytes of it the file has.
            present: u64,
        } = "container.header-beyond-file" {
            "the header has {}, but the file ends after {} of them", Bytes(length), Number(present);
        }
        /// Not UTF-8. At: the first byte of the bad sequence.
        Utf8 = "text.utf8" { "the header is not valid UTF-8" }
        /// A byte that JSON does not allow here. At: that byte.
        UnexpectedByte(byte: u8) = "json.syntax" { "unexpected {} in the JSON of the header", Byte(byte) }
        /// The header ends inside its JSON text. At: the end of the header.
        UnexpectedEnd = "json.end" { "the header ends before its JSON text does" }
        /// A raw control character inside a string. At: that byte.
        ControlCharacter(byte: u8) = "json.control" {
            "unescaped control character in a string: {}", Byte(byte);
        }
        /// A byte that is not allowed in an escape sequence. At: that byte.
        Escape(byte: u8) = "json.escape" { "unexpected {} in an escape sequence", Byte(byte) }
        /// Half a surrogate pair. At: the backslash of the half.
        Surrogate = "json.surrogate" { "unpaired surrogate" }
        /// Not a JSON number: a leading zero, or missing digits. At: the first byte that does not fit.
        Number = "json.number" { "not a JSON number" }
        /// More than 127 brackets open at once. At: the 128th.
        Depth = "json.depth" { "more than 127 brackets are open at once" }
        /// Something other than whitespace after the header's object. At: its first byte.
        Trailing(byte: u8) = "json.trailing" { "unexpected {} after the header's JSON object", Byte(byte) }
        /// The header is JSON, but not an object. At: its first byte.
        HeaderType = "header.type" { "the header is not a JSON object" }
        /// A tensor's entry is neither an object nor an array. At: the value's first byte.
        EntryType = "entry.type" { "the entry is not an object" }
        /// A tensor's entry is an array, which the reference accepts. At: the bracket.
        EntryArray = "entry.array" { "the entry is an array, not an object" }
        /// An entry lacks one of its three members. At: the entry's closing brace.
        Missing(field: Field) = "entry.missing" { "the entry has no \"{}\"", Member(field) }
        /// A duplicate of one of an entry's three members. At: the second key's opening quote.
        DuplicateMember(field: Field) = "entry.repeated" { "the entry has a duplicate \"{}\"", Member(field) }
        /// The dtype is neither a string nor an object. At: the value's first byte.
        DtypeType = "dtype.type" { "\"dtype\" is not a string" }
        /// The dtype is an object, which the reference accepts. At: the brace.
        DtypeObject = "dtype.object" { "\"dtype\" is an object, not a string" }
        /// An unknown dtype. At: the string's opening quote.
        DtypeUnknown = "dtype.unknown" { "unknown dtype" }
        /// The shape is not an array. At: the value's first byte.
        ShapeType = "shape.type" { "\"shape\" is not an array" }
        /// The offsets are not an array. At: the value's first byte.
        OffsetsType = "offsets.type" { "\"data_offsets\" is not an array" }
        /// A number in the shape is not a plain non-negative integer. At: the first byte that does not fit.
        ShapeInteger = "shape.integer" { "a number in \"shape\" is not a plain non-negative integer" }
        /// A number in the offsets is not a plain non-negative integer. At: the first byte that does not fit.
        OffsetsInteger = "offsets.integer" {
            "a number in \"data_offsets\" is not a plain non-negative integer";
        }
        /// A number in the shape is above 2^64 - 1. At: its first digit.
        ShapeRange = "shape.range" { "a number in \"shape\" is larger than 18446744073709551615" }
        /// A number in the offsets is above 2^64 - 1. At: its first digit.
        OffsetsRange = "offsets.range" { "a number in \"data_offsets\" is larger than 18446744073709551615" }
        /// Not exactly two offsets. At: the bracket that comes too early, or the extra comma.
        OffsetsCount = "offsets.count" { "\"data_offsets\" does not have exactly two numbers" }
        /// `__metadata__` is neither an object nor null. At: the value's first byte.
        MetadataType = "metadata.type" { "\"__metadata__\" is neither an object nor null" }
        /// A value in `__metadata__` is not a string. At: the value's first byte.
        MetadataValue = "metadata.value" { "a value in \"__metadata__\" is not a string" }
        /// A duplicate `__metadata__`. At: the second one's opening quote.
        DuplicateMetadata = "metadata.twice" { "duplicate \"__metadata__\"" }
        /// The number of elements or bits, multiplied left to right, exceeds 2^64 - 1. At: the dimension
        /// that overflows, or the shape's bracket when it is the width of the dtype.
        Overflow = "tensor.overflow" { "tensor too large: the product of its dimensions, or its size in bits, does not fit into 64 bits" }
        /// The tensor ends inside a byte. At: the shape's opening bracket.
        SubByte {
            /// How many elements the shape has.
            elements: u64,
            /// How wide one is.
            bits: u8,
        } = "tensor.subbyte" {
            if elements == 1 =>
                "the tensor ends inside a byte: it has 1 element of {} bits", Number(bits as u64);
            "the tensor ends inside a byte: it has {} elements of {} bits",
                Number(elements), Number(bits as u64);
        }
        /// The offsets span more or fewer bytes than dtype and shape need. At: the first offset.
        Size {
            /// Bytes from the first to the second offset.
            range: u64,
            /// Bytes that dtype and shape need.
            needed: u64,
        } = "tensor.size" { "the offsets span {}, but dtype and shape need {}", Bytes(range), Number(needed) }
        /// The second offset is smaller than the first. At: the first offset.
        Reversed {
            /// The first offset.
            begin: u64,
            /// The second offset.
            end: u64,
        } = "layout.reversed" { "the tensor begins at {}, but ends before that, at {}", Number(begin), Number(end) }
        /// Bytes that belong to no tensor. At: the first offset of the tensor after the hole.
        Hole {
            /// Where the tensor begins.
            begin: u64,
            /// Where the tensor before it ends (0: there is none).
            previous_end: u64,
        } = "layout.hole" {
            if begin == 1 && previous_end == 0 =>
                "the tensor begins at 1, but the data begins at 0 (1 byte belongs to no tensor)";
            if previous_end == 0 =>
                "the tensor begins at {}, but the data begins at 0 ({} belong to no tensor)",
                    Number(begin), Bytes(begin);
            if begin.saturating_sub(previous_end) == 1 =>
                "the tensor begins at {}, but the tensor before it ends at {} (1 byte belongs to no tensor)",
                    Number(begin), Number(previous_end);
            "the tensor begins at {}, but the tensor before it ends at {} ({} belong to no tensor)",
                Number(begin), Number(previous_end), Bytes(begin.saturating_sub(previous_end));
        }
        /// Bytes that belong to two tensors. At: the first offset of the later of the two.
        Overlap {
            /// Where the tensor begins.
            begin: u64,
            /// Where the tensor before it ends.
            previous_end: u64,
        } = "layout.overlap" {
            "the tensor begins at {}, but the tensor before it ends at {} (an overlap of {})",
                Number(begin), Number(previous_end), Bytes(previous_end.saturating_sub(begin));
        }
        /// The file ends before its tensors do. At: the end of the file.
        DataShort {
            /// Bytes of data that the header describes.
            needed: u64,
            /// Bytes of data in the file.
            present: u64,
        } = "data.short" {
            "the tensors need {} of data, but the file has only {}", Bytes(needed), Number(present);
        }
        /// Bytes after the last tensor. At: the first of them.
        DataTrailing {
            /// Bytes of data that the header describes.
            needed: u64,
        } = "data.trailing" { "the tensors end after {} of data, but the file continues", Bytes(needed) }
        /// Two tensors have the same name. At: the second name's opening quote.
        DuplicateName = "name.duplicate" { "duplicate name: an earlier tensor has the same name" }
        /// Two keys in `__metadata__` are the same. At: the second key's opening quote.
        DuplicateKey = "metadata.duplicate" { "duplicate key: an earlier key of \"__metadata__\" is the same" }
        /// The file does not have the expected sum: it has changed, or is another file. At: the end of the
        /// file; the first digit of a sum in the file.
        SumMismatch {
            /// The first four bytes of the expected sum.
            expected: u32,
            /// The first four bytes of the sum of the file.
            found: u32,
        } = "integrity.sum" {
            "the sum begins with {}, but {} is expected", Hex(found), Hex(expected);
        }
        /// The sum in the file cannot be read. At: the value's opening quote.
        SumSpelling = "integrity.digits" {
            "the sum in the file is not 64 lowercase hexadecimal digits without escapes";
        }
    }

    // The file may be valid; the memory or the device is too small to tell, or to hold it.
    Limit {
        /// The tensor has more dimensions than a shape in memory holds. At: the first extra one.
        Rank {
            /// How many it holds.
            limit: u8,
        } = "limit.rank" wrong_model {
            "too many dimensions: a shape in memory holds at most {}", Number(limit as u64);
        }
        /// The header is longer than the limit that the caller set. At: byte 0.
        HeaderLength {
            /// The header's length in bytes.
            length: u64,
            /// The greatest length that is accepted.
            limit: u64,
        } = "limit.header" wrong_model {
            "the header has {}, but the limit that was set is {}", Bytes(length), Number(limit);
        }
        /// A name is longer than the buffer for it. At: the name's opening quote.
        NameLength {
            /// The name's length in bytes.
            needed: u64,
            /// The buffer's length.
            capacity: u64,
        } = "limit.name" wrong_model {
            "buffer too small for the name: {} needed, {} available", Bytes(needed), Number(capacity);
        }
        /// The header does not list its tensors in the order of their offsets, and there is no memory to
        /// sort them: use slots ([`Model::open_unordered`](crate::Model::open_unordered)) or an index
        /// ([`Model::open_indexed`](crate::Model::open_indexed), or [`Router`](crate::stream::Router) for
        /// a stream that is received once). At: the first offset that is out of order.
        OutOfOrder = "limit.order" wrong_model {
            "the header's tensors are not in the order of their offsets: use open_unordered, or an index";
        }
        /// The data of a file that arrives begins inside the first unit of the storage, which could then be
        /// written in part with a complete header. At: the first byte of the data.
        FirstUnit {
            /// The size of a unit in bytes.
            unit: u64,
        } = "limit.unit" wrong_model {
            "the data begins inside the storage's first write unit of {}: have the file written with data at a multiple of it",
                Bytes(unit);
        }
        /// More names share one hash than there are slots to compare them. At: the end of the header.
        SlotCount {
            /// How many slots were given; twice as many is a good next try, and two at the least.
            capacity: u64,
        } = "limit.slots" wrong_model {
            if capacity < 2 =>
                "too few slots to compare the header's names: {} available; try 2", Number(capacity);
            "too few slots to compare the header's names: {} available; try twice as many", Number(capacity);
        }
        /// Two names may be the same, and there is no buffer to compare them. At: the second one's
        /// opening quote.
        NoText = "limit.text" wrong_model {
            "two names may be the same, and there is no buffer to compare them";
        }
        /// A value of `__metadata__` is longer than the buffer for it. At: the value's opening quote.
        ValueLength {
            /// The value's length in bytes.
            needed: u64,
            /// The buffer's length.
            capacity: u64,
        } = "limit.value" wrong_model {
            "buffer too small for the value: {} needed, {} available", Bytes(needed), Number(capacity);
        }
        /// The buffer is too small for `__metadata__`. At: its opening quote, or that of a value whose
        /// strings need memory to be unescaped.
        MetadataLength {
            /// How many bytes are enough.
            needed: u64,
            /// The buffer's length.
            capacity: u64,
        } = "limit.metadata" wrong_model {
            "buffer too small for \"__metadata__\": {} needed, {} available", Bytes(needed), Number(capacity);
        }
        /// The index has too little memory for the header. At: the end of the header.
        Index {
            /// Which part of the memory.
            part: IndexPart,
            /// How many the header needs.
            needed: u64,
            /// How many are available.
            capacity: u64,
        } = "limit.index" wrong_model {
            if matches!(part, IndexPart::Tensors) =>
                "index too small for the tensors: {} needed, {} available", Number(needed), Number(capacity);
            if matches!(part, IndexPart::Dims) =>
                "index too small for the dimensions: {} needed, {} available", Number(needed), Number(capacity);
            "index too small for the names: {} needed, {} available", Bytes(needed), Number(capacity);
        }
        /// A buffer is too small: for one element of a tensor that is read in chunks, or for the entire
        /// tensor of a target. At: the first byte that does not fit.
        BufferLength {
            /// How many bytes must fit.
            needed: u64,
            /// The buffer's length.
            capacity: u64,
        } = "limit.buffer" wrong_model { "buffer too small: {} needed, {} available", Bytes(needed), Number(capacity) }
        /// Elements were requested in place on a big-endian target. At: the tensor's first byte.
        BigEndian = "limit.endian" {
            "elements can be read in place on little-endian targets only: read them as values";
        }
        /// The storage is too small for the file. At: the first byte that does not fit.
        Capacity {
            /// How many bytes the file takes, rounded up to units of the storage.
            needed: u64,
            /// How many bytes the storage has.
            capacity: u64,
        } = "limit.capacity" wrong_model {
            "storage too small for the file: {} needed, {} available", Bytes(needed), Number(capacity);
        }
    }

    // The caller broke a contract; this is no verdict on the file.
    Usage {
        /// The header changed between two passes over it. At: the byte where the change is noticed.
        Changed = "usage.changed" { "the header has changed since it was validated" }
        /// A required tensor is not in the file. At: the end of the header; byte 0 for a query that has
        /// not found its tensor.
        NotFound {
            /// Which of the queries or targets; `None` for a single one.
            query: Option<QueryIndex>,
        } = "usage.missing" wrong_model {
            if query.is_some() =>
                "required tensor not found: number {} in the list, counted from 0", Number(in_list(query));
            "tensor not found, or its query has no result: no lookup yet, or one that failed";
        }
        /// A window of 0 bytes. At: the byte that could not be read.
        NoWindow = "usage.window" { "the window is empty: give it at least 1 byte" }
        /// A byte after the end of a tensor. At: the end of the tensor.
        OutsideTensor {
            /// The requested byte of the tensor.
            asked: u64,
            /// How many bytes the tensor has.
            len: u64,
        } = "usage.range" { "byte {} (counted from 0) was requested, but the tensor has {}", Number(asked), Bytes(len) }
        /// An element after the last one that is read as values, or more elements than are left. At:
        /// their end.
        OutsideElements {
            /// The requested element, the last one of several.
            asked: u64,
            /// How many there are.
            len: u64,
        } = "usage.element" { "element {} (counted from 0) was requested, but there are only {}", Number(asked), Number(len) }
        /// A tensor that ends after the file's data: the tensor belongs to another file. At: the end of
        /// the data.
        OutsideData {
            /// Where the tensor ends.
            end: u64,
            /// How long the data is.
            data_len: u64,
        } = "usage.tensor" wrong_model {
            "the tensor ends at byte {} of the data, but the data has {}: the tensor belongs to another file",
                Number(end), Bytes(data_len);
        }
        /// A query found its tensor in a model with another header. At: where the data begins.
        OtherModel = "usage.model" {
            "the query found its tensor in a model with another header: look it up in this one"
        }
        /// The alignment of chunks is not a power of two. At: the tensor's first byte.
        Block {
            /// The requested alignment.
            asked: u64,
        } = "usage.block" { "chunks cannot be aligned to {}: not a power of two", Number(asked) }
        /// A tensor has another dtype than requested. At: the tensor's first byte.
        DtypeMismatch {
            /// Which of the queries or targets; `None` for a single tensor.
            query: Option<QueryIndex>,
            /// The tensor's dtype.
            found: Dtype,
            /// The requested dtypes.
            asked: DtypeSet,
        } = "usage.dtype" wrong_model {
            if query.is_some() =>
                "tensor {} in the list, counted from 0, has dtype {}, but {} was requested",
                    Number(in_list(query)), Type(found), Types(asked);
            "the tensor has dtype {}, but {} was requested", Type(found), Types(asked);
        }
        /// A tensor has more or fewer dimensions than requested. At: the tensor's first byte.
        RankMismatch {
            /// Which of the queries or targets; `None` for a single tensor.
            query: Option<QueryIndex>,
            /// The tensor's number of dimensions; 255 for more.
            found: u8,
            /// The requested number of dimensions.
            asked: u64,
        } = "usage.rank" wrong_model {
            if query.is_some() =>
                "tensor {} in the list, counted from 0, has rank {}, but rank {} was requested",
                    Number(in_list(query)), Number(found as u64), Number(asked);
            "the tensor has rank {}, but rank {} was requested", Number(found as u64), Number(asked);
        }
        /// A tensor has another shape than requested. At: the tensor's first byte.
        ShapeMismatch {
            /// Which of the queries or targets; `None` for a single tensor.
            query: Option<QueryIndex>,
            /// The first axis that differs, counted from 0, outermost first.
            axis: u8,
            /// The tensor's size on this axis.
            found: u64,
            /// The requested size.
            asked: u64,
        } = "usage.shape" wrong_model {
            if query.is_some() =>
                "tensor {} in the list has size {} on axis {}, but {} was requested (list and axes counted from 0)",
                    Number(in_list(query)), Number(found), Number(axis as u64), Number(asked);
            "the tensor has size {} on axis {}, but {} was requested (axes counted from 0)",
                Number(found), Number(axis as u64), Number(asked);
        }
        /// Exact values were requested as a type that cannot hold all of them. At: the tensor's first byte.
        Lossy {
            /// The tensor's dtype.
            from: Dtype,
            /// The requested dtype.
            to: Dtype,
        } = "usage.lossy" wrong_model { "{} has values that {} cannot represent exactly: use rounded()", Type(from), Type(to) }
        /// Values were requested as a type that they cannot be converted to, not even rounded. At: the
        /// tensor's first byte.
        NoConversion {
            /// The tensor's dtype.
            from: Dtype,
            /// The requested dtype.
            to: Dtype,
        } = "usage.conversion" wrong_model { "elements of {} cannot be read as {}", Type(from), Type(to) }
        /// Elements were requested in place, but are not aligned for their type. At: the tensor's first byte.
        Misaligned {
            /// The alignment that they need.
            unit: u8,
            /// How many bytes after a multiple of it they begin in memory.
            over: u8,
            /// How many bytes after one they begin in the file; 0 if only the file itself is misaligned.
            over_in_file: u8,
        } = "usage.aligned" {
            if over_in_file == 0 =>
                "in memory, the file and its elements begin {} after a multiple of {}: align the file",
                    Bytes(over as u64), Number(unit as u64);
            "the elements begin {} after a multiple of {} in the file: read them as values, or align them",
                Bytes(over_in_file as u64), Number(unit as u64);
        }
        /// A row, an index or a range beyond the end of an axis. At: the tensor's first byte.
        OutsideAxis {
            /// Which axis, counted from 0, outermost first.
            axis: u8,
            /// The requested index: the last one of a range, or its first one.
            asked: u64,
            /// How long the axis is.
            size: u64,
        } = "usage.slice" {
            "index {} (counted from 0) was requested on axis {}, whose size is {}",
                Number(asked), Number(axis as u64), Number(size);
        }
        /// More ranges than the tensor has axes, or a row of a scalar. At: the tensor's first byte.
        TooManyRanges {
            /// How many were given; 1 for a row.
            asked: u64,
            /// How many axes there are.
            rank: u64,
        } = "usage.axes" {
            if asked == 1 && rank == 0 => "a scalar has no axes, so it has no rows and takes no range";
            if rank == 1 => "the tensor has 1 axis, but {} ranges were given", Number(asked);
            "the tensor has {} axes, but {} ranges were given", Number(rank), Number(asked);
        }
        /// A range with a step of 0. At: the tensor's first byte.
        ZeroStep {
            /// Which axis, counted from 0, outermost first.
            axis: u8,
        } = "usage.step" { "the range of axis {} has a step of 0", Number(axis as u64) }
        /// The bytes of a slice were requested that begins or ends inside a byte. At: that byte.
        PartOfByte {
            /// How wide an element is.
            bits: u8,
        } = "usage.subbyte" {
            "the slice begins or ends inside a byte (elements of {} bits): read it as values",
                Number(bits as u64);
        }
        /// A tensor of a quantised matrix has a dtype that its role does not allow. At: its first byte.
        QuantDtype {
            /// The role of the tensor.
            role: QuantRole,
            /// The tensor's dtype.
            found: Dtype,
            /// The dtypes that it may have.
            needed: DtypeSet,
        } = "usage.quant-dtype" wrong_model {
            "the {} of the matrix have dtype {}, but {} is needed", Role(role), Type(found), Types(needed);
        }
        /// A tensor of a quantised matrix has a rank that its role does not allow, or zero points have
        /// another rank than the scales. At: its first byte.
        QuantRank {
            /// The role of the tensor.
            role: QuantRole,
            /// The tensor's rank.
            found: u64,
            /// The rank that it needs.
            needed: u64,
        } = "usage.quant-rank" wrong_model {
            "the {} of the matrix have rank {}, but {} is needed", Role(role), Number(found), Number(needed);
        }
        /// A tensor of a quantised matrix has another shape than the weights need: the rows of the weights on
        /// axis 0, and the groups of a row on axis 1; or zero points have another shape than the scales. At:
        /// its first byte.
        QuantSize {
            /// The role of the tensor.
            role: QuantRole,
            /// Which axis, counted from 0, outermost first.
            axis: u8,
            /// How long the axis is.
            found: u64,
            /// How long it must be.
            needed: u64,
        } = "usage.quant-shape" wrong_model {
            "the {} of the matrix have size {} on axis {} (counted from 0), but {} is needed",
                Role(role), Number(found), Number(axis as u64), Number(needed);
        }
        /// A group size that is not 16, 32, 64 or 128, or that does not divide the length of a row. At: the
        /// first byte of the weights.
        QuantGroup {
            /// The requested group size.
            group: u64,
            /// How many columns the matrix has.
            columns: u64,
        } = "usage.quant-group" {
            "rows of {} values, group size {}: it must be 16, 32, 64 or 128 and divide the row",
                Number(columns), Number(group);
        }
        /// A slice that does not have the length of a row of the matrix. At: the first byte of the weights.
        QuantLength {
            /// How many values the slice has.
            given: u64,
            /// How many values a row has.
            needed: u64,
        } = "usage.quant-length" {
            "the slice has {} values, but a row has {}", Number(given), Number(needed);
        }
        /// More bytes were given than the next tensor still needs. At: the next byte.
        TooManyBytes {
            /// The next tensor's index in the specification.
            tensor: u32,
            /// How many bytes were given.
            given: u64,
            /// How many it still needs.
            left: u64,
        } = "usage.bytes" {
            "tensor {}, counted from 0, needs {} more, but was given {}",
                Number(tensor as u64), Bytes(left), Number(given);
        }
        /// An entire tensor was given with too few or too many bytes. At: the next byte.
        TensorLength {
            /// The tensor's index in the specification.
            tensor: u32,
            /// How many bytes were given.
            given: u64,
            /// How many it has.
            needed: u64,
        } = "usage.length" {
            "tensor {}, counted from 0, needs {}, but was given {}",
                Number(tensor as u64), Bytes(needed), Number(given);
        }
        /// Values were given of another type than the next tensor has. At: the next byte.
        ValueType {
            /// The next tensor's index in the specification.
            tensor: u32,
            /// The type of the values.
            given: Dtype,
            /// The tensor's dtype.
            needed: Dtype,
        } = "usage.values" {
            "tensor {}, counted from 0, has dtype {}, but was given {}",
                Number(tensor as u64), Type(needed), Type(given);
        }
        /// A tensor was given out of order. At: the next byte.
        WrongTensor {
            /// The next tensor's index in the specification.
            tensor: u32,
        } = "usage.due" {
            "tensors must be written in order: tensor {}, counted from 0, is next", Number(tensor as u64);
        }
        /// Data was given after all tensors were complete. At: the end of the file.
        AllWritten = "usage.complete" { "all tensors are complete already" }
        /// The file was finished before all its bytes were given. At: the first missing byte.
        Incomplete {
            /// The first tensor that lacks bytes, by its index in the specification.
            tensor: u32,
            /// How many bytes are missing, all tensors together.
            missing: u64,
        } = "usage.incomplete" {
            if missing == 1 => "1 byte is missing, from tensor {}, counted from 0", Number(tensor as u64);
            "{} are missing: tensor {}, counted from 0, is the first that lacks some", Bytes(missing), Number(tensor as u64);
        }
        /// The storage is written in units, and the data would begin inside one. At: the first byte of
        /// the data.
        Unit {
            /// The size of a unit in bytes.
            unit: u64,
        } = "usage.unit" {
            if !unit.is_power_of_two() =>
                "the storage has write units of {}, not of a power of two: its driver breaks the contract of WriteAt",
                Bytes(unit);
            "the data begins inside a write unit of {}: align it with Placement::Start",
                Bytes(unit);
        }
        /// The storage holds more bytes than the file will have, and cannot be truncated: the rest would
        /// make the file invalid. At: the end of the file.
        Longer {
            /// How many bytes the storage holds.
            len: u64,
            /// How many the file will have.
            file_len: u64,
        } = "usage.longer" {
            "the storage holds {}, but the file has {}: truncate the storage first", Bytes(len), Number(file_len);
        }
        /// The partition does not begin at a sector boundary of the flash. At: byte 0.
        Partition {
            /// The address at which it begins.
            start: u32,
            /// The size of a sector, in bytes.
            sector: u32,
        } = "usage.partition" {
            "the partition begins at address {}, which is not a multiple of the flash's sector size, {} bytes",
                Number(start as u64), Number(sector as u64);
        }
        /// The storage claims to have read or written more bytes than it was asked to, or a part of a unit.
        /// At: the first byte to read or write.
        Count {
            /// How many bytes it claims.
            claimed: u64,
            /// How many it was asked for.
            asked: u64,
        } = "usage.count" {
            if claimed <= asked =>
                "the storage claims to have written {} of {}, not whole units: its driver breaks the contract of WriteAt",
                Bytes(claimed), Number(asked);
            "the storage claims {} of at most {}: its driver breaks the contract of ReadAt or WriteAt",
                Bytes(claimed), Number(asked);
        }
        /// The file contains no sum. At: the end of the header.
        SumMissing = "usage.sum" wrong_model {
            "the file contains no sum";
        }
    }
}

/// Whether the 8 bytes of a length begin with this text, in small letters or large ones.
#[inline(never)]
const fn begins(length: u64, text: &[u8]) -> bool {
    let (mut bytes, mut expected): (&[u8], &[u8]) = (&length.to_le_bytes(), text);
    while let ([byte, rest @ ..], [letter, letters @ ..]) = (bytes, expected) {
        if byte.to_ascii_lowercase() != *letter {
            return false;
        }
        (bytes, expected) = (rest, letters);
    }
    true
}

const fn in_list(query: Option<QueryIndex>) -> u64 {
    match query {
        Some(query) => query.get() as u64,
        None => 0,
    }
}

impl ErrorKind {
    /// Returns which of the queries or targets the error is about, if it is about one of several.
    pub const fn query(self) -> Option<QueryIndex> {
        match self {
            Self::NotFound { query }
            | Self::DtypeMismatch { query, .. }
            | Self::RankMismatch { query, .. }
            | Self::ShapeMismatch { query, .. } => query,
            _ => None,
        }
    }
}

/// Declares [`Field`]: a line for each member with its name, its key, and whether it is required.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $key:literal, required: $required:literal;)*) => {
        /// The members of an entry that the format defines.
        ///
        /// *Memory*: one byte, `Copy`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(u8)]
        pub enum Field { $($(#[$doc])* $name,)* }

        impl Field {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),*];
            /// The required fields, as a set of bits.
            pub(crate) const REQUIRED: u8 = 0 $(| if $required { Self::$name.bit() } else { 0 })*;
        }

        names! {
            Field:
            /// The member's key in the header.
            name:
            $(Self::$name => $key,)*
        }
    };
}

fields! {
    /// `"dtype"`
    Dtype = "dtype", required: true;
    /// `"shape"`
    Shape = "shape", required: true;
    /// `"data_offsets"`
    Offsets = "data_offsets", required: true;
}

impl Field {
    /// Its bit in a set of fields.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The first required field that is not in `fields`, if one is missing.
    pub(crate) const fn missing(fields: u8) -> Self {
        let mut left = Self::ALL;
        while let [field, rest @ ..] = left {
            if rest.is_empty() || Self::REQUIRED & !fields & field.bit() != 0 {
                return *field;
            }
            left = rest;
        }
        Self::Dtype
    }
}
