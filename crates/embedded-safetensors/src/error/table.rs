//! The table of errors: what each means and where it is found, its code, and its sentence. Everything else that is known of an
//! error is made of its line here.
//!
//! Of the codes of a file, `tensor.` and `layout.reversed` concern one tensor; all other `layout.` codes and `*.duplicate` compare
//! entries; `data.` and `container.header-beyond-file` need the length of the file. The parser finds all others at the byte it reads.

use super::sentence::Part::{Byte, Bytes, Member, Number, Type};
use super::sentence::{Sentence, fits};
use super::{Class, Error, IndexPart, MAX_HEADER_LEN};
use crate::dtype::Dtype;
#[cfg(feature = "defmt")]
use crate::error::log::Named;
use core::convert::Infallible;

/// Makes [`ErrorKind`] and [`Fault`] of the table.
///
/// A sentence has `{}` where a part belongs. Of several sentences the first one counts whose condition holds.
macro_rules! errors {
    ($($class:ident {$(
        $(#[doc = $doc:literal])*
        $name:ident $(($value:ident: $type:ty))? $({$($(#[$field_doc:meta])* $field:ident: $field_type:ty,)*})?
            = $code:literal {$($(if $case:expr =>)? $text:literal $(, $part:expr)*);+ $(;)?}
    )*})*) => {
        /// What is wrong. Each kind has a stable text code ([`code`](Self::code)); `Display` is one sentence.
        ///
        /// *Memory*: 24 bytes, `Copy`.
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

            /// Who can mend it.
            pub const fn class(self) -> Class {
                match self { $($(Self::$name { .. })|* => Class::$class,)* }
            }

            /// Each kind: its class, its code, and what it means and where it is found.
            #[doc(hidden)]
            pub const ALL: &'static [(Class, &'static str, &'static str)] =
                &[$($((Class::$class, $code, concat!($($doc),*)),)*)*];

            /// This kind, at byte `at` of the file.
            pub const fn at(self, at: u64) -> Error {
                Error { kind: self, at }
            }

            /// What `Display` says.
            #[allow(unused_variables)] // what a sentence does not mention
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

        /// An [`ErrorKind`] without its numbers, in two bytes. A kind with numbers is [`Numbered`]; whoever stopped the parser fills them
        /// in. An error as large as an [`ErrorKind`] would be copied from frame to frame, and a header is read on small stacks.
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code)] // what no parser finds
        pub(crate) enum Fault {
            $($($name $(($type))? $((replace!($($field)* => Infallible)))?,)*)*
            Numbered(Numbered),
        }

        impl Fault {
            pub(crate) const OTHER: Self = Self::Numbered(Numbered::Other);
            pub(crate) const RANK: Self = Self::Numbered(Numbered::Rank);

            /// The kind, unless its numbers are still to be found.
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

/// Faults whose numbers are filled in later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    HeaderTooLarge,
    HeaderBeyondFile,
    Rank,
    /// What `tensor::info::mismatch` finds.
    Mismatch,
    /// A fault of the parser's caller, who knows its kind and its numbers.
    Other,
}

/// Expands to `$other`, whatever is repeated.
macro_rules! replace {
    ($($each:ident)* => $other:ident) => {
        $other
    };
}

/// The kind that has no numbers. A [`Fault`] of a kind with numbers cannot be made.
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
    // The file is not a valid safetensors file.
    File {
        /// Fewer than 8 bytes. At: the end of the file.
        FileTooShort = "container.short" { "the file is shorter than the 8 bytes of the header's length" }
        /// The header claims more than 100,000,000 bytes. At: byte 0.
        HeaderTooLarge {
            /// The length it claims.
            length: u64,
        } = "container.header-too-large" {
            "the header claims {}, more than the {} that are allowed", Bytes(length), Number(MAX_HEADER_LEN);
        }
        /// The file ends before its header does. At: the end of the file.
        HeaderBeyondFile {
            /// The length the header claims.
            length: u64,
            /// How many bytes of it are there.
            present: u64,
        } = "container.header-beyond-file" {
            "the header claims {}, but the file has only {} of them", Bytes(length), Number(present);
        }
        /// Not UTF-8. At: the first byte of the bad sequence.
        Utf8 = "text.utf8" { "the header is not valid UTF-8" }
        /// A byte that no JSON text has at this place. At: that byte.
        UnexpectedByte(byte: u8) = "json.syntax" { "{} does not belong here in a JSON text", Byte(byte) }
        /// The header ends inside its JSON text. At: the end of the header.
        UnexpectedEnd = "json.end" { "the header ends before its JSON text does" }
        /// A raw control character inside a string. At: that byte.
        ControlCharacter(byte: u8) = "json.control" { "{} must be escaped inside a string", Byte(byte) }
        /// A byte that does not belong into an escape sequence. At: that byte.
        Escape(byte: u8) = "json.escape" { "{} does not belong into an escape sequence", Byte(byte) }
        /// Half a surrogate pair. At: the backslash of the half.
        Surrogate = "json.surrogate" { "half a surrogate pair" }
        /// Not a JSON number: a leading zero, or digits missing. At: the byte that shows it.
        Number = "json.number" { "not a JSON number" }
        /// More than 127 brackets open at once. At: the 128th.
        Depth = "json.depth" { "more than 127 brackets are open at once" }
        /// Something other than whitespace after the header's object. At: its first byte.
        Trailing(byte: u8) = "json.trailing" { "{} stands after the end of the header's object", Byte(byte) }
        /// The header is JSON, but not an object. At: its first byte.
        HeaderType = "header.type" { "the header is not a JSON object" }
        /// A tensor's entry is neither an object nor an array. At: the value's first byte.
        EntryType = "entry.type" { "the entry is not an object" }
        /// A tensor's entry is an array, which the reference takes. At: the bracket.
        EntryArray = "entry.array" { "the entry is an array, not an object" }
        /// An entry lacks one of its three members. At: the entry's closing brace.
        Missing(field: Field) = "entry.missing" { "the entry has no \"{}\"", Member(field) }
        /// An entry has one of its three members twice. At: the second key's opening quote.
        Repeated(field: Field) = "entry.repeated" { "the entry has \"{}\" twice", Member(field) }
        /// The dtype is neither a string nor an object. At: the value's first byte.
        DtypeType = "dtype.type" { "\"dtype\" is not a string" }
        /// The dtype is an object, which the reference takes. At: the brace.
        DtypeObject = "dtype.object" { "\"dtype\" is an object, not a string" }
        /// No such dtype. At: the string's opening quote.
        DtypeUnknown = "dtype.unknown" { "there is no such dtype" }
        /// The shape is not an array. At: the value's first byte.
        ShapeType = "shape.type" { "\"shape\" is not an array" }
        /// The offsets are not an array. At: the value's first byte.
        OffsetsType = "offsets.type" { "\"data_offsets\" is not an array" }
        /// A number in the shape is not a plain non-negative integer. At: the byte that shows it.
        ShapeInteger = "shape.integer" { "a number in \"shape\" is not a plain non-negative integer" }
        /// A number in the offsets is not a plain non-negative integer. At: the byte that shows it.
        OffsetsInteger = "offsets.integer" {
            "a number in \"data_offsets\" is not a plain non-negative integer";
        }
        /// A number in the shape is above 2^64 - 1. At: its first digit.
        ShapeRange = "shape.range" { "a number in \"shape\" is larger than 18446744073709551615" }
        /// A number in the offsets is above 2^64 - 1. At: its first digit.
        OffsetsRange = "offsets.range" { "a number in \"data_offsets\" is larger than 18446744073709551615" }
        /// The offsets are not exactly two. At: the bracket that comes too early, the comma too many.
        OffsetsCount = "offsets.count" { "\"data_offsets\" does not have exactly two numbers" }
        /// `__metadata__` is neither an object nor null. At: the value's first byte.
        MetadataType = "metadata.type" { "\"__metadata__\" is neither an object nor null" }
        /// A value in `__metadata__` is not a string. At: the value's first byte.
        MetadataValue = "metadata.value" { "a value in \"__metadata__\" is not a string" }
        /// `__metadata__` stands twice in the header. At: the second one's opening quote.
        MetadataTwice = "metadata.twice" { "\"__metadata__\" stands twice in the header" }
        /// Number of elements or bits, multiplied left to right, exceeds 2^64 - 1. At: the dimension
        /// that overflows, or the shape's bracket when it is the width of the dtype.
        Overflow = "tensor.overflow" { "the size of the tensor, counted in bits, does not fit into 64 bits" }
        /// The tensor does not fill whole bytes. At: the shape's opening bracket.
        SubByte {
            /// How many elements the shape has.
            elements: u64,
            /// How wide one is.
            bits: u8,
        } = "tensor.subbyte" {
            if elements == 1 => "1 element of {} bits does not fill whole bytes", Number(bits as u64);
            "{} elements of {} bits do not fill whole bytes", Number(elements), Number(bits as u64);
        }
        /// The offsets span another number of bytes than dtype and shape need. At: the first offset.
        Size {
            /// Bytes from the first to the second offset.
            range: u64,
            /// Bytes that dtype and shape need.
            needed: u64,
        } = "tensor.size" { "the offsets span {}, but dtype and shape need {}", Bytes(range), Number(needed) }
        /// The second offset lies before the first. At: the first offset.
        Reversed {
            /// The first offset.
            begin: u64,
            /// The second offset.
            end: u64,
        } = "layout.reversed" { "begins at {}, but ends before that, at {}", Number(begin), Number(end) }
        /// Bytes that belong to no tensor. At: the first offset of the tensor behind the hole.
        Hole {
            /// Where the tensor begins.
            begin: u64,
            /// Where the tensor before it ends (0: there is none).
            previous_end: u64,
        } = "layout.hole" {
            if begin == 1 && previous_end == 0 =>
                "begins at 1, but the data begins at 0 (1 byte belongs to no tensor)";
            if previous_end == 0 =>
                "begins at {}, but the data begins at 0 ({} belong to no tensor)", Number(begin), Bytes(begin);
            if begin.saturating_sub(previous_end) == 1 =>
                "begins at {}, but the tensor before it ends at {} (1 byte belongs to no tensor)",
                    Number(begin), Number(previous_end);
            "begins at {}, but the tensor before it ends at {} ({} belong to no tensor)",
                Number(begin), Number(previous_end), Bytes(begin.saturating_sub(previous_end));
        }
        /// Bytes that belong to two tensors. At: the first offset of the later of the two.
        Overlap {
            /// Where the tensor begins.
            begin: u64,
            /// Where the tensor before it ends.
            previous_end: u64,
        } = "layout.overlap" {
            "begins at {}, inside the tensor before it, which ends at {} ({} too early)",
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
        } = "data.trailing" { "the tensors end after {} of data, but the file goes on", Bytes(needed) }
        /// Two tensors have the same name. At: the second name's opening quote.
        NameTwice = "name.duplicate" { "an earlier tensor has the same name" }
        /// Two keys in `__metadata__` are the same. At: the second key's opening quote.
        KeyTwice = "metadata.duplicate" { "an earlier key of \"__metadata__\" is the same" }
    }

    // The file may be valid; the memory or the device is too small to tell, or to hold it.
    Limit {
        /// The tensor has more dimensions than a shape in memory holds. At: the first one too many.
        Rank {
            /// How many can be held.
            limit: u8,
        } = "limit.rank" {
            "the tensor has more than the {} dimensions that can be held", Number(limit as u64);
        }
        /// A name is longer than the memory given for it. At: the name's opening quote.
        NameLength {
            /// The name's length in bytes.
            needed: u64,
            /// The memory given for it.
            capacity: u64,
        } = "limit.name" { "the name has {}, but there is memory for {}", Bytes(needed), Number(capacity) }
        /// The header does not list its tensors in the order of their offsets, and no memory was given to sort
        /// them in: slots ([`Model::open_unordered`](crate::Model::open_unordered)) or an index
        /// ([`Model::open_indexed`](crate::Model::open_indexed), and for streams that come once
        /// [`Router`](crate::stream::Router)). At: the first offset that is out of order.
        OutOfOrder = "limit.order" {
            "the header does not list its tensors in the order of their offsets, and there is no memory to sort them in";
        }
        /// More names share one hash than there are slots to tell them apart in. At: the end of the header.
        SlotCount {
            /// How many slots were given; twice as many is a good next try, and two at the least.
            capacity: u64,
        } = "limit.slots" {
            if capacity == 1 => "1 slot is too few to tell the header's names apart";
            "{} slots are too few to tell the header's names apart", Number(capacity);
        }
        /// Two names may be the same, and there is no memory to compare them in. At: the second one's
        /// opening quote.
        NoText = "limit.text" { "two names may be the same, and there is no memory to compare them in" }
        /// A value of `__metadata__` is longer than the memory given for it. At: the value's opening quote.
        ValueLength {
            /// The value's length in bytes.
            needed: u64,
            /// The memory given for it.
            capacity: u64,
        } = "limit.value" { "the value has {}, but there is memory for {}", Bytes(needed), Number(capacity) }
        /// There is too little memory to read `__metadata__` in. At: its opening quote, or that of a value whose
        /// strings need memory to be unescaped in.
        MetadataLength {
            /// Bytes that are enough.
            needed: u64,
            /// Bytes that there are.
            capacity: u64,
        } = "limit.metadata" {
            "\"__metadata__\" needs {} of memory, but there are {}", Bytes(needed), Number(capacity);
        }
        /// The index has too little memory for the header. At: the end of the header.
        Index {
            /// For what of it.
            part: IndexPart,
            /// How many of them the header has.
            needed: u64,
            /// How many there is memory for.
            capacity: u64,
        } = "limit.index" {
            if matches!(part, IndexPart::Tensors) && needed == 1 =>
                "the header has 1 tensor, but the index has memory for {}", Number(capacity);
            if matches!(part, IndexPart::Tensors) =>
                "the header has {} tensors, but the index has memory for {}", Number(needed), Number(capacity);
            if matches!(part, IndexPart::Dims) && needed == 1 =>
                "the header has 1 dimension in its shapes, but the index has memory for {}", Number(capacity);
            if matches!(part, IndexPart::Dims) =>
                "the header has {} dimensions in its shapes, but the index has memory for {}",
                    Number(needed), Number(capacity);
            if matches!(part, IndexPart::Names) && needed == 1 =>
                "the header has 1 byte of names, but the index has memory for {}", Number(capacity);
            "the header has {} bytes of names, but the index has memory for {}", Number(needed), Number(capacity);
        }
        /// A buffer is too small for what must go into it: one element of a tensor that is read in chunks, or
        /// the whole tensor that it is bound to. At: the first byte that has no room.
        BufferLength {
            /// Bytes that must fit.
            needed: u64,
            /// Bytes that there is room for.
            capacity: u64,
        } = "limit.buffer" { "{} must fit into the buffer, but it has {}", Bytes(needed), Number(capacity) }
        /// Elements were asked for in place on a machine whose numbers have their high byte first. At: the tensor's
        /// first byte.
        BigEndian = "limit.endian" {
            "this machine has the high byte first and cannot read the elements where they lie";
        }
        /// The storage has too little room for the file that is to be written. At: the first byte that has no room.
        Capacity {
            /// How many bytes the file takes, in whole units of the storage.
            needed: u64,
            /// How many there is room for.
            capacity: u64,
        } = "limit.capacity" {
            "the file takes {}, but the storage has room for {}", Bytes(needed), Number(capacity);
        }
    }

    // The caller broke a contract; the file was not judged.
    Usage {
        /// The header changed between two passes over it. At: the place where that shows.
        Changed = "usage.changed" { "the header is not the same as in the pass before" }
        /// The file has no tensor of a name that was asked for. At: the end of the header; byte 0 when the bytes
        /// are asked for of a tensor that no search has found.
        NotFound {
            /// Which of the names that a search looked for, counted from 0; none where one tensor alone is asked for.
            query: Option<u64>,
        } = "usage.missing" {
            if query.is_some() =>
                "the file has no tensor of the name that was asked for (number {}, from 0)", Number(or_zero(query));
            "the file has no such tensor, or it was not looked for";
        }
        /// A window of 0 bytes. At: the byte that could not be read.
        NoWindow = "usage.window" { "the window has no room for a single byte" }
        /// A place beyond the end of a tensor. At: the end of the tensor.
        OutsideTensor {
            /// The byte of the tensor that was asked for.
            asked: u64,
            /// How many bytes the tensor has.
            len: u64,
        } = "usage.range" { "byte {} was asked for of a tensor that has {}", Number(asked), Bytes(len) }
        /// A place beyond the last element of what is read as values, or more elements than are left. At: the end of that.
        OutsideElements {
            /// The element that was asked for, the last one of many.
            asked: u64,
            /// How many there are.
            len: u64,
        } = "usage.element" { "element {} was asked for, and there are {}", Number(asked), Number(len) }
        /// A tensor that ends beyond the end of the file's data: it belongs to another file. At: the end
        /// of the data.
        OutsideData {
            /// Where the tensor ends.
            end: u64,
            /// How long the data is.
            data_len: u64,
        } = "usage.tensor" {
            "the tensor ends at byte {} of the data, which has {}", Number(end), Bytes(data_len);
        }
        /// Chunks were to begin at multiples of a number that is not a power of two. At: the tensor's first byte.
        Block {
            /// That number.
            asked: u64,
        } = "usage.block" { "chunks cannot begin at multiples of {}: not a power of two", Number(asked) }
        /// Elements of one type were asked for in place, and the tensor has another. At: the tensor's first byte.
        DtypeMismatch {
            /// What the tensor has.
            found: Dtype,
            /// What was asked for.
            asked: Dtype,
        } = "usage.dtype" {
            "the tensor was asked for as {}, but it has elements of {}", Type(asked), Type(found);
        }
        /// An array of one shape was asked for in place, and the tensor has another. At: the tensor's first byte.
        ShapeMismatch = "usage.shape" { "the tensor has another shape than the array that was asked for" }
        /// Values were asked for without loss, and the type asked for does not hold all of them. At: the tensor's
        /// first byte.
        Lossy {
            /// What the tensor has.
            from: Dtype,
            /// What was asked for.
            to: Dtype,
        } = "usage.lossy" { "{} has values that no {} can hold: ask for them rounded", Type(from), Type(to) }
        /// Values were asked for as a type that they cannot be turned into, not even with loss. At: the tensor's
        /// first byte.
        NoConversion {
            /// What the tensor has.
            from: Dtype,
            /// What was asked for.
            to: Dtype,
        } = "usage.conversion" { "elements of {} cannot be read as {}", Type(from), Type(to) }
        /// Elements were asked for in place, and do not lie where the machine can read their type. At: the tensor's
        /// first byte.
        Misaligned {
            /// At multiples of what they must begin.
            unit: u8,
            /// How many bytes behind one they begin in memory.
            over: u8,
            /// How many bytes behind one they begin in the file; 0 when only the file's own place is wrong.
            over_in_file: u8,
        } = "usage.aligned" {
            if over_in_file == 0 =>
                "the elements begin {} behind a multiple of {}, because the file does not begin at one: place it at one, as include_aligned! does",
                    Bytes(over as u64), Number(unit as u64);
            "the elements begin {} behind a multiple of {}, because of their place in the file: read them as values, or write the file with its tensors aligned",
                Bytes(over as u64), Number(unit as u64);
        }
        /// A row, an index or a range beyond the end of an axis. At: the tensor's first byte.
        OutsideAxis {
            /// Which axis, counted from 0, outermost first.
            axis: u8,
            /// The index that was asked for, the last one of a range, or where a range was to begin.
            asked: u64,
            /// How long the axis is.
            size: u64,
        } = "usage.slice" {
            "index {} was asked for of axis {}, whose size is {}", Number(asked), Number(axis as u64), Number(size);
        }
        /// More ranges than the tensor has axes, or a row of a scalar. At: the tensor's first byte.
        TooManyRanges {
            /// How many were given; 1 for a row.
            asked: u64,
            /// How many axes there are.
            rank: u64,
        } = "usage.axes" {
            if asked == 1 && rank == 1 => "the tensor has 1 axis, but 1 was asked for";
            if asked == 1 => "the tensor has {} axes, but 1 was asked for", Number(rank);
            if rank == 1 => "the tensor has 1 axis, but {} were asked for", Number(asked);
            "the tensor has {} axes, but {} were asked for", Number(rank), Number(asked);
        }
        /// A range with a step of 0. At: the tensor's first byte.
        ZeroStep {
            /// Which axis, counted from 0, outermost first.
            axis: u8,
        } = "usage.step" { "the range of axis {} has a step of 0", Number(axis as u64) }
        /// The bytes were asked for of a part that does not begin and end with whole bytes. At: the byte that has
        /// elements of the part and others.
        PartOfByte {
            /// How wide an element is.
            bits: u8,
        } = "usage.subbyte" {
            "a byte has elements of the slice and others, of {} bits each: read them as values", Number(bits as u64);
        }
        /// More bytes were given to be written than the tensor that is due still takes. At: the byte that comes next.
        TooManyBytes {
            /// Which tensor is due, by its place in what the file was to hold.
            tensor: u32,
            /// How many bytes were given.
            given: u64,
            /// How many it takes.
            left: u64,
        } = "usage.bytes" {
            "tensor {}, counted from 0, takes {} more, but was given {}",
                Number(tensor as u64), Bytes(left), Number(given);
        }
        /// A whole tensor was given to be written, and has not the bytes that it must have. At: the byte that comes next.
        TensorLength {
            /// Which tensor, by its place in what the file was to hold.
            tensor: u32,
            /// How many bytes were given.
            given: u64,
            /// How many it has.
            needed: u64,
        } = "usage.length" {
            "tensor {}, counted from 0, has {}, but was given {}", Number(tensor as u64), Bytes(needed), Number(given);
        }
        /// Values were given to be written, and the tensor that is due has elements of another type. At: the byte that comes next.
        ValueType {
            /// Which tensor is due, by its place in what the file was to hold.
            tensor: u32,
            /// The type of the values.
            given: Dtype,
            /// That of its elements.
            needed: Dtype,
        } = "usage.values" {
            "tensor {}, counted from 0, has elements of {}, but was given {}",
                Number(tensor as u64), Type(needed), Type(given);
        }
        /// A tensor was given to be written whose turn it is not. At: the byte that comes next.
        NotDue {
            /// Which tensor is due, by its place in what the file was to hold.
            tensor: u32,
        } = "usage.due" { "it is the turn of tensor {}, counted from 0", Number(tensor as u64) }
        /// Data were given to be written, and all tensors are complete. At: the end of the file.
        NothingDue = "usage.complete" { "all tensors have their bytes already" }
        /// A file was to be finished that does not have all its bytes yet. At: the first one that is missing.
        Incomplete {
            /// Which tensor lacks bytes, the first one that does, by its place in what the file was to hold.
            tensor: u32,
            /// How many bytes are missing, all tensors together.
            missing: u64,
        } = "usage.incomplete" {
            if missing == 1 => "1 byte is missing, from tensor {} on, counted from 0", Number(tensor as u64);
            "{} are missing, from tensor {} on, counted from 0", Bytes(missing), Number(tensor as u64);
        }
        /// The storage is written in units, and the data would begin inside of one. At: the first byte of the data.
        Unit {
            /// At multiples of how many bytes units begin.
            unit: u64,
        } = "usage.unit" {
            "the data begin inside one of the storage's units of {}: place them at a multiple of that", Bytes(unit);
        }
        /// The storage holds more bytes than the file that is to be written, and cannot be cut: what is left behind it would make it
        /// unsound. At: the end of the file.
        Longer {
            /// How many bytes the storage holds.
            len: u64,
            /// How many the file will have.
            file_len: u64,
        } = "usage.longer" {
            "the storage holds {}, but the file only {}: make it shorter first", Bytes(len), Number(file_len);
        }
        /// The partition does not begin where the flash can erase. At: byte 0.
        Partition {
            /// The address at which it begins.
            start: u32,
            /// At multiples of how many bytes the flash erases.
            sector: u32,
        } = "usage.partition" {
            "the partition begins at address {}, but the flash erases at multiples of {}",
                Number(start as u64), Number(sector as u64);
        }
    }
}

const fn or_zero(number: Option<u64>) -> u64 {
    match number {
        Some(number) => number,
        None => 0,
    }
}

/// Declares [`Field`]: a line for each member, with its name, its key, and whether it is required.
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
