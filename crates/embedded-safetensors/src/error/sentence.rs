//! What an error says: whoever writes it down, at run time, inside the compiler or in a log, says the same.

use crate::dtype::Dtype;
use crate::error::log::Named;
use crate::error::{Error, ErrorKind, Field, IndexPart, MAX_HEADER_LEN};
use core::fmt;

/// A number or a name in a sentence.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Number(u64),
    /// A number of bytes, in words.
    Bytes(u64),
    /// One byte, as the character that it is or in hexadecimal.
    Byte(u8),
    Type(Dtype),
    Member(Field),
}

use Part::{Byte, Bytes, Member, Number, Type};

/// One sentence, without a period: a text that has `{}` where a part belongs. Empty places fill up the parts.
pub(crate) struct Sentence {
    pub(crate) text: &'static str,
    pub(crate) parts: [Part; 3],
}

impl Sentence {
    const fn of(text: &'static str, parts: &[Part]) -> Self {
        let parts = match *parts {
            [first, second, third] => [first, second, third],
            [first, second] => [first, second, Number(0)],
            [only] => [only, Number(0), Number(0)],
            _ => [Number(0); 3],
        };
        Self { text, parts }
    }
}

/// The texts in front of the first `{}` and behind it.
pub(crate) const fn split(text: &str) -> Option<(&str, &str)> {
    let (mut at, mut left) = (0, text.as_bytes());
    while let [byte, rest @ ..] = left {
        if *byte == b'{' {
            break;
        }
        (at, left) = (at + 1, rest);
    }
    match text.split_at_checked(at) {
        Some((front, place)) => match place.split_at_checked(2) {
            Some((_, behind)) => Some((front, behind)),
            None => None,
        },
        None => None,
    }
}

/// Whether each part has its place, and there are no more than a sentence has room for.
const fn fits(text: &str, parts: &[&str]) -> bool {
    let (mut places, mut left) = (0, text);
    while let Some((_, behind)) = split(left) {
        (places, left) = (places + 1, behind);
    }
    places == parts.len() && places <= 3
}

/// The sentence of each kind: in parts, so that the compiler can say it too, and by defmt.
macro_rules! kinds {
    ($($kind:pat $(if $case:expr)? => $text:literal $(, $part:expr)*;)*) => {
        impl ErrorKind {
            /// What `Display` says.
            pub(crate) const fn sentence(self) -> Sentence {
                match self { $($kind $(if $case)? => {
                    const { assert!(fits($text, &[$(stringify!($part)),*])) }
                    Sentence::of($text, &[$($part),*])
                })* }
            }
        }

        #[cfg(feature = "defmt")]
        impl defmt::Format for ErrorKind {
            fn format(&self, f: defmt::Formatter<'_>) {
                match *self { $($kind $(if $case)? => defmt::write!(f, $text $(, $part)*),)* }
            }
        }
    };
}

kinds! {
    // The header's text.
    Self::FileTooShort => "the file is shorter than the 8 bytes of the header's length";
    Self::HeaderTooLarge { length } =>
        "the header claims {}, more than the {} that are allowed", Bytes(length), Number(MAX_HEADER_LEN);
    Self::HeaderBeyondFile { length, present } =>
        "the header claims {}, but the file has only {} of them", Bytes(length), Number(present);
    Self::Utf8 => "the header is not valid UTF-8";
    Self::UnexpectedByte(byte) => "{} does not belong here in a JSON text", Byte(byte);
    Self::UnexpectedEnd => "the header ends before its JSON text does";
    Self::ControlCharacter(byte) => "{} must be escaped inside a string", Byte(byte);
    Self::Escape(byte) => "{} does not belong into an escape sequence", Byte(byte);
    Self::Surrogate => "half a surrogate pair";
    Self::Number => "not a JSON number";
    Self::Depth => "more than 127 brackets are open at once";
    Self::Trailing(byte) => "{} stands after the end of the header's object", Byte(byte);

    // Its entries.
    Self::HeaderType => "the header is not a JSON object";
    Self::EntryType => "the entry is not an object";
    Self::EntryArray => "the entry is an array, not an object";
    Self::Missing(field) => "the entry has no \"{}\"", Member(field);
    Self::Repeated(field) => "the entry has \"{}\" twice", Member(field);
    Self::DtypeType => "\"dtype\" is not a string";
    Self::DtypeObject => "\"dtype\" is an object, not a string";
    Self::DtypeUnknown => "there is no such dtype";
    Self::ListType(field) => "\"{}\" is not an array", Member(field);
    Self::NotAnInteger(field) => "a number in \"{}\" is not a plain non-negative integer", Member(field);
    Self::IntegerRange(field) => "a number in \"{}\" is larger than 18446744073709551615", Member(field);
    Self::OffsetsCount => "\"data_offsets\" does not have exactly two numbers";
    Self::MetadataType => "\"__metadata__\" is neither an object nor null";
    Self::MetadataValue => "a value in \"__metadata__\" is not a string";
    Self::MetadataTwice => "\"__metadata__\" stands twice in the header";
    Self::NameTwice => "an earlier tensor has the same name";
    Self::KeyTwice => "an earlier key of \"__metadata__\" is the same";

    // Lengths and offsets.
    Self::Overflow => "the size of the tensor, counted in bits, does not fit into 64 bits";
    Self::SubByte { elements: 1, bits } => "1 element of {} bits does not fill whole bytes", Number(bits as u64);
    Self::SubByte { elements, bits } =>
        "{} elements of {} bits do not fill whole bytes", Number(elements), Number(bits as u64);
    Self::Size { range, needed } =>
        "the offsets span {}, but dtype and shape need {}", Bytes(range), Number(needed);
    Self::Reversed { begin, end } => "begins at {}, but ends before that, at {}", Number(begin), Number(end);
    Self::Hole { begin: 1, previous_end: 0 } =>
        "begins at 1, but the data begins at 0 (1 byte belongs to no tensor)";
    Self::Hole { begin, previous_end: 0 } =>
        "begins at {}, but the data begins at 0 ({} belong to no tensor)", Number(begin), Bytes(begin);
    Self::Hole { begin, previous_end } if begin.saturating_sub(previous_end) == 1 =>
        "begins at {}, but the tensor before it ends at {} (1 byte belongs to no tensor)",
        Number(begin), Number(previous_end);
    Self::Hole { begin, previous_end } =>
        "begins at {}, but the tensor before it ends at {} ({} belong to no tensor)",
        Number(begin), Number(previous_end), Bytes(begin.saturating_sub(previous_end));
    Self::Overlap { begin, previous_end } =>
        "begins at {}, inside the tensor before it, which ends at {} ({} too early)",
        Number(begin), Number(previous_end), Bytes(previous_end.saturating_sub(begin));
    Self::DataShort { needed, present } =>
        "the tensors need {} of data, but the file has only {}", Bytes(needed), Number(present);
    Self::DataTrailing { needed } =>
        "the tensors end after {} of data, but the file goes on", Bytes(needed);

    // Memory.
    Self::Rank { limit } => "the tensor has more than the {} dimensions that can be held", Number(limit as u64);
    Self::NameLength { needed, capacity } =>
        "the name has {}, but there is memory for {}", Bytes(needed), Number(capacity);
    Self::ValueLength { needed, capacity } =>
        "the value has {}, but there is memory for {}", Bytes(needed), Number(capacity);
    Self::OutOfOrder =>
        "the header does not list its tensors in the order of their offsets, and there is no memory to sort them in";
    Self::SlotCount { capacity: 1 } => "1 slot is too few to tell the header's names apart";
    Self::SlotCount { capacity } => "{} slots are too few to tell the header's names apart", Number(capacity);
    Self::NoText => "two names may be the same, and there is no memory to compare them in";
    Self::MetadataLength { needed, capacity } =>
        "\"__metadata__\" needs {} of memory, but there are {}", Bytes(needed), Number(capacity);
    Self::Index { part: IndexPart::Tensors, needed: 1, capacity } =>
        "the header has 1 tensor, but the index has memory for {}", Number(capacity);
    Self::Index { part: IndexPart::Tensors, needed, capacity } =>
        "the header has {} tensors, but the index has memory for {}", Number(needed), Number(capacity);
    Self::Index { part: IndexPart::Dims, needed: 1, capacity } =>
        "the header has 1 dimension in its shapes, but the index has memory for {}", Number(capacity);
    Self::Index { part: IndexPart::Dims, needed, capacity } =>
        "the header has {} dimensions in its shapes, but the index has memory for {}",
        Number(needed), Number(capacity);
    Self::Index { part: IndexPart::Names, needed: 1, capacity } =>
        "the header has 1 byte of names, but the index has memory for {}", Number(capacity);
    Self::Index { part: IndexPart::Names, needed, capacity } =>
        "the header has {} bytes of names, but the index has memory for {}", Number(needed), Number(capacity);
    Self::BufferLength { needed, capacity } =>
        "{} must fit into the buffer, but it has {}", Bytes(needed), Number(capacity);
    Self::BigEndian => "this machine has the high byte first and cannot read the elements where they lie";

    // Requests for the data.
    Self::Changed => "the header is not the same as in the pass before";
    Self::NotFound { wanted: Some(wanted) } =>
        "the file has no tensor of the name that was asked for (number {}, from 0)", Number(wanted);
    Self::NotFound { wanted: None } => "the file has no such tensor, or it was not looked for";
    Self::NoWindow => "the window has no room for a single byte";
    Self::OutsideTensor { asked, len } =>
        "byte {} was asked for of a tensor that has {}", Number(asked), Bytes(len);
    Self::OutsideElements { asked, len } =>
        "element {} was asked for, and there are {}", Number(asked), Number(len);
    Self::OutsideData { end, data_len } =>
        "the tensor ends at byte {} of the data, which has {}", Number(end), Bytes(data_len);
    Self::Block { asked } => "chunks cannot begin at multiples of {}: not a power of two", Number(asked);
    Self::DtypeMismatch { found, asked } =>
        "the tensor was asked for as {}, but it has elements of {}", Type(asked), Type(found);
    Self::ShapeMismatch => "the tensor has another shape than the array that was asked for";
    Self::Lossy { from, to } => "{} has values that no {} can hold: ask for them rounded", Type(from), Type(to);
    Self::NoConversion { from, to } => "elements of {} cannot be read as {}", Type(from), Type(to);
    Self::Misaligned { unit, over, over_in_file: 0 } =>
        "the elements begin {} behind a multiple of {}, because the file does not begin at one: place it at one, as include_aligned! does",
        Bytes(over as u64), Number(unit as u64);
    Self::Misaligned { unit, over, .. } =>
        "the elements begin {} behind a multiple of {}, because of their place in the file: read them as values, or write the file with its tensors aligned",
        Bytes(over as u64), Number(unit as u64);
    Self::OutsideAxis { axis, asked, size } =>
        "index {} was asked for of axis {}, whose size is {}", Number(asked), Number(axis as u64), Number(size);
    Self::TooManyRanges { asked: 1, rank: 1 } => "the tensor has 1 axis, but 1 was asked for";
    Self::TooManyRanges { asked: 1, rank } => "the tensor has {} axes, but 1 was asked for", Number(rank);
    Self::TooManyRanges { asked, rank: 1 } => "the tensor has 1 axis, but {} were asked for", Number(asked);
    Self::TooManyRanges { asked, rank } =>
        "the tensor has {} axes, but {} were asked for", Number(rank), Number(asked);
    Self::ZeroStep { axis } => "the range of axis {} has a step of 0", Number(axis as u64);
    Self::PartOfByte { bits } =>
        "a byte has elements of the slice and others, of {} bits each: read them as values", Number(bits as u64);

    // What is to be written.
    Self::TooManyBytes { tensor, given, left } =>
        "tensor {}, counted from 0, takes {} more, but was given {}",
        Number(tensor as u64), Bytes(left), Number(given);
    Self::TensorLength { tensor, given, needed } =>
        "tensor {}, counted from 0, has {}, but was given {}",
        Number(tensor as u64), Bytes(needed), Number(given);
    Self::ValueType { tensor, given, needed } =>
        "tensor {}, counted from 0, has elements of {}, but was given {}",
        Number(tensor as u64), Type(needed), Type(given);
    Self::NotDue { tensor } => "it is the turn of tensor {}, counted from 0", Number(tensor as u64);
    Self::NothingDue => "all tensors have their bytes already";
    Self::Incomplete { tensor, missing: 1 } =>
        "1 byte is missing, from tensor {} on, counted from 0", Number(tensor as u64);
    Self::Incomplete { tensor, missing } =>
        "{} are missing, from tensor {} on, counted from 0", Bytes(missing), Number(tensor as u64);
    Self::Capacity { needed, capacity } =>
        "the file takes {}, but the storage has room for {}", Bytes(needed), Number(capacity);
    Self::Unit { unit } =>
        "the data begin inside one of the storage's units of {}: place them at a multiple of that", Bytes(unit);
    Self::Longer { len, file_len } =>
        "the storage holds {}, but the file only {}: make it shorter first", Bytes(len), Number(file_len);
    Self::Partition { start, sector } =>
        "the partition begins at address {}, but the flash erases at multiples of {}",
        Number(start as u64), Number(sector as u64);
}

sentences! {
    Part:
    Bytes(1) => "1 byte";
    Bytes(number) => "{} bytes", number;
    Number(number) => "{}", number;
    Byte(byte) if byte.is_ascii_graphic() => "'{}'", char::from(*byte);
    Byte(byte) => "byte 0x{:02x}", byte;
    Type(dtype) => "{}", dtype;
    Member(field) => "{}", Named(*field);
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sentence { mut text, parts } = self.sentence();
        let mut left = parts.as_slice();
        while let (Some((front, behind)), [part, rest @ ..]) = (split(text), left) {
            write!(f, "{front}{part}")?;
            (text, left) = (behind, rest);
        }
        f.write_str(text)
    }
}

sentences! {
    Error:
    Self { kind, at } => "error[{}] at byte {}: {}", Named(*kind), at, kind;
}
